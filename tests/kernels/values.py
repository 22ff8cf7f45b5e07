"""Inputs worth trying: random ones, and those where mistakes live."""

from __future__ import annotations

from typing import Any

import numpy as np

from burn.dtype import HALVES, DType


def special(dtype: DType) -> Any:
    """The numbers at the edges of a dtype."""
    if dtype.is_bool:
        return np.array([False, True])
    if dtype.is_int:
        limits = dtype.iinfo()
        numbers = [0, 1, 2, 3, 7, 8, dtype.bits - 1, dtype.bits, limits.max, limits.max - 1, limits.min, limits.min + 1]
        numbers += [] if dtype.is_uint else [-1, -2, -3, -7]
        return np.array([each for each in numbers if limits.min <= each <= limits.max], dtype.numpy)
    limits = dtype.finfo()
    tiny = 2.0**-1074 if dtype.bits == 64 else 2.0**-149 if dtype.bits == 32 else 2.0**-24
    positive = [0.0, 0.4999, 0.5, 1.0, 1.5, 2.5, 3.0, 100.7, 1e4, limits.max, limits.min_positive, tiny, np.inf]
    positive += [
        2.0**31,
        2.0**32,
        2.0**63,
        2.0**64,
        2147483520.0,
        65504.0,
        65519.0,
        65520.0,
        127.0,
        128.0,
        255.0,
        256.0,
    ]
    numbers = np.array([*positive, *(-each for each in positive), np.nan])
    with np.errstate(all="ignore"):
        return numbers.astype(dtype.numpy)


def random(dtype: DType, count: int, seed: int = 0) -> Any:
    """Random numbers of a dtype, over most of its range."""
    generator = np.random.default_rng(seed)
    if dtype.is_bool:
        return generator.random(count) < 0.5
    if dtype.is_int:
        limits = dtype.iinfo()
        return generator.integers(limits.min, limits.max, count, dtype.numpy, endpoint=True)
    scale = 8.0 if dtype in HALVES else 20.0
    numbers = generator.standard_normal(count) * np.exp(generator.uniform(-scale, scale, count))
    with np.errstate(all="ignore"):
        return numbers.astype(dtype.numpy)


def pairs(dtype: DType, count: int = 200) -> tuple[Any, Any]:
    """Every pair of special numbers, then random ones."""
    edges = special(dtype)
    x, y = (each.reshape(-1) for each in np.meshgrid(edges, edges))
    return np.concatenate([x, random(dtype, count, 1)]), np.concatenate([y, random(dtype, count, 2)])
