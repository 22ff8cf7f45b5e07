"""The exponential scheduler: each rate is the last one times `gamma`."""

from __future__ import annotations

from typing import Any

from burn.lr_scheduler.base import LrScheduler, LrSchedulerConfig, initial_fault
from burn.record.errors import RecordError
from burn.record.items import Item


class ExponentialLrSchedulerConfig(LrSchedulerConfig):
    """`initial_lr` at the first call, then `gamma` times the rate before; `torch.optim.lr_scheduler.ExponentialLR`.

    >>> from burn.lr_scheduler import ExponentialLrSchedulerConfig
    >>> scheduler = ExponentialLrSchedulerConfig(1.0, gamma=0.5).init()
    >>> [scheduler.step() for _ in range(3)]
    [1.0, 0.5, 0.25]
    """

    initial_lr: float
    gamma: float

    def init(self) -> ExponentialLrScheduler:
        self._check(initial_fault("initial_lr", self.initial_lr) + initial_fault("gamma", self.gamma))
        return ExponentialLrScheduler(self)


class ExponentialLrScheduler(LrScheduler):
    """Learning rates that fall by a factor. `ExponentialLrSchedulerConfig` makes one.

    >>> from burn.lr_scheduler import ExponentialLrSchedulerConfig
    >>> ExponentialLrSchedulerConfig(initial_lr=0.1, gamma=0.99).init().step()
    0.1
    """

    def __init__(self, config: ExponentialLrSchedulerConfig) -> None:
        self.gamma = config.gamma
        self.previous = config.initial_lr / config.gamma

    def step(self) -> float:
        self.previous *= self.gamma
        return self.previous

    def item(self) -> Item:
        return self.previous

    def load_item(self, item: Any) -> None:
        if isinstance(item, bool) or not isinstance(item, int | float):
            raise RecordError(f"load_record: ExponentialLrScheduler keeps a rate, the record has {item!r}")
        self.previous = float(item)
