"""Single numbers take the value their dtype can hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burn.dtype import ARITHMETIC, DType, bool_, f16, f32, i32, i64, u8
from burn.errors import DTypeError
from burn.ops.convert import convert_array
from burn.tensor.element import ElementConversion, elem


def test_floats_saturate_into_ints_and_nan_is_0() -> None:
    assert elem(2.7, i32) == 2
    assert elem(-2.7, i32) == -2
    assert elem(1e10, i32) == 2**31 - 1
    assert elem(-math.inf, i64) == -(2**63)
    assert elem(math.nan, u8) == 0


def test_ints_wrap_however_large_they_are() -> None:
    assert elem(300, u8) == 44
    assert elem(-1, u8) == 255
    assert elem(2**100 + 5, "i8") == 5
    assert elem(128, "i8") == -128


def test_floats_are_rounded_to_their_dtype() -> None:
    assert elem(0.1, f32) == float(np.float32(0.1))
    assert elem(0.1, f16) == float(np.float16(0.1))
    assert elem(10**400, f32) == math.inf
    assert elem(-(10**400), "f64") == -math.inf


def test_ints_are_rounded_to_a_float_only_once() -> None:
    value = 2**60 + 2**36 + 1  # through f64 this would land on a tie and round down
    assert elem(value, f32) == float(np.float32(np.int64(value)))


def test_the_result_is_a_python_number() -> None:
    assert type(elem(np.float32(1.5), f32)) is float
    assert type(elem(np.int8(3), i64)) is int
    assert type(elem(1, bool_)) is bool
    assert type(elem(True, i32)) is int


def test_anything_but_0_is_true() -> None:
    assert elem(0.0, bool_) is False
    assert elem(math.nan, bool_) is True
    assert elem(-3, bool_) is True


def test_an_element_waits_for_its_dtype() -> None:
    assert ElementConversion(3.9).elem(i32) == 3
    assert ElementConversion.from_elem(3.9, i32) == 3
    assert repr(ElementConversion(np.int32(4))) == "ElementConversion(4)"


def test_what_is_no_number_is_refused_by_name() -> None:
    with pytest.raises(DTypeError, match=r"elem: 'three' \(str\) is not a number"):
        elem("three", f32)


@given(st.floats(width=32) | st.integers(-(2**63), 2**63 - 1) | st.booleans(), st.sampled_from(ARITHMETIC))
def test_one_element_converts_as_an_array_does(value: float, target: DType) -> None:
    found, wanted = elem(value, target), convert_array(np.array(value), target).item()
    assert found == wanted or (math.isnan(found) and math.isnan(wanted))
