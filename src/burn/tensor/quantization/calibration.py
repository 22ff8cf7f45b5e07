"""Calibrations: which range of floats the integers of a scheme cover.

    Calibration.MinMax                  # all of them: nothing is cut off
    Calibration.AbsMean                 # up to the mean absolute value: for two and three levels
    Calibration.Percentile(99.9)        # all but the rarest: a finer step for the others

Elements outside of the range become its nearest end, so the error of half a step holds inside of it only.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from burn.classes import dataclass
from burn.dtype import HALVES, f32
from burn.errors import ArgumentError, ShapeError
from burn.tensor.quantization.scheme import CalibrationRange, QuantizationScheme
from burn.tensor.tensor import Tensor

METHODS = ("MinMax", "AbsMean", "Percentile")


@dataclass(frozen=True, repr=False)
class Calibration:
    """A way to find the range. Take `Calibration.MinMax`, `Calibration.AbsMean` or `Calibration.Percentile(p)`.

    Arguments:
        method: one of these three names.
        percent: of the elements that are covered.

    >>> from burn.tensor.quantization import Calibration
    >>> Calibration.MinMax, Calibration.Percentile(99.0)
    (Calibration.MinMax, Calibration.Percentile(99.0))
    """

    method: str
    percent: float = 100.0

    MinMax: ClassVar[Calibration]
    AbsMean: ClassVar[Calibration]

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ArgumentError(f"Calibration: {self.method!r} is no method; write Calibration.MinMax")

    @classmethod
    def Percentile(cls, percent: float = 99.9) -> Calibration:
        """Cut off the largest `100 - percent` per cent of the elements, and as many of the smallest."""
        if isinstance(percent, bool) or not isinstance(percent, int | float) or not 50.0 < percent <= 100.0:
            raise ArgumentError(f"Calibration.Percentile: must be above 50 and at most 100, got {percent!r}")
        return cls("Percentile", float(percent))

    def compute_range(self, tensor: Tensor[Any], scheme: QuantizationScheme) -> CalibrationRange:
        """The smallest and the largest float of `tensor` to cover, for each scale of the scheme.

        >>> from burn.tensor.quantization import Calibration, PerTensor
        >>> found = Calibration.MinMax.compute_range(burn.tensor([-1.0, 3.0]), PerTensor())
        >>> found.min.tolist(), found.max.tolist()
        ([-1.0], [3.0])
        """
        shape, dims = scheme.layout(tensor.shape)
        if not math.prod(shape):
            raise ShapeError(f"quantize: a tensor of shape {tuple(tensor.shape)} has no elements and so no range")
        blocks = _wide(tensor).reshape(shape)
        if self.method == "AbsMean":
            size = blocks.abs().mean_dims(dims)
            return CalibrationRange(-size, size)
        if self.method == "Percentile":
            return _percentiles(blocks, dims, self.percent / 100.0)
        return CalibrationRange(blocks.min_dims(dims), blocks.max_dims(dims))

    def __repr__(self) -> str:
        return f"Calibration.{self.method}" + (f"({self.percent!r})" if self.method == "Percentile" else "")


Calibration.MinMax = Calibration("MinMax")
Calibration.AbsMean = Calibration("AbsMean")


def _wide(x: Tensor[Any]) -> Tensor[Any]:
    return x.cast(f32) if x.dtype in HALVES else x


def _percentiles(blocks: Tensor[Any], dims: tuple[int, ...], share: float) -> CalibrationRange:
    if not dims:
        return CalibrationRange(blocks, blocks)
    shape = blocks.shape
    kept = [dim for dim in range(len(shape)) if dim not in dims]
    count = math.prod(shape[dim] for dim in dims)
    rows = blocks.permute([*kept, *dims]).reshape((math.prod(shape[dim] for dim in kept), count)).sort(1)
    place = share * (count - 1)
    below = min(int(place), count - 1)
    above, part = min(below + 1, count - 1), place - below

    def between(one: int, other: int) -> Tensor[Any]:
        low, high = rows.narrow(1, one, 1), rows.narrow(1, other, 1)
        found = low + (high - low) * part
        return found.reshape([1 if dim in dims else size for dim, size in enumerate(shape)])

    return CalibrationRange(between(count - 1 - below, count - 1 - above), between(below, above))
