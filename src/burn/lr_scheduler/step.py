"""The step scheduler: the rate falls by a factor every so many calls."""

from __future__ import annotations

import warnings
from typing import Any

from burn.lr_scheduler.base import LrScheduler, LrSchedulerConfig, count_fault, loaded_count
from burn.record.items import Item, Signed


class StepLrSchedulerConfig(LrSchedulerConfig):
    """`initial_lr` for `step_size` calls, then `gamma` (0.1) times that for as many, and so on.

    As `torch.optim.lr_scheduler.StepLR`.

    >>> from burn.lr_scheduler import StepLrSchedulerConfig
    >>> scheduler = StepLrSchedulerConfig(1.0, step_size=2, gamma=0.5).init()
    >>> [scheduler.step() for _ in range(5)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    initial_lr: float
    step_size: int
    gamma: float = 0.1

    def init(self) -> StepLrScheduler:
        self._check(count_fault("step_size", self.step_size))
        if not self.initial_lr > 0:
            warnings.warn(f"StepLrSchedulerConfig: initial_lr is {self.initial_lr}, not above 0", stacklevel=2)
        if not 0 < self.gamma < 1:
            warnings.warn(f"StepLrSchedulerConfig: gamma is {self.gamma}, not between 0 and 1", stacklevel=2)
        return StepLrScheduler(self)


class StepLrScheduler(LrScheduler):
    """Learning rates in stairs. `StepLrSchedulerConfig` makes one.

    >>> from burn.lr_scheduler import StepLrSchedulerConfig
    >>> StepLrSchedulerConfig(0.1, step_size=30).init().step()
    0.1
    """

    def __init__(self, config: StepLrSchedulerConfig) -> None:
        self.config = config
        self.calls = 0

    def step(self) -> float:
        stair = self.calls // self.config.step_size
        self.calls += 1
        return self.config.initial_lr * self.config.gamma**stair

    def item(self) -> Item:
        return Signed(self.calls - 1)

    def load_item(self, item: Any) -> None:
        self.calls = loaded_count(item, self) + 1
