"""Ask a server for the digits of the test set, a few at a time, and say how many it knows and how long it takes.

python -m examples.serving.client http://127.0.0.1:3000 --count 200 --together 8
"""

from __future__ import annotations

import argparse
import asyncio
import time
from typing import Any

import numpy as np

import furnace
from burn.data.dataset.vision import MnistDataset


async def ask(url: str, count: int, together: int, *, model: str | None, api_key: str | None) -> tuple[float, float]:
    """The share of digits that are recognised, and the median of milliseconds for an answer."""
    items: Any = MnistDataset.bundled("test")
    chosen = [items[index] for index in range(min(count, len(items)))]
    times: list[float] = []
    limit = asyncio.Semaphore(together)
    async with furnace.AsyncClient(url, api_key=api_key) as client:
        name = model or (await client.models())[0]

        async def one(item: Any) -> bool:
            image = (item.image / 255).astype(np.float32).reshape(1, 1, 28, 28)
            async with limit:
                begin = time.perf_counter()
                scores = (await client.infer({"image": image}, model=name))["scores"]
                times.append(time.perf_counter() - begin)
            return int(scores.argmax()) == int(item.label)

        known = await asyncio.gather(*map(one, chosen))
    return float(np.mean(known)), float(np.median(times)) * 1e3


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.serving.client", description=__doc__.splitlines()[0])
    parser.add_argument("url", nargs="?", default="http://127.0.0.1:3000")
    parser.add_argument("--count", type=int, default=200, help="how many digits to ask for")
    parser.add_argument("--together", type=int, default=8, help="how many requests may be under way at once")
    parser.add_argument("--model", default=None, help="the model's name, when the server has several")
    parser.add_argument("--api-key", default=None)
    options = parser.parse_args(arguments)
    share, median = asyncio.run(
        ask(options.url, options.count, options.together, model=options.model, api_key=options.api_key)
    )
    print(f"{share:.1%} of {options.count} digits recognised, {median:.2f} ms for an answer (median)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
