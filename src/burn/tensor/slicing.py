"""Slices in Burn's sense: parts of a tensor that keep its rank.

A spec says which part of one dim is meant. Bounds below 0 count from the end, bounds outside the dim
are brought to its ends, and an int keeps its dim with size 1. A negative step takes the elements that
the positive step's bounds enclose, from the last one backwards, which is not what Python's own
slices do: `x.slice(s[0:5:-1])` gives the elements 4, 3, 2, 1, 0.

    from burn.tensor import s

    x.slice(s[1:5, ...])
    x.slice([range(1, 5), (0, 8, 2), "..-1", 3])
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Sequence
from types import EllipsisType
from typing import Any

from burn.classes import dataclass
from burn.errors import ArgumentError, ShapeError
from burn.symbolic import index

Range = tuple[int, int, int]

_RANGE = re.compile(r"\s*(-?\d+)?\s*\.\.\s*(=)?\s*(-?\d+)?\s*(?:;\s*(-?\d+)\s*)?")
_INDEX = re.compile(r"\s*(-?\d+)\s*(?:;\s*(-?\d+)\s*)?")


@dataclass(frozen=True)
class Slice:
    """A part of one dim.

    Arguments:
        start, end: from here up to, but not including, there; negative ones count from the end, None means to the end.
        step: a negative one takes the same elements backwards.

    >>> from burn.tensor import Slice
    >>> burn.tensor([0, 1, 2, 3, 4]).slice([Slice(1, 4)]).tolist()
    [1, 2, 3]
    """

    start: int = 0
    end: int | None = None
    step: int = 1

    def __post_init__(self) -> None:
        if self.step == 0:
            raise ArgumentError("Slice: step must not be 0")

    @staticmethod
    def full() -> Slice:
        """The whole dim.

        >>> from burn.tensor import Slice
        >>> Slice.full().resolve(5)
        (0, 5, 1)
        """
        return Slice()

    @staticmethod
    def index(place: int) -> Slice:
        """The one element at `place`.

        >>> from burn.tensor import Slice
        >>> Slice.index(-1).resolve(5)
        (4, 1, 1)
        """
        return Slice(place, _after(place))

    @staticmethod
    def parse(text: str) -> Slice:
        """Read a text: `1..5`, `1..=4`, `..5`, `1..`, `..` or `3`, each with an optional `;step`.

        >>> from burn.tensor import Slice
        >>> Slice.parse("1..=7;2")
        Slice(start=1, end=8, step=2)
        """
        found = _INDEX.fullmatch(text)
        if found is not None:
            place = int(found[1])
            return Slice(place, _after(place), int(found[2] or 1))
        found = _RANGE.fullmatch(text)
        if found is None or (found[2] and found[3] is None):
            raise ArgumentError(f"Slice: cannot read {text!r}; write for example '1..5', '..=3', '2..;2' or '4'")
        start, inclusive, end, step = found.groups()
        stop = None if end is None else int(end)
        return Slice(int(start or 0), _after(stop) if inclusive and stop is not None else stop, int(step or 1))

    @staticmethod
    def of(spec: Any) -> Slice:
        """Read any spec of one dim: an int, a range, a slice, a tuple of bounds, a string, `...` or None.

        >>> from burn.tensor import Slice
        >>> Slice.of((1, 4)), Slice.of(range(0, 8, 2))
        (Slice(start=1, end=4, step=1), Slice(start=0, end=8, step=2))
        """
        if isinstance(spec, Slice):
            return spec
        if spec is None or spec is Ellipsis:
            return Slice()
        if isinstance(spec, str):
            return Slice.parse(spec)
        if isinstance(spec, range):
            if spec.step < 0:
                raise ArgumentError(
                    f"slice: {spec} counts backwards; write slice(first, last + 1, {spec.step}), "
                    "whose bounds enclose the same elements"
                )
            return Slice(spec.start, spec.stop, spec.step)
        if isinstance(spec, builtins.slice):
            return _of_bounds(spec, spec.start, spec.stop, spec.step)
        if isinstance(spec, tuple) and len(spec) in (2, 3):
            return _of_bounds(spec, *spec)
        try:
            return Slice.index(index(spec))
        except TypeError:
            raise ArgumentError(
                f"slice: {spec!r} is no part of a dim; use an int, range(1, 5), slice(1, 5), (1, 5), '1..5' or ..."
            ) from None

    def resolve(self, size: int) -> Range:
        """The elements of a dim of `size` as (first, count, step).

        >>> from burn.tensor import Slice
        >>> Slice(1, -1, 2).resolve(8)
        (1, 3, 2)
        """
        first, last = _clamped(self.start, size), size if self.end is None else _clamped(self.end, size)
        count = max(0, -(-(last - first) // abs(self.step)))
        if not count:
            return 0, 0, 1
        return (first if self.step > 0 else last - 1), count, self.step

    def __str__(self) -> str:
        if self.step == 1 and self.end == _after(self.start):
            return str(self.start)
        bounds = f"{self.start or ''}..{'' if self.end is None else self.end}"
        return bounds if self.step == 1 else f"{bounds};{self.step}"


def _after(place: int) -> int | None:
    """The bound after `place`: there is none after the last element."""
    return None if place == -1 else place + 1


def _clamped(bound: int, size: int) -> int:
    return min(max(bound + size if bound < 0 else bound, 0), size)


def _of_bounds(spec: Any, start: Any, end: Any, step: Any = None) -> Slice:
    try:
        return Slice(
            0 if start is None else index(start),
            None if end is None else index(end),
            1 if step is None else index(step),
        )
    except TypeError:
        raise ArgumentError(f"slice: the bounds of {spec!r} must be ints") from None


class _Specs:
    """Writes specs with Python's slice syntax: `s[1:5, ...]`."""

    def __getitem__(self, key: Any) -> tuple[Slice | EllipsisType, ...]:
        specs = key if isinstance(key, tuple) else (key,)
        return tuple(Ellipsis if spec is Ellipsis else Slice.of(spec) for spec in specs)

    def __repr__(self) -> str:
        return "s"


s = _Specs()


def ranges_of(operation: str, spec: Any, shape: Sequence[int]) -> list[Range]:
    """Read the `spec` of a tensor, one or a sequence with one for each leading dim: (first, count, step) for each dim.

    Arguments:
        operation: the name that errors give.
        shape: the sizes of the tensor.

    >>> from burn.tensor.slicing import ranges_of, s
    >>> ranges_of("read", s[1:3], [4, 5])
    [(1, 2, 1), (0, 5, 1)]
    """
    if isinstance(spec, str):
        specs: list[Any] = list(spec.split(","))
    else:
        specs = list(spec) if isinstance(spec, tuple | list) else [spec]
    if len(specs) > len(shape):
        raise ShapeError(
            f"{operation}: {len(specs)} specs for a tensor of shape {tuple(shape)}, one for each dim at most"
        )
    if Ellipsis in specs[:-1] and len(specs) < len(shape):
        raise ArgumentError(
            f"{operation}: ... stands for one whole dim here, and {tuple(shape)} has more dims than there are specs; "
            "write one : for each, for example s[:, :, 1:2]"
        )
    specs += [None] * (len(shape) - len(specs))
    return [Slice.of(each).resolve(size) for each, size in zip(specs, shape, strict=True)]
