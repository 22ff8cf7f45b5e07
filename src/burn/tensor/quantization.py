"""Quantised tensors: floats kept as small integers and a scale.

    scheme = QuantizationScheme.PerTensor(QuantizationMode.Symmetric, QuantizationType.QInt8)
    q = x.quantize_dynamic(scheme)
    q.values, q.scale                   # i8 and f32
    y @ q                               # computed in float: an operation dequantises what it reads

A scheme says which elements share a scale and which integers are used; a calibration says which
range of floats those integers cover.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from burn.device import Device
from burn.dtype import HALVES, DType, f32
from burn.errors import ArgumentError, ShapeError
from burn.ops import quantization as rows
from burn.shape import Shape, as_ints, axis
from burn.tensor.tensor import Tensor


class QuantizationMode(enum.Enum):
    """How integers map to floats: `Symmetric` has its zero at 0.0."""

    Symmetric = "Symmetric"

    def __repr__(self) -> str:
        return f"QuantizationMode.{self.name}"


class QuantizationType(enum.Enum):
    """Which integers stand for floats. All are stored as i8; F uses the full range, S a symmetric one."""

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

    def __repr__(self) -> str:
        return f"QuantizationType.{self.name}"


class Calibration(enum.Enum):
    """Which range of floats is covered: up to the largest (`MinMax`), or up to the mean absolute value."""

    MinMax = "MinMax"
    AbsMean = "AbsMean"

    def compute_range(self, tensor: Tensor[Any], scheme: QuantizationScheme) -> CalibrationRange:
        """The smallest and the largest float to cover, for each scale of the scheme."""
        shape, dims = scheme.layout(tensor.shape)
        blocks = _wide(tensor).reshape(shape)
        if self is Calibration.AbsMean:
            size = blocks.abs().mean_dims(dims)
            return CalibrationRange(-size, size)
        return CalibrationRange(blocks.min_dims(dims), blocks.max_dims(dims))

    def __repr__(self) -> str:
        return f"Calibration.{self.name}"


@dataclass(frozen=True)
class CalibrationRange:
    """The floats that the integers of a scheme will cover."""

    min: Tensor[Any]
    max: Tensor[Any]


@dataclass(frozen=True)
class QuantizationParameters:
    """The step between two integers: a number, or a tensor that broadcasts as the scheme says."""

    scale: Any


@dataclass(frozen=True)
class QuantizationScheme:
    """Which elements share a scale: `PerTensor`, `PerChannel` or `PerBlock`, and the integers used."""

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

    def layout(self, shape: Shape) -> tuple[Shape, tuple[int, ...]]:
        """The shape in which elements of one scale lie along dims of their own, and these dims."""
        raise NotImplementedError

    def compute_q_params(self, observed: CalibrationRange) -> QuantizationParameters:
        """The scale with which the integers cover a range of floats."""
        largest = observed.min.abs().max_pair(observed.max.abs())
        scale = largest * (2.0 / (self.value.high - self.value.low))
        return QuantizationParameters(self._normal(scale))

    def _normal(self, scale: Tensor[Any]) -> Tensor[Any]:
        return scale

    def __repr__(self) -> str:
        settings = ", ".join(repr(getattr(self, each.name)) for each in fields(self))
        return f"QuantizationScheme.{type(self).__name__}({settings})"


@dataclass(frozen=True, repr=False)
class PerTensor(QuantizationScheme):
    """One scale for all elements."""

    def layout(self, shape: Shape) -> tuple[Shape, tuple[int, ...]]:
        return shape, tuple(range(len(shape)))

    def _normal(self, scale: Tensor[Any]) -> Tensor[Any]:
        return scale.reshape((1,)) if len(scale.shape) else scale


@dataclass(frozen=True, repr=False)
class PerChannel(QuantizationScheme):
    """One scale for each index of a dim."""

    dim: int = 0

    def layout(self, shape: Shape) -> tuple[Shape, tuple[int, ...]]:
        kept = axis("quantize", self.dim, len(shape))
        return shape, tuple(dim for dim in range(len(shape)) if dim != kept)


@dataclass(frozen=True, repr=False)
class PerBlock(QuantizationScheme):
    """One scale for each block of elements: an int for blocks along the last dim, a tuple for the last dims."""

    size: tuple[int, ...] = (32,)

    def __post_init__(self) -> None:
        super().__post_init__()
        sizes = as_ints("QuantizationScheme", "size", self.size)
        if not sizes or min(sizes) < 1:
            raise ArgumentError(f"QuantizationScheme: a block holds 1 or more elements, got size {self.size!r}")
        object.__setattr__(self, "size", sizes)

    def layout(self, shape: Shape) -> tuple[Shape, tuple[int, ...]]:
        first = len(shape) - len(self.size)
        if first < 0 or any(shape[first + i] % size for i, size in enumerate(self.size)):
            raise ShapeError(f"quantize: blocks of {list(self.size)} do not divide the shape {tuple(shape)}")
        sizes = list(shape[:first])
        for i, size in enumerate(self.size):
            sizes += [shape[first + i] // size, size]
        return Shape(sizes), tuple(range(first + 1, len(sizes), 2))


QuantizationScheme.PerTensor = PerTensor
QuantizationScheme.PerChannel = PerChannel
QuantizationScheme.PerBlock = PerBlock


def _wide(x: Tensor[Any]) -> Tensor[Any]:
    return x.cast(f32) if x.dtype in HALVES else x


class QuantizedTensor(Tensor[Any]):
    """Integers and scales that stand for a float tensor.

    It is a tensor of that float dtype: an operation that reads it gets the floats, computed anew each
    time, so that only the small form stays in memory. No gradient flows into it.
    """

    __slots__ = ("scale", "scheme", "values")

    values: Tensor[Any]
    scale: Tensor[Any]
    scheme: QuantizationScheme

    def __init__(self, values: Tensor[Any], scale: Tensor[Any], scheme: QuantizationScheme, dtype: DType) -> None:
        self.values = values
        self.scale = scale
        self.scheme = scheme
        self.device = values.device
        self.dtype = dtype
        self.shape = values.shape

    @property
    def handle(self) -> Any:
        """The floats, for the device's kernels."""
        return self.dequantize().handle

    def dequantize(self) -> Tensor[Any]:
        """The floats as a plain tensor."""
        shape, _ = self.scheme.layout(self.shape)
        if shape == self.shape:
            return rows.dequantize(self.values, self.scale, None, self.dtype)
        return rows.dequantize(self.values.reshape(shape), self.scale, None, self.dtype).reshape(self.shape)

    @property
    def parameters(self) -> QuantizationParameters:
        """The scale, as `quantize` takes it."""
        return QuantizationParameters(self.scale)

    def num_bytes(self) -> int:
        """The memory that integers and scales take."""
        return sum(each.num_elements() * each.dtype.size for each in (self.values, self.scale))

    def to_device(self, device: Device) -> QuantizedTensor:
        """The same integers and scales on another device."""
        return QuantizedTensor(self.values.to_device(device), self.scale.to_device(device), self.scheme, self.dtype)

    to = to_device

    def detach(self) -> QuantizedTensor:
        """Itself: no gradient flows into it."""
        return self

    def inner(self) -> QuantizedTensor:
        """The same integers and scales below one `Autodiff`."""
        return QuantizedTensor(self.values.inner(), self.scale.inner(), self.scheme, self.dtype)

    def __reduce__(self) -> Any:
        return QuantizedTensor, (self.values, self.scale, self.scheme, self.dtype)


def quantize(x: Tensor[Any], scheme: QuantizationScheme, parameters: QuantizationParameters) -> QuantizedTensor:
    """`x` as integers of the scheme's type, in steps of the given scale."""
    check_scheme("quantize", scheme)
    given = parameters.scale if isinstance(parameters, QuantizationParameters) else parameters
    x = x.detach()
    scale = given.detach().to(x.device) if isinstance(given, Tensor) else _as_scale(x, given)
    shape, _ = scheme.layout(x.shape)
    low, high = scheme.value.low, scheme.value.high
    blocks = x if shape == x.shape else x.reshape(shape)
    values = rows.quantize(blocks, scale, None, low, high, "i8")
    return QuantizedTensor(values if shape == x.shape else values.reshape(x.shape), scale, scheme, x.dtype)


def quantize_dynamic(x: Tensor[Any], scheme: QuantizationScheme, calibration: Calibration) -> QuantizedTensor:
    """`x` as integers that cover the range which the calibration finds in it."""
    check_scheme("quantize_dynamic", scheme)
    if not isinstance(calibration, Calibration):
        raise ArgumentError(f"quantize_dynamic: {calibration!r} is no Calibration; write Calibration.MinMax")
    return quantize(x, scheme, scheme.compute_q_params(calibration.compute_range(x.detach(), scheme)))


def check_scheme(operation: str, scheme: Any) -> None:
    """Refuse what is no scheme."""
    if not isinstance(scheme, QuantizationScheme):
        raise ArgumentError(f"{operation}: {scheme!r} is no QuantizationScheme; write QuantizationScheme.PerTensor()")


def _as_scale(x: Tensor[Any], number: Any) -> Tensor[Any]:
    """A number as a scale for all elements."""
    try:
        value = float(number)
    except (TypeError, ValueError):
        raise ArgumentError(f"quantize: the scale must be a number or a tensor, got {number!r}") from None
    return Tensor.full((1,) if x.shape else (), value, x.device, f32 if x.dtype in HALVES else x.dtype)
