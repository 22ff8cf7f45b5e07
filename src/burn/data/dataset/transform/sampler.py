"""A dataset as a distribution: each item that is asked for is drawn.

The size of an epoch becomes a choice: a large dataset can be met in short epochs and a small one in long
ones. A loader asks once per epoch which items were drawn (`epoch`), so the order belongs to the seed and not to
the workers.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar

import numpy as np

from burn.config import Enumeration, variant
from burn.data.dataset.dataset import Dataset, Source
from burn.data.dataset.transform.selection import SelectionDataset
from burn.data.dataset.transform.view import View
from burn.errors import ArgumentError

I = TypeVar("I")  # noqa: E741
T = TypeVar("T")


class SizeConfig(Enumeration):
    """How many items a sampler has: a number, a share of the dataset, or as many as it has.

    >>> from burn.data.dataset.transform import SamplerDataset, SizeConfig
    >>> sizes = [SizeConfig.Fixed(3), SizeConfig.Ratio(0.5), SizeConfig.Source]
    >>> [len(SamplerDataset(range(10), size)) for size in sizes]
    [3, 5, 10]
    """

    Fixed = variant(size=int)
    """This many."""

    Ratio = variant(ratio=float)
    """This many times the length of the source."""

    Source = variant()
    """As many as the source."""


class SamplerDataset(View[I]):
    """`size` draws from `dataset`, with replacement unless told otherwise; the number asked for is ignored.

    So the length of an epoch is a choice. Without replacement every item is drawn equally often, give or take one,
    before a new round begins. Give a `seed` for draws that can be repeated; a loader then draws anew for each epoch.

    `with_replacement` and `without_replacement` are the same, by name.

    >>> from burn.data.dataset.transform import SamplerDataset
    >>> short = SamplerDataset(range(100), 4, replacement=False, seed=1)
    >>> len(short), len(set(short))
    (4, 4)
    """

    def __init__(
        self,
        dataset: Source[I],
        size: int | SizeConfig | None = None,
        *,
        replacement: bool = True,
        seed: int | None = None,
    ) -> None:
        super().__init__(dataset)
        self.size = _size_of(size, self.dataset.len())
        if self.size < 0 or (self.size > 0 and self.dataset.is_empty()):
            raise ArgumentError(f"SamplerDataset: cannot draw {self.size} items from a dataset of {self.dataset.len()}")
        self.replacement = replacement
        self.seed = int(np.random.SeedSequence().entropy) if seed is None else seed  # type: ignore[arg-type]
        self._random = np.random.default_rng(self.seed)
        self._bag: list[int] = []
        self._lock = threading.Lock()

    @classmethod
    def with_replacement(cls, dataset: Source[T], size: int, seed: int | None = None) -> SamplerDataset[T]:
        """Every draw is independent of the others."""
        made: Any = cls
        return made(dataset, size, replacement=True, seed=seed)  # type: ignore[no-any-return]

    @classmethod
    def without_replacement(cls, dataset: Source[T], size: int, seed: int | None = None) -> SamplerDataset[T]:
        """No item twice before all were drawn once."""
        made: Any = cls
        return made(dataset, size, replacement=False, seed=seed)  # type: ignore[no-any-return]

    def get(self, index: int) -> I | None:
        """A drawn item. The number only has to be one of the dataset."""
        if not 0 <= index < self.size:
            return None
        with self._lock:
            if not self._bag:
                self._bag = self._drawn(self._random).tolist()
            drawn = self._bag.pop()
        return self.dataset.get(drawn)

    def _drawn(self, random: np.random.Generator) -> np.ndarray[Any, Any]:
        count = self.dataset.len()
        if self.replacement:
            return random.integers(0, count, self.size)
        rounds, rest = divmod(self.size, count)
        bag = np.concatenate([np.tile(np.arange(count), rounds), random.choice(count, rest, replace=False)])
        return random.permutation(bag)

    def epoch(self, number: int) -> Dataset[I]:
        """The draws of one epoch, which depend on the seed and on the number of the epoch."""
        below = self.dataset.epoch(number)
        random = np.random.default_rng([self.seed, number])
        return SelectionDataset.from_indices_unchecked(below, self._drawn(random))

    def len(self) -> int:
        """The number of draws."""
        return self.size

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()


def _size_of(size: int | SizeConfig | None, source: int) -> int:
    if isinstance(size, int):
        return size
    if size is None or size == SizeConfig.Source:
        return source
    if isinstance(size, SizeConfig.Fixed):
        return int(size.size)
    if isinstance(size, SizeConfig.Ratio):
        return int(size.ratio * source)
    raise ArgumentError(f"SamplerDataset: size is an int or a SizeConfig, got {size!r}")
