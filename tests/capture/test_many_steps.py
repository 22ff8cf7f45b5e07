"""Ten thousand captured steps: no more memory than after the first few, and the numbers of plain steps."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import burn
from burn import Cpu


class Momentum:
    """A mutable node: moments by name, and a clock."""

    def __init__(self) -> None:
        self.moments: dict[str, Any] = {}
        self.time = 0.0

    def __tree__(self) -> Any:
        return [self.time, *self.moments.values()], tuple(self.moments)

    def __tree_update__(self, token: Any, children: Any) -> None:
        self.time, *moments = children
        self.moments = dict(zip(token, moments, strict=True))

    def step(self, weights: dict[str, Any], gradients: dict[str, Any], rate: Any) -> dict[str, Any]:
        self.time = self.time + 1.0
        made = {}
        for name, weight in weights.items():
            old = self.moments.get(name)
            self.moments[name] = gradients[name] if old is None else old * 0.9 + gradients[name]
            made[name] = weight - self.moments[name] * (rate / (1.0 - 0.9**self.time))
        return made


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
def test_ten_thousand_captured_steps_need_no_more_memory() -> None:
    device: Any = Cpu()
    generator = np.random.default_rng(0)
    weights = {
        "large": burn.tensor(generator.normal(size=(96, 96)).astype(np.float32), device=device),
        "small": burn.tensor(generator.normal(size=(96,)).astype(np.float32), device=device),
    }
    x = burn.tensor(generator.normal(size=(2, 96)).astype(np.float32), device=device)
    optim = Momentum()

    @burn.compile
    def step(weights, rate):
        hidden = (x.matmul(weights["large"]) + weights["small"]).tanh()
        pull = {name: weight * 1e-3 for name, weight in weights.items()}
        return optim.step(weights, pull, rate), hidden.sum()

    def resident() -> int:
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    def run(count: int) -> None:
        nonlocal weights
        for number in range(count):
            weights, _ = step(weights, 1e-3 / (number + 1))

    run(200)
    before, used = resident(), device.below.memory()
    run(10_000)
    assert len(step.ready) == 1
    assert step.calls == 10_200 - 3
    assert optim.time == 10_200.0
    assert device.below.memory().live == used.live
    assert device.below.memory().cached <= max(used.cached, 8 << 20)  # other tests may have left something
    assert resident() - before < 4 << 20
