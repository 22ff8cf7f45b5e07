"""Conversion between dtypes, against a scalar oracle for every pair and against PyTorch where it agrees."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burn.dtype import ARITHMETIC, STORAGE, DType, bf16, bool_, dtype, f8e8m0, f16, f32, f64, i4, i8, i32, i64, u8, u64
from burn.ops.convert import convert_array

torch = pytest.importorskip("torch")

ALL = (*ARITHMETIC, *STORAGE)
TORCH = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
    "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool,
}  # fmt: skip
EXTREMES = [
    0.0, -0.0, 0.4, -0.4, 0.5, 1.0, -1.0, 1.5, -1.5, 2.5, 7.0, 8.0, -8.0, -9.0, 126.9, 127.9, 128.0, -128.9, 255.5,
    256.0, 32767.5, 65504.0, 65520.0, 2.0**31 - 1, 2.0**31, -(2.0**31), -(2.0**31) - 1, 2.0**32, 2.0**53, 2.0**62,
    2.0**63, -(2.0**63), 2.0**64, -(2.0**64), 1e30, -1e30, 1e300, math.inf, -math.inf, math.nan,
]  # fmt: skip


def values_of(source: DType) -> np.ndarray[Any, Any]:
    """Extreme values that exist in a dtype."""
    if source.is_bool:
        return np.array([False, True])
    if source.is_int:
        limits = source.iinfo()
        chosen = {limits.min, limits.min + 1, limits.max, limits.max - 1, 0, 1, limits.max // 2, limits.min // 3}
        return np.array(sorted(chosen), np.uint64 if source is u64 else np.int64).astype(source.numpy)
    with np.errstate(all="ignore"):
        return (
            np.array(EXTREMES, np.float64).astype(np.float32 if source.bits < 32 else np.float64).astype(source.numpy)
        )


def expected(value: Any, source: DType, target: DType) -> Any:
    """One element converted with Python's own numbers."""
    number: Any = bool(value) if source.is_bool else int(value) if source.is_int else float(value)
    if target.is_bool:
        return number != 0
    if target.is_int:
        limits = target.iinfo()
        if isinstance(number, float):
            if math.isnan(number):
                return 0
            if math.isinf(number):
                return limits.max if number > 0 else limits.min
            return min(max(math.trunc(number), limits.min), limits.max)
        return (int(number) - limits.min) % (1 << target.bits) + limits.min
    # Rounding between formats is the format library's own; what is checked here is that nothing else happens.
    with np.errstate(all="ignore"):
        plain = np.array([number], np.float64 if source.is_float else None)
        return float(plain.astype(target.numpy)[0])


@pytest.mark.parametrize(
    "source, target", list(itertools.product(ALL, ALL)), ids=lambda each: each.name if isinstance(each, DType) else ""
)
def test_every_pair_follows_the_scalar_rules_without_a_warning(source: DType, target: DType) -> None:
    array = values_of(source)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = convert_array(array, target)
    assert result.dtype == target.numpy
    assert result.shape == array.shape
    for value, found in zip(array, result, strict=True):
        wanted = expected(value, source, target)
        same = float(found) == float(wanted) or (math.isnan(float(found)) and math.isnan(float(wanted)))
        assert same if target.is_float else int(found) == int(wanted), (source, target, value, found, wanted)


@pytest.mark.parametrize("source", TORCH)
@pytest.mark.parametrize("target", TORCH)
def test_values_in_range_convert_as_in_pytorch(source: str, target: str) -> None:
    generator = np.random.default_rng(7)
    low, high = (0, 2) if source == "bool" else (0, 100) if source in ("u8",) or target == "u8" else (-100, 100)
    array = convert_array(generator.uniform(low, high, 200), dtype(source))
    tensor = torch.tensor(array.astype(np.float64)).to(TORCH[source]).to(TORCH[target])
    np.testing.assert_array_equal(convert_array(array, dtype(target)).astype(np.float64), tensor.to(torch.float64))


@pytest.mark.parametrize("source", ["i64", "i32", "i16", "i8", "u8"])
@pytest.mark.parametrize("target", ["i64", "i32", "i16", "i8", "u8"])
def test_ints_wrap_as_in_pytorch(source: str, target: str) -> None:
    array = values_of(dtype(source))
    tensor = torch.from_numpy(array.copy()).to(TORCH[target])
    np.testing.assert_array_equal(convert_array(array, dtype(target)), tensor.numpy())


@given(st.lists(st.floats(width=32), max_size=20))
def test_f32_becomes_bf16_and_f16_as_in_pytorch(values: list[float]) -> None:
    array = np.array(values, np.float32)
    tensor = torch.from_numpy(array.copy())
    np.testing.assert_array_equal(
        convert_array(array, bf16).astype(np.float32), tensor.to(torch.bfloat16).float().numpy()
    )
    np.testing.assert_array_equal(convert_array(array, f16), tensor.to(torch.float16).numpy())


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"])
def test_f32_becomes_8_bit_floats_as_in_pytorch(name: str) -> None:
    generator = np.random.default_rng(3)
    array = np.concatenate((generator.normal(0, 50, 300), [0.0, 240.0, -240.0, 2.0**-9])).astype(np.float32)
    result = convert_array(array, dtype(name)).astype(np.float32)
    np.testing.assert_array_equal(result, torch.from_numpy(array).to(getattr(torch, name)).float().numpy())


def test_a_float_too_large_becomes_infinite_or_nan_or_the_largest_as_the_format_allows() -> None:
    array = np.array([1e30, -1e30])
    results = {name: convert_array(array, dtype(name)).tolist() for name in ("f16", "f8e5m2", "f8e4m3fn", "f4e2m1")}
    assert results["f16"] == results["f8e5m2"] == [math.inf, -math.inf]
    assert all(math.isnan(value) for value in results["f8e4m3fn"])
    assert results["f4e2m1"] == [6.0, -6.0]


@given(st.floats(), st.sampled_from([each for each in ALL if each.is_int]))
def test_floats_saturate_and_drop_the_fraction(value: float, target: DType) -> None:
    result = convert_array(np.array([value, 0.0]), target)
    assert int(result[0]) == expected(value, f64, target)
    assert int(result[1]) == 0


def test_the_largest_ints_are_reached_although_no_float_equals_them() -> None:
    array = np.array([9.3e18, 2.0**63, np.nextafter(2.0**63, 0), -1e19])
    assert convert_array(array, i64).tolist() == [2**63 - 1, 2**63 - 1, 2**63 - 1024, -(2**63)]
    assert convert_array(np.array([2.0**64, 1.9e19, -0.5]), u64).tolist() == [2**64 - 1, 2**64 - 1, 0]


def test_nan_is_true_as_a_bool_and_0_as_an_int() -> None:
    for source in (f64, f32, f16, bf16, f8e8m0):
        array = np.array([np.nan], np.float32).astype(source.numpy)
        assert convert_array(array, bool_).tolist() == [True]
        assert convert_array(array, i32).tolist() == [0]


def test_nothing_is_copied_where_nothing_changes() -> None:
    array = np.arange(4, dtype=np.float32)
    assert convert_array(array, f32) is array


def test_foreign_byte_order_becomes_native() -> None:
    array = np.array([1, 256, -3], ">i4")
    result = convert_array(array, i32)
    assert result.dtype.isnative
    assert result.tolist() == [1, 256, -3]
    assert convert_array(array, f64).tolist() == [1.0, 256.0, -3.0]


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,), (3, 2)])
def test_odd_shapes_survive(shape: tuple[int, ...]) -> None:
    array = np.full(shape, 300.7)
    for target in (i8, u8, i4, f16, bf16, bool_):
        assert convert_array(array, target).shape == shape


def test_strided_views_convert_by_value() -> None:
    array = np.arange(24.0).reshape(4, 6)[::2, ::-1].T
    np.testing.assert_array_equal(convert_array(array, i32), array.astype(np.int32))
    assert convert_array(array * 1e18, i32).max() == 2**31 - 1
