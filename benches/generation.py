"""A small GPT-2 with a KV cache, one token at a time: us against ONNX Runtime, a new length with every token.

    python -m benches.generation                         # milliseconds a token, and whether tokens are equal
    python -m benches.generation --layers 4 --tokens 50 --blocks 7

The model is exported by PyTorch with open sizes: tokens and the keys and values so far go in, logits and longer keys
and values come out. In the first block every length is new; the ones after it meet the same lengths again.
"""

from __future__ import annotations

import argparse
import io
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

HEADS, WIDTH, VOCABULARY, POSITIONS = 4, 128, 512, 256

Step = Callable[[dict[str, Any]], Sequence[Any]]


def exported(layers: int, seed: int = 0) -> bytes:
    """The model as an ONNX file."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.attend, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.widen, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x: Any, keys: Any, values: Any) -> Any:
            batch, length, _ = x.shape
            q, k, v = self.attend(self.norm(x)).split(WIDTH, dim=2)
            q, k, v = (each.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2) for each in (q, k, v))
            keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
            scores = q @ keys.transpose(2, 3) / (WIDTH // HEADS) ** 0.5
            total = keys.shape[2]
            allowed = torch.ones(total, total, dtype=torch.bool).tril()[total - length :]
            scores = scores.masked_fill(~allowed, float("-inf"))
            found = (scores.softmax(-1) @ values).transpose(1, 2).reshape(batch, length, WIDTH)
            x = x + self.project(found)
            return x + self.narrow(nn.functional.gelu(self.widen(self.norm2(x)), approximate="tanh")), keys, values

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(POSITIONS, WIDTH)
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

        def forward(self, tokens: Any, *past: Any) -> Any:
            before = past[0].shape[2]
            x = self.words(tokens) + self.places(torch.arange(before, before + tokens.shape[1]))
            present = []
            for block, keys, values in zip(self.blocks, past[::2], past[1::2]):
                x, *longer = block(x, keys, values)
                present += longer
            return self.head(self.norm(x)), *present

    torch.manual_seed(seed)
    model = Model().eval()
    past = [torch.zeros(1, HEADS, 3, WIDTH // HEADS) for _ in range(2 * layers)]
    names = [f"past.{number}.{kind}" for number in range(layers) for kind in ("key", "value")]
    open_sizes: dict[str, dict[int, str]] = {"tokens": {1: "length"}, **{name: {2: "past"} for name in names}}
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model, (torch.zeros(1, 2, dtype=torch.int64), *past), file, opset_version=17, dynamo=False,
            input_names=["tokens", *names], dynamic_axes=open_sizes,
            output_names=["logits", *(name.replace("past", "present") for name in names)],
        )  # fmt: skip
    return file.getvalue()


def burn_step(model: bytes) -> Step:
    """One token on `Cpu()`."""
    from burn.backend import Cpu
    from burn_import.onnx import load

    loaded = load(model, Cpu())
    return lambda inputs: list(loaded.run(inputs).values())


def onnxruntime_step(model: bytes, threads: int) -> Step:
    """One token on ONNX Runtime."""
    import onnxruntime  # type: ignore[import-untyped]

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, inputs)  # type: ignore[no-any-return]


def generate(step: Step, layers: int, tokens: int) -> tuple[list[int], list[float]]:
    """Tokens, the likeliest each time, and the seconds that each took."""
    names = [f"past.{number}.{kind}" for number in range(layers) for kind in ("key", "value")]
    past: Sequence[Any] = [np.zeros((1, HEADS, 1, WIDTH // HEADS), np.float32) for _ in names]
    token, found, seconds = 1, [], []
    for _ in range(tokens):
        inputs = {"tokens": np.array([[token]]), **dict(zip(names, past))}
        start = time.perf_counter()
        logits, *past = step(inputs)
        seconds.append(time.perf_counter() - start)
        token = int(np.asarray(logits)[0, -1].argmax())
        found.append(token)
    return found, seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="A GPT-2 with a KV cache, one token at a time.")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=50)
    parser.add_argument("--blocks", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    model = exported(options.layers)
    steps = {"burn": burn_step(model), "onnxruntime": onnxruntime_step(model, options.threads)}
    print("block   burn, ms a token          ONNX Runtime       ratio")
    ratios = []
    for block in range(options.blocks):
        medians, chosen = {}, {}
        for name in sorted(steps, reverse=bool(block % 2)):
            chosen[name], seconds = generate(steps[name], options.layers, options.tokens)
            medians[name] = statistics.median(seconds[2:])
            if name == "burn":
                first, slowest = seconds[:2], max(seconds[2:])
        equal = chosen["burn"] == chosen["onnxruntime"]
        ratio = medians["burn"] / medians["onnxruntime"]
        ratios += [ratio] if block else []
        print(
            f"{block:<8}{medians['burn'] * 1e3:.3f} (slowest {slowest * 1e3:.2f}; first two "
            f"{first[0] * 1e3:.0f}, {first[1] * 1e3:.0f})  {medians['onnxruntime'] * 1e3:.3f}   {ratio:.2f}"
            f"   {'equal' if equal else 'DIFFERENT'} tokens"
        )
    if ratios:
        print(f"median ratio after the first block {statistics.median(ratios):.2f}: less is better for us")


if __name__ == "__main__":
    main()
