"""Random numbers on the host: Philox4x32-10, a function from (seed, block) to four 32-bit words.

Element `i` of a draw is word `i % 4` of block `offset + i // 4`, so that any device, and any part of
a draw, gives the same numbers. An f64 element takes two words, and so counts for two in the stream.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from burn.dtype import DType, f32, f64
from burn.ops.convert import Array, convert_array

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
LOW = 0xFFFFFFFF
ROUNDS = 10
CHUNK = 1 << 13
"""Blocks computed at once: what fits the processor's nearest memory."""


def round_keys(seed: int) -> list[tuple[int, int]]:
    """The two halves of the key in each round."""
    low, high = seed & LOW, (seed >> 32) & LOW
    return [((low + i * KEY_STEPS[0]) & LOW, (high + i * KEY_STEPS[1]) & LOW) for i in range(ROUNDS)]


def words_needed(count: int, dtype: DType) -> int:
    """How many words a draw of `count` elements takes from the stream."""
    return 2 * count if dtype is f64 else count


def carrier(dtype: DType) -> DType:
    """The float dtype in which a draw is computed before it becomes `dtype`."""
    return f64 if dtype is f64 else f32


def words(seed: int, offset: int, count: int) -> Array:
    """`count` words of the stream of `seed`, starting with block `offset`."""
    blocks = (count + 3) // 4
    result = np.empty((blocks, 4), np.uint32)
    for start in range(0, blocks, CHUNK):
        part = result[start : start + CHUNK]
        index = np.arange(start, start + len(part), dtype=np.uint64) + np.uint64(offset % (1 << 64))
        counter = (index & np.uint64(LOW), index >> np.uint64(32), np.zeros_like(index), np.zeros_like(index))
        for column, word in enumerate(encrypt(seed, counter)):
            part[:, column] = word
    return result.reshape(-1)[:count]


def encrypt(seed: int, counter: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
    """The four words of each block, from the four 32-bit words of its counter (arrays of u64, overwritten)."""
    low, half = np.uint64(LOW), np.uint64(32)
    first, second = (np.uint64(each) for each in MULTIPLIERS)
    a, b, c, d = counter
    left, right = np.empty_like(a), np.empty_like(a)
    for left_key, right_key in round_keys(seed):
        np.multiply(a, first, out=left)
        np.multiply(c, second, out=right)
        np.right_shift(right, half, out=a)
        np.bitwise_xor(a, b, out=a)
        np.bitwise_xor(a, np.uint64(left_key), out=a)
        np.right_shift(left, half, out=c)
        np.bitwise_xor(c, d, out=c)
        np.bitwise_xor(c, np.uint64(right_key), out=c)
        np.bitwise_and(right, low, out=b)
        np.bitwise_and(left, low, out=d)
    return a, b, c, d


def unit(seed: int, offset: int, count: int, dtype: DType) -> Array:
    """Numbers from 0 up to, but not including, 1: 24 random bits in f32, 53 in f64."""
    if dtype is f64:
        pairs = words(seed, offset, 2 * count).reshape(-1, 2).astype(np.uint64)
        return ((pairs[:, 0] >> np.uint64(5)) * 2.0**26 + (pairs[:, 1] >> np.uint64(6))) * 2.0**-53
    return (words(seed, offset, count) >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)


def uniform(seed: int, offset: int, count: int, dtype: DType = f32, low: float = 0.0, high: float = 1.0) -> Array:
    """Numbers from `low` up to, but not including, `high`; ints are truncated."""
    wide = carrier(dtype)
    values = unit(seed, offset, count, wide)
    if (low, high) != (0.0, 1.0):
        start, span = ends(low, high, wide)
        values = below(values * wide.numpy.type(span) + wide.numpy.type(start), low, high, wide)
    elif dtype is wide:
        return values
    result = convert_array(values, dtype)
    return below(result, low, high, dtype) if dtype.is_float else result


def ends(low: float, high: float, wide: DType) -> tuple[float, float]:
    """The lower end and the length of an interval, as `wide` holds them."""
    number = wide.numpy.type
    return float(number(low)), float(number(high) - number(low))


def bernoulli(seed: int, offset: int, count: int, dtype: DType, probability: float) -> Array:
    """1 where a uniform number is below the probability, 0 elsewhere."""
    wide = carrier(dtype)
    return convert_array(unit(seed, offset, count, wide) < wide.numpy.type(probability), dtype)


def normal(seed: int, offset: int, count: int, dtype: DType, mean: float, std: float) -> Array:
    """Box-Muller in double precision: each pair of uniform numbers gives a pair of normal ones."""
    wide = carrier(dtype)
    pairs = unit(seed, offset, count + count % 2, wide).astype(np.float64).reshape(-1, 2)
    radius = np.sqrt(-2.0 * np.log(1.0 - pairs[:, 0]))
    angle = 2.0 * np.pi * pairs[:, 1]
    values = np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=1).reshape(-1)[:count]
    return convert_array(convert_array(values * std + mean, wide), dtype)


def below(array: Array, low: float, high: float, dtype: DType) -> Array:
    """Move what rounding pushed onto the excluded end of an interval to the number just below it."""
    end, largest = last_below(low, high, dtype)
    return array if largest is None else np.where(array >= end, largest, array)


def last_below(low: float, high: float, dtype: DType) -> tuple[Any, Any]:
    """The end of an interval as `dtype` holds it, and the number just below; None where there is none inside."""
    start, end, lowest = (convert_array(np.array(each, np.float64), dtype) for each in (low, high, -np.inf))
    largest = np.nextafter(end, lowest)
    return end, largest if largest >= start else None
