"""Frozen plans: what a run costs Python, what other sizes cost, and how long one takes from the disk.

    python -m benches.frozen
    python -m benches.frozen --layers 4

The best of several rounds, in microseconds a run; the plan is for a transformer whose batch and length may be any.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import burn
from burn.symbolic import Assumptions
from burn.tensor import activation
from tests.engine.recorded import traced

WIDTH, HEADS = 384, 6
WIDE = 4 * WIDTH
SHAPES = [(1, WIDTH, WIDTH)] * 4 + [(WIDTH,)] * 2 + [(1, WIDTH, WIDE), (WIDE,), (1, WIDE, WIDTH), (WIDTH,)]

OPENING = """
import sys, time
import numpy as np
import burn
start = time.perf_counter()
from burn.backend.cpu.frozen.stored import open_stored
from burn.backend.cpu.native import native
from burn.backend.cpu.pool import pool
loaded = time.perf_counter()
native(), pool().context()
ready = time.perf_counter()
run = open_stored(sys.argv[1])
opened = time.perf_counter()
run([np.zeros((3, 50, int(sys.argv[2])), np.float32)])
end = time.perf_counter()
steps = [1e3 * each for each in (loaded - start, ready - loaded, opened - ready, end - opened)]
print("modules {:.1f} ms, threads {:.1f} ms, the plan {:.1f} ms, its first run {:.1f} ms".format(*steps))
"""


def best(run: Callable[[], Any], count: int) -> float:
    """Microseconds a call, in the best round."""
    rounds = []
    for _ in range(9):
        start = time.perf_counter()
        for _ in range(count):
            run()
        rounds.append((time.perf_counter() - start) / count)
    return min(rounds) * 1e6


def layer(x: Any, weights: Any) -> Any:
    """One layer of a transformer."""
    batch, length, _ = x.shape
    q, k, v, o, scale, shift, up, up_bias, down, down_bias = weights
    q, k, v = (x.matmul(w).reshape([batch, length, HEADS, WIDTH // HEADS]).swap_dims(1, 2) for w in (q, k, v))
    mixed = activation.softmax(q.matmul(k.swap_dims(2, 3)) * 0.125, 3).matmul(v)
    x = mixed.swap_dims(1, 2).reshape([batch, length, WIDTH]).matmul(o) + x
    centred = x - x.mean_dim(2)
    x = centred / ((centred * centred).mean_dim(2) + 1e-5).sqrt() * scale + shift
    return activation.gelu(x.matmul(up) + up_bias).matmul(down) + down_bias + x


def transformer(layers: int) -> Any:
    """A frozen plan of some layers, of 7 MB of weights each."""

    def network(x: Any, *weights: Any) -> Any:
        for at in range(0, len(weights), len(SHAPES)):
            x = layer(x, weights[at : at + len(SHAPES)])
        return x

    sizes, draw = Assumptions(), np.random.default_rng(0).standard_normal
    shape = (sizes.symbol(3), sizes.symbol(50), WIDTH)
    program = traced(network, (shape, "f32"), *[(shape, "f32") for shape in SHAPES * layers])
    weights = {1 + at: (draw(each) * 0.05).astype(np.float32) for at, each in enumerate(SHAPES * layers)}
    device: Any = burn.Cpu()
    return device.below.prepare_fixed(program, weights)


def of_runs(count: int) -> str:
    """What a run of a small plan with so many inputs costs."""
    engine: Any = burn.Cpu().below  # type: ignore[attr-defined]
    arrays, costs = [np.ones((2, 4), np.float32)] * count, []
    for rows in (2, Assumptions().symbol(2)):
        program = traced(lambda *xs: sum(xs[1:], xs[0] * 2.0), *[((rows, 4), "f32")] * count)
        run = engine.prepare_fixed(program, {}).run
        costs.append(best(lambda run=run: run(arrays), 3000))  # type: ignore[misc]
    return f"{count:2} inputs and 1 result: {costs[0]:.2f} us a run, with a size that may be any {costs[1]:.2f} us"


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description="What frozen plans cost.")
    parser.add_argument("--layers", type=int, default=12)
    layers = parser.parse_args().layers
    for count in (1, 4, 16):
        print(of_runs(count))
    start = time.perf_counter()
    fixed = transformer(layers)
    form, seconds = fixed.runner.form, time.perf_counter() - start
    megabytes = sum(form.constants) / 1e6
    print(f"{layers} layers: {len(form.steps)} steps, {len(form.slots)} slots, {megabytes:.0f} MB: {seconds:.2f} s")
    x = np.zeros((3, 50, WIDTH), np.float32)
    fixed([x])
    (instance,) = fixed.runner._ground.waiting

    def bind() -> None:
        instance.bindings.clear()
        instance.bound((x.shape,))

    print(f"other sizes: {best(bind, 200):.1f} us")
    key = f"benches.frozen {layers} {burn.get_num_threads()}"
    print("stored" if fixed.save(key) else "too large for the cache", flush=True)
    for _ in range(3):
        subprocess.run([sys.executable, "-c", OPENING, key, str(WIDTH)], check=True)


if __name__ == "__main__":
    main()
