"""Printed text: the Book's outputs byte for byte, Rust's forms of floats, summaries and options."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burn.dtype import DType, bf16, bool_, f8e4m3fn, f16, f32, f64, from_numpy, i4, i32
from burn.errors import ArgumentError
from burn.tensor.printing import (
    PrintOptions,
    format_element,
    format_tensor,
    format_values,
    get_print_options,
    parse_format_spec,
    print_options,
    set_print_options,
)

BOOK_FULL = """\
Tensor {
  data:
  [[0.12345679, 0.12345679, 0.12345679],
   [0.12345679, 0.12345679, 0.12345679]],
  shape: [2, 3],
  device: Cpu,
  backend: "ndarray",
  kind: "Float",
  dtype: "f32",
}"""

BOOK_PRECISION = """\
Tensor {
  data:
  [[0.12, 0.12, 0.12],
   [0.12, 0.12, 0.12]],
  shape: [2, 3],
  device: Cpu,
  backend: "ndarray",
  kind: "Float",
  dtype: "f32",
}"""

BOOK_WGPU = """\
Tensor {
  data:
  [[3.0, 4.0],
   [5.0, 6.0]],
  shape: [2, 2],
  device: DefaultDevice,
  backend: "wgpu",
  kind: "Float",
  dtype: "f32",
}"""


def text(array: Any, precision: int | None = None) -> str:
    array = np.asarray(array)
    dtype = from_numpy(array.dtype)
    return format_tensor(array, place="Cpu", label="ndarray", kind=dtype.kind, dtype=dtype, precision=precision)


def values(array: Any, **keywords: Any) -> str:
    array = np.asarray(array)
    return format_values(array, from_numpy(array.dtype), **keywords)


def test_the_book_prints_a_full_tensor() -> None:
    assert text(np.full((2, 3), 0.123456789, np.float32)) == BOOK_FULL


def test_the_book_prints_two_decimals() -> None:
    array = np.full((2, 3), 0.123456789, np.float32)
    assert text(array, precision=2) == BOOK_PRECISION
    with print_options(precision=2):
        assert text(array) == BOOK_PRECISION


def test_the_book_prints_a_sum_on_another_device() -> None:
    array = np.array([[3, 4], [5, 6]], np.float32)
    found = format_tensor(array, place="DefaultDevice", label="wgpu", kind="Float", dtype=f32)
    assert found == BOOK_WGPU


def test_deeper_tensors_indent_by_depth() -> None:
    array = np.arange(8, dtype=np.int64).reshape(2, 2, 2)
    assert text(array).splitlines()[2:7] == [
        "  [[[0, 1],",
        "    [2, 3]],",
        "   [[4, 5],",
        "    [6, 7]]],",
        "  shape: [2, 2, 2],",
    ]


@pytest.mark.parametrize(
    "array, expected",
    [
        (np.float32(3.5), "3.5"),
        (np.zeros(0, np.float32), "[]"),
        (np.zeros((2, 0), np.float32), "[[],\n []]"),
        (np.zeros((0, 3), np.float32), "[]"),
        (np.array([1], np.int32), "[1]"),
        (np.array([[True], [False]]), "[[true],\n [false]]"),
        (np.array([2**64 - 1], np.uint64), "[18446744073709551615]"),
    ],
)
def test_odd_shapes_and_other_kinds_print(array: Any, expected: str) -> None:
    assert values(array) == expected


def test_a_tensor_of_rank_0_prints_its_number_and_an_empty_shape() -> None:
    assert text(np.float32(2)).splitlines()[1:4] == ["  data:", "  2.0,", "  shape: [],"]


@pytest.mark.parametrize(
    "value, dtype, expected",
    [
        (0.1, f32, "0.1"), (1 / 3, f32, "0.33333334"), (1 / 3, f64, "0.3333333333333333"), (1 / 3, f16, "0.3333"),
        (1 / 3, bf16, "0.334"), (0.1, bf16, "0.1"), (1.0, f32, "1.0"), (-0.0, f32, "-0.0"), (0.0, f16, "0.0"),
        (123456.0, f32, "123456.0"), (16777216.0, f32, "16777216.0"), (1e15, f64, "1000000000000000.0"),
        (1e16, f64, "1e16"), (1e20, f32, "1e20"), (1.5e20, f64, "1.5e20"), (0.0001, f32, "0.0001"),
        (0.00012, f64, "0.00012"), (0.00001, f32, "1e-5"), (1.25e-7, f64, "1.25e-7"), (-2.5e-9, f32, "-2.5e-9"),
        (1e-45, f32, "1e-45"), (5e-324, f64, "5e-324"), (1.7976931348623157e308, f64, "1.7976931348623157e308"),
        (65504.0, f16, "65500.0"), (math.nan, f32, "NaN"), (math.inf, bf16, "inf"), (-math.inf, f64, "-inf"),
        (448.0, f8e4m3fn, "450.0"), (7, i4, "7"), (-3, i32, "-3"), (True, bool_, "true"), (False, bool_, "false"),
    ],
)  # fmt: skip
def test_an_element_has_the_fewest_digits_that_read_back(value: Any, dtype: DType, expected: str) -> None:
    assert format_element(value, dtype) == expected


@pytest.mark.parametrize("dtype", [f64, f32, f16, bf16, f8e4m3fn], ids=repr)
def test_shortest_text_reads_back_as_the_same_element(dtype: DType) -> None:
    bits = np.random.default_rng(1).integers(0, 256, dtype.numpy.itemsize * 500, dtype=np.uint8)
    for value in np.frombuffer(bits.tobytes(), dtype.numpy):
        if np.isfinite(float(value)):
            read = np.array(float(format_element(value, dtype)), np.float64).astype(dtype.numpy)
            assert read.tobytes() == value.tobytes()


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_f64_text_has_no_more_digits_than_pythons_own(value: float) -> None:
    found = format_element(value, f64)
    assert float(found) == value
    assert len(found.partition("e")[0].replace(".", "").strip("-0")) <= 17


@given(st.floats(-1e6, 1e6, width=32), st.integers(0, 6))
def test_a_precision_fixes_the_decimals(value: float, precision: int) -> None:
    assert format_element(value, f32, precision) == f"{value:.{precision}f}"


def test_a_precision_leaves_ints_bools_and_special_values_alone() -> None:
    assert values(np.array([1, 2]), precision=2) == "[1, 2]"
    assert values(np.array([True]), precision=2) == "[true]"
    assert values(np.array([np.nan, -np.inf]), precision=2) == "[NaN, -inf]"


def test_more_elements_than_the_threshold_are_summarised() -> None:
    assert values(np.arange(1000)).count(",") == 999
    assert values(np.arange(1001)) == "[0, 1, 2, ..., 998, 999, 1000]"
    with print_options(threshold=5, edge_items=1):
        assert values(np.arange(12).reshape(4, 3)) == "[[0, ..., 2],\n ...,\n [9, ..., 11]]"
        assert values(np.arange(6).reshape(3, 2)) == "[[0, 1],\n ...,\n [4, 5]]"
        assert values(np.arange(8).reshape(2, 2, 2)) == "[[[0, 1],\n  [2, 3]],\n [[4, 5],\n  [6, 7]]]"


def test_a_long_dimension_without_elements_is_summarised_too() -> None:
    assert values(np.zeros((10_000, 0), np.float32)) == "[[],\n [],\n [],\n ...,\n [],\n [],\n []]"


def test_options_are_set_for_the_process_and_for_a_block() -> None:
    before = get_print_options()
    try:
        assert set_print_options(PrintOptions(precision=3)) == before
        assert values(np.array([0.5])) == "[0.500]"
        set_print_options(edge_items=1)
        assert get_print_options() == PrintOptions(precision=3, edge_items=1)
        with print_options(precision=None) as inside:
            assert inside == PrintOptions(edge_items=1)
            assert values(np.array([0.5])) == "[0.5]"
        assert values(np.array([0.5])) == "[0.500]"
    finally:
        set_print_options(before)


def test_senseless_options_are_refused() -> None:
    with pytest.raises(ArgumentError, match="PrintOptions: precision must be an int of 0 or more, got -1"):
        PrintOptions(precision=-1)
    with pytest.raises(ArgumentError, match="knows precision, threshold and edge_items, got width"):
        set_print_options(width=3)
    with pytest.raises(ArgumentError, match=r"2 is no PrintOptions; write PrintOptions\(precision=2\)"):
        set_print_options(2)  # type: ignore[arg-type]


def test_a_format_gives_the_decimals() -> None:
    assert parse_format_spec("") is None
    assert parse_format_spec(".2") == 2
    assert parse_format_spec(".10f") == 10


@pytest.mark.parametrize("spec", ["2", ".", "x", ".2e", ">10", ".-1"])
def test_other_formats_are_refused_with_an_example(spec: str) -> None:
    with pytest.raises(ArgumentError, match=r"is no tensor format; write a number of decimals, such as '\.2'"):
        parse_format_spec(spec)
