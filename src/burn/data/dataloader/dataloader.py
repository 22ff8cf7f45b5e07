"""The data loader: batches of a dataset, epoch after epoch.

Which items make which batch is decided before anything is read, from the seed and the number of the epoch
alone. Workers only change who reads and builds; batches arrive in the same order with any number of them.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from burn.data.dataloader.batcher import BatchFunction
from burn.data.dataloader.epoch import DataLoaderIterator
from burn.data.dataloader.fetching import Processes
from burn.data.dataloader.strategy import BatchStrategy, FixBatchStrategy
from burn.data.dataset.dataset import Dataset
from burn.data.dataset.transform.partial import PartialDataset
from burn.device import Device, current_device
from burn.errors import ArgumentError

O = TypeVar("O")  # noqa: E741
Out = TypeVar("Out", covariant=True)
CHUNK = 32
"""How many items one piece of work reads when the batches are not known beforehand."""


class DataLoader(Protocol, Generic[Out]):
    """What training asks of a loader; `DataLoaderBuilder` makes one, and a class of your own may be one too.

    >>> import burn
    >>> class Noise:
    ...     def __init__(self, device): self.device = device
    ...     def iter(self): return (burn.Tensor.ones([2, 3], self.device) for _ in range(4))
    ...     def num_items(self): return 8
    ...     def to_device(self, device): return Noise(device)
    ...     def slice(self, start, end): return self
    >>> len(list(Noise(burn.NdArray()).iter()))
    4
    """

    def iter(self) -> Iterator[Out]:
        """The batches of the next epoch; the iterator has `progress()`."""
        ...

    def num_items(self) -> int:
        """How many items an epoch has."""
        ...

    def to_device(self, device: Device) -> DataLoader[Out]:
        """The same batches on another device."""
        ...

    def slice(self, start: int, end: int) -> DataLoader[Out]:
        """Batches of a part of the items, from `start` up to `end`."""
        ...


@dataclass(frozen=True)
class Settings:
    """How batches are made."""

    batch: BatchFunction
    strategy: BatchStrategy
    seed: int | None = None
    workers: int = 0
    ahead: int = 0
    device: Device | None = None
    processes: bool = False
    drop_last: bool = False
    rank: int = 0
    world: int = 1


class BatchDataLoader(Generic[O]):
    """Batches of a dataset, made by `DataLoaderBuilder(batcher).build(dataset)`.

    Each `for` loop over it is one epoch, in an order of its own if it shuffles. `len(loader)` counts batches.

    Its settings are what the builder was told.

    >>> from burn.data.dataloader import DataLoaderBuilder
    >>> loader = DataLoaderBuilder(lambda items, device: items).batch_size(3).build(list("abcdefgh"))
    >>> list(loader)
    [['a', 'b', 'c'], ['d', 'e', 'f'], ['g', 'h']]
    >>> len(loader), loader.num_items(), loader.epoch
    (3, 8, 1)
    """

    def __init__(self, dataset: Dataset[Any], settings: Settings) -> None:
        self.dataset, self.settings = dataset, settings
        self._epoch = 0
        self._processes: Processes | None = None
        if settings.processes and settings.workers:
            self._processes = Processes(dataset, settings.workers)
            weakref.finalize(self, self._processes.close)

    # Epochs

    @property
    def epoch(self) -> int:
        """How many epochs were begun: the number of the next one, which decides its order."""
        return self._epoch

    def set_epoch(self, number: int) -> None:
        """Go on as if `number` epochs had been begun, to continue an earlier run."""
        if number < 0:
            raise ArgumentError(f"dataloader: an epoch is 0 or more, got {number}")
        self._epoch = number

    def iter(self) -> DataLoaderIterator[O]:
        """The batches of the next epoch."""
        number = self._epoch
        self._epoch += 1
        dataset = self.dataset.epoch(number)
        device = self.settings.device or current_device()
        return DataLoaderIterator(dataset, self.settings, device, self.work(number), number, self._processes)

    def work(self, epoch: int) -> list[np.ndarray[Any, Any]]:
        """The numbers of the items of each batch of an epoch, or of each piece that a worker reads."""
        settings, size = self.settings, self.dataset.len()
        if settings.seed is None:
            order = np.arange(size)
        else:
            order = np.random.default_rng([settings.seed, epoch]).permutation(size)
        step = settings.strategy.batch_size() if type(settings.strategy) is FixBatchStrategy else None
        if step is None:
            return [order[start : start + CHUNK] for start in range(0, size, CHUNK)]
        last = size - size % step if settings.drop_last else size
        return [order[start : min(start + step, last)] for start in range(0, last, step)][
            settings.rank :: settings.world
        ]

    # Sizes

    def num_items(self) -> int:
        """How many items an epoch has."""
        settings = self.settings
        if settings.world == 1 and not settings.drop_last:
            return self.dataset.len()
        return sum(_lengths(self.dataset.len(), settings))

    def __len__(self) -> int:
        if type(self.settings.strategy) is not FixBatchStrategy:
            raise TypeError("dataloader: len() is not known, because the batches depend on the items")
        return len(_lengths(self.dataset.len(), self.settings))

    def __iter__(self) -> DataLoaderIterator[O]:
        return self.iter()

    # Others of the same kind

    def to_device(self, device: Device) -> BatchDataLoader[O]:
        """The same batches, built on another device."""
        return self._with(self.dataset, replace(self.settings, device=device))

    def slice(self, start: int, end: int) -> BatchDataLoader[O]:
        """Batches of the items from `start` up to `end`."""
        return self._with(PartialDataset(self.dataset, start, end), self.settings)

    def share(self, rank: int, world: int, device: Device | None = None) -> BatchDataLoader[O]:
        """Every `world`-th batch, beginning with number `rank`: together the shares have the batches of this one."""
        if self.settings.world != 1 or not 0 <= rank < world:
            raise ArgumentError(f"dataloader: cannot take share {rank} of {world}")
        if type(self.settings.strategy) is not FixBatchStrategy:
            raise ArgumentError("dataloader: only batches of a fixed size can be shared out")
        chosen = self.settings.device if device is None else device
        return self._with(self.dataset, replace(self.settings, rank=rank, world=world, device=chosen))

    def _with(self, dataset: Dataset[Any], settings: Settings) -> BatchDataLoader[O]:
        other: BatchDataLoader[O] = BatchDataLoader(dataset, settings)
        other._epoch = self._epoch
        return other

    # Ending

    def close(self) -> None:
        """End worker processes. Threads live no longer than an epoch and need no closing."""
        if self._processes is not None:
            self._processes.close()

    def __enter__(self) -> BatchDataLoader[O]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        settings = self.settings
        return f"BatchDataLoader({type(self.dataset).__name__} of {self.dataset.len()} items, {settings.strategy!r})"


def _lengths(size: int, settings: Settings) -> list[int]:
    """The number of items of each batch."""
    step = settings.strategy.batch_size() or CHUNK
    whole, rest = divmod(size, step)
    lengths = [step] * whole + ([rest] if rest and not settings.drop_last else [])
    return lengths[settings.rank :: settings.world]
