"""What a scheduler is: `step()` gives the learning rate of the next iteration.

    scheduler = CosineAnnealingLrSchedulerConfig(1e-3, 10_000).init()
    for batch in batches:
        model = optim.step(scheduler.step(), model, loss_of(model, batch).backward())

Call it once an iteration, before the batch. Wherever a scheduler is wanted, a plain number is a
constant one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from burn.config import Config
from burn.errors import ArgumentError, raise_faults
from burn.guesses import missing_attribute
from burn.record.attributes import attributes, load_attributes
from burn.record.errors import RecordError
from burn.record.items import Item
from burn.record.record import Record


class LrScheduler:
    """Gives learning rates: `step()` is that of the next iteration. Call it once an iteration, before the step.

    A subclass writes `step`; what it remembers in attributes goes into its record. `item` and `load_item` are for those
    who want another record, or remember what a record cannot hold.

    >>> from burn.lr_scheduler import LrScheduler
    >>> class Halving(LrScheduler):
    ...     def __init__(self): self.lr = 1.0
    ...     def step(self):
    ...         self.lr /= 2
    ...         return self.lr
    >>> scheduler = Halving()
    >>> scheduler.step(), scheduler.step()
    (0.5, 0.25)
    """

    if not TYPE_CHECKING:  # checkers know the attributes, and find those that are not there

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
            raise missing_attribute("LrScheduler", type(self).__name__, name, dir(type(self)))

    def step(self) -> float:
        """The learning rate of the next iteration."""
        raise NotImplementedError

    def item(self) -> Item:
        """What it remembers, as a record holds it: a number, nothing, or its attributes as text."""
        return attributes_item(self)

    def load_item(self, item: Any) -> None:
        """Go on from where `item` was taken."""
        load_attributes_item(self, item)

    def parts(self) -> Sequence[LrScheduler]:
        """The schedulers that it is made of."""
        return ()

    def to_record(self) -> Record:
        """What it remembers, as a record."""
        return Record(self.item())

    def load_record(self, record: Record) -> LrScheduler:
        """Go on from where the record was made; gives the scheduler itself."""
        load_scheduler(self, record)
        return self


def scheduler_record(scheduler: Any) -> Record:
    """What a scheduler remembers, as a record; one that has only `step` is kept by its attributes."""
    made: Record = scheduler.to_record() if hasattr(scheduler, "to_record") else Record(item_of(scheduler))
    return made


def load_scheduler(scheduler: Any, record: Record) -> None:
    """Go on from where the record was made."""
    if not isinstance(record, Record):
        raise ArgumentError(f"load_record: needs a Record, got {type(record).__name__}")
    load_item_of(scheduler, record.item_for(item_of(scheduler)))


def item_of(scheduler: Any) -> Item:
    """What a scheduler remembers, as a record holds it."""
    made: Item = scheduler.item() if hasattr(scheduler, "item") else attributes_item(scheduler)
    return made


def load_item_of(scheduler: Any, item: Any) -> None:
    """Go on from where `item` was taken."""
    if hasattr(scheduler, "load_item"):
        scheduler.load_item(item)
    else:
        load_attributes_item(scheduler, item)


def kind_of(scheduler: Any) -> str:
    """Which scheduler it is, with those inside: what one kind remembers means nothing to another."""
    parts = scheduler.parts() if hasattr(scheduler, "parts") else []
    inside = f"({', '.join(kind_of(each) for each in parts)})" if parts else ""
    return type(scheduler).__name__ + inside


def attributes_item(scheduler: Any) -> str:
    """The attributes of a scheduler as text: one kind of item, whatever they are, so that every recorder has it."""
    try:
        return json.dumps(attributes(scheduler))
    except ArgumentError as error:
        raise ArgumentError(
            f"{error}; write `def item(self)`, which gives all it remembers in numbers, and `def load_item(self, item)`"
        ) from None


def load_attributes_item(scheduler: Any, item: Any) -> None:
    """The inverse. A record that an older version made of such a scheduler holds nothing."""
    if not isinstance(item, str):
        name = type(scheduler).__name__
        raise RecordError(
            f"load_record: {name} is kept by its attributes, and the record has {item!r}; it was made by another "
            f"scheduler, or before {name} was: load what it needs by hand, with load_item(self, item)"
        )
    load_attributes(scheduler, json.loads(item))


class LrSchedulerConfig(Config):
    """Base of the schedulers' configs: `init()` checks the settings and gives the scheduler.

    >>> from burn.lr_scheduler import LinearLrSchedulerConfig, LrSchedulerConfig
    >>> isinstance(LinearLrSchedulerConfig(1e-2, 1e-4, 1000), LrSchedulerConfig)
    True
    """

    def init(self) -> LrScheduler:
        """The scheduler."""
        raise NotImplementedError

    def _check(self, faults: list[str]) -> None:
        raise_faults(type(self).__name__, faults)


class ConstantLr(LrScheduler):
    """The same learning rate, `lr`, at every iteration. A number stands for it everywhere.

    >>> from burn.lr_scheduler import ConstantLr
    >>> ConstantLr(1e-3).step()
    0.001
    """

    def __init__(self, lr: float) -> None:
        self.lr = float(lr)

    def step(self) -> float:
        return self.lr

    def item(self) -> Item:
        return None

    def load_item(self, item: Any) -> None:
        """Nothing is remembered, so there is nothing in `item`."""

    def __repr__(self) -> str:
        return f"ConstantLr({self.lr})"


def as_scheduler(value: float | LrScheduler | LrSchedulerConfig) -> LrScheduler:
    """A scheduler from a `value` that may stand for one: a number, a config, or a scheduler.

    >>> from burn.lr_scheduler import ExponentialLrSchedulerConfig, as_scheduler
    >>> as_scheduler(1e-3).step(), as_scheduler(ExponentialLrSchedulerConfig(0.5, 0.9)).step()
    (0.001, 0.5)
    """
    if isinstance(value, LrSchedulerConfig):
        return value.init()
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not math.isfinite(value):
            raise ArgumentError(f"lr_scheduler: the learning rate is a finite number, got {value}")
        return ConstantLr(value)
    found: Any = value
    if hasattr(found, "step"):
        return found  # type: ignore[no-any-return]
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
