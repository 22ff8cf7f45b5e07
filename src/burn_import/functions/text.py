"""Strings, which no device holds: NumPy arrays of `str` objects beside the tensors of a model.

Classifiers of text number their words, and name their classes at the end. Everything here is an ordinary function
of arrays; `positions` and `choose` are the borders to tensors. Strings move as tensors do by way of their places in a
pool: `pool, places = gather_places(x, y)`, then `pick(pool, ...)` of what became of the places.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.dtype import Kind
from burn.dtype import dtype as as_dtype
from burn.errors import ArgumentError

if TYPE_CHECKING:
    from burn.tensor.tensor import Tensor

Array = np.ndarray[Any, Any]

__all__ = [
    "Array",
    "choose",
    "concat",
    "encode",
    "gather_places",
    "matches",
    "name_columns",
    "normalize",
    "pick",
    "positions",
    "read_numbers",
    "split",
    "values_of",
    "write_numbers",
]


def _strings(x: Any) -> Array:
    return np.asarray(x, dtype=object)


def _filled(shape: tuple[int, ...], values: Sequence[Any]) -> Array:
    """An array of objects, never taken apart where they are sequences themselves."""
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result.reshape(shape)


def positions(x: Any, words: Sequence[str]) -> Array:
    """The place of each string among `words`, -1 for others. Of equal words the first counts."""
    places: dict[str, int] = {}
    for place, word in enumerate(words):
        places.setdefault(word, place)
    strings = _strings(x)
    return np.array([places.get(each, -1) for each in strings.reshape(-1)], np.int64).reshape(strings.shape)


def choose(index: Tensor[Any], words: Sequence[str]) -> Array:
    """The word at each index of a tensor."""
    places = np.asarray(index.numpy())
    return _filled(places.shape, [words[int(each)] for each in places.reshape(-1)])


def encode(x: Any, keys: Sequence[Any], values: Sequence[Any], default: Any) -> Array:
    """Replace each element that is one of the `keys` by its value, and others by `default`.

    `x` are strings, or a tensor of numbers that become strings. Of equal keys the last one counts, and NaN is one.
    """
    given = x.numpy() if hasattr(x, "numpy") else _strings(x)
    table = {_key(key): value for key, value in zip(keys, values, strict=True)}
    found = [table.get(_key(each), default) for each in given.reshape(-1).tolist()]
    if isinstance(default, str):
        return _filled(given.shape, found)
    return np.array(found).reshape(given.shape)


def _key(value: Any) -> Any:
    if isinstance(value, float):
        return "nan" if value != value else float(np.float32(value))
    return value


def name_columns(x: Tensor[Any], names: Sequence[Any]) -> list[dict[Any, float]]:
    """Each row as a dict with `names` for its columns."""
    return [dict(zip(names, row, strict=True)) for row in np.atleast_2d(x.numpy()).tolist()]


def values_of(x: Mapping[Any, Any], keys: Sequence[Any] | None = None, missing: Any = 0.0) -> list[list[Any]]:
    """The values of a dict as one row: those of `keys`, or all in the order of their keys."""
    order = sorted(x) if keys is None else keys
    return [[x.get(key, missing) for key in order]]


def concat(x: Any, y: Any) -> Array:
    """Join strings elementwise, broadcasting."""
    one, other = np.broadcast_arrays(_strings(x), _strings(y))
    pairs = zip(one.reshape(-1).tolist(), other.reshape(-1).tolist(), strict=True)
    return _filled(one.shape, [first + second for first, second in pairs])


def matches(x: Any, pattern: str) -> Array:
    """Whether a regular expression matches the whole of each string."""
    strings, rule = _strings(x), re.compile(pattern)
    return np.array([rule.fullmatch(each) is not None for each in strings.reshape(-1)], bool).reshape(strings.shape)


def split(x: Any, delimiter: str | None = None, maximum: int | None = None) -> tuple[Array, Array]:
    """Cut strings at a delimiter, at runs of white space without one; gives the parts and how many there are.

    Parts are a new last dim, filled up with empty strings. `maximum` counts cuts.
    """
    strings = _strings(x)
    cuts = -1 if maximum is None else maximum
    parts = [each.split(delimiter or None, cuts) for each in strings.reshape(-1).tolist()]
    width = max((len(each) for each in parts), default=0)
    flat = [part for each in parts for part in [*each, *[""] * (width - len(each))]]
    counts = np.array([len(each) for each in parts], np.int64).reshape(strings.shape)
    return _filled((*strings.shape, width), flat), counts


def normalize(x: Any, case: str = "NONE", stopwords: Sequence[str] = (), case_sensitive: bool = False) -> Array:
    """Leave out stopwords and change the case of the rest: NONE, LOWER or UPPER. Nothing left is one empty string."""
    changes: dict[str, Callable[[str], str]] = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}
    if case not in changes:
        raise ArgumentError(f"normalize: case must be NONE, LOWER or UPPER, got {case!r}")
    strings = _strings(x)
    fold: Any = str if case_sensitive else str.lower
    left_out = {fold(each) for each in stopwords}
    kept = [changes[case](each) for each in strings.reshape(-1).tolist() if fold(each) not in left_out] or [""]
    return _filled((len(kept),) if strings.ndim == 1 else (1, len(kept)), kept)


# Moving


def gather_places(*arrays: Any, device: Any) -> tuple[list[str], list[Tensor[Any]]]:
    """The strings of some arrays as one pool in order that begins with "", and for each array a tensor of places in it.

    Places are equal, and in order, where the strings are.
    """
    from burn.tensor.methods.creation import tensor

    given = [_strings(each) for each in arrays]
    pool = sorted({"", *(str(one) for each in given for one in each.reshape(-1))})
    number = {one: place for place, one in enumerate(pool)}
    places = [np.array([number[str(one)] for one in each.reshape(-1)], np.int64).reshape(each.shape) for each in given]
    return pool, [tensor(each, device=device) for each in places]


def pick(pool: Sequence[str], places: Tensor[Any]) -> Array:
    """The strings at some places of a pool."""
    return choose(places, pool)


def pick_each(pool: Sequence[str], parts: Sequence[Tensor[Any]]) -> list[Array]:
    """The strings at some places of a pool, for each tensor of a list."""
    return [pick(pool, places) for places in parts]


def join(parts: Sequence[Any], dim: int, new: bool = False) -> Array:
    """Arrays of strings one after the other along a dim, which may be `new`."""
    strings = [_strings(each) for each in parts]
    joined: Array = np.stack(strings, dim) if new else np.concatenate(strings, dim)
    return joined


# Numbers


def read_numbers(x: Any, dtype: Any) -> Array:
    """The numbers that strings hold, in plain or scientific form; "inf" and "nan" are floats in any case."""
    wanted = as_dtype(dtype)
    strings = _strings(x)
    found = [_number(str(each), wanted) for each in strings.reshape(-1)]
    return np.array(found, dtype=wanted.numpy).reshape(strings.shape)


def _number(text: str, dtype: Any) -> Any:
    try:
        if dtype.is_float:
            return float(text)
        try:
            return int(text)
        except ValueError:
            number = float(text)
        return bool(number) if dtype.kind is Kind.Bool else int(number)
    except (ValueError, OverflowError):
        raise ArgumentError(f"read_numbers: {text!r} is no number of {dtype}") from None


def write_numbers(x: Any) -> Array:
    """Numbers as strings, the shortest that read the same."""
    array = np.asarray(x.numpy() if hasattr(x, "numpy") else x)
    return _filled(array.shape, [str(each) for each in array.reshape(-1)])
