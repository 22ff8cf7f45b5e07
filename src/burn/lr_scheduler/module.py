"""Learning rates by group of parameters.

scheduler = ModuleLrScheduler(1e-3).with_group(ParamGroup.under("head"), LinearLrSchedulerConfig(1e-2, 0.0, 1000))
model = optim.step(scheduler.step(), model, grads)
"""

from __future__ import annotations

from typing import Any

from burn.errors import ArgumentError
from burn.lr_scheduler.base import LrScheduler, LrSchedulerConfig, as_scheduler, item_of
from burn.lr_scheduler.composed import load_items
from burn.module.groups import ParamGroup
from burn.record.items import Item
from burn.record.record import Record


class ModuleLrScheduler:
    """A scheduler for each group of parameters; of several groups that a parameter belongs to the last one counts.

    `step()` gives what `optim.step` takes as its learning rate.

    `base` is for parameters of no group.

    >>> from burn.lr_scheduler import LinearLrSchedulerConfig, ModuleLrScheduler
    >>> from burn.optim import ParamGroup
    >>> falling = LinearLrSchedulerConfig(1e-2, 0.0, 1000)
    >>> scheduler = ModuleLrScheduler(1e-3).with_group(ParamGroup.under("head"), falling)
    >>> list(scheduler.step().values())
    [0.001, 0.01]
    """

    def __init__(self, base: LrScheduler | LrSchedulerConfig | float) -> None:
        self.groups: list[tuple[ParamGroup, LrScheduler]] = [(ParamGroup.all(), as_scheduler(base))]

    def with_group(self, group: ParamGroup, scheduler: LrScheduler | LrSchedulerConfig | float) -> ModuleLrScheduler:
        """This scheduler with another one for a group of parameters."""
        if not isinstance(group, ParamGroup):
            raise ArgumentError(f"with_group: needs a ParamGroup, got {group!r}; write ParamGroup.under('head')")
        if any(each == group for each, _ in self.groups):
            raise ArgumentError(f"with_group: {group!r} has a scheduler already")
        made = ModuleLrScheduler(self.groups[0][1])
        made.groups = [*self.groups, (group, as_scheduler(scheduler))]
        return made

    def step(self) -> dict[ParamGroup, float]:
        """The rates of the next iteration, as `optim.step` takes them."""
        return {group: scheduler.step() for group, scheduler in self.groups}

    def parts(self) -> list[LrScheduler]:
        """The schedulers of the groups."""
        return [scheduler for _, scheduler in self.groups]

    def item(self) -> Item:
        """What the schedulers remember."""
        return [item_of(scheduler) for scheduler in self.parts()]

    def load_item(self, item: Any) -> None:
        """Go on from where `item` was taken."""
        load_items(self, self.parts(), item)  # type: ignore[arg-type]

    def to_record(self) -> Record:
        """What the schedulers remember, as a record."""
        return Record(self.item())

    def load_record(self, record: Record) -> ModuleLrScheduler:
        """Go on from where the record was made; gives the scheduler itself."""
        self.load_item(record.item_for(self.item()))
        return self
