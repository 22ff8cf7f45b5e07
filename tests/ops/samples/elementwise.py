"""Samples of elementwise rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from burn.errors import ArgumentError, DTypeError, ShapeError
from tests.ops.sample import Sample, booleans, call, integers, random, refused, samples

SHAPES = [(3, 4), (), (0,), (1,), (2, 0, 3), (2, 1, 5)]


def functions(low: float, high: float, *, ints: bool = True, grad: bool = True) -> Callable[[], Iterator[Sample]]:
    """Samples of a function of one number over a range."""

    def generate() -> Iterator[Sample]:
        for shape in SHAPES:
            yield call(random(*shape, low=low, high=high), grad=grad)
        yield call(random(4, 3, low=low, high=high).T, grad=grad)
        yield call(random(9, 2, low=low, high=high)[::2, ::-1], grad=grad)
        if ints:
            yield call(integers(3, 4, low=max(1, int(np.ceil(low))), high=int(high) + 2))

    return generate


for _name, _low, _high in [
    ("exp", -3, 3), ("log", 0.1, 4), ("log1p", -0.9, 4), ("sqrt", 0.1, 4), ("recip", 0.3, 3), ("erf", -3, 3),
    ("sin", -7, 7), ("cos", -7, 7), ("tan", -1.4, 1.4), ("sinh", -3, 3), ("cosh", -3, 3), ("tanh", -3, 3),
    ("atan", -4, 4), ("asinh", -4, 4), ("acosh", 1.1, 4),
]:  # fmt: skip
    _torch_name = {"recip": "reciprocal"}.get(_name, _name)
    samples(_name, oracle=getattr(torch, _torch_name))(functions(_low, _high))
for _name in ("asin", "acos", "atanh"):
    samples(_name, oracle=getattr(torch, _name))(functions(-0.9, 0.9, ints=False))
for _name in ("abs", "neg", "sign", "floor", "ceil", "round", "trunc", "square", "deg2rad", "rad2deg"):
    samples(_name, oracle=getattr(torch, _name))(functions(-4, 4))
for _name, _torch in (("is_nan", torch.isnan), ("is_inf", torch.isinf), ("is_finite", torch.isfinite)):
    samples(_name, oracle=_torch)(functions(-4, 4, ints=False))


def pairs(low: float = -2, high: float = 2, *, numbers: bool = True, grad: bool = True) -> Any:
    """Samples of an operation of two numbers, with broadcasting, Python numbers and strided operands."""

    def generate() -> Iterator[Sample]:
        def floats(*shape: int, seed: int) -> Any:
            return random(*shape, seed=seed, low=low, high=high)

        for left, right in [
            ((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((), (2, 3)), ((2, 1, 3), (5, 1)), ((0, 3), (1, 3)),
            ((1,), (1,)),
        ]:  # fmt: skip
            yield call(floats(*left, seed=1), floats(*right, seed=2), grad=grad)
        yield call(floats(4, 3, seed=1).T, floats(6, 8, seed=2)[::2, ::2], grad=grad)
        yield call(integers(3, 4, low=1, high=6), integers(3, 4, low=1, high=4, seed=3))
        if numbers:
            yield call(floats(2, 3, seed=4), 1.5, grad=grad)
            yield call(1.5, floats(2, 3, seed=5), grad=grad)
            yield call(floats(2, 3, seed=4), 2, grad=grad)
            yield call(integers(2, 3), 2)
            yield call(integers(2, 3), 2.5)
            yield call(integers(3, low=1, high=4), random(2, 3, low=max(low, 0.5), high=high), grad=grad)

    return generate


def _numbers(function: Any) -> Any:
    """A torch function that is told about numbers as tensors of their own weak dtype."""
    return lambda x, y: function(*(each if isinstance(each, torch.Tensor) else torch.tensor(each) for each in (x, y)))


def _truncated(x: Any, y: Any) -> Any:
    whole = all(isinstance(each, int) or getattr(each, "is_floating_point", lambda: True)() is False for each in (x, y))
    whole = whole and not any(isinstance(each, float) for each in (x, y))
    return torch.div(x, y, rounding_mode="trunc" if whole else None)


samples("add", oracle=torch.add)(pairs())
samples("sub", oracle=lambda x, y: x - y)(pairs())
samples("mul", oracle=torch.mul)(pairs())
samples("div", oracle=_numbers(_truncated))(pairs(0.5, 3))
samples("true_div", oracle=lambda x, y: x / y)(pairs(0.5, 3))
samples("floor_div", oracle=lambda x, y: torch.floor_divide(*_numbers(lambda a, b: (a, b))(x, y)))(
    pairs(0.6, 3, grad=False)
)
samples("rem", oracle=lambda x, y: x % y)(pairs(0.6, 3))
samples("fmod", oracle=_numbers(torch.fmod))(pairs(0.6, 3))
samples("pow", oracle=lambda x, y: x**y)(pairs(0.5, 3))
samples("atan2", oracle=_numbers(torch.atan2))(pairs())
samples("hypot", oracle=_numbers(lambda x, y: torch.hypot(*_floats(x, y))))(pairs(0.5, 3))
samples("max_pair", oracle=_numbers(torch.maximum))(pairs())
samples("min_pair", oracle=_numbers(torch.minimum))(pairs())
samples("clamp_min", oracle=_numbers(torch.maximum))(pairs())
samples("clamp_max", oracle=_numbers(torch.minimum))(pairs())


def _floats(*values: torch.Tensor) -> list[torch.Tensor]:
    return [each if each.is_floating_point() else each.to(torch.get_default_dtype()) for each in values]


for _name, _torch in [
    ("equal", torch.eq), ("not_equal", torch.ne), ("greater", torch.gt), ("greater_equal", torch.ge),
    ("lower", torch.lt), ("lower_equal", torch.le),
]:  # fmt: skip
    samples(_name, oracle=_numbers(_torch))(pairs())


@samples("bool_not", oracle=torch.logical_not)
def _not() -> Iterator[Sample]:
    yield from (call(booleans(*shape)) for shape in SHAPES)


@samples("bool_and", oracle=torch.logical_and)
def _truths() -> Iterator[Sample]:
    yield call(booleans(3, 4), booleans(3, 4, seed=1))
    yield call(booleans(3, 1), booleans(4, seed=1))
    yield call(booleans(4, 3).T, booleans(3, 8, seed=1)[:, ::2])
    yield call(booleans(), booleans(0, seed=1))


samples("bool_or", oracle=torch.logical_or)(_truths)
samples("bool_xor", oracle=torch.logical_xor)(_truths)


@samples("bitwise_not", oracle=torch.bitwise_not)
def _bits() -> Iterator[Sample]:
    for dtype in (np.int64, np.int32, np.int16, np.int8, np.uint8):
        yield call(integers(3, 4, low=0, high=100, dtype=dtype))
    yield call(booleans(3, 4))


def _bit_pairs() -> Iterator[Sample]:
    for dtype in (np.int64, np.int32, np.int16, np.int8, np.uint8):
        yield call(integers(3, 4, low=0, high=100, dtype=dtype), integers(4, low=0, high=7, dtype=dtype))
    yield call(integers(3, 4, low=-100, high=100), 3)
    yield call(3, integers(3, 4, low=0, high=6))


for _name in ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"):
    samples(_name, oracle=getattr(torch, _name))(_bit_pairs)


@samples("cast", oracle=lambda x, dtype: x.to({"f32": torch.float32, "f64": torch.float64, "i32": torch.int32}[dtype]))
def _casts() -> Iterator[Sample]:
    yield call(random(3, 4), "f32", half=False)
    yield call(random(3, 4), "f64", half=False)
    yield call(integers(3, 4), "f32")
    yield call(booleans(3, 4), "i32")
    yield call(random(2, 0), "i32")


@samples("mask_where", oracle=lambda x, mask, value: torch.where(mask, value, x))
def _where() -> Iterator[Sample]:
    yield call(random(3, 4), booleans(3, 4), random(3, 4, seed=1))
    yield call(random(3, 1), booleans(1, 4), random(seed=1))
    yield call(random(4), booleans(2, 3, 1), random(1, 3, 4, seed=1))
    yield call(integers(3, 4), booleans(3, 4), integers(3, 4, seed=1))
    yield call(integers(3, 4), booleans(3, 4), random(3, 4, seed=1))
    yield call(booleans(4, seed=2), booleans(4), booleans(4, seed=1))
    yield call(random(0, 2), booleans(0, 1), random(1, seed=1))


@samples("mask_fill", oracle=lambda x, mask, value: x.masked_fill(mask, value))
def _fill() -> Iterator[Sample]:
    yield call(random(3, 4), booleans(3, 4), -1.5)
    yield call(random(2, 3, 4), booleans(3, 1), float("inf"), grad=False)
    yield call(integers(3, 4), booleans(4), 7)
    yield call(booleans(4, seed=2), booleans(4), True)


@samples("clamp", oracle=torch.clamp)
def _clamp() -> Iterator[Sample]:
    yield call(random(3, 4), -0.5, 0.75)
    yield call(integers(3, 4), -2, 3)
    yield call(random(0), 0.0, 1.0)


@samples("full")
def _full() -> Iterator[Sample]:
    yield call(1.5, (2, 3), "f32")
    yield call(3, (), "i64")
    yield call(True, (0, 2), "bool")


@samples("empty")
def _empty() -> Iterator[Sample]:
    yield call((0, 3), "f32")


@samples("arange")
def _arange() -> Iterator[Sample]:
    yield call(5, 10, 2, "i64")
    yield call(0, 7)
    yield call(7, 0, -3, "i32")
    yield call(0.5, 2.0, 0.25)


@samples("literal")
def _literal() -> Iterator[Sample]:
    yield call(np.arange(6, dtype=np.float32).tobytes(), (2, 3), "f32")
    yield call(np.arange(3).tobytes(), (3,), "i64")
    yield call(np.array(2.5).tobytes(), (), "f64")
    yield call(b"\x01\x00", (2, 1), "bool")
    yield call(b"\x80\x3f", 1, "bf16")
    yield call(b"", (0, 2), "f32")


refused("literal", b"\x00", (2,), "f32", error=ArgumentError, match=r"\(2,\) of f32 is 8 bytes, got 1")
refused("literal", (1, 2), (2,), "f32", error=ArgumentError, match="is 8 bytes, got tuple")

refused("add", random(2, 3), random(4), error=ShapeError, match=r"\(2, 3\) and \(4,\).* 3 != 4")
refused("add", random(2, 3), "one", error=DTypeError, match="must be a Tensor, got str")
refused("sub", booleans(3), booleans(3), error=DTypeError, match="needs numbers, got bool")
refused("bool_not", random(3), error=DTypeError, match="needs a bool tensor")
refused("bitwise_and", random(3), random(3), error=DTypeError, match="needs ints or bools")
refused("is_nan", integers(3), error=DTypeError, match="needs a float tensor")
refused("mask_where", random(3), random(3), random(3), error=DTypeError, match="mask must be a bool tensor")
refused("mask_fill", random(3), booleans(4), 0.0, error=ShapeError, match="do not broadcast")
refused("cast", random(3), "float33", error=DTypeError, match="unknown name 'float33'")
