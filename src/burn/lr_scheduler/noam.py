"""The Noam scheduler of the first transformer: up in a line, then down with the root of the step."""

from __future__ import annotations

from typing import Any

from burn.lr_scheduler.base import LrScheduler, LrSchedulerConfig, count_fault, loaded_count
from burn.record.items import Item


class NoamLrSchedulerConfig(LrSchedulerConfig):
    """The schedule of the first transformer: up in a line for `warmup_steps`, then down with the root of the step.

    The rate is `factor / sqrt(model_size)` times `step / warmup_steps ** 1.5`, from `warmup_steps` on times
    `1 / sqrt(step)`.

    >>> from burn.lr_scheduler import NoamLrSchedulerConfig
    >>> scheduler = NoamLrSchedulerConfig(1.0, warmup_steps=2, model_size=4).init()
    >>> [round(scheduler.step(), 3) for _ in range(4)]
    [0.177, 0.354, 0.289, 0.25]
    """

    factor: float
    warmup_steps: int = 4000
    model_size: int = 512

    def init(self) -> NoamLrScheduler:
        self._check(count_fault("warmup_steps", self.warmup_steps) + count_fault("model_size", self.model_size))
        return NoamLrScheduler(self)


class NoamLrScheduler(LrScheduler):
    """Learning rates with a warm-up and a slow decay. `NoamLrSchedulerConfig` makes one.

    >>> from burn.lr_scheduler import NoamLrSchedulerConfig
    >>> round(NoamLrSchedulerConfig(1.0).init().step(), 9)
    1.75e-07
    """

    def __init__(self, config: NoamLrSchedulerConfig) -> None:
        self.scale = config.factor * config.model_size**-0.5
        self.slope = config.warmup_steps**-1.5
        self.calls = 0

    def step(self) -> float:
        self.calls += 1
        return float(self.scale * min(self.calls**-0.5, self.calls * self.slope))

    def item(self) -> Item:
        return self.calls

    def load_item(self, item: Any) -> None:
        self.calls = loaded_count(item, self)
