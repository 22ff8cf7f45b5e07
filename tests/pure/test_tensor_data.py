"""TensorData: construction from anything, access, conversion, comparison and the wire."""

from __future__ import annotations

import math
import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burn.dtype import ARITHMETIC, STORAGE, DType, bf16, bool_, f16, f32, f64, i4, i16, i32, i64, u8, u64
from burn.errors import DataError, DTypeError, ShapeError
from burn.shape import Shape
from burn.tensor.data import TensorData
from burn.tensor.printing import print_options
from burn.tensor.tolerance import Tolerance

# Construction


@pytest.mark.parametrize(
    "values, shape, dtype",
    [
        ([1.0, 2.0], [2], f32),
        ([[1, 2, 3], [4, 5, 6]], [2, 3], i64),
        ([[[True]], [[False]]], [2, 1, 1], bool_),
        ((1, 2.5), [2], f32),
        ([True, 2], [2], i64),
        ([2**63, 1], [2], u64),
        ([2**64 - 1], [1], u64),
        ([1e30, 2], [2], f32),
        ([], [0], f32),
        ([[], []], [2, 0], f32),
        (3, [], i64),
        (2.5, [], f32),
        (True, [], bool_),
        (range(3), [3], i64),
        ([np.float64(1.0), np.float64(2.0)], [2], f64),
        ([np.array([1, 2], np.int16), np.array([3, 4], np.int16)], [2, 2], i16),
        (np.zeros((2, 3), np.float16), [2, 3], f16),
        (np.float32(3), [], f32),
        (np.zeros(2, ml_dtypes.bfloat16), [2], bf16),
    ],
)
def test_shape_and_dtype_follow_from_the_values(values: Any, shape: list[int], dtype: DType) -> None:
    data = TensorData(values)
    assert isinstance(data.shape, Shape)
    assert data.shape == tuple(shape)
    assert data.rank == len(shape)
    assert data.dtype is dtype
    assert data.num_elements() == math.prod(shape)


def test_lists_may_be_nested_to_any_depth() -> None:
    values: Any = 1.5
    for _ in range(12):
        values = [values]
    assert TensorData(values).shape == (1,) * 12
    assert TensorData(values).tolist() == values


def test_large_unsigned_ints_are_kept_exactly() -> None:
    assert TensorData([2**63 + 1, 1]).to_vec() == [2**63 + 1, 1]


@pytest.mark.parametrize(
    "values, message",
    [
        ([[1, 2, 3], [4, 5]], r"ragged nested list: values\[1\] has 2 elements and values\[0\] has 3"),
        ([[[1], [2]], [[3], [4, 5]]], r"values\[1\]\[1\] has 2 elements and values\[0\]\[0\] has 1"),
        ([1, [2]], r"values\[1\] is a list of 1 where values\[0\] is a single value"),
        ([[1], 2], r"values\[1\] is the single value 2 where values\[0\] is a list of 1"),
        ([1, "two"], r"values\[1\] is 'two' \(str\), not a number or bool"),
        ([[1.0, None]], r"values\[0\]\[1\] is None \(NoneType\), not a number or bool"),
        ("text", r"values is 'text' \(str\)"),
        ([2**64], r"values\[0\] is 18446744073709551616, which no 64-bit int holds; write it as a float"),
        ([2**63, -1], r"values\[0\] is 9223372036854775808, which needs u64, and values\[1\] is -1"),
        (np.array(["a"]), r"an array of NumPy's <U1 holds no numbers or bools"),
        (np.array([1j]), r"complex128"),
        ([1j], r"values\[0\] is 1j \(complex\)"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(values: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        TensorData(values)


def test_a_python_int_must_fit_the_dtype_that_is_asked_for() -> None:
    assert TensorData([0, 255], dtype=u8).to_vec() == [0, 255]
    with pytest.raises(DataError, match="300 does not fit u8, which holds 0 to 255; choose a wider dtype"):
        TensorData([1, 300], dtype=u8)
    assert TensorData([1, 300]).convert(u8).to_vec() == [1, 44]
    assert TensorData(np.array([1, 300]), dtype=u8).to_vec() == [1, 44]


def test_a_dtype_converts_values_of_another_kind() -> None:
    assert TensorData([1.9, -1.9], dtype=i32).to_vec() == [1, -1]
    assert TensorData([1, 0], dtype="bool").to_vec() == [True, False]
    assert TensorData([1, 2], dtype=float).dtype is f32
    assert TensorData([0.1], dtype=f64).to_vec() == [0.1]


def test_a_shape_is_filled_in_row_major_order() -> None:
    data = TensorData([1, 2, 3, 4, 5, 6], [2, 3])
    assert data.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert TensorData(data, [3, 2]).tolist() == [[1, 2], [3, 4], [5, 6]]
    with pytest.raises(ShapeError, match=r"6 values do not fill the shape \[2, 2\], which needs 4"):
        TensorData([1, 2, 3, 4, 5, 6], [2, 2])


def test_strides_and_byte_order_do_not_matter() -> None:
    array = np.arange(12, dtype=">i4").reshape(3, 4)[::-1, ::2].T
    data = TensorData(array)
    assert data.dtype is i32
    assert data.tolist() == array.tolist()
    assert data.to_vec() == [each for row in array.tolist() for each in row]


def test_data_owns_its_bytes() -> None:
    array = np.zeros(3, np.float32)
    data = TensorData(array)
    copy = TensorData(data)
    array[0] = 1
    data.as_mut_slice()[1] = 2
    assert data.to_vec() == [0.0, 2.0, 0.0]
    assert copy.to_vec() == [0.0, 0.0, 0.0]


def test_a_tensor_keeps_the_array_it_was_given_and_copies_any_other() -> None:
    from burn import NdArray, Tensor

    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    given = Tensor.from_data(TensorData.give(array), NdArray())
    copied = Tensor.from_data(TensorData.adopt(array), NdArray())
    array[0, 0] = 7
    assert given.numpy()[0, 0] == 7
    assert copied.numpy()[0, 0] == 0
    assert Tensor.from_data(TensorData.give(array), NdArray(), dtype="i64").numpy().tolist() == [[7, 1, 2], [3, 4, 5]]


def test_adopted_arrays_are_shared_until_written_to() -> None:
    array = np.arange(3, dtype=np.float32)
    data = TensorData.adopt(array)
    assert np.shares_memory(data.numpy(), array)
    data.as_mut_slice()[0] = 9
    assert array[0] == 0
    assert data.to_vec() == [9.0, 1.0, 2.0]
    assert TensorData.adopt(np.ones((2, 3)).T).shape == (3, 2)
    assert TensorData.adopt(np.array(1.0)).shape == ()


def test_objects_that_are_arrays_or_tensors_are_read() -> None:
    torch = pytest.importorskip("torch")
    assert TensorData(torch.ones(2, 2)).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert TensorData(torch.ones(2, dtype=torch.bfloat16)).dtype.name == "bf16"
    with pytest.raises(DataError, match="TensorData: Tensor cannot be read as an array"):
        TensorData(torch.ones(2, requires_grad=True))

    class HasData:
        def to_data(self) -> TensorData:
            return TensorData([1, 2])

    assert TensorData(HasData()).to_vec() == [1, 2]


def test_makers_fill_a_shape() -> None:
    assert TensorData.zeros([2, 1]).tolist() == [[0.0], [0.0]]
    assert TensorData.ones([2], i64).to_vec() == [1, 1]
    assert TensorData.full([2], 0.5, bf16).to_vec() == [0.5, 0.5]
    assert TensorData.full([], 7, "i4").item() == 7
    assert TensorData.ones([0, 3]).shape == (0, 3)
    with pytest.raises(ShapeError, match="full: the value must be one number, got 2"):
        TensorData.full([2], [1, 2])


# Access


def test_a_slice_is_a_flat_view_that_cannot_be_written() -> None:
    data = TensorData([[1.0, 2.0], [3.0, 4.0]])
    view = data.as_slice(f32)
    assert view.tolist() == [1.0, 2.0, 3.0, 4.0]
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 5
    with pytest.raises(ValueError, match="read-only"):
        data.numpy()[0] = 5


def test_a_mutable_slice_writes_through() -> None:
    data = TensorData([[1.0, 2.0], [3.0, 4.0]])
    data.as_mut_slice(f32)[3] = 9
    assert data.tolist() == [[1.0, 2.0], [3.0, 9.0]]


@pytest.mark.parametrize("method", ["as_slice", "as_mut_slice", "to_vec", "into_vec"])
def test_another_dtype_than_the_datas_own_is_refused_with_what_to_write(method: str) -> None:
    message = rf"{method}: the data is f32 and i64 was asked for; write {method}\('f32'\), or convert\('i64'\)"
    with pytest.raises(DTypeError, match=message):
        getattr(TensorData([1.0]), method)("i64")


def test_iteration_converts_and_gives_python_numbers() -> None:
    data = TensorData([[1.7, -2.7], [math.nan, 1e30]])
    assert list(data.iter(i32)) == [1, -2, 0, 2**31 - 1]
    assert [type(each) for each in data.iter(bool)] == [bool] * 4
    assert list(TensorData([1, 2]).iter()) == [1, 2]


@pytest.mark.parametrize("dtype", [*ARITHMETIC, *STORAGE], ids=repr)
def test_lists_of_every_dtype_hold_python_numbers(dtype: DType) -> None:
    data = TensorData([[0, 1]], dtype=dtype)
    wanted = bool if dtype.is_bool else int if dtype.is_int else float
    assert all(type(each) is wanted for each in [*data.to_vec(), *data.tolist()[0]])


def test_one_element_is_an_item() -> None:
    assert TensorData([[2.5]]).item() == 2.5
    with pytest.raises(ShapeError, match=r"item: needs exactly one element, got shape \[2\]"):
        TensorData([1, 2]).item()


def test_bytes_are_row_major_and_little_endian() -> None:
    assert TensorData([1, 256], dtype="u16").as_bytes() == b"\x01\x00\x00\x01"
    assert TensorData.from_bytes(b"\x01\x00\x00\x01", [2], "u16").to_vec() == [1, 256]
    assert TensorData([True, False]).into_bytes() == b"\x01\x00"
    with pytest.raises(DataError, match=r"from_bytes: f32 of shape \[2\] needs 8 bytes, got 7"):
        TensorData.from_bytes(b"1234567", [2], f32)


numbers = st.sampled_from([*ARITHMETIC, *STORAGE])


@given(numbers, st.lists(st.integers(0, 3), max_size=3), st.randoms(use_true_random=False))
def test_bytes_wire_and_pickle_round_trip(dtype: DType, shape: list[int], random: Any) -> None:
    count = math.prod(shape)
    data = TensorData([random.uniform(-300, 300) for _ in range(count)], shape).convert(dtype)
    assert TensorData.from_bytes(data.as_bytes(), shape, dtype) == data
    assert TensorData.from_wire(data.to_wire()) == data
    assert pickle.loads(pickle.dumps(data)) == data
    assert list(data.to_wire()) == ["bytes", "shape", "dtype"]


def test_an_incomplete_wire_form_is_refused() -> None:
    assert TensorData([1.0]).to_wire() == {"bytes": b"\x00\x00\x80?", "shape": [1], "dtype": "f32"}
    with pytest.raises(DataError, match="from_wire: missing shape, dtype; a wire form has bytes, shape and dtype"):
        TensorData.from_wire({"bytes": b""})


@given(st.lists(st.lists(st.floats(width=32), min_size=2, max_size=2), min_size=1, max_size=5))
def test_nested_lists_of_f32_round_trip(values: list[list[float]]) -> None:
    data = TensorData(values)
    assert TensorData(data.tolist()) == data
    assert np.asarray(data).dtype == np.float32


def test_numpy_reads_it() -> None:
    data = TensorData([[1, 2]])
    assert np.asarray(data).tolist() == [[1, 2]]
    assert np.asarray(data, np.float64).dtype == np.float64
    fresh = np.array(data)
    fresh[0, 0] = 9
    assert data.tolist() == [[1, 2]]


# Conversion


def test_conversion_saturates_and_leaves_the_original() -> None:
    data = TensorData([1.5, math.nan, -1e10])
    assert data.convert(i32).to_vec() == data.convert_dtype("i32").to_vec() == [1, 0, -(2**31)]
    assert data.dtype is f32
    same = data.convert(f32)
    same.as_mut_slice()[0] = 0
    assert data.to_vec()[0] == 1.5


def test_a_careful_cast_refuses_what_leaves_the_range() -> None:
    assert TensorData([1.9, -0.5]).try_cast(u8).to_vec() == [1, 0]
    assert TensorData([math.inf, 0.1]).try_cast(f16).dtype is f16
    with pytest.raises(DataError, match=r"try_cast: NaN at \[1\] does not fit i64; use convert"):
        TensorData([1.0, math.nan]).try_cast(i64)
    with pytest.raises(DataError, match=r"try_cast: 70000 at \[0, 1\] does not fit f16"):
        TensorData([[1, 70000]]).try_cast(f16)
    with pytest.raises(DataError, match=r"try_cast: -1 at \[0\] does not fit u64"):
        TensorData([-1]).try_cast(u64)


# Text


def test_the_text_is_the_bare_nested_list() -> None:
    assert str(TensorData([0.0, 1 / 3, 2 / 3, 1.0])) == "[0.0, 0.33333334, 0.6666667, 1.0]"
    assert str(TensorData([[1, 2], [3, 4]])) == "[[1, 2], [3, 4]]"
    assert str(TensorData([True, False])) == "[true, false]"
    assert str(TensorData(2.0)) == "2.0"
    assert str(TensorData([], [0, 2])) == "[]"
    assert str(TensorData([[7, -8]], dtype=i4)) == "[[7, -8]]"
    assert repr(TensorData([[1.0, 2.0]])) == "TensorData([[1.0, 2.0]], shape=[1, 2], dtype=f32)"
    with print_options(precision=1, threshold=3, edge_items=1):
        assert str(TensorData([0.25, 1.0, 2.0, 3.0])) == "[0.2, ..., 3.0]"


# Comparison


def test_equality_needs_shape_dtype_and_values_and_takes_nan_as_equal() -> None:
    assert TensorData([1.0, math.nan]) == TensorData([1.0, math.nan])
    assert TensorData([0.0]) == TensorData([-0.0])
    assert TensorData([1.0]) != TensorData([1])
    assert TensorData([1.0]) != TensorData([[1.0]])
    assert TensorData([1.0]) != TensorData([2.0])
    assert TensorData([1.0]) != [1.0]
    assert TensorData([1.0], dtype=bf16) == TensorData([1.0], dtype=bf16)
    with pytest.raises(TypeError, match="unhashable"):
        hash(TensorData([1]))


def test_assert_eq_lists_the_first_five_differences() -> None:
    data = TensorData([[0, 1, 2, 3], [4, 5, 6, 7]])
    data.assert_eq(data)
    data.assert_eq([[0, 1, 2, 3], [4, 5, 6, 7]], strict=True)
    with pytest.raises(AssertionError) as failure:
        data.assert_eq(TensorData([[0, 9, 9, 9], [9, 9, 9, 9]]), strict=True)
    assert str(failure.value).splitlines() == [
        "assert_eq: 7 of 8 elements differ",
        "  at [0, 1]: 1 != 9",
        "  at [0, 2]: 2 != 9",
        "  at [0, 3]: 3 != 9",
        "  at [1, 0]: 4 != 9",
        "  at [1, 1]: 5 != 9",
        "  and 2 more",
    ]


def test_assert_eq_compares_dtypes_only_when_strict() -> None:
    TensorData([1, 2]).assert_eq(TensorData([1.0, 2.0]), strict=False)
    TensorData([2**63], dtype=u64).assert_eq(TensorData([2**63], dtype=u64))
    with pytest.raises(AssertionError, match="dtypes differ: i64 and f32; use strict=False"):
        TensorData([1, 2]).assert_eq(TensorData([1.0, 2.0]), strict=True)
    with pytest.raises(AssertionError, match=r"at \[0\]: 9223372036854775807 != 9223372036854775808"):
        TensorData([2**63 - 1]).assert_eq(TensorData([2**63]), strict=False)
    with pytest.raises(AssertionError, match=r"shapes differ: \[2\] and \[1, 2\]"):
        TensorData([1, 2]).assert_eq([[1, 2]])


def test_assert_approx_eq_shows_how_far_apart() -> None:
    data = TensorData([1.0, 100.0, math.nan])
    data.assert_approx_eq([1.0, 100.2, math.nan])
    data.assert_approx_eq([1.0, 100.9, math.nan], Tolerance.permissive())
    data.assert_approx_eq([1.0, 100.9, math.nan], 0.1)
    with pytest.raises(AssertionError) as failure:
        data.assert_approx_eq([1.5, 100.0, 0.0], Tolerance.rel_abs(0.25, 0.125))
    assert str(failure.value).splitlines() == [
        "assert_approx_eq: 2 of 3 elements are not close (relative 0.25, absolute 0.125)",
        "  at [0]: 1.0 != 1.5 (apart by 0.5)",
        "  at [2]: NaN != 0.0 (apart by nan)",
    ]


def test_assert_approx_eq_uses_the_bounds_of_the_narrower_float() -> None:
    tolerance = Tolerance.strict().set_half_relative(0.5)
    TensorData([1.0], dtype=f16).assert_approx_eq(TensorData([1.25], dtype=f32), tolerance)
    with pytest.raises(AssertionError, match="1 of 1 elements are not close"):
        TensorData([1.0], dtype=f32).assert_approx_eq(TensorData([1.25], dtype=f32), tolerance)


def test_ranges_are_half_open_unless_inclusive() -> None:
    data = TensorData([0.0, 0.5, 1.0])
    data.assert_within_range_inclusive(0, 1)
    data.assert_within_range(0, 1.5)
    TensorData([0, 4]).assert_within_range(range(5))
    with pytest.raises(AssertionError, match=r"1 of 3 elements lie outside \[0, 1\)\n  at \[2\]: 1\.0"):
        data.assert_within_range(0, 1)
    with pytest.raises(AssertionError, match="1 of 1 elements lie outside"):
        TensorData([math.nan]).assert_within_range_inclusive(-math.inf, math.inf)


def test_comparisons_work_on_scalars_and_nothing_at_all() -> None:
    TensorData(1.0).assert_eq(TensorData(1.0))
    TensorData(1.0).assert_approx_eq(1.001)
    TensorData([]).assert_eq([])
    TensorData([]).assert_approx_eq([])
    with pytest.raises(AssertionError, match=r"at \[\]: 1\.0 != 2\.0"):
        TensorData(1.0).assert_eq(2.0)
