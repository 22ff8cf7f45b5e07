"""Schemes: which elements share a scale, and how integers stand for floats.

A scheme knows the shape in which the elements of one scale lie along dims of their own (`layout`), and
computes scale and zero point from a range of floats. Everything else about quantisation follows from these two.
"""

from __future__ import annotations

import enum
from dataclasses import fields
from typing import Any, ClassVar

from burn.classes import dataclass
from burn.errors import ArgumentError, ShapeError
from burn.shape import Shape, as_ints, axis
from burn.tensor.tensor import Tensor


class QuantizationMode(enum.Enum):
    """How integers map to floats.

    `Symmetric` computes `q * scale`; `Affine` computes `(q - zero) * scale`, which covers a range that is not
    centred on 0.0 with no integer wasted. Both have an integer that means 0.0 exactly.


    >>> from burn.tensor.quantization import PerTensor, QuantizationMode
    >>> burn.tensor([0.0, 254.0]).quantize_dynamic(PerTensor(QuantizationMode.Affine)).values.tolist()
    [-127, 127]
    """

    Symmetric = "Symmetric"
    Affine = "Affine"

    def __repr__(self) -> str:
        return f"QuantizationMode.{self.name}"


class QuantizationType(enum.Enum):
    """Which integers stand for floats. All are stored as i8; F uses the full range, S a symmetric one.


    >>> from burn.tensor.quantization import QuantizationType
    >>> QuantizationType.Q4F.low, QuantizationType.Q4F.high, QuantizationType.Q4F.bits
    (-8, 7, 4)
    """

    QInt8 = ("QInt8", -127, 127)
    Q8F = ("Q8F", -128, 127)
    Q8S = ("Q8S", -127, 127)
    Q4F = ("Q4F", -8, 7)
    Q4S = ("Q4S", -7, 7)
    Q2F = ("Q2F", -2, 1)
    Q2S = ("Q2S", -1, 1)

    @property
    def low(self) -> int:
        """The smallest integer."""
        return self.value[1]

    @property
    def high(self) -> int:
        """The largest integer."""
        return self.value[2]

    @property
    def bits(self) -> int:
        """How many bits an integer needs."""
        return (self.high - self.low).bit_length()

    def __repr__(self) -> str:
        return f"QuantizationType.{self.name}"


@dataclass(frozen=True)
class CalibrationRange:
    """The floats from `min` to `max` that the integers of a scheme will cover.

    >>> from burn.tensor.quantization import CalibrationRange, PerTensor
    >>> PerTensor().compute_q_params(CalibrationRange(burn.tensor([-127.0]), burn.tensor([10.0]))).scale.tolist()
    [1.0]
    """

    min: Tensor[Any]
    max: Tensor[Any]


@dataclass(frozen=True)
class QuantizationParameters:
    """The step between two integers, and the integer that means 0.0: numbers, or tensors that broadcast.

    Arguments:
        scale: the step.
        zero: the zero point, which an affine scheme needs and a symmetric one has not.

    >>> from burn.tensor.quantization import QuantizationParameters
    >>> QuantizationParameters(scale=0.25)
    QuantizationParameters(scale=0.25, zero=None)
    """

    scale: Any
    zero: Any = None


@dataclass(frozen=True)
class QuantizationScheme:
    """Which elements share a scale: `PerTensor`, `PerChannel` or `PerBlock`, and the integers used.

    Arguments:
        mode: whether there are zero points.
        value: which integers stand for floats.

    >>> from burn.tensor.quantization import QuantizationScheme
    >>> scheme = QuantizationScheme.PerChannel()
    >>> scheme.describe(), scheme.is_affine
    ('PerChannel(Symmetric, QInt8, 0)', False)
    """

    mode: QuantizationMode = QuantizationMode.Symmetric
    value: QuantizationType = QuantizationType.QInt8

    PerTensor: ClassVar[type[PerTensor]]
    PerChannel: ClassVar[type[PerChannel]]
    PerBlock: ClassVar[type[PerBlock]]

    def __post_init__(self) -> None:
        if type(self) is QuantizationScheme:
            raise ArgumentError(
                "QuantizationScheme: choose one of QuantizationScheme.PerTensor(mode, value), "
                "QuantizationScheme.PerChannel(mode, value, dim), QuantizationScheme.PerBlock(mode, value, size)"
            )
        for name, kind in (("mode", QuantizationMode), ("value", QuantizationType)):
            if not isinstance(getattr(self, name), kind):
                given = getattr(self, name)
                raise ArgumentError(f"QuantizationScheme: {name} must be a {kind.__name__}, got {given!r}")

    @property
    def is_affine(self) -> bool:
        """Whether there are zero points."""
        return self.mode is QuantizationMode.Affine

    def layout(self, shape: Shape) -> tuple[Shape, tuple[int, ...]]:
        """The shape in which elements of one scale lie along dims of their own, and these dims.

        >>> from burn.tensor.quantization import PerBlock
        >>> PerBlock(size=2).layout(burn.Shape(3, 4))
        (Shape([3, 2, 2]), (2,))
        """
        raise NotImplementedError

    def compute_q_params(self, observed: CalibrationRange) -> QuantizationParameters:
        """Scale and zero point with which the integers cover the `observed` range of floats.

        >>> from burn.tensor.quantization import CalibrationRange, PerTensor
        >>> PerTensor().compute_q_params(CalibrationRange(burn.tensor([-127.0]), burn.tensor([10.0]))).scale.tolist()
        [1.0]
        """
        steps = self.value.high - self.value.low
        if not self.is_affine:
            largest = observed.min.abs().max_pair(observed.max.abs())
            return QuantizationParameters(self._normal(largest * (2.0 / steps)))
        # The range is widened to include 0.0, so that zeros (padding, pruned weights) stay zeros.
        least = observed.min.clamp_max(0.0)
        scale = self._normal((observed.max.clamp_min(0.0) - least) * (1.0 / steps))
        zero = (float(self.value.low) - self._normal(least) / scale).round()
        zero = zero.clamp(float(self.value.low), float(self.value.high)).cast("i8")
        return QuantizationParameters(scale, zero)

    def _normal(self, scale: Tensor[Any]) -> Tensor[Any]:
        return scale

    def describe(self) -> str:
        """The scheme in few words, for printed modules and reports."""
        settings = [getattr(self, each.name) for each in fields(self)]
        words = [each.name if isinstance(each, enum.Enum) else _plain(each) for each in settings]
        return f"{type(self).__name__}({', '.join(words)})"

    def __repr__(self) -> str:
        settings = ", ".join(repr(getattr(self, each.name)) for each in fields(self))
        return f"QuantizationScheme.{type(self).__name__}({settings})"


def _plain(setting: Any) -> str:
    if isinstance(setting, tuple):
        return "x".join(map(str, setting))
    return str(setting)


@dataclass(frozen=True, repr=False)
class PerTensor(QuantizationScheme):
    """One scale for all elements.

    Arguments:
        mode, value: whether there are zero points, and the integers used.

    >>> from burn.tensor.quantization import PerTensor, QuantizationType
    >>> burn.tensor([1.0, -7.0]).quantize_dynamic(PerTensor(value=QuantizationType.Q4S)).values.tolist()
    [1, -7]
    """

    def layout(self, shape: Shape) -> tuple[Shape, tuple[int, ...]]:
        return shape, tuple(range(len(shape)))

    def _normal(self, scale: Tensor[Any]) -> Tensor[Any]:
        return scale.reshape((1,)) if len(scale.shape) else scale


@dataclass(frozen=True, repr=False)
class PerChannel(QuantizationScheme):
    """One scale for each index of a dim.

    Arguments:
        mode, value: whether there are zero points, and the integers used.
        dim: the dim of the channels.

    >>> from burn.tensor.quantization import PerChannel
    >>> burn.tensor([[1.0, -127.0], [254.0, 0.0]]).quantize_dynamic(PerChannel()).scale.tolist()
    [[1.0], [2.0]]
    """

    dim: int = 0

    def layout(self, shape: Shape) -> tuple[Shape, tuple[int, ...]]:
        kept = axis("quantize", self.dim, len(shape))
        return shape, tuple(dim for dim in range(len(shape)) if dim != kept)


@dataclass(frozen=True, repr=False)
class PerBlock(QuantizationScheme):
    """One scale for each block of elements.

    Arguments:
        mode, value: whether there are zero points, and the integers used.
        size: an int for blocks along the last dim, a tuple for the last dims.

    >>> from burn.tensor.quantization import PerBlock
    >>> burn.tensor([1.0, -127.0, 254.0, 0.0]).quantize_dynamic(PerBlock(size=2)).scale.tolist()
    [[1.0], [2.0]]
    """

    size: int | tuple[int, ...] = (32,)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of a block along the last dims."""
        return as_ints("QuantizationScheme", "size", self.size)

    def __post_init__(self) -> None:
        super().__post_init__()
        sizes = self.sizes
        if not sizes or min(sizes) < 1:
            raise ArgumentError(f"QuantizationScheme: a block holds 1 or more elements, got size {self.size!r}")
        object.__setattr__(self, "size", sizes)

    def layout(self, shape: Shape) -> tuple[Shape, tuple[int, ...]]:
        block = self.sizes
        first = len(shape) - len(block)
        if first < 0 or any(shape[first + i] % size for i, size in enumerate(block)):
            raise ShapeError(f"quantize: blocks of {list(block)} do not divide the shape {tuple(shape)}")
        sizes = list(shape[:first])
        for i, size in enumerate(block):
            sizes += [shape[first + i] // size, size]
        return Shape(sizes), tuple(range(first + 1, len(sizes), 2))


QuantizationScheme.PerTensor = PerTensor
QuantizationScheme.PerChannel = PerChannel
QuantizationScheme.PerBlock = PerBlock
