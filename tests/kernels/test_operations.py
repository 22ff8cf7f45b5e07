"""Every elementary operation, on every dtype it takes, gives the same bits on every target."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from burn.cube import KernelBuilder
from burn.cube.operations import NUMBERS
from burn.dtype import ARITHMETIC, bf16, bool_, f16, f32, f64, i32, i64, u16, u32, u64
from tests.kernels.running import elementwise, run_everywhere, runners
from tests.kernels.values import pairs, random, special

INTEGERS = [each for each in ARITHMETIC if each.is_int]
IN_ORDER = [each for each in ARITHMETIC if each in NUMBERS]


@pytest.mark.parametrize("dtype", IN_ORDER, ids=str)
def test_arithmetic_and_comparisons_agree_everywhere(dtype):
    def body(b: KernelBuilder, x: Any, y: Any) -> list[Any]:
        found = [x + y, x - y, x * y, x / y, b.min(x, y), b.max(x, y), -x, abs(x), b.sign(x), b.select(x < y, x, y)]
        found += [x < y, x <= y, x > y, x >= y, b.eq(x, y), b.ne(x, y)]
        if dtype.is_float:
            found += [b.floor(x), b.ceil(x), b.rint(x), b.trunc(x), b.sqrt(x), b.isnan(x), b.isinf(x), b.copysign(x, y)]
        else:
            found += [b.rem(x, y), x & y, x | y, x ^ y, ~x, x << y, x >> y, x // y, x % y]
        return found

    x, y = pairs(dtype)
    kernel, dtypes = elementwise([dtype, dtype], body)
    got = run_everywhere(kernel, [x, y], [(x.size, each) for each in dtypes], [x.size])
    with np.errstate(all="ignore"):
        expected = [np.add(x, y), np.subtract(x, y), np.multiply(x, y)]
        for ours, numpys in zip(got, expected):
            np.testing.assert_array_equal(ours, numpys)
        np.testing.assert_array_equal(got[4], np.minimum(x, y))
        np.testing.assert_array_equal(got[5], np.maximum(x, y))
        if dtype.is_float:
            for ours, numpys in zip(got[16:21], (np.floor(x), np.ceil(x), np.rint(x), np.trunc(x), np.sqrt(x))):
                np.testing.assert_array_equal(ours, numpys)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_corner_cases_follow_the_contract(dtype):
    kernel, dtypes = elementwise([dtype, dtype], lambda b, x, y: [x / y, b.rem(x, y), x << y, x >> y, x // y, x % y])
    limits = dtype.iinfo()
    cases = [(5, 0), (limits.min, 0), (7, 2), (limits.max, dtype.bits), (1, dtype.bits - 1), (limits.max, 1)]
    cases += [] if dtype.is_uint else [(limits.min, -1), (-7, 2), (7, -2), (-1, dtype.bits), (-8, 1), (3, -1)]
    x, y = (np.array(each, dtype.numpy) for each in zip(*cases))
    quotient, rest, left, right, down, modulo = run_everywhere(
        kernel, [x, y], [(x.size, each) for each in dtypes], [x.size]
    )

    def wrap(value: int) -> int:
        low = value & ((1 << dtype.bits) - 1)
        return low - (1 << dtype.bits) if not dtype.is_uint and low >> (dtype.bits - 1) else low

    for k, (a, c) in enumerate(cases):
        truncated = 0 if c == 0 else abs(a) // abs(c) * (1 if (a < 0) == (c < 0) else -1)
        assert quotient[k] == wrap(truncated)
        assert rest[k] == (0 if c == 0 else a - truncated * c)
        assert left[k] == (wrap(a << c) if 0 <= c < dtype.bits else 0)
        assert right[k] == (a >> c if 0 <= c < dtype.bits else (-1 if a < 0 else 0))
        assert down[k] == (0 if c == 0 else wrap(a // c))
        assert modulo[k] == (0 if c == 0 else a % c)


@pytest.mark.parametrize("dtype", [i32, u32, i64, u64], ids=str)
def test_mulhi_is_the_upper_half_of_the_product(dtype):
    x, y = pairs(dtype, 50)
    kernel, dtypes = elementwise([dtype, dtype], lambda b, x, y: [b.mulhi(x, y)])
    (got,) = run_everywhere(kernel, [x, y], [(x.size, dtypes[0])], [x.size])
    assert got.tolist() == [(int(a) * int(b)) >> dtype.bits for a, b in zip(x, y)]


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
def test_fma_rounds_once(dtype):
    from fractions import Fraction

    generator = np.random.default_rng(0)
    x, y = (generator.standard_normal(300).astype(dtype.numpy) for _ in range(2))
    z = (-x * y * (1 + generator.standard_normal(300) * 1e-7)).astype(dtype.numpy)
    kernel, _ = elementwise([dtype] * 3, lambda b, x, y, z: [b.fma(x, y, z)])
    (got,) = run_everywhere(kernel, [x, y, z], [(x.size, dtype)], [x.size])
    for a, b, c, ours in zip(x, y, z, got):
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        if dtype is f64:
            assert float(ours) == float(exact)
        else:
            assert abs(Fraction(float(ours)) - exact) <= Fraction(float(np.spacing(abs(ours)))) / 2


def test_fma_of_specials_agrees_everywhere():
    x, y = pairs(f32, 50)
    z = np.roll(x, 7)
    kernel, _ = elementwise([f32] * 3, lambda b, x, y, z: [b.fma(x, y, z)])
    (got,) = run_everywhere(kernel, [x, y, z], [(x.size, f32)], [x.size])
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64) * y + z
    finite = np.isfinite(wide) & (np.abs(wide) < 3e38)
    np.testing.assert_allclose(got[finite], wide[finite], rtol=1.2e-7, atol=2e-45)


def test_bool_operations_agree_everywhere():
    x, y = (each.reshape(-1) for each in np.meshgrid([False, True], [False, True]))
    kernel, dtypes = elementwise(
        [bool_, bool_], lambda b, x, y: [x & y, x | y, x ^ y, ~x, b.eq(x, y), b.ne(x, y), b.select(x, y, ~y)]
    )
    got = run_everywhere(kernel, [x, y], [(4, each) for each in dtypes], [4])
    expected = [x & y, x | y, x ^ y, ~x, x == y, x != y, np.where(x, y, ~y)]
    for ours, numpys in zip(got, expected):
        np.testing.assert_array_equal(ours, numpys)


def reference_cast(x: Any, source: Any, target: Any) -> Any:
    """NumPy's conversion, with floats that saturate on the way to integers."""
    if target.is_int and source.is_float:
        limits = target.iinfo()

        def saturate(number: float) -> int:
            if np.isnan(number):
                return 0
            if np.isinf(number):
                return limits.max if number > 0 else limits.min
            return min(max(int(number), limits.min), limits.max)

        return np.array([saturate(float(each)) for each in x], target.numpy)
    if target is bool_:
        return x.astype(np.float64) != 0 if source in (f16, bf16) else x != 0
    if target is bf16 and source is not bf16:
        x = x.astype(np.float32)
    return x.astype(target.numpy)


@pytest.mark.parametrize("source", ARITHMETIC, ids=str)
def test_casts_between_every_pair_of_dtypes(source):
    targets = [each for each in ARITHMETIC if each is not source]
    x = np.concatenate([special(source), random(source, 100)])
    kernel, dtypes = elementwise([source], lambda b, x: [b.cast(x, each) for each in targets])
    got = run_everywhere(kernel, [x], [(x.size, each) for each in dtypes], [x.size])
    for target, ours in zip(targets, got):
        if target in (f16, bf16) and source in (f64, i64, u64, i32, u32):
            continue  # NumPy rounds some of these twice; the next test has exact numbers
        with np.errstate(all="ignore"):
            expected = reference_cast(x, source, target)
        np.testing.assert_array_equal(ours.astype(np.float64), expected.astype(np.float64), err_msg=str(target))


@pytest.mark.parametrize("target", [f16, bf16], ids=str)
def test_f64_is_rounded_once_to_halves(target):
    every = np.arange(0x7C00 if target is f16 else 0x7F80, dtype=np.uint16).view(target.numpy).astype(np.float64)
    middle = (every[:-1] + every[1:]) / 2
    x = np.concatenate([middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)])
    kernel, _ = elementwise([f64], lambda b, x: [b.cast(x, target)])
    (got,) = run_everywhere(kernel, [x], [(x.size, target)], [x.size], c=True)
    bits, count = got.view(np.uint16), middle.size
    lower = np.arange(count)
    np.testing.assert_array_equal(bits[:count], lower + lower % 2)  # a tie goes to the even one
    np.testing.assert_array_equal(bits[count : 2 * count], lower + 1)
    np.testing.assert_array_equal(bits[2 * count :], lower)


def test_every_f16_becomes_the_right_f32_and_comes_back():
    x = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(np.float16)
    kernel, _ = elementwise([f16], lambda b, x: [b.cast(x, f32), b.cast(b.cast(x, f32), f16)])
    wide, back = run_everywhere(kernel, [x], [(x.size, f32), (x.size, f16)], [x.size])
    np.testing.assert_array_equal(wide, x.astype(np.float32))
    number = ~np.isnan(x)
    np.testing.assert_array_equal(back.view(np.uint16)[number], x.view(np.uint16)[number])


def test_bf16_is_the_upper_half_of_f32():
    x = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(ml_dtypes.bfloat16)
    kernel, _ = elementwise([bf16], lambda b, x: [b.cast(x, f32), b.bitcast(x, u16)])
    wide, bits = run_everywhere(kernel, [x], [(x.size, f32), (x.size, u16)], [x.size])
    np.testing.assert_array_equal(wide, x.astype(np.float32))
    np.testing.assert_array_equal(bits, x.view(np.uint16))


def test_halves_are_computed_in_f32_and_rounded_on_store():
    b = KernelBuilder()
    x, out = b.buffer(f16), b.buffer(f16, write=True)
    count = b.size()
    with b.lane(count) as i:
        value = b.load(x, i)
        assert value.dtype is f32
        b.store(out, i, value * value + 1.0)
    kernel = b.finish()
    values = random(f16, 100)
    (got,) = run_everywhere(kernel, [values], [(100, f16)], [100])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(got, (values.astype(np.float32) ** 2 + 1).astype(np.float16))


def test_bitcasts_keep_bits():
    kernel, dtypes = elementwise(
        [f32, f64], lambda b, x, y: [b.bitcast(x, u32), b.bitcast(y, i64), b.bitcast(b.bitcast(x, i32), f32)]
    )
    x, y = random(f32, 33), random(f64, 33)
    got = run_everywhere(kernel, [x, y], [(33, each) for each in dtypes], [33])
    np.testing.assert_array_equal(got[0], x.view(np.uint32))
    np.testing.assert_array_equal(got[1], y.view(np.int64))
    np.testing.assert_array_equal(got[2], x)


def test_ldexp_reaches_subnormal_numbers_and_infinity():
    n = np.arange(-249, 250).astype(np.float32)
    x = np.full_like(n, 1.2345)
    kernel, _ = elementwise([f32, f32], lambda b, x, y: [b.ldexp(x, y)])
    (got,) = run_everywhere(kernel, [x, n], [(n.size, f32)], [n.size])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got, np.ldexp(x, n.astype(int)))


def test_there_are_several_ways_to_run_a_kernel():
    assert len(runners()) >= 3
