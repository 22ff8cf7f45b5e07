"""What a scheduler is: `step()` gives the learning rate of the next iteration.

    scheduler = CosineAnnealingLrSchedulerConfig(1e-3, 10_000).init()
    for batch in batches:
        model = optim.step(scheduler.step(), model, loss_of(model, batch).backward())

Call it once an iteration, before the batch. Wherever a scheduler is wanted, a plain number is a
constant one.
"""

from __future__ import annotations

from typing import Any

from burn.config import Config
from burn.errors import ArgumentError, raise_faults
from burn.record.errors import RecordError
from burn.record.items import Item
from burn.record.record import Record


class LrScheduler:
    """Gives learning rates. A subclass writes `step`, and `item`/`load_item` if it remembers something."""

    def step(self) -> float:
        """The learning rate of the next iteration."""
        raise NotImplementedError

    def item(self) -> Item:
        """What it remembers, as a record holds it: a number, or nothing."""
        return None

    def load_item(self, item: Any) -> None:
        """Go on from where `item` was taken."""

    def to_record(self) -> Record:
        """What it remembers, as a record."""
        return Record(self.item())

    def load_record(self, record: Record) -> LrScheduler:
        """Go on from where the record was made; gives the scheduler itself."""
        if not isinstance(record, Record):
            raise ArgumentError(f"load_record: needs a Record, got {type(record).__name__}")
        self.load_item(record.item_for(self.item()))
        return self


class LrSchedulerConfig(Config):
    """Base of the schedulers' configs: `init()` checks the settings and gives the scheduler."""

    def init(self) -> LrScheduler:
        """The scheduler."""
        raise NotImplementedError

    def _check(self, faults: list[str]) -> None:
        raise_faults(type(self).__name__, faults)


class ConstantLr(LrScheduler):
    """The same learning rate at every iteration."""

    def __init__(self, lr: float) -> None:
        self.lr = float(lr)

    def step(self) -> float:
        return self.lr

    def __repr__(self) -> str:
        return f"ConstantLr({self.lr})"


def as_scheduler(value: Any) -> LrScheduler:
    """A scheduler from what may stand for one: a number, a config, or a scheduler."""
    if isinstance(value, LrSchedulerConfig):
        return value.init()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return ConstantLr(value)
    if hasattr(value, "step"):
        return value  # type: ignore[no-any-return]
    raise ArgumentError(
        f"lr_scheduler: needs a number or a scheduler, got {value!r}; write 1e-3 or LinearLrSchedulerConfig(...).init()"
    )


def initial_fault(name: str, value: float) -> list[str]:
    """A fault unless a rate is above 0 and at most 1."""
    return [] if 0 < value <= 1 else [f"{name} is above 0 and at most 1, got {value}"]


def count_fault(name: str, value: int) -> list[str]:
    """A fault unless there is at least one."""
    return [] if value > 0 else [f"{name} is at least 1, got {value}"]


def loaded_count(item: Any, scheduler: LrScheduler) -> int:
    """A counter from a record."""
    if isinstance(item, bool) or not isinstance(item, int | float) or item != int(item):
        raise RecordError(f"load_record: {type(scheduler).__name__} keeps a counter, the record has {item!r}")
    return int(item)
