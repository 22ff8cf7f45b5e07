"""Tolerances: how far two numbers may be apart and still count as equal in a test.

    data.assert_approx_eq(expected, Tolerance.permissive())
    data.assert_approx_eq(expected, Tolerance.rel_abs(1e-3, 1e-6).set_half_relative(1e-2))

Two values are close when they are equal, or when `|x - y| < max(absolute, relative * max(|x|, |y|))`.
A tolerance is a value: its builders return a changed copy. Bounds set for half, single or double
precision take the place of the general ones for data of that precision.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from burn.classes import dataclass
from burn.dtype import DType, f32
from burn.dtype import dtype as as_dtype
from burn.errors import ArgumentError

Precision = Literal["half", "single", "double"]

STRICT_STEPS = 64
"""The absolute bound of `strict`, in smallest positive normal numbers of the dtype."""


@dataclass(frozen=True)
class Tolerance:
    """How far apart numbers may be that count as equal; without arguments, the balanced bounds.

    Arguments:
        relative_bound: between 0 and 1.
        absolute_bound: None stands for 64 times the smallest positive number of the dtype.
        half, single, double: pairs (relative, absolute) in the place of the general ones, for floats of that width.

    >>> from burn.tensor import Tolerance
    >>> Tolerance.rel_abs(0.01, 1e-6).set_half_relative(0.1).bounds("f16")
    (0.1, 1e-06)
    >>> Tolerance.balanced().approx_eq(1.0, 1.001), Tolerance.strict().approx_eq(1.0, 1.001)
    (True, False)
    """

    relative_bound: float = 0.005
    absolute_bound: float | None = 1e-5
    """None stands for `STRICT_STEPS` times the smallest positive number of the dtype."""
    half: tuple[float | None, float | None] = (None, None)
    single: tuple[float | None, float | None] = (None, None)
    double: tuple[float | None, float | None] = (None, None)

    def __post_init__(self) -> None:
        _check_relative(self.relative_bound)
        if self.absolute_bound is not None:
            _check_absolute(self.absolute_bound)
        for relative, absolute in (self.half, self.single, self.double):
            if relative is not None:
                _check_relative(relative)
            if absolute is not None:
                _check_absolute(absolute)

    # Presets

    @classmethod
    def strict(cls) -> Tolerance:
        """No relative difference; an absolute one only among the tiniest numbers."""
        return cls(0.0, None)

    @classmethod
    def balanced(cls) -> Tolerance:
        """The default: 0.5 % relative or 1e-5 absolute."""
        return cls()

    @classmethod
    def permissive(cls) -> Tolerance:
        """1 % relative or 0.01 absolute.

        >>> from burn.tensor import Tolerance
        >>> Tolerance.permissive().bounds()
        (0.01, 0.01)
        """
        return cls(0.01, 0.01)

    @classmethod
    def default(cls) -> Tolerance:
        """The balanced preset.

        >>> from burn.tensor import Tolerance
        >>> Tolerance.default() == Tolerance.balanced()
        True
        """
        return cls()

    @classmethod
    def rel_abs(cls, relative: float, absolute: float) -> Tolerance:
        """Both bounds, the `relative` and the `absolute` one."""
        return cls(float(relative), float(absolute))

    @classmethod
    def relative(cls, bound: float) -> Tolerance:
        """A relative bound only.

        >>> from burn.tensor import Tolerance
        >>> Tolerance.relative(0.1).bounds()
        (0.1, 0.0)
        """
        return cls(float(bound), 0.0)

    @classmethod
    def absolute(cls, bound: float) -> Tolerance:
        """An absolute bound only.

        >>> from burn.tensor import Tolerance
        >>> Tolerance.absolute(0.1).bounds()
        (0.0, 0.1)
        """
        return cls(0.0, float(bound))

    @classmethod
    def of(cls, value: Tolerance | float | None) -> Tolerance:
        """Read the `value` where a tolerance is asked for: None is the default, a number is both bounds at once.

        >>> from burn.tensor import Tolerance
        >>> Tolerance.of(0.1).bounds()
        (0.1, 0.1)
        """
        if value is None:
            return cls()
        if isinstance(value, Tolerance):
            return value
        if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
            return cls.rel_abs(float(value), float(value))
        raise ArgumentError(f"tolerance: {value!r} is neither a Tolerance nor a number; write Tolerance.balanced()")

    # Builders

    def set_relative(self, bound: float) -> Tolerance:
        """The same tolerance with another general relative bound.

        >>> from burn.tensor import Tolerance
        >>> Tolerance.balanced().set_relative(0.1).bounds()
        (0.1, 1e-05)
        """
        return replace(self, relative_bound=float(bound))

    def set_absolute(self, bound: float) -> Tolerance:
        """The same tolerance with another general absolute bound.

        >>> from burn.tensor import Tolerance
        >>> Tolerance.balanced().set_absolute(0.1).bounds()
        (0.005, 0.1)
        """
        return replace(self, absolute_bound=float(bound))

    def set_half_relative(self, bound: float) -> Tolerance:
        """Another relative bound for f16, bf16 and narrower floats."""
        return replace(self, half=(float(bound), self.half[1]))

    def set_half_absolute(self, bound: float) -> Tolerance:
        """Another absolute bound for f16, bf16 and narrower floats.

        >>> from burn.tensor import Tolerance
        >>> Tolerance.balanced().set_half_absolute(0.1).bounds("f16")
        (0.005, 0.1)
        """
        return replace(self, half=(self.half[0], float(bound)))

    def set_single_relative(self, bound: float) -> Tolerance:
        """Another relative bound for f32.

        >>> from burn.tensor import Tolerance
        >>> Tolerance.balanced().set_single_relative(0.1).bounds("f32")
        (0.1, 1e-05)
        """
        return replace(self, single=(float(bound), self.single[1]))

    def set_single_absolute(self, bound: float) -> Tolerance:
        """Another absolute bound for f32.

        >>> from burn.tensor import Tolerance
        >>> Tolerance.balanced().set_single_absolute(0.1).bounds("f32")
        (0.005, 0.1)
        """
        return replace(self, single=(self.single[0], float(bound)))

    def set_double_relative(self, bound: float) -> Tolerance:
        """Another relative bound for f64.

        >>> from burn.tensor import Tolerance
        >>> Tolerance.balanced().set_double_relative(0.1).bounds("f64")
        (0.1, 1e-05)
        """
        return replace(self, double=(float(bound), self.double[1]))

    def set_double_absolute(self, bound: float) -> Tolerance:
        """Another absolute bound for f64.

        >>> from burn.tensor import Tolerance
        >>> Tolerance.balanced().set_double_absolute(0.1).bounds("f64")
        (0.005, 0.1)
        """
        return replace(self, double=(self.double[0], float(bound)))

    # Use

    def bounds(self, dtype: DType = f32) -> tuple[float, float]:
        """The relative and the absolute bound for data of a dtype."""
        dtype = as_dtype(dtype)
        relative, absolute = getattr(self, _precision(dtype)) if dtype.is_float else (None, None)
        if absolute is None:
            absolute = self.absolute_bound
        if absolute is None:
            absolute = STRICT_STEPS * dtype.finfo().min_positive if dtype.is_float else 0.0
        return (self.relative_bound if relative is None else relative), absolute

    def close(self, x: Any, y: Any, dtype: DType = f32) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Elementwise: whether `x` and `y` are equal or near. NaN is near nothing.

        >>> from burn.tensor import Tolerance
        >>> Tolerance.balanced().close([1.0, 2.0], [1.001, 2.5])
        array([ True, False])
        """
        relative, absolute = self.bounds(dtype)
        left, right = np.asarray(x, np.float64), np.asarray(y, np.float64)
        with np.errstate(all="ignore"):
            largest = np.maximum(np.abs(left), np.abs(right))
            near = np.abs(left - right) < np.maximum(absolute, relative * largest)
            finite = np.isfinite(left) & np.isfinite(right)  # infinities are near nothing but themselves
            return np.asarray((left == right) | (near & finite))

    def approx_eq(self, x: float, y: float, dtype: DType = f32) -> bool:
        """Whether two numbers are equal or near."""
        return bool(self.close(x, y, dtype))


def _precision(dtype: DType) -> Precision:
    return "double" if dtype.bits == 64 else "single" if dtype.bits == 32 else "half"


def _check_relative(bound: float) -> None:
    if not 0.0 <= bound <= 1.0:
        raise ArgumentError(f"tolerance: a relative bound lies between 0 and 1, got {bound}")


def _check_absolute(bound: float) -> None:
    if not (bound >= 0.0 and math.isfinite(bound)):
        raise ArgumentError(f"tolerance: an absolute bound is 0 or more and finite, got {bound}")
