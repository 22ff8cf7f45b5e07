"""What a step of a loop costs on `Cpu()`: all steps in native calls, and each step by itself.

python -m benches.loops
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import burn
from burn.backend.cpu.repeating import NativeLoop
from burn.control import scan, while_loop
from burn.tensor.activation import sigmoid

ROUNDS = 20
RANDOM = np.random.default_rng(0)


def tensor(*shape: int) -> Any:
    return burn.tensor(RANDOM.normal(size=shape).astype(np.float32) * 0.1, device=burn.Cpu())


def tiny() -> Callable[[], Any]:
    """A thousand steps of a recurrent cell of 8x16."""
    weight, state, xs = tensor(16, 16), tensor(8, 16), tensor(1000, 8, 16)

    def step(state: Any, x: Any) -> Any:
        state = (state @ weight + x).tanh()
        return state, state

    return lambda: scan(step, state, xs)[1]


def lstm() -> Callable[[], Any]:
    """24 steps of a cell with a memory, 60x40 -> 96."""
    w, u, b, xs, zeros = tensor(40, 384), tensor(96, 384), tensor(384), tensor(24, 60, 40), tensor(60, 96)

    def step(state: Any, x: Any) -> Any:
        hidden, memory = state
        gates = x @ w + hidden @ u + b
        i, f, o, g = (gates.narrow(1, 96 * k, 96) for k in range(4))
        memory = sigmoid(f) * memory + sigmoid(i) * g.tanh()
        hidden = sigmoid(o) * memory.tanh()
        return (hidden, memory), hidden

    return lambda: scan(step, (zeros, zeros), xs)[1]


def counter() -> Callable[[], Any]:
    """A thousand rounds of a loop that counts."""
    zero = burn.tensor(0, device=burn.Cpu())
    return lambda: while_loop(lambda n: n.lower(1000), lambda n: n + 1, zero)


def microseconds(run: Callable[[], Any], steps: int) -> tuple[float, float]:
    """The best and the median of some rounds, for each step."""
    for _ in range(4):
        run().to_data()
    times = []
    for _ in range(ROUNDS):
        before = time.perf_counter()
        run().to_data()
        times.append((time.perf_counter() - before) / steps * 1e6)
    return min(times), statistics.median(times)


def main() -> None:
    refusal = NativeLoop.refusal
    for make, steps in ((tiny, 1000), (lstm, 24), (counter, 1000)):
        run = make()
        native = microseconds(run, steps)
        NativeLoop.refusal = lambda self: "to compare"  # type: ignore[method-assign]
        driven = microseconds(run, steps)
        NativeLoop.refusal = refusal  # type: ignore[method-assign]
        shown = ", ".join(f"{name} {best:.2f} us (median {middle:.2f})" for name, (best, middle) in
                          (("native", native), ("each step by itself", driven)))  # fmt: skip
        print(f"{make.__name__}: {shown} a step")


if __name__ == "__main__":
    main()
