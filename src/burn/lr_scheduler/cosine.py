"""The cosine scheduler: down along half a wave, and up again for as long as it is asked."""

from __future__ import annotations

import math
from typing import Any

from burn.lr_scheduler.base import LrScheduler, LrSchedulerConfig, count_fault, initial_fault, loaded_count
from burn.record.items import Item

UNUSED = (1 << 64) - 1
"""In a record: not called yet."""


class CosineAnnealingLrSchedulerConfig(LrSchedulerConfig):
    """From `initial_lr` to `min_lr` (0) along half a cosine, in `num_iters` calls after the first.

    As `torch.optim.lr_scheduler.CosineAnnealingLR`: asked for more rates, it goes up again.

    >>> from burn.lr_scheduler import CosineAnnealingLrSchedulerConfig
    >>> scheduler = CosineAnnealingLrSchedulerConfig(1.0, num_iters=4).init()
    >>> [round(scheduler.step(), 3) for _ in range(5)]
    [1.0, 0.854, 0.5, 0.146, 0.0]
    """

    initial_lr: float
    num_iters: int
    min_lr: float = 0.0

    def init(self) -> CosineAnnealingLrScheduler:
        faults = initial_fault("initial_lr", self.initial_lr)
        if not 0 <= self.min_lr <= self.initial_lr:
            faults.append(f"min_lr is from 0 to initial_lr, {self.initial_lr}, got {self.min_lr}")
        self._check(faults + count_fault("num_iters", self.num_iters))
        return CosineAnnealingLrScheduler(self)


class CosineAnnealingLrScheduler(LrScheduler):
    """Learning rates on a cosine. `CosineAnnealingLrSchedulerConfig` makes one.

    >>> from burn.lr_scheduler import CosineAnnealingLrSchedulerConfig
    >>> scheduler = CosineAnnealingLrSchedulerConfig(1e-2, num_iters=1000, min_lr=1e-4).init()
    >>> scheduler.step()
    0.01
    """

    def __init__(self, config: CosineAnnealingLrSchedulerConfig) -> None:
        self.config = config
        self.calls = 0

    def step(self) -> float:
        highest, lowest = self.config.initial_lr, self.config.min_lr
        angle = self.calls / self.config.num_iters * math.pi
        self.calls += 1
        return lowest + 0.5 * (highest - lowest) * (1.0 + math.cos(angle))

    def item(self) -> Item:
        return self.calls - 1 if self.calls else UNUSED

    def load_item(self, item: Any) -> None:
        found = loaded_count(item, self)
        self.calls = 0 if found == UNUSED else found + 1
