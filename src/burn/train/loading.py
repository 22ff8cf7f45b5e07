"""Where a training's batches come from: turns of one batch for each device, with how far the epoch is."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from burn.data.dataloader import BatchDataLoader, FixBatchStrategy, split_dataloader
from burn.device import Device
from burn.errors import ArgumentError
from burn.tensor import Tensor
from burn.train.progress import Progress
from burn.tree import map_leaves


@dataclass(frozen=True, slots=True)
class Turn:
    """Batches, one for each device, the number of items in each, and the progress with them."""

    batches: tuple[Any, ...]
    counts: tuple[int, ...]
    progress: Progress


class Feed(ABC):
    """The batches of each epoch."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit

    def turns(self) -> Generator[Turn, None, None]:
        """The turns of the next epoch."""
        with contextlib.closing(self._turns()) as turns:
            for number, turn in enumerate(turns, 1):
                yield turn
                if number == self.limit:
                    return

    @abstractmethod
    def _turns(self) -> Generator[Turn, None, None]: ...

    def items(self) -> int:
        """How many items an epoch has; 0 if nobody knows."""
        return 0

    def is_empty(self) -> bool:
        """Whether it is known that there will be no batch."""
        return False

    epoch: int | None = None
    """How many epochs the loader has begun, where it counts."""

    def set_epoch(self, number: int | None) -> None:  # noqa: B027
        """Go on after that many epochs."""

    def finish(self) -> None:  # noqa: B027
        """The training is over."""


class LoaderFeed(Feed):
    """Batches of a `BatchDataLoader`, built on the devices that need them."""

    def __init__(self, loader: BatchDataLoader[Any], devices: Sequence[Device], limit: int | None) -> None:
        super().__init__(limit)
        self.loader = loader
        if len(devices) == 1:
            self.shares = [loader.to_device(devices[0])]
        else:
            self.shares = split_dataloader(loader, devices, by="batches")

    def _turns(self) -> Generator[Turn, None, None]:
        if len(self.shares) == 1:
            with self.shares[0].iter() as iterator:
                before = 0
                for batch in iterator:
                    progress = iterator.progress()
                    yield Turn((batch,), (progress.items_processed - before,), progress)
                    before = progress.items_processed
            return
        with contextlib.ExitStack() as stack:
            iterators = [stack.enter_context(share.iter()) for share in self.shares]
            total = sum(each.progress().items_total for each in iterators)
            befores, done = [0] * len(iterators), 0
            while True:
                batches, counts = [], []
                for number, iterator in enumerate(iterators):
                    for batch in iterator:
                        now = iterator.progress().items_processed
                        batches.append(batch)
                        counts.append(now - befores[number])
                        befores[number] = now
                        break
                if not batches:
                    return
                done += sum(counts)
                yield Turn(tuple(batches), tuple(counts), Progress(done, total))

    def items(self) -> int:
        """The items of all shares."""
        return sum(share.num_items() for share in self.shares)

    def is_empty(self) -> bool:
        """Whether there is no item."""
        return not self.items()

    @property
    def epoch(self) -> int:  # type: ignore[override]
        """How many epochs were begun."""
        return self.shares[0].epoch

    def set_epoch(self, number: int | None) -> None:
        """Go on after that many epochs."""
        if number is not None:
            for share in self.shares:
                share.set_epoch(number)

    def finish(self) -> None:
        """Let the caller's loader know how many epochs were begun."""
        self.loader.set_epoch(self.epoch)


class AnyFeed(Feed):
    """Batches of anything that can be iterated over, moved to the devices that need them."""

    def __init__(self, loader: Any, devices: Sequence[Device], limit: int | None) -> None:
        super().__init__(limit)
        self.loader, self.devices = loader, devices

    def _turns(self) -> Generator[Turn, None, None]:
        own = getattr(self.loader, "iter", None)
        iterator: Iterator[Any] = own() if callable(own) else iter(self.loader)
        position = getattr(iterator, "progress", None)
        total = self.items()
        try:
            done = before = 0
            batches: list[Any] = []
            counts: list[int] = []
            for batch in iterator:
                place = position() if position is not None else None
                batches.append(_moved(batch, self.devices[len(batches)]))
                counts.append(1 if place is None else place.items_processed - before)
                before = 0 if place is None else place.items_processed
                done += counts[-1]
                if len(batches) == len(self.devices):
                    yield Turn(tuple(batches), tuple(counts), place or Progress(done, max(total, done)))
                    batches, counts = [], []
            if batches:
                yield Turn(tuple(batches), tuple(counts), Progress(done, max(total, done)))
        finally:
            close = getattr(iterator, "close", None)
            if callable(close):
                close()

    def items(self) -> int:
        """As the loader says: items, or else batches."""
        count = getattr(self.loader, "num_items", None)
        try:
            return int(count()) if callable(count) else len(self.loader)
        except TypeError:
            return 0

    def is_empty(self) -> bool:
        """Whether the loader says that it has no batch."""
        try:
            return len(self.loader) == 0
        except TypeError:
            return False

    @property
    def epoch(self) -> int | None:  # type: ignore[override]
        """How many epochs were begun, if the loader counts."""
        found = getattr(self.loader, "epoch", None)
        return found if isinstance(found, int) else None

    def set_epoch(self, number: int | None) -> None:
        """Go on after that many epochs, if the loader can."""
        change = getattr(self.loader, "set_epoch", None)
        if number is not None and callable(change):
            change(number)


def make_feed(loader: Any, devices: Sequence[Device], limit: int | None = None) -> Feed:
    """The feed of a loader."""
    if isinstance(loader, BatchDataLoader):
        fixed = type(loader.settings.strategy) is FixBatchStrategy and loader.settings.world == 1
        if len(devices) == 1 or fixed:
            return LoaderFeed(loader, devices, limit)
    if not hasattr(loader, "iter") and not hasattr(loader, "__iter__"):
        raise ArgumentError(f"fit: a loader is iterated over once an epoch, and {type(loader).__name__} cannot be")
    if hasattr(loader, "__next__"):
        raise ArgumentError(
            f"fit: {type(loader).__name__} can be gone through only once; give a list, or an object with __iter__"
        )
    return AnyFeed(loader, devices, limit)


def _moved(batch: Any, device: Device) -> Any:
    def move(leaf: Any) -> Any:
        return leaf.to_device(device) if isinstance(leaf, Tensor) and leaf.device is not device else leaf

    return map_leaves(move, batch)
