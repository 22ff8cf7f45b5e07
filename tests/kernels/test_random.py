"""Random numbers inside kernels are those of the host's generator, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from burn.cube import KernelBuilder
from burn.cube.random import philox, random_word, unit_f32, unit_f64
from burn.dtype import f32, f64, i64, u32, u64
from burn.ops import philox as host
from tests.kernels.running import run_everywhere


@pytest.mark.parametrize(("seed", "offset"), [(0, 0), (42, 7), ((1 << 63) + 12345, (1 << 33) - 3)])
def test_words_by_block_and_by_element_are_the_hosts(seed, offset):
    b = KernelBuilder()
    blocks_out, words_out, units_out = (b.buffer(dtype, write=True) for dtype in (u32, u32, f32))
    doubles_out = b.buffer(f64, write=True)
    blocks, count, seed_, offset_ = b.size(), b.size(), b.scalar(u64), b.scalar(u64)
    with b.lane(blocks) as k:
        words = philox(b, seed_, offset_ + b.cast(k, u64))
        for place, word in enumerate(words):
            b.store(blocks_out, k * 4 + place, word)
        for place in range(2):
            b.store(doubles_out, k * 2 + place, unit_f64(b, words[2 * place], words[2 * place + 1]))
    with b.lane(count) as i:
        word = random_word(b, seed_, offset_, i)
        b.store(words_out, i, word)
        b.store(units_out, i, unit_f32(b, word))
    kernel = b.finish()
    outputs = [(80, u32), (75, u32), (75, f32), (40, f64)]
    got = run_everywhere(kernel, [], outputs, [20, 75], [seed, offset])
    np.testing.assert_array_equal(got[0], host.words(seed, offset, 80))
    np.testing.assert_array_equal(got[1], host.words(seed, offset, 75))
    np.testing.assert_array_equal(got[2], host.unit(seed, offset, 75, f32))
    np.testing.assert_array_equal(got[3], host.unit(seed, offset, 40, f64))


def test_the_test_vectors_of_the_authors():
    """Counter and key zero, from the published known answers of Random123."""
    b = KernelBuilder()
    out = b.buffer(i64, write=True)
    for place, word in enumerate(philox(b, b.const(u64, 0), b.const(u64, 0))):
        b.store(out, place, b.cast(word, i64))
    (got,) = run_everywhere(b.finish(), [], [(4, i64)])
    assert [f"{each:08x}" for each in got] == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]
