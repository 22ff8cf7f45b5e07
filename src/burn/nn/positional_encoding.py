"""Positional encoding: a wave of its own for each pair of features tells a model where a position lies."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

import numpy as np

from burn.config import Config
from burn.device import Device, given_device
from burn.errors import ArgumentError, ShapeError
from burn.module import Module
from burn.module.display import Content
from burn.nn.checks import refuse, too_small
from burn.tensor import Tensor


class PositionalEncodingConfig(Config):
    """Settings of `PositionalEncoding`; `init(device=None)` makes it.

    Arguments:
        d_model: the number of features.
        max_sequence_size: the longest sequence, 5000.
        max_timescale: the longest wave in 2 pi positions, 10000.

    >>> nn.PositionalEncodingConfig(8).init()
    PositionalEncoding {d_model: 8, max_sequence_size: 5000, max_timescale: 10000}
    """

    d_model: int
    max_sequence_size: int = 5_000
    max_timescale: int = 10_000

    def init(self, device: Device | None = None) -> PositionalEncoding:
        """The module, with its waves computed."""
        refuse(self, _faults(self.max_sequence_size, self.d_model, self.max_timescale, "max_sequence_size"))
        sinusoids = generate_sinusoids(self.max_sequence_size, self.d_model, self.max_timescale, device)
        return PositionalEncoding._from_fields(sinusoids.unsqueeze_dim(0), self.max_sequence_size, self.max_timescale)


class PositionalEncoding(Module, config=PositionalEncodingConfig):
    """Adds to each position its place: sines in the even features, cosines in the odd ones.

    (batch, length, d_model) to the same shape.

    Arguments:
        d_model: the number of features.
        max_sequence_size: the longest sequence, 5000.
        max_timescale: the longest wave in 2 pi positions, 10000.

    >>> nn.PositionalEncoding(8)(Tensor.zeros([2, 5, 8])).shape
    Shape([2, 5, 8])
    """

    sinusoids: Tensor  # (1, max_sequence_size, d_model), a constant
    max_sequence_size: int
    max_timescale: int

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        @overload
        def __init__(
            self,
            d_model: int,
            max_sequence_size: int = 5000,
            max_timescale: int = 10000,
            *,
            device: Device | None = None,
        ) -> None: ...

        @overload
        def __init__(self, sinusoids: Tensor, max_sequence_size: int, max_timescale: int) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def forward(self, input: Tensor) -> Tensor:
        """(batch, length, d_model) to the same shape."""
        _, longest, d_model = self.sinusoids.shape
        if len(input.shape) != 3 or input.shape[2] != d_model or input.shape[1] > longest:
            raise ShapeError(
                f"PositionalEncoding: the input must have the shape (batch, length, {d_model}) with a length of at "
                f"most {longest}, got {tuple(input.shape)}"
            )
        return input + self.sinusoids.narrow(1, 0, input.shape[1])

    def custom_content(self, content: Content) -> Content:
        """The settings."""
        content.add("d_model", self.sinusoids.shape[2]).add("max_sequence_size", self.max_sequence_size)
        return content.add("max_timescale", self.max_timescale)


def generate_sinusoids(length: int, d_model: int, max_timescale: int, device: Device | None = None) -> Tensor:
    """The waves (`length`, `d_model`): sine and cosine of `p / T^(2i/d)` for position p and pair i, in turn.

    `max_timescale` is T, the longest wave in 2 pi positions.

    >>> nn.generate_sinusoids(5, 8, 10000).shape
    Shape([5, 8])
    """
    faults = _faults(length, d_model, max_timescale, "length")
    if faults:
        raise ArgumentError(f"generate_sinusoids: {'; '.join(faults)}")
    rates = np.exp(np.arange(0, d_model, 2) * (-np.log(max_timescale) / d_model))
    angles = np.arange(length)[:, None] * rates
    waves = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, d_model)
    device = given_device("generate_sinusoids", device)
    return Tensor.from_data(waves, device, device.float_dtype)


def _faults(length: int, d_model: int, max_timescale: int, name: str) -> list[str]:
    faults = too_small(1, d_model=d_model, **{name: length})
    if d_model % 2:
        faults.append(f"d_model must be even, got {d_model}")
    if max_timescale < length:
        faults.append(f"max_timescale must be at least {name}, got {max_timescale} and {length}")
    return faults
