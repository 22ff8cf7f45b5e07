"""Samples of random rows."""

from __future__ import annotations

from collections.abc import Iterator

from burn.errors import ArgumentError, DTypeError, ShapeError
from tests.ops.sample import Sample, call, refused, samples

DTYPES = ("f32", "f64", "f16", "bf16", "i64", "i32", "i8", "u8", "u16", "u32", "u64", "bool")
SHAPES = ((7,), (), (0, 3), (2, 1, 5), (1024,))


@samples("random_uniform")
def _uniform() -> Iterator[Sample]:
    for shape in SHAPES:
        yield call(1, 0, 0.0, 1.0, shape)
    for dtype in DTYPES:
        yield call(2**64 - 1, 3, -5.5, 300.25, (9, 3), dtype)
    yield call(7, 2**63 - 1, 2.0, 3.0, (17,), "f16")
    yield call(7, 2**64 - 2, 2, 3, 17)
    yield call(7, 0, 1.5, 1.5, (3,))
    yield call(7, 0, 1.0, 1.0001, (64,), "bf16")


@samples("random_bernoulli")
def _bernoulli() -> Iterator[Sample]:
    for shape in SHAPES:
        yield call(3, 1, 0.3, shape)
    for dtype in DTYPES:
        yield call(2**40, 3, 0.7, (9, 3), dtype)
    yield call(7, 0, 0.0, (5,))
    yield call(7, 0, 1, (5,))


@samples("random_normal")
def _normal() -> Iterator[Sample]:
    for shape in SHAPES:
        yield call(3, 1, 0.0, 1.0, shape, tolerance=1e-6)
    for dtype in DTYPES:
        yield call(2**40, 3, 3.0, 40.0, (9, 3), dtype)
    yield call(7, 0, 2.0, 0.0, (5,))


refused("random_uniform", 1, 0, 2.0, 1.0, (2,), error=ArgumentError, match=r"low is above high: 2\.0 > 1\.0")
refused("random_uniform", 1, 0, 0.0, 1.0, (-2,), error=ShapeError, match="sizes must be 0 or more")
refused("random_uniform", -1, 0, 0.0, 1.0, (2,), error=ArgumentError, match="seed must be between 0 and")
refused("random_uniform", 1, 0.5, 0.0, 1.0, (2,), error=ArgumentError, match=r"offset must be an int, got 0\.5")
refused("random_uniform", 1, 0, 0.0, 1.0, (2,), "i4", error=DTypeError, match="i4 only stores values")
refused("random_bernoulli", 1, 0, 1.5, (2,), error=ArgumentError, match=r"between 0 and 1, got 1\.5")
refused("random_normal", 1, 0, 0.0, -1.0, (2,), error=ArgumentError, match="a standard deviation is 0 or more")
