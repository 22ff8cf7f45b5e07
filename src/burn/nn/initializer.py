"""Initialisers: how the values of new parameters are chosen.

    weight = Initializer.KaimingUniform(gain=1.0).init([784, 512], device, fan_in=784)

`init` draws nothing. It takes its range of the device's random numbers and leaves the drawing to the
first read, so values depend neither on which layer is used first nor on which one is loaded from a file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from burn.config import Enumeration, variant
from burn.device import Device, given_device
from burn.dtype import DType
from burn.errors import ArgumentError
from burn.module import Param
from burn.ops import philox, random
from burn.shape import Shape, as_shape
from burn.tensor import Tensor

Draw = Callable[[tuple[int, int], Shape, DType, Device], Tensor]


class Initializer(Enumeration):
    """How new parameters are filled: the field `initializer` of layers.

    `init` makes a parameter of a `shape`; layers give the numbers of inputs and outputs (`fan_in`, `fan_out`), and the
    values, of the device's float `dtype`, come when they are first read.

    >>> print(nn.Initializer.Constant(0.5).init([2]).to_data())
    [0.5, 0.5]
    >>> layer = nn.Linear(3, 4, initializer=nn.Initializer.XavierUniform(1.0))
    >>> layer.weight.shape
    Shape([3, 4])
    """

    Zeros = variant()
    Ones = variant()
    Constant: ClassVar[type[Constant]]
    Uniform: ClassVar[type[Uniform]]
    Normal: ClassVar[type[Normal]]
    KaimingUniform: ClassVar[type[KaimingUniform]]
    KaimingNormal: ClassVar[type[KaimingNormal]]
    XavierUniform: ClassVar[type[XavierUniform]]
    XavierNormal: ClassVar[type[XavierNormal]]
    Orthogonal: ClassVar[type[Orthogonal]]

    def init(
        self,
        shape: Sequence[int],
        device: Device | None = None,
        fan_in: int | None = None,
        fan_out: int | None = None,
    ) -> Param:
        """A new parameter of the device's float dtype, filled when it is first read."""
        sizes = as_shape("Initializer", shape)
        device = given_device("Initializer", device)
        below = device
        while below.is_autodiff:
            below = below.inner()
        dtype = device.float_dtype
        source = self.source(sizes, below, dtype, fan_in, fan_out)
        return Param.uninitialized(None, source, sizes, device, dtype)

    init_with = init

    def source(
        self, shape: Shape, device: Device, dtype: DType, fan_in: int | None, fan_out: int | None
    ) -> Callable[[], Tensor]:
        """What computes the values; it owns its range of random numbers from now on."""
        number = 1.0 if self == Initializer.Ones else 0.0
        return lambda: Tensor.full(shape, number, device, dtype)

    def _fan(self, name: str, given: int | None) -> int:
        if given is None or given < 1:
            kind = type(self).__name__
            raise ArgumentError(
                f"Initializer.{kind}: needs {name}, a positive int, got {given!r}; give init(..., {name}=n)"
            )
        return given


def _reserved(shape: Shape, device: Device, dtype: DType, draw: Draw) -> Callable[[], Tensor]:
    stream = device.generator().reserve(philox.words_needed(shape.num_elements(), dtype))
    return lambda: draw(stream, shape, dtype, device)


def _uniform(low: float, high: float) -> Draw:
    return lambda stream, shape, dtype, device: random.random_uniform(*stream, low, high, shape, dtype, device=device)


def _normal(mean: float, std: float) -> Draw:
    return lambda stream, shape, dtype, device: random.random_normal(*stream, mean, std, shape, dtype, device=device)


class Constant(Initializer):
    """One number everywhere."""

    value: float

    def source(self, shape: Shape, device: Device, dtype: DType, fan_in: Any, fan_out: Any) -> Any:
        """Fill with the number."""
        return lambda: Tensor.full(shape, self.value, device, dtype)


class Uniform(Initializer):
    """Evenly between two numbers."""

    min: float
    max: float

    def source(self, shape: Shape, device: Device, dtype: DType, fan_in: Any, fan_out: Any) -> Any:
        """Draw evenly."""
        return _reserved(shape, device, dtype, _uniform(self.min, self.max))


class Normal(Initializer):
    """From a normal distribution."""

    mean: float
    std: float

    def source(self, shape: Shape, device: Device, dtype: DType, fan_in: Any, fan_out: Any) -> Any:
        """Draw normally."""
        return _reserved(shape, device, dtype, _normal(self.mean, self.std))


class KaimingUniform(Initializer):
    """Evenly, scaled so that the variance survives a layer: up to `gain * sqrt(3 / fan)`."""

    gain: float
    fan_out_only: bool = False

    def source(self, shape: Shape, device: Device, dtype: DType, fan_in: Any, fan_out: Any) -> Any:
        """Draw evenly in the range that the layer's size gives."""
        fan = self._fan("fan_out", fan_out) if self.fan_out_only else self._fan("fan_in", fan_in)
        limit = math.sqrt(3.0) * self.gain / math.sqrt(fan)
        return _reserved(shape, device, dtype, _uniform(-limit, limit))


class KaimingNormal(Initializer):
    """Normally, with deviation `gain / sqrt(fan)`."""

    gain: float
    fan_out_only: bool = False

    def source(self, shape: Shape, device: Device, dtype: DType, fan_in: Any, fan_out: Any) -> Any:
        """Draw normally with the deviation that the layer's size gives."""
        fan = self._fan("fan_out", fan_out) if self.fan_out_only else self._fan("fan_in", fan_in)
        return _reserved(shape, device, dtype, _normal(0.0, self.gain / math.sqrt(fan)))


class XavierUniform(Initializer):
    """Evenly, balanced between forward and backward: up to `gain * sqrt(6 / (fan_in + fan_out))`."""

    gain: float

    def source(self, shape: Shape, device: Device, dtype: DType, fan_in: Any, fan_out: Any) -> Any:
        """Draw evenly in the range that both sizes give."""
        fans = self._fan("fan_in", fan_in) + self._fan("fan_out", fan_out)
        limit = self.gain * math.sqrt(6.0 / fans)
        return _reserved(shape, device, dtype, _uniform(-limit, limit))


class XavierNormal(Initializer):
    """Normally, with deviation `gain * sqrt(2 / (fan_in + fan_out))`."""

    gain: float

    def source(self, shape: Shape, device: Device, dtype: DType, fan_in: Any, fan_out: Any) -> Any:
        """Draw normally with the deviation that both sizes give."""
        fans = self._fan("fan_in", fan_in) + self._fan("fan_out", fan_out)
        return _reserved(shape, device, dtype, _normal(0.0, self.gain * math.sqrt(2.0 / fans)))


class Orthogonal(Initializer):
    """Rows (or columns) at right angles, of length `gain`: the first dim against all the others."""

    gain: float

    def source(self, shape: Shape, device: Device, dtype: DType, fan_in: Any, fan_out: Any) -> Any:
        """Draw a normal matrix and orthogonalise it."""
        if len(shape) < 2:
            raise ArgumentError(f"Initializer.Orthogonal: needs 2 or more dims, got shape {tuple(shape)}")
        rows = shape[0]
        columns = shape.num_elements() // rows if rows else 0
        tall = Shape((max(rows, columns), min(rows, columns)))
        drawn = _reserved(tall, device, dtype, _normal(0.0, 1.0))

        def orthogonal() -> Tensor:
            import numpy as np

            basis, upper = np.linalg.qr(drawn().numpy().astype(np.float64))
            basis = basis * np.where(np.diag(upper) < 0, -1.0, 1.0)
            matrix = basis if rows >= columns else basis.T
            return Tensor.from_data(np.ascontiguousarray(matrix * self.gain), device, dtype).reshape(shape)

        return orthogonal


DEFAULT = KaimingUniform(1.0 / math.sqrt(3.0), False)
"""The usual choice of linear layers, convolutions and attention: evenly up to `1 / sqrt(fan_in)`."""
