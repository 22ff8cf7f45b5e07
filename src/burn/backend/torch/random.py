"""Random kernels: the stream of `burn.ops.philox`, computed where the tensor will be.

Torch multiplies 64-bit integers with wrap-around, so the low half of a product of two 32-bit words
is exact, and the high half is read from its upper bits.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from burn.backend.torch.dtypes import HOST_ONLY, to_torch
from burn.backend.torch.elementwise import Elementwise
from burn.dtype import DType, f64
from burn.ops import philox, random


class Random:
    """Kernels of the rows in `burn.ops.random`."""

    torch_device: torch.device
    from_host: Any

    def random_uniform(
        self, seed: int, offset: int, low: float, high: float, shape: tuple[int, ...], dtype: DType
    ) -> torch.Tensor:
        if to_torch(dtype) in HOST_ONLY:
            return self._drawn_on_host(random.random_uniform, seed, offset, low, high, shape, dtype)
        wide = philox.carrier(dtype)
        values = self._unit(seed, offset, math.prod(shape), wide)
        if (low, high) != (0.0, 1.0):
            start, span = philox.ends(low, high, wide)
            values = _below(values * span + start, low, high, wide)
        elif dtype is wide:
            return values.reshape(shape)
        result = Elementwise.cast(values, dtype)
        return (_below(result, low, high, dtype) if dtype.is_float else result).reshape(shape)

    def random_bernoulli(
        self, seed: int, offset: int, probability: float, shape: tuple[int, ...], dtype: DType
    ) -> torch.Tensor:
        if to_torch(dtype) in HOST_ONLY:
            return self._drawn_on_host(random.random_bernoulli, seed, offset, probability, shape, dtype)
        wide = philox.carrier(dtype)
        threshold = float(wide.numpy.type(probability))
        hits = self._unit(seed, offset, math.prod(shape), wide) < threshold
        return hits.to(to_torch(dtype)).reshape(shape)

    def random_normal(
        self, seed: int, offset: int, mean: float, std: float, shape: tuple[int, ...], dtype: DType
    ) -> torch.Tensor:
        if to_torch(dtype) in HOST_ONLY:
            return self._drawn_on_host(random.random_normal, seed, offset, mean, std, shape, dtype)
        count, wide = math.prod(shape), philox.carrier(dtype)
        unit = self._unit(seed, offset, count + count % 2, wide)
        pairs = (unit if self.torch_device.type == "mps" else unit.double()).reshape(-1, 2)  # Metal has no f64
        radius = torch.sqrt(-2.0 * torch.log(1.0 - pairs[:, 0]))
        angle = 2.0 * math.pi * pairs[:, 1]
        values = torch.stack((radius * torch.cos(angle), radius * torch.sin(angle)), 1).reshape(-1)[:count]
        return Elementwise.cast((values * std + mean).to(to_torch(wide)), dtype).reshape(shape)

    def _drawn_on_host(self, row: Any, *arguments: Any) -> torch.Tensor:
        """A draw of unsigned integers, which torch cannot convert to."""
        return self.from_host(row.op.reference(*arguments))  # type: ignore[no-any-return]

    def _words(self, seed: int, offset: int, count: int) -> torch.Tensor:
        """`count` words of the stream of `seed`, starting with block `offset`, as i64."""
        signed = offset - (1 << 64) if offset >> 63 else offset
        index = torch.arange((count + 3) // 4, dtype=torch.int64, device=self.torch_device) + signed
        a, b = index & philox.LOW, (index >> 32) & philox.LOW
        c = d = torch.zeros_like(index)
        for left_key, right_key in philox.round_keys(seed):
            left, right = a * philox.MULTIPLIERS[0], c * philox.MULTIPLIERS[1]
            a, c = ((right >> 32) & philox.LOW) ^ b ^ left_key, ((left >> 32) & philox.LOW) ^ d ^ right_key
            b, d = right & philox.LOW, left & philox.LOW
        return torch.stack((a, b, c, d), 1).reshape(-1)[:count]

    def _unit(self, seed: int, offset: int, count: int, dtype: DType) -> torch.Tensor:
        """Numbers from 0 up to, but not including, 1: 24 random bits in f32, 53 in f64."""
        if dtype is f64:
            pairs = self._words(seed, offset, 2 * count).reshape(-1, 2)
            return (((pairs[:, 0] >> 5) << 26) + (pairs[:, 1] >> 6)).double() * 2.0**-53
        return (self._words(seed, offset, count) >> 8).float() * 2.0**-24


def _below(values: torch.Tensor, low: float, high: float, dtype: DType) -> torch.Tensor:
    """Move what rounding pushed onto the excluded end of an interval to the number just below it."""
    end, largest = philox.last_below(low, high, dtype)
    return values if largest is None else torch.where(values >= float(end), float(largest), values)
