"""The builder: everything a loader can be told, in one chain.

loader = DataLoaderBuilder(batcher).batch_size(64).shuffle(42).num_workers(4).build(MnistDataset.train())
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from burn.config.options import with_options
from burn.data.dataloader.batcher import Batcher, batch_function
from burn.data.dataloader.dataloader import BatchDataLoader, Settings
from burn.data.dataloader.strategy import BatchStrategy, FixBatchStrategy
from burn.data.dataset.dataset import Source, as_dataset
from burn.device import Device
from burn.errors import ArgumentError, raise_faults

I = TypeVar("I")  # noqa: E741
O = TypeVar("O")  # noqa: E741


class DataLoaderBuilder(Generic[I, O]):
    """Makes loaders; the counterpart of the arguments of `torch.utils.data.DataLoader`.

    `batcher` is a `Batcher` or a function `(items, device) -> batch`. Each call gives a new builder, so a common part
    can be kept and used twice; `options` are calls too, as keywords: `DataLoaderBuilder(batch, batch_size=64)`.
    Without other wishes: batches of one item, in order, made by the calling thread on the default device.

    >>> import burn
    >>> from burn.data.dataloader import DataLoaderBuilder
    >>> def batch(items, device):
    ...     return burn.tensor(items, device=device)
    >>> loader = DataLoaderBuilder(batch).batch_size(2).shuffle(42).num_workers(2).build([1.0, 2.0, 3.0, 4.0, 5.0])
    >>> len(loader), [item.shape[0] for item in loader]
    (3, [2, 2, 1])
    """

    def __init__(self, batcher: Batcher[I, O] | Callable[[list[I], Device], O], **options: Any) -> None:
        self._batch = batch_function(batcher)
        self._strategy: BatchStrategy | None = None
        self._size: int | None = None
        self._seed: int | None = None
        self._workers = 0
        self._prefetch: int | None = None
        self._device: Any = None
        self._processes = False
        self._drop_last = False
        if options:
            self.__dict__.update(with_options(self, options).__dict__)

    def _with(self, **changes: Any) -> DataLoaderBuilder[I, O]:
        other = copy.copy(self)
        other.__dict__.update({f"_{name}": value for name, value in changes.items()})
        return other

    def batch_size(self, size: int) -> DataLoaderBuilder[I, O]:
        """The number of items in a batch, `size`; 1 otherwise. The last batch may be shorter."""
        return self._with(size=size, strategy=FixBatchStrategy(size))

    def batch_strategy(self, strategy: BatchStrategy) -> DataLoaderBuilder[I, O]:
        """Another rule for what goes into a batch: a `strategy` such as `SizedBatchStrategy`.

        >>> from burn.data.dataloader import DataLoaderBuilder, SizedBatchStrategy
        >>> builder = DataLoaderBuilder(lambda items, device: items)
        >>> list(builder.batch_strategy(SizedBatchStrategy(4, len)).build(["a", "to", "but", "word"]))
        [['a', 'to'], ['but'], ['word']]
        """
        return self._with(size=None, strategy=strategy)

    def shuffle(self, seed: int) -> DataLoaderBuilder[I, O]:
        """Another order in each epoch, all of them decided by the seed; in order otherwise."""
        return self._with(seed=seed)

    def num_workers(self, count: int) -> DataLoaderBuilder[I, O]:
        """How many threads (`count`) read and build; with 0, which is usual, the calling thread does."""
        return self._with(workers=count)

    def use_processes(self, use: bool = True) -> DataLoaderBuilder[I, O]:
        """Let every worker read and map its items in a process of its own, for mappers that are slow in Python.

        With `use` False they are threads, as usual. Batches are still built by threads here. Processes are spawned: the
        dataset and its items must be picklable.

        >>> from burn.data.dataloader import DataLoaderBuilder
        >>> loader = DataLoaderBuilder(lambda items, device: items).num_workers(2).use_processes().build([1, 2, 3])
        """
        return self._with(processes=use)

    def prefetch(self, batches: int) -> DataLoaderBuilder[I, O]:
        """How many batches may be ready or under way before they are asked for; two for each worker otherwise.

        >>> from burn.data.dataloader import DataLoaderBuilder
        >>> loader = DataLoaderBuilder(lambda items, device: items).num_workers(2).prefetch(8).build([1, 2, 3])
        """
        return self._with(prefetch=batches)

    def set_device(self, device: Device) -> DataLoaderBuilder[I, O]:
        """Where batches are built; the default device otherwise.

        >>> from burn.data.dataloader import DataLoaderBuilder
        >>> def batch(items, device):
        ...     return burn.tensor(items, device=device)
        >>> loader = DataLoaderBuilder(batch).set_device(burn.NdArray()).build([1.0, 2.0])
        >>> next(loader.iter()).device
        NdArray()
        """
        return self._with(device=device)

    def drop_last(self, drop: bool = True) -> DataLoaderBuilder[I, O]:
        """Leave out the last batch if it is short; with `drop` False, which is usual, it is kept.

        >>> from burn.data.dataloader import DataLoaderBuilder
        >>> list(DataLoaderBuilder(lambda items, device: items).batch_size(2).drop_last().build([1, 2, 3]))
        [[1, 2]]
        """
        return self._with(drop_last=drop)

    def build(self, dataset: Source[I]) -> BatchDataLoader[O]:
        """The loader of a dataset, a list, or anything else with a length and items by number."""
        self._check()
        ahead = 2 * self._workers if self._prefetch is None else self._prefetch
        settings = Settings(
            self._batch,
            self._strategy or FixBatchStrategy(1),
            self._seed,
            self._workers,
            ahead,
            self._device,
            self._processes,
            self._drop_last,
        )
        return BatchDataLoader(as_dataset(dataset), settings)

    def _check(self) -> None:
        faults = []
        if not isinstance(self._workers, int) or self._workers < 0:
            faults.append(f"num_workers is 0 or more, got {self._workers!r}")
        if self._prefetch is not None and (not isinstance(self._prefetch, int) or self._prefetch < 1):
            faults.append(f"prefetch is 1 batch or more, got {self._prefetch!r}")
        if self._seed is not None and (not isinstance(self._seed, int) or self._seed < 0):
            faults.append(f"the seed of shuffle is an int of 0 or more, got {self._seed!r}")
        if self._device is not None and not isinstance(self._device, Device):
            faults.append(f"set_device needs a device such as Cpu(), got {self._device!r}")
        if self._workers == 0 and (self._prefetch is not None or self._processes):
            what = "use_processes" if self._processes else "prefetch"
            faults.append(f"{what} needs workers; write num_workers(2)")
        raise_faults("dataloader", faults, ArgumentError)
