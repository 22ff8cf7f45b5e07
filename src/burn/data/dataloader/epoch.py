"""One epoch of a loader: the iterator that reads items, builds batches and ends its threads."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from burn.data.dataloader.errors import LoadingError, batch_error
from burn.data.dataloader.fetching import Processes, fetch, worker_name
from burn.data.dataloader.ordered import ordered
from burn.data.dataloader.progress import Progress
from burn.data.dataloader.strategy import FixBatchStrategy
from burn.data.dataset.dataset import Dataset
from burn.device import Device

if TYPE_CHECKING:
    from burn.data.dataloader.dataloader import Settings

O = TypeVar("O")  # noqa: E741
Array = np.ndarray[Any, Any]
Made = tuple[Any, int, int]
"""A batch, the number of items it accounts for, and how many of them are in it."""


class DataLoaderIterator(Generic[O]):
    """The batches of one epoch. Leaving it early ends its threads: by `close`, `with`, or when it is forgotten.

    It is made by a loader's `iter()`, or by a `for` loop.

    >>> from burn.data.dataloader import DataLoaderBuilder
    >>> loader = DataLoaderBuilder(lambda items, device: items).batch_size(3).num_workers(2).build(list("abcdefgh"))
    >>> with loader.iter() as batches:
    ...     print(next(batches), batches.progress())
    ['a', 'b', 'c'] Progress(items_processed=3, items_total=8)
    """

    def __init__(
        self,
        dataset: Dataset[Any],
        settings: Settings,
        device: Device,
        work: list[Array],
        epoch: int,
        processes: Processes | None,
    ) -> None:
        self._dataset, self._settings, self._device = dataset, settings, device
        self._epoch, self._processes = epoch, processes
        self._total = sum(len(each) for each in work)
        self._given = self._kept = 0
        self._batches = self._run(work)

    def __iter__(self) -> DataLoaderIterator[O]:
        return self

    def __next__(self) -> O:
        for batch, accounted, kept in self._batches:
            self._given += accounted
            self._kept += kept
            if kept:
                return batch  # type: ignore[no-any-return]
        if self._total and not self._kept and self._given:
            self._given = 0
            raise LoadingError(
                f"dataloader: {type(self._dataset).__name__}.get gave None for each of its {self._total} items"
            )
        raise StopIteration

    def progress(self) -> Progress:
        """How many items were given out, of how many."""
        return Progress(self._given, self._total)

    def close(self) -> None:
        """Stop here, and end the threads."""
        self._batches.close()

    def __enter__(self) -> DataLoaderIterator[O]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Work

    def _run(self, work: list[Array]) -> Generator[Made, None, None]:
        # The generator must not refer to the iterator: then leaving a loop early frees the iterator,
        # with it the generator, and with it the threads.
        maker = _Maker(self._dataset, self._settings, self._device, self._epoch, self._processes)
        return maker.run(work)


class _Maker:
    """How one epoch makes its batches."""

    def __init__(
        self, dataset: Dataset[Any], settings: Settings, device: Device, epoch: int, processes: Processes | None
    ) -> None:
        self.dataset, self.settings, self.device = dataset, settings, device
        self.epoch, self.processes = epoch, processes

    def run(self, work: list[Array]) -> Generator[Made, None, None]:
        """Every batch in order; items that are None are left out of them."""
        settings = self.settings
        fixed = type(settings.strategy) is FixBatchStrategy
        if settings.workers == 0:
            yield from map(self.load, work) if fixed else map(self.build, self.grouped(map(self.read, work)))
            return
        pool = ThreadPoolExecutor(settings.workers, "burn-loader")
        try:
            if fixed:
                yield from ordered(self.load, work, pool, settings.ahead)
            else:
                read = ordered(self.read, work, pool, settings.ahead)
                yield from ordered(self.build, self.grouped(read), pool, settings.ahead)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def read(self, numbers: Array) -> list[Any]:
        """The items of one piece of work."""
        indices = numbers.tolist()
        if self.processes is not None:
            return self.processes.fetch(self.epoch, indices)
        return fetch(self.dataset, indices)

    def load(self, numbers: Array) -> Made:
        """The batch of one piece of work."""
        items = self.read(numbers)
        return self.made(items, len(items), numbers)

    def build(self, group: tuple[list[Any], int]) -> Made:
        """The batch of items that a strategy put together."""
        return self.made(*group, None)

    def made(self, items: list[Any], accounted: int, numbers: Array | None) -> Made:
        """A batch whose values are there, so that another thread can use it at once."""
        kept = items if all(item is not None for item in items) else [item for item in items if item is not None]
        if not kept:
            return None, accounted, 0
        try:
            batch = self.settings.batch(kept, self.device)
            if self.settings.workers:
                # What this thread recorded runs here, where it can be waited for, and not in the thread that trains.
                self.device.sync()
        except Exception as error:
            indices: Sequence[int] | None = None if numbers is None else numbers.tolist()
            raise batch_error(indices, worker_name(), error) from error
        return batch, accounted, len(kept)

    def grouped(self, pieces: Iterator[list[Any]]) -> Iterator[tuple[list[Any], int]]:
        """Items put together by the strategy, with the number of items each group accounts for."""
        strategy = self.settings.strategy.new()
        given = seen = 0
        for piece in pieces:
            for item in piece:
                seen += 1
                if item is not None:
                    strategy.add(item)
                    group = strategy.batch(False)
                    if group is not None:
                        given += len(group)
                        yield group, len(group)
        if not self.settings.drop_last:
            while (group := strategy.batch(True)) is not None:
                given += len(group)
                yield group, len(group)
        if seen > given:
            yield [], seen - given
