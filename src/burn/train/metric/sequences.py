"""Sequences for text metrics: of token numbers (batch, length), or of strings, and how two of them are compared.

A string is a sequence of characters or of words, as the metric says. Tables of token numbers end at the padding.
Comparisons run over all pairs of a batch at once: one step of the recurrence is a few NumPy calls, not a Python loop
over cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from burn.errors import ShapeError
from burn.tensor import Tensor
from burn.train.metric.host import Array, host

Texts: TypeAlias = "Tensor[Any] | np.ndarray[Any, Any] | Sequence[str] | Sequence[Sequence[int]] | str"


def sequences(metric: str, values: Texts, pad_token: int | None, words: bool) -> list[list[Any]]:
    """Each sequence as a list of tokens: numbers, characters or words."""
    if isinstance(values, str):
        values = [values]
    if isinstance(values, Sequence):
        if any(isinstance(each, str) for each in values):
            return [each.split() if words else list(each) for each in values]  # type: ignore[union-attr]
        rows: list[list[Any]] = [list(each) for each in values]
    else:
        table = host(values)
        if table.ndim != 2:
            raise ShapeError(f"{metric}: needs token numbers (batch, length), got shape {table.shape}")
        rows = table.tolist()
    if pad_token is None:
        return rows
    return [row[: row.index(pad_token)] if pad_token in row else row for row in rows]


def paired(
    metric: str, outputs: Texts, targets: Texts, pad_token: int | None, words: bool
) -> tuple[list[list[Any]], list[list[Any]]]:
    """Sequences and their references, as many of each."""
    given = sequences(metric, outputs, pad_token, words)
    wanted = sequences(metric, targets, pad_token, words)
    if len(given) != len(wanted):
        raise ShapeError(f"{metric}: {len(given)} sequences for {len(wanted)} references")
    return given, wanted


def numbered(given: list[list[Any]], wanted: list[list[Any]]) -> tuple[Array, Array, Array, Array]:
    """Both as tables of numbers with the lengths of their rows. What lies beyond a row's end equals nothing."""
    numbers: dict[Any, int] = {}
    tables = []
    for rows, filler in ((given, -1), (wanted, -2)):
        table = np.full((len(rows), max(map(len, rows), default=0)), filler, np.int64)
        for place, row in zip(table, rows):
            place[: len(row)] = [numbers.setdefault(token, len(numbers)) for token in row]
        tables.append(table)
    first, second = (np.array([len(row) for row in rows], np.int64) for rows in (given, wanted))
    return tables[0], tables[1], first, second


def edit_distances(given: list[list[Any]], wanted: list[list[Any]]) -> Array:
    """How many tokens must be inserted, deleted or replaced to make each sequence its reference."""
    left, right, left_lengths, right_lengths = numbered(given, wanted)
    columns = np.arange(right.shape[1] + 1)
    row = np.broadcast_to(columns, (len(left), len(columns))).copy()
    result = np.where(left_lengths == 0, right_lengths, 0)
    every = np.arange(len(left))
    for at in range(left.shape[1]):
        following = row + 1
        np.minimum(following[:, 1:], row[:, :-1] + (left[:, at : at + 1] != right), out=following[:, 1:])
        # Insertions run along the row: the least of all earlier cells plus the way from there.
        following -= columns
        np.minimum.accumulate(following, axis=1, out=following)
        following += columns
        row = following
        ended = left_lengths == at + 1
        result = np.where(ended, row[every, right_lengths], result)
    return result


def common_lengths(given: list[list[Any]], wanted: list[list[Any]]) -> Array:
    """The length of the longest common subsequence of each sequence and its reference."""
    left, right, _, _ = numbered(given, wanted)
    row = np.zeros((len(left), right.shape[1] + 1), np.int64)
    for at in range(left.shape[1]):
        following = row.copy()
        np.maximum(row[:, 1:], row[:, :-1] + (left[:, at : at + 1] == right), out=following[:, 1:])
        np.maximum.accumulate(following, axis=1, out=following)
        row = following
    return row[:, -1]
