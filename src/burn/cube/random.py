"""Random numbers inside kernels: Philox4x32-10, the stream of `burn.ops.philox`, word for word.

Element `i` of a draw is word `i % 4` of block `offset + i // 4`. A loop over blocks uses all four words of `philox`;
`random_word` serves loops over elements, at four times the price.
"""

from __future__ import annotations

from burn.cube.builder import KernelBuilder
from burn.cube.ir import Value
from burn.dtype import f32, f64, i64, u32, u64

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10


def philox(b: KernelBuilder, seed: Value, block: Value) -> tuple[Value, Value, Value, Value]:
    """The four words (u32) of a block; `seed` and `block` are u64."""
    lower = b.const(u64, 0xFFFFFFFF)
    left_key, right_key = seed & lower, seed >> 32
    x0, x1 = block & lower, block >> 32
    x2 = x3 = b.const(u64, 0)
    # Words stay in the lower halves of u64 from round to round, whatever is above them: vector instructions multiply
    # such halves, and words of u32 would be widened and narrowed in every round.
    for _ in range(ROUNDS):
        left, right = ((x & lower) * multiplier for x, multiplier in zip((x0, x2), MULTIPLIERS))
        x0, x1, x2, x3 = (right >> 32) ^ x1 ^ left_key, right, (left >> 32) ^ x3 ^ right_key, left
        left_key, right_key = (left_key + KEY_STEPS[0]) & lower, (right_key + KEY_STEPS[1]) & lower
    return tuple(b.cast(x, u32) for x in (x0, x1, x2, x3))  # type: ignore[return-value]


def random_word(b: KernelBuilder, seed: Value, offset: Value, index: Value) -> Value:
    """Word `index` (i64) of a draw that starts with block `offset` (u64)."""
    position = b.cast(index, u64)
    words = philox(b, seed, offset + (position >> 2))
    low, high = b.eq(index & b.const(i64, 1), 0), b.eq(index & b.const(i64, 2), 0)
    return b.select(high, b.select(low, words[0], words[1]), b.select(low, words[2], words[3]))


def unit_f32(b: KernelBuilder, word: Value) -> Value:
    """A number from 0 up to, but not including, 1, from the upper 24 bits of a word."""
    return b.cast(word >> 8, f32) * 2.0**-24


def unit_f64(b: KernelBuilder, first: Value, second: Value) -> Value:
    """The same with 53 bits, from two words."""
    upper, lower = (b.cast(b.cast(word, u64) >> count, f64) for word, count in ((first, 5), (second, 6)))
    return (upper * 2.0**26 + lower) * 2.0**-53
