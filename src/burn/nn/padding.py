"""Padding: what lies around the input of a convolution or a pool.

    PaddingConfig2d.Same                    # ceil(size / stride) windows, the odd element at the end
    PaddingConfig2d.Valid                   # nothing
    PaddingConfig2d.Explicit(1, 2)          # one row above and below, two columns left and right
    PaddingConfig2d.Explicit(1, 2, 0, 2)    # top, left, bottom, right

An explicit padding has one number a dim, for both of its sides, or all the sides before and then all the
sides after.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, ClassVar

from burn.config import Enumeration, variant

Pairs = tuple[tuple[int, int], ...]


class _Sides:
    """What the three configs share."""

    @functools.cached_property
    def pairs(self: Any) -> str | Pairs:
        """The padding as the operations take it: "same", "valid", or (before, after) for each dim."""
        values = _values(self)
        if not values:
            return self._variant_name().lower()  # type: ignore[no-any-return]
        count = self._DIMS
        return tuple(zip(values[:count], values[-count:], strict=True))

    @classmethod
    def _guessed(cls: Any, value: Any) -> Any:
        """The padding that a number, one for each dim, or a text means."""
        if isinstance(value, int) and not isinstance(value, bool):
            value = (value,) * cls._DIMS
        if isinstance(value, list | tuple) and all(isinstance(each, int) for each in value):
            return cls.Explicit(*value) if any(value) else cls.Valid
        return super()._guessed(value)  # type: ignore[misc]

    def spelled(self: Any) -> str:
        """The variant without the name of the enumeration, as modules print it."""
        values = _values(self)
        return f"Explicit({', '.join(map(str, values))})" if values else self._variant_name()


def _values(padding: Any) -> tuple[int, ...]:
    sizes = vars(padding).get("sizes", ())
    return (sizes,) if isinstance(sizes, int) else tuple(sizes)


def _faults(padding: Any) -> list[str]:
    values, count = _values(padding), padding._DIMS
    found = []
    if len(values) not in (count, 2 * count):
        found.append(
            f"takes {count} (the same on both sides) or {2 * count} (all sides before, then all after), "
            f"got {len(values)}"
        )
    if any(value < 0 for value in values):
        found.append(f"paddings must be 0 or more, got {list(values)}")
    return found


class PaddingConfig1d(_Sides, Enumeration):
    """Padding along one dim: `Valid` is none, `Same` keeps the length, `Explicit(both)` or `Explicit(left, right)`.

    >>> layer = nn.Conv1d(1, 1, 3, padding=nn.PaddingConfig1d.Same)
    >>> layer(Tensor.ones([1, 1, 5])).shape
    Shape([1, 1, 5])
    """

    _DIMS: ClassVar[int] = 1
    Same = variant()
    Valid = variant()
    Explicit: ClassVar[type[Explicit1d]]


class Explicit1d(PaddingConfig1d, variant="Explicit", positional=True):
    """`Explicit(both)` or `Explicit(left, right)`."""

    sizes: int | tuple[int, ...]

    def __init__(self, *sizes: int) -> None:
        super().__init__(sizes[0] if len(sizes) == 1 else sizes)

    def __validate__(self) -> Iterable[str]:
        return _faults(self)

    def __repr__(self) -> str:
        return f"PaddingConfig1d.{self.spelled()}"


class PaddingConfig2d(_Sides, Enumeration):
    """Padding of images: `Valid`, `Same`, `Explicit(height, width)` or `Explicit(top, left, bottom, right)`.

    >>> layer = nn.Conv2d(1, 1, 3, padding=nn.PaddingConfig2d.Explicit(1, 1))
    >>> layer(Tensor.ones([1, 1, 5, 5])).shape
    Shape([1, 1, 5, 5])
    """

    _DIMS: ClassVar[int] = 2
    Same = variant()
    Valid = variant()
    Explicit: ClassVar[type[Explicit2d]]


class Explicit2d(PaddingConfig2d, variant="Explicit", positional=True):
    """`Explicit(height, width)` or `Explicit(top, left, bottom, right)`."""

    sizes: tuple[int, ...]

    def __init__(self, *sizes: int) -> None:
        super().__init__(sizes)

    def __validate__(self) -> Iterable[str]:
        return _faults(self)

    def __repr__(self) -> str:
        return f"PaddingConfig2d.{self.spelled()}"


class PaddingConfig3d(_Sides, Enumeration):
    """Padding along depth, height and width: `Valid`, `Same`, or `Explicit` with three or six numbers.

    >>> layer = nn.Conv3d(1, 1, 3, padding=nn.PaddingConfig3d.Same)
    >>> layer(Tensor.ones([1, 1, 4, 4, 4])).shape
    Shape([1, 1, 4, 4, 4])
    """

    _DIMS: ClassVar[int] = 3
    Same = variant()
    Valid = variant()
    Explicit: ClassVar[type[Explicit3d]]


class Explicit3d(PaddingConfig3d, variant="Explicit", positional=True):
    """`Explicit(depth, height, width)` or `Explicit(front, top, left, back, bottom, right)`."""

    sizes: tuple[int, ...]

    def __init__(self, *sizes: int) -> None:
        super().__init__(sizes)

    def __validate__(self) -> Iterable[str]:
        return _faults(self)

    def __repr__(self) -> str:
        return f"PaddingConfig3d.{self.spelled()}"
