"""Rotary encoding: each pair of features is turned by an angle that grows with the position.

The product of a turned query and a turned key depends on how far apart they are and not on where they
stand, so attention learns distances.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Self, overload

import numpy as np

from burn.config import Config
from burn.device import Device, given_device
from burn.errors import ArgumentError, ShapeError
from burn.module import Module
from burn.module.display import Content
from burn.nn.checks import refuse, too_small
from burn.tensor import Tensor


class RotaryEncodingConfig(Config):
    """Settings of `RotaryEncoding`; `init(device=None)` makes it.

    Arguments:
        max_sequence_length: how many positions are known at once.
        d_model: the number of features.
        theta: the base of the frequencies, 10000.

    >>> nn.RotaryEncodingConfig(16, 8).init()
    RotaryEncoding {d_model: 8, max_sequence_length: 16}
    """

    max_sequence_length: int
    d_model: int
    theta: float = 10000.0

    def init(self, device: Device | None = None) -> RotaryEncoding:
        """The module, with its angles computed."""
        return self.init_with_frequency_scaling(lambda frequencies: frequencies, device)

    def init_with_frequency_scaling(
        self, scaling: Callable[[Tensor], Tensor], device: Device | None = None
    ) -> RotaryEncoding:
        """The module with changed frequencies: `scaling` takes and gives a tensor (d_model / 2,), as Llama 3 needs."""
        faults = too_small(1, max_sequence_length=self.max_sequence_length, d_model=self.d_model)
        if self.d_model % 2:
            faults.append(f"d_model must be even, got {self.d_model}")
        if not self.theta > 0.0:
            faults.append(f"theta must be positive, got {self.theta}")
        refuse(self, faults)
        device = given_device("RotaryEncodingConfig.init", device)
        exponents = np.arange(0, self.d_model, 2) / self.d_model
        frequencies = np.exp(-math.log(self.theta) * exponents)
        theta = scaling(Tensor.from_data(frequencies, device, device.float_dtype))
        if tuple(theta.shape) != frequencies.shape:
            raise ShapeError(
                f"RotaryEncodingConfig: scaling must keep the shape {frequencies.shape}, gave {tuple(theta.shape)}"
            )
        return RotaryEncoding._configured(theta, self.max_sequence_length)


class RotaryEncoding(Module, config=RotaryEncodingConfig):
    """Turns neighbouring features `(a, b)` of position p to `(a cos - b sin, b cos + a sin)` of p times a frequency.

    (..., length, d_model) to the same shape.

    Arguments:
        max_sequence_length: how many positions are known at once.
        d_model: the number of features.
        theta: the base of the frequencies, 10000.

    >>> nn.RotaryEncoding(16, 8)(Tensor.ones([2, 5, 8])).shape
    Shape([2, 5, 8])
    """

    freq_complex: Tensor  # (max_sequence_length, d_model, 2): cosine and sine for each feature, a constant
    theta: Tensor  # (d_model / 2,), the frequencies, a constant
    start_offset: int  # the position of the first row of freq_complex

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        @overload
        def __init__(
            self, max_sequence_length: int, d_model: int, theta: float = 10000.0, *, device: Device | None = None
        ) -> None: ...

        @overload
        def __init__(self, freq_complex: Tensor, theta: Tensor, start_offset: int) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def _configure(self, theta: Tensor, max_sequence_length: int) -> None:
        self.theta = theta
        self._place(0, max_sequence_length)

    def forward(self, x: Tensor) -> Tensor:
        """`x` (..., length, d_model) turned, its first row as that of the first known position."""
        return self.apply(x, 0)

    def apply(self, x: Tensor, start: int) -> Tensor:
        """`x` (..., length, d_model) turned, its first row as position `start` of the known ones."""
        longest, d_model, _ = self.freq_complex.shape
        if len(x.shape) < 2 or x.shape[-1] != d_model:
            raise ShapeError(
                f"RotaryEncoding: the input must have the shape (..., length, {d_model}), got {tuple(x.shape)}"
            )
        length = x.shape[-2]
        if start < 0 or start + length > longest:
            raise ShapeError(
                f"RotaryEncoding: positions {start} to {start + length} are not among the {longest} known ones; "
                "slide them along with shift(start)"
            )
        pairs = (length, d_model // 2, 2)
        cosines = self.freq_complex.slice([(start, start + length), (0, d_model), (0, 1)]).reshape(pairs)
        sines = self._sines.slice([(start, start + length)]).reshape(pairs)
        apart = x.reshape((*x.shape[:-1], d_model // 2, 2))
        return (apart * cosines + apart.flip([len(apart.shape) - 1]) * sines).reshape(x.shape)

    def shift(self, start: int) -> Self:
        """Slide the known positions on, in place, so that they begin at `start`; it must grow."""
        if start <= self.start_offset:
            raise ArgumentError(f"RotaryEncoding: shift must go on from {self.start_offset}, got {start}")
        self._place(start, self.freq_complex.shape[0])
        return self

    def reset(self) -> Self:
        """Let the known positions begin at 0 again, in place."""
        if self.start_offset:
            self._place(0, self.freq_complex.shape[0])
        return self

    def _place(self, start: int, count: int) -> None:
        theta = self.theta
        frequencies = theta.no_grad().numpy().astype(np.float64)
        angles = np.arange(start, start + count)[:, None] * frequencies
        cosines, sines = np.repeat(np.cos(angles), 2, axis=1), np.repeat(np.sin(angles), 2, axis=1)
        signs = np.tile([-1.0, 1.0], len(frequencies))
        table = np.stack([cosines, sines], axis=-1)
        self.freq_complex = Tensor.from_data(table, theta.device, theta.dtype)
        self.start_offset = start
        self._sines: Tensor = Tensor.from_data(sines * signs, theta.device, theta.dtype)

    def custom_content(self, content: Content) -> Content:
        """The sizes."""
        longest, d_model, _ = self.freq_complex.shape
        return content.add("d_model", d_model).add("max_sequence_length", longest)
