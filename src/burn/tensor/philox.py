"""Draws from a distribution on the host. The stream of random words is in `burn.ops.philox`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burn.dtype import DType, f32
from burn.errors import ArgumentError, DTypeError
from burn.ops import philox
from burn.ops.convert import Array
from burn.tensor.distribution import Bernoulli, Default, Distribution, Normal, Uniform

if TYPE_CHECKING:
    from burn.device import Generator


def draw(distribution: Distribution, count: int, seed: int, offset: int, dtype: DType = f32) -> Array:
    """`count` elements of a distribution, as `dtype`. Ints are converted from f32."""
    if not dtype.is_arithmetic:
        raise DTypeError(f"random: {dtype} only stores values; draw f32 and convert it")
    if isinstance(distribution, Default):
        return philox.uniform(seed, offset, count, dtype)
    if isinstance(distribution, Bernoulli):
        return philox.bernoulli(seed, offset, count, dtype, distribution.probability)
    if isinstance(distribution, Uniform):
        return philox.uniform(seed, offset, count, dtype, distribution.low, distribution.high)
    if isinstance(distribution, Normal):
        return philox.normal(seed, offset, count, dtype, distribution.mean, distribution.std)
    raise ArgumentError(f"random: {distribution!r} is no Distribution; write Distribution.Uniform(0.0, 1.0)")


def sample(distribution: Distribution, count: int, generator: Generator | int | None, dtype: DType = f32) -> Array:
    """Draw from a generator, from the start of a seed's stream, or from fresh entropy."""
    if generator is None or isinstance(generator, int):
        from burn.device import Generator

        generator = Generator(generator)
    seed, offset = generator.reserve(philox.words_needed(count, dtype))
    return draw(distribution, count, seed, offset, dtype)
