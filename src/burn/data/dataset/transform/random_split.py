"""Random parts of a dataset, such as one for training and one for validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from burn.data.dataset.dataset import Source, as_dataset
from burn.data.dataset.transform.selection import SelectionDataset
from burn.errors import ArgumentError

I = TypeVar("I")  # noqa: E741


def random_split(
    dataset: Source[I], lengths: Sequence[int] | Sequence[float], seed: int | None = None
) -> list[SelectionDataset[I]]:
    """Random parts of `dataset` that share no item; as `torch.utils.data.random_split`.

    `lengths` are numbers of items that sum to the length, or shares that sum to 1. With shares, what rounding leaves
    over goes to the first parts, one item each. With a `seed` the parts are the same each time.

    >>> from burn.data.dataset.transform import random_split
    >>> train, valid = random_split(range(10), [0.8, 0.2], seed=1)
    >>> len(train), list(valid)
    (8, [6, 3])
    """
    values = as_dataset(dataset)
    size = values.len()
    counts = _counts(list(lengths), size)
    order = np.random.default_rng(seed).permutation(size)
    ends = np.cumsum(counts).tolist()
    return [
        SelectionDataset.from_indices_unchecked(values, order[start:end])
        for start, end in zip([0, *ends[:-1]], ends, strict=True)
    ]


def _counts(lengths: list[Any], size: int) -> list[int]:
    if not lengths or any(each < 0 for each in lengths):
        raise ArgumentError(f"random_split: needs lengths of 0 or more, got {lengths}")
    if all(isinstance(each, int) for each in lengths) and sum(lengths) == size:
        return lengths
    if any(isinstance(each, float) for each in lengths) and abs(sum(lengths) - 1) < 1e-9:
        counts = [int(each * size + 1e-9) for each in lengths]
        for part in range(size - sum(counts)):
            counts[part % len(counts)] += 1
        return counts
    raise ArgumentError(f"random_split: {lengths} neither sum to the {size} items of the dataset nor, as shares, to 1")
