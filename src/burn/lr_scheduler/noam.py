"""The Noam scheduler of the first transformer: up in a line, then down with the root of the step."""

from __future__ import annotations

from typing import Any

from burn.lr_scheduler.base import LrScheduler, LrSchedulerConfig, count_fault, loaded_count
from burn.record.items import Item


class NoamLrSchedulerConfig(LrSchedulerConfig):
    """`factor / sqrt(model_size)` times `step / warmup_steps ** 1.5`, from `warmup_steps` on times `1 / sqrt(step)`."""

    factor: float
    warmup_steps: int = 4000
    model_size: int = 512

    def init(self) -> NoamLrScheduler:
        self._check(count_fault("warmup_steps", self.warmup_steps) + count_fault("model_size", self.model_size))
        return NoamLrScheduler(self)


class NoamLrScheduler(LrScheduler):
    """Learning rates with a warm-up and a slow decay."""

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
