"""The linear scheduler: from one rate to another in a straight line."""

from __future__ import annotations

from typing import Any

from burn.lr_scheduler.base import LrScheduler, LrSchedulerConfig, count_fault, initial_fault, loaded_count
from burn.record.items import Item


class LinearLrSchedulerConfig(LrSchedulerConfig):
    """`initial_lr` at the first call, `final_lr` after `num_iters` more, and from then on.

    As `torch.optim.lr_scheduler.LinearLR`, in rates instead of factors.

    >>> from burn.lr_scheduler import LinearLrSchedulerConfig
    >>> scheduler = LinearLrSchedulerConfig(initial_lr=1.0, final_lr=0.0, num_iters=2).init()
    >>> [scheduler.step() for _ in range(4)]
    [1.0, 0.5, 0.0, 0.0]
    """

    initial_lr: float
    final_lr: float
    num_iters: int

    def init(self) -> LinearLrScheduler:
        faults = initial_fault("initial_lr", self.initial_lr)
        faults += [] if 0 <= self.final_lr <= 1 else [f"final_lr is from 0 to 1, got {self.final_lr}"]
        self._check(faults + count_fault("num_iters", self.num_iters))
        return LinearLrScheduler(self)


class LinearLrScheduler(LrScheduler):
    """Learning rates on a line. `LinearLrSchedulerConfig` makes one.

    >>> from burn.lr_scheduler import LinearLrSchedulerConfig
    >>> LinearLrSchedulerConfig(1e-2, 1e-4, 1000).init().step()
    0.01
    """

    def __init__(self, config: LinearLrSchedulerConfig) -> None:
        self.final_lr = config.final_lr
        self.slope = (config.final_lr - config.initial_lr) / config.num_iters
        self.remaining = config.num_iters + 1

    def step(self) -> float:
        self.remaining = max(0, self.remaining - 1)
        return self.final_lr - self.slope * self.remaining

    def item(self) -> Item:
        return self.remaining

    def load_item(self, item: Any) -> None:
        self.remaining = loaded_count(item, self)
