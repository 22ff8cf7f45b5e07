"""Reductions: every kind, in rows and in columns, with the order fixed on every target."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from burn.cube import PARTIALS, KernelBuilder, KernelError
from burn.dtype import bool_, f32, f64, i32, i64, u8
from tests.kernels.running import run_everywhere
from tests.kernels.values import random

KINDS = ["sum", "prod", "max", "min", "argmax", "argmin"]
LENGTHS = [1, 2, 31, 32, 33, 64, 100]


def row_reductions(dtype):
    b = KernelBuilder()
    x, outs = b.buffer(dtype), [b.buffer(i64 if kind.startswith("arg") else dtype, write=True) for kind in KINDS]
    rows, columns = b.size(), b.size()
    with b.grid(rows) as i:

        def body(j):
            value = b.load(x, i * columns + j)
            return [value] * len(KINDS)

        for out, result in zip(outs, b.reduce(columns, KINDS, body)):
            b.store(out, i, result)
    return b.finish()


def column_reductions(dtype):
    b = KernelBuilder()
    x, outs = b.buffer(dtype), [b.buffer(i64 if kind.startswith("arg") else dtype, write=True) for kind in KINDS]
    rows, columns = b.size(), b.size()
    with b.lane(columns) as j:
        results = b.reduce(rows, KINDS, lambda i: [b.load(x, i * columns + j)] * len(KINDS))
        for out, result in zip(outs, results):
            b.store(out, j, result)
    return b.finish()


def check(got, values, axis):
    total, product, greatest, least, where_greatest, where_least = got
    tensor = torch.from_numpy(values)
    np.testing.assert_array_equal(greatest, np.max(values, axis))
    np.testing.assert_array_equal(least, np.min(values, axis))
    np.testing.assert_array_equal(where_greatest, tensor.argmax(axis).numpy())
    np.testing.assert_array_equal(where_least, tensor.argmin(axis).numpy())
    if values.dtype.kind == "f":
        np.testing.assert_allclose(total, values.astype(np.float64).sum(axis), rtol=1e-5, atol=1e-4)
        np.testing.assert_allclose(product, values.astype(np.float64).prod(axis), rtol=1e-4, atol=1e-30)
    else:
        np.testing.assert_array_equal(total, values.sum(axis, dtype=values.dtype))
        np.testing.assert_array_equal(product, values.prod(axis, dtype=values.dtype))


def sample(dtype, shape):
    generator = np.random.default_rng(3)
    if dtype.is_float:
        values = generator.standard_normal(shape).astype(dtype.numpy)
        return np.round(values * 4) / 4  # so that there are ties
    return generator.integers(0 if dtype.is_uint else -4, 5, shape).astype(dtype.numpy)


@pytest.mark.parametrize("dtype", [f32, f64, i32, i64, u8], ids=str)
def test_rows_reduce_to_what_numpy_and_torch_say(dtype):
    kernel = row_reductions(dtype)
    for length in LENGTHS:
        values = sample(dtype, (3, length))
        outputs = [(3, i64 if kind.startswith("arg") else dtype) for kind in KINDS]
        check(run_everywhere(kernel, [values], outputs, [3, length], last=3), values, 1)


@pytest.mark.parametrize("dtype", [f32, f64, i32, u8], ids=str)
def test_columns_reduce_to_what_numpy_and_torch_say(dtype):
    kernel = column_reductions(dtype)
    for width in (1, 17, 300):
        values = sample(dtype, (9, width))
        outputs = [(width, i64 if kind.startswith("arg") else dtype) for kind in KINDS]
        check(run_everywhere(kernel, [values], outputs, [9, width]), values, 0)


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
def test_nan_and_infinity_reduce_as_in_torch(dtype):
    rows = [
        [1.0, np.nan, 3.0, np.nan], [np.inf, -np.inf, 0.0, 1.0], [-np.inf] * 4, [np.inf] * 4, [np.nan] * 4,
        [-0.0, 0.0, -0.0, 0.0],
    ]  # fmt: skip
    values = np.array(rows, dtype.numpy)
    outputs = [(len(rows), i64 if kind.startswith("arg") else dtype) for kind in KINDS]
    got = run_everywhere(row_reductions(dtype), [values], outputs, [len(rows), 4], last=len(rows))
    columns = np.ascontiguousarray(values.T)
    turned = run_everywhere(column_reductions(dtype), [columns], outputs, [4, len(rows)])
    tensor = torch.from_numpy(values)
    for found in (got, turned):
        np.testing.assert_array_equal(found[2], tensor.amax(1).numpy())
        np.testing.assert_array_equal(found[3], tensor.amin(1).numpy())
        np.testing.assert_array_equal(found[4], tensor.argmax(1).numpy())
        np.testing.assert_array_equal(found[5], tensor.argmin(1).numpy())


def test_the_order_of_a_sum_is_the_documented_one():
    b = KernelBuilder()
    x, out = b.buffer(f32), b.buffer(f32, write=True)
    count = b.size()
    b.store(out, 0, b.reduce(count, "sum", lambda i: b.load(x, i)))
    kernel = b.finish()
    values = random(f32, 1000)
    (got,) = run_everywhere(kernel, [values], [(1, f32)], [1000])
    partials = np.zeros(PARTIALS, np.float32)
    for j, value in enumerate(values):
        partials[j % PARTIALS] += value
    while len(partials) > 1:
        half = len(partials) // 2
        partials = partials[:half] + partials[half:]
    assert got[0] == partials[0]


def test_any_and_all_reduce_conditions():
    b = KernelBuilder()
    x, some, every = b.buffer(f32), b.buffer(bool_, write=True), b.buffer(bool_, write=True)
    rows, columns = b.size(), b.size()
    with b.grid(rows) as i:
        found = b.reduce(columns, ["any", "all"], lambda j: [b.load(x, i * columns + j) > 0.0] * 2)
        b.store(some, i, found[0])
        b.store(every, i, found[1])
    kernel = b.finish()
    values = np.array([[1] * 40, [-1] * 40, [-1] * 39 + [1]], np.float32)
    some_, every_ = run_everywhere(kernel, [values], [(3, bool_), (3, bool_)], [3, 40], last=3)
    assert some_.tolist() == [True, False, True]
    assert every_.tolist() == [True, False, False]


def test_empty_reductions_give_their_identity():
    b = KernelBuilder()
    x, out = b.buffer(f32), b.buffer(f32, write=True)
    count = b.size()
    total, product = b.reduce(count, ["sum", "prod"], lambda i: [b.load(x, i)] * 2)
    b.store(out, 0, total)
    b.store(out, 1, product)
    b.store(out, 2, b.reduce(count, "sum", lambda i: b.load(x, i), init=4.0))
    (got,) = run_everywhere(b.finish(), [np.ones(1, np.float32)], [(3, f32)], [0])
    assert got.tolist() == [0.0, 1.0, 4.0]


def test_a_reduction_around_another_runs_in_order():
    """A sum over both dimensions of a strided matrix: the inner axis vectorises, the outer one does not."""
    b = KernelBuilder()
    x, out = b.buffer(f32), b.buffer(f32, write=True)
    rows, columns, stride = b.size(), b.size(), b.size()
    total = b.reduce(rows, "sum", lambda i: b.reduce(columns, "sum", lambda j: b.load(x, i * stride + j)))
    b.store(out, 0, total)
    values = np.random.default_rng(0).standard_normal((5, 50)).astype(np.float32)
    (got,) = run_everywhere(b.finish(), [values], [(1, f32)], [5, 40, 50])
    np.testing.assert_allclose(got[0], values[:, :40].astype(np.float64).sum(), rtol=1e-5)


def test_a_fold_takes_a_combination_of_your_own():
    """Mean and variance in one pass, by the rule of Chan, Golub and LeVeque."""
    b = KernelBuilder()
    x, out = b.buffer(f64), b.buffer(f64, write=True)
    count = b.size()

    def combine(n, mean, square, m, other, more):
        total = n + m
        weight = b.select(total > 0.0, m / total, 0.0)
        difference = other - mean
        return total, mean + difference * weight, square + more + difference * difference * n * weight

    zero = b.const(f64, 0.0)
    body = lambda i: (b.const(f64, 1.0), b.load(x, i), zero)  # noqa: E731
    number, mean, square = b.fold(count, [zero, zero, zero], combine, body)
    b.store(out, 0, mean)
    b.store(out, 1, square / number)
    values = np.random.default_rng(0).standard_normal(77) + 100
    (got,) = run_everywhere(b.finish(), [values], [(2, f64)], [77])
    np.testing.assert_allclose(got, [values.mean(), values.var()], rtol=1e-12)


def test_softmax_matches_torch():
    b = KernelBuilder()
    x, out = b.buffer(f32), b.buffer(f32, read=True, write=True)
    rows, columns = b.size(), b.size()
    with b.grid(rows) as i:
        greatest = b.reduce(columns, "max", lambda j: b.load(x, i * columns + j))

        def weigh(j):
            value = b.exp(b.load(x, i * columns + j) - greatest)
            b.store(out, i * columns + j, value)
            return value

        total = b.reduce(columns, "sum", weigh)
        with b.lane(columns) as j:
            b.store(out, i * columns + j, b.load(out, i * columns + j) / total)
    kernel = b.finish()
    for columns_count in (1, 10, 128, 197):
        values = np.random.default_rng(0).standard_normal((4, columns_count)).astype(np.float32) * 5
        (got,) = run_everywhere(kernel, [values], [((4, columns_count), f32)], [4, columns_count], last=4, exact=False)
        expected = torch.softmax(torch.from_numpy(values).double(), 1).numpy()
        np.testing.assert_allclose(got, expected, rtol=2e-6, atol=1e-9)


def test_unknown_reductions_are_refused():
    b = KernelBuilder()
    x = b.buffer(f32)
    with pytest.raises(KernelError, match="unknown reduction 'mean'; known are sum"):
        b.reduce(3, "mean", lambda i: b.load(x, i))


@pytest.mark.parametrize("length", [1, 31, 33, 100])
def test_a_reduction_may_keep_what_it_computes_for_a_later_pass(length):
    b = KernelBuilder()
    x, out = b.buffer(f32), b.buffer(f32, write=True)
    kept = b.shared(f32, 128)
    rows, columns = b.size(), b.size()
    with b.grid(rows) as i:

        def body(j):
            square = b.load(x, i * columns + j) * b.load(x, i * columns + j)
            b.store(kept, j, square)
            return square

        total = b.reduce(columns, "max", body)
        with b.lane(columns) as j:
            b.store(out, i * columns + j, b.load(kept, j) - total)
    values = random(f32, 3 * length).reshape(3, length)
    (got,) = run_everywhere(b.finish(), [values], [(3 * length, f32)], [3, length], last=3)
    squares = values * values
    np.testing.assert_array_equal(got.reshape(3, length), squares - squares.max(1, keepdims=True))
