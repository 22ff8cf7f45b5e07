"""Rows of several requests in one run, and back again.

Plans are captured for a few batch sizes (`buckets`): a run is padded up to the next one with copies of its last row,
so that requests never wait for a plan to be made. A request larger than the largest bucket runs in pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from furnace.datatypes import Array
from furnace.engine.job import Job, Key

Run = Callable[[Sequence[Array | None]], Sequence[Any]]


def buckets(largest: int) -> list[int]:
    """The batch sizes that get a plan: powers of two and the largest itself."""
    sizes, size = [], 1
    while size < largest:
        sizes.append(size)
        size *= 2
    return [*sizes, largest]


def batch_key(inputs: Sequence[Array | None]) -> Key:
    """What must be equal for rows to share a run: the shapes beyond the rows, and the types."""
    return tuple([None if each is None else (each.shape[1:], each.dtype) for each in inputs])


def whole_key(inputs: Sequence[Array | None]) -> Key:
    """What runs of a model that joins nothing are told apart by: all shapes and types."""
    return tuple([None if each is None else (each.shape, each.dtype) for each in inputs])


def run_joined(run: Run, jobs: Sequence[Job], sizes: Sequence[int]) -> None:
    """Run jobs of one key together, and give each its rows of the outputs."""
    total = sum(job.rows for job in jobs)
    if len(jobs) == 1:
        joined = list(jobs[0].inputs)
    else:
        joined = [_joined([job.inputs[place] for job in jobs]) for place in range(len(jobs[0].inputs))]
    outputs = run_rows(run, joined, total, sizes)
    begin = 0
    for job in jobs:
        end = begin + job.rows
        job.outputs = list(outputs) if len(jobs) == 1 else [each[begin:end] for each in outputs]
        job.batch_rows = total
        begin = end


def run_rows(run: Run, inputs: Sequence[Array | None], rows: int, sizes: Sequence[int]) -> Sequence[Any]:
    """The outputs for `rows` rows, in runs of the sizes that have plans."""
    largest = sizes[-1]
    if rows <= largest:
        return _padded(run, inputs, rows, next(size for size in sizes if size >= rows))
    pieces = []
    for begin in range(0, rows, largest):
        end = min(rows, begin + largest)
        part = [None if each is None else each[begin:end] for each in inputs]
        pieces.append(run_rows(run, part, end - begin, sizes))
    return [np.concatenate(column) for column in zip(*pieces)]


def _padded(run: Run, inputs: Sequence[Array | None], rows: int, size: int) -> Sequence[Any]:
    if rows == size:
        return run(inputs)
    outputs = run([None if each is None else _extended(each, size) for each in inputs])
    return [each[:rows] for each in outputs]


def _extended(array: Array, size: int) -> Array:
    larger = np.empty((size, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    larger[len(array) :] = array[-1:]
    return larger


def _joined(arrays: Sequence[Array | None]) -> Array | None:
    return None if arrays[0] is None else np.concatenate([each for each in arrays if each is not None])
