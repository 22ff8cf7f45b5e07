"""Schedulers made of schedulers: all at once, one after the other, and one with a warm-up.

ComposedLrSchedulerConfig().cosine(CosineAnnealingLrSchedulerConfig(1.0, 1000)).constant(1e-3).init()
SequentialLrSchedulerConfig([LinearLrSchedulerConfig(1e-5, 1e-2, 100), 1e-2], milestones=[100]).init()
WarmupLrSchedulerConfig(100, CosineAnnealingLrSchedulerConfig(1e-2, 900)).init()
"""

from __future__ import annotations

import enum
import math
from typing import Any, Self

from burn.config import field
from burn.lr_scheduler.base import (
    LrScheduler,
    LrSchedulerConfig,
    as_scheduler,
    count_fault,
    item_of,
    load_item_of,
    loaded_count,
)
from burn.record.errors import RecordError
from burn.record.items import Item


class SchedulerReduction(enum.Enum):
    """How the rates of a `ComposedLrSchedulerConfig` become one: their mean, sum or product.

    >>> from burn.lr_scheduler import ComposedLrSchedulerConfig, SchedulerReduction
    >>> ComposedLrSchedulerConfig([0.5, 0.25], SchedulerReduction.Sum).init().step()
    0.75
    """

    Avg = "Avg"
    Sum = "Sum"
    Prod = "Prod"


class ComposedLrSchedulerConfig(LrSchedulerConfig):
    """All schedulers run at once, and their rates are multiplied (without a `reduction`), summed or averaged.

    As `torch.optim.lr_scheduler.ChainedScheduler`.

    >>> from burn.lr_scheduler import ComposedLrSchedulerConfig, CosineAnnealingLrSchedulerConfig
    >>> config = ComposedLrSchedulerConfig().cosine(CosineAnnealingLrSchedulerConfig(1.0, 2)).constant(0.5)
    >>> scheduler = config.init()
    >>> [round(scheduler.step(), 3) for _ in range(3)]
    [0.5, 0.25, 0.0]
    """

    schedulers: list[LrSchedulerConfig | float] = field(default_factory=list)
    reduction: SchedulerReduction = SchedulerReduction.Prod

    def add(self, scheduler: LrSchedulerConfig | float) -> Self:
        """This config with another scheduler. `linear`, `cosine` and the others are the same, by name."""
        return type(self)([*self.schedulers, scheduler], self.reduction)

    constant = linear = cosine = exponential = noam = step = composed = add

    def init(self) -> ComposedLrScheduler:
        return ComposedLrScheduler([as_scheduler(each) for each in self.schedulers], self.reduction)


class ComposedLrScheduler(LrScheduler):
    """Several schedulers at once. `ComposedLrSchedulerConfig` makes one.

    >>> from burn.lr_scheduler import ComposedLrSchedulerConfig, LinearLrSchedulerConfig
    >>> scheduler = ComposedLrSchedulerConfig([LinearLrSchedulerConfig(1.0, 0.0, 2), 0.5]).init()
    >>> [scheduler.step() for _ in range(3)]
    [0.5, 0.25, 0.0]
    """

    def __init__(self, schedulers: list[LrScheduler], reduction: SchedulerReduction = SchedulerReduction.Prod) -> None:
        self.schedulers, self.reduction = schedulers, reduction

    def step(self) -> float:
        rates = [each.step() for each in self.schedulers]
        if self.reduction is SchedulerReduction.Prod:
            return math.prod(rates)
        count = len(rates) if self.reduction is SchedulerReduction.Avg else 1
        return float(sum(rate / count for rate in rates))

    def parts(self) -> list[LrScheduler]:
        return self.schedulers

    def item(self) -> Item:
        return [item_of(each) for each in self.schedulers]

    def load_item(self, item: Any) -> None:
        load_items(self, self.schedulers, item)


class SequentialLrSchedulerConfig(LrSchedulerConfig):
    """The second scheduler starts at call `milestones[0]`, the third at `milestones[1]`, each from its beginning.

    As `torch.optim.lr_scheduler.SequentialLR`.

    `schedulers` are configs or numbers.

    >>> from burn.lr_scheduler import LinearLrSchedulerConfig, SequentialLrSchedulerConfig
    >>> scheduler = SequentialLrSchedulerConfig([LinearLrSchedulerConfig(0.25, 0.5, 2), 1.0], milestones=[2]).init()
    >>> [scheduler.step() for _ in range(4)]
    [0.25, 0.375, 1.0, 1.0]
    """

    schedulers: list[LrSchedulerConfig | float]
    milestones: list[int]

    def init(self) -> SequentialLrScheduler:
        count, milestones = len(self.schedulers), self.milestones
        faults = [] if count else ["there is no scheduler"]
        if count and len(milestones) != count - 1:
            faults.append(f"{count} schedulers need {count - 1} milestones, got {len(milestones)}")
        if any(later <= earlier for earlier, later in zip([0, *milestones], milestones, strict=False)):
            faults.append(f"milestones are above 0 and grow, got {milestones}")
        self._check(faults)
        return SequentialLrScheduler([as_scheduler(each) for each in self.schedulers], milestones)


class SequentialLrScheduler(LrScheduler):
    """Several schedulers, one after the other. `SequentialLrSchedulerConfig` makes one.

    >>> from burn.lr_scheduler import SequentialLrSchedulerConfig
    >>> scheduler = SequentialLrSchedulerConfig([0.1, 0.01], milestones=[2]).init()
    >>> [scheduler.step() for _ in range(3)]
    [0.1, 0.1, 0.01]
    """

    def __init__(self, schedulers: list[LrScheduler], milestones: list[int]) -> None:
        self.schedulers, self.milestones = schedulers, list(milestones)
        self.calls = 0

    def step(self) -> float:
        index = sum(self.calls >= milestone for milestone in self.milestones)
        self.calls += 1
        return self.schedulers[index].step()

    def parts(self) -> list[LrScheduler]:
        return self.schedulers

    def item(self) -> Item:
        return {"step": self.calls, "schedulers": [item_of(each) for each in self.schedulers]}

    def load_item(self, item: Any) -> None:
        if not isinstance(item, dict) or set(item) != {"step", "schedulers"}:
            raise RecordError(f"load_record: SequentialLrScheduler keeps a step and its schedulers, got {item!r}")
        load_items(self, self.schedulers, item["schedulers"])
        self.calls = loaded_count(item["step"], self)


class WarmupLrSchedulerConfig(LrSchedulerConfig):
    """A line up to the first rate of `scheduler` in `num_iters` calls, then `scheduler`.

    The line begins at `initial_factor` times that rate; 0 is the usual.

    >>> from burn.lr_scheduler import CosineAnnealingLrSchedulerConfig, WarmupLrSchedulerConfig
    >>> scheduler = WarmupLrSchedulerConfig(2, CosineAnnealingLrSchedulerConfig(1.0, 4)).init()
    >>> [round(scheduler.step(), 3) for _ in range(6)]
    [0.0, 0.5, 1.0, 0.854, 0.5, 0.146]
    """

    num_iters: int
    scheduler: LrSchedulerConfig | float
    initial_factor: float = 0.0

    def init(self) -> WarmupLrScheduler:
        faults = count_fault("num_iters", self.num_iters)
        if not 0 <= self.initial_factor <= 1:
            faults.append(f"initial_factor is from 0 to 1, got {self.initial_factor}")
        self._check(faults)
        target = as_scheduler(self.scheduler).step()
        return WarmupLrScheduler(self.num_iters, as_scheduler(self.scheduler), target, self.initial_factor)


class WarmupLrScheduler(LrScheduler):
    """A scheduler that begins with a line up to its first rate. `WarmupLrSchedulerConfig` makes one.

    >>> from burn.lr_scheduler import WarmupLrSchedulerConfig
    >>> scheduler = WarmupLrSchedulerConfig(num_iters=4, scheduler=1.0).init()
    >>> [scheduler.step() for _ in range(5)]
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """

    def __init__(self, num_iters: int, scheduler: LrScheduler, target: float, initial_factor: float = 0.0) -> None:
        self.num_iters, self.scheduler, self.target, self.initial_factor = num_iters, scheduler, target, initial_factor
        self.calls = 0

    def step(self) -> float:
        self.calls += 1
        if self.calls > self.num_iters:
            return self.scheduler.step()
        way = (self.calls - 1) / self.num_iters
        return self.target * (self.initial_factor + (1.0 - self.initial_factor) * way)

    def parts(self) -> list[LrScheduler]:
        return [self.scheduler]

    def item(self) -> Item:
        return {"step": self.calls, "schedulers": [item_of(self.scheduler)]}

    def load_item(self, item: Any) -> None:
        if not isinstance(item, dict) or set(item) != {"step", "schedulers"}:
            raise RecordError(f"load_record: WarmupLrScheduler keeps a step and its scheduler, got {item!r}")
        load_items(self, [self.scheduler], item["schedulers"])
        self.calls = loaded_count(item["step"], self)


def load_items(owner: LrScheduler, schedulers: list[LrScheduler], items: Any) -> None:
    """Load the records of several schedulers."""
    if not isinstance(items, list) or len(items) != len(schedulers):
        found = len(items) if isinstance(items, list) else repr(items)
        raise RecordError(
            f"load_record: {type(owner).__name__} has {len(schedulers)} schedulers, the record has {found}"
        )
    for scheduler, item in zip(schedulers, items, strict=True):
        load_item_of(scheduler, item)
