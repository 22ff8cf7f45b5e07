"""Loops, branches and addresses: sizes around the vector width, strides, carried values, masks."""

from __future__ import annotations

import numpy as np
import pytest

from burn.cube import KernelBuilder, KernelError, compile_object, emit_c, interpret, load_object
from burn.cube.targets.slots import pack_slots
from burn.dtype import ARITHMETIC, bool_, f32, f64, i32, i64, u8
from tests.kernels.running import run_everywhere
from tests.kernels.values import random

SIZES = [0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 65, 255, 1000]


@pytest.mark.parametrize("dtype", ARITHMETIC, ids=str)
def test_a_copy_touches_exactly_its_elements(dtype):
    b = KernelBuilder()
    x, out = b.buffer(dtype), b.buffer(dtype, read=True, write=True)
    count = b.size()
    with b.lane(count) as i:
        b.store(out, i + 2, b.load(x, i, raw=True))
    kernel = b.finish()
    for size in (0, 1, 15, 17, 64, 101):
        values = random(dtype, max(size, 1))
        (got,) = run_everywhere(kernel, [values], [(size + 5, dtype)], [size])
        np.testing.assert_array_equal(got[2 : size + 2], values[:size])
        assert not got[:2].any()
        assert not got[size + 2 :].any()


@pytest.mark.parametrize("size", SIZES)
def test_every_size_of_rows_and_columns_works(size):
    b = KernelBuilder()
    x, bias, out = b.buffer(f32), b.buffer(f32), b.buffer(f32, write=True)
    rows, columns, scale = b.size(), b.size(), b.scalar(f32)
    with b.grid(rows) as i, b.lane(columns) as j:
        place = i * columns + j
        b.store(out, place, b.load(x, place) * scale + b.load(bias, j))
    kernel = b.finish()
    values, offsets = random(f32, 3 * size + 1), random(f32, size + 1)
    (got,) = run_everywhere(kernel, [values, offsets], [(3 * size, f32)], [3, size], [0.5], last=3, c=size < 40)
    expected = values[: 3 * size].reshape(3, size) * np.float32(0.5) + offsets[:size]
    np.testing.assert_array_equal(got.reshape(3, size), expected)


@pytest.mark.parametrize("count", [-(1 << 62), -1000, -17, -1, 0, 1, 19])
def test_loops_of_less_than_nothing_do_nothing(count):
    b = KernelBuilder()
    x, out = b.buffer(f32), b.buffer(f32, read=True, write=True)
    rows, given = b.size(), b.size()
    with b.grid(rows) as i:
        total = b.reduce(given, "sum", lambda k: b.load(x, k))
        looped = b.loop(given, [total], lambda k, held: held + b.load(x, k))
        b.store(out, i, looped)
        with b.serial(given) as k:
            b.store(out, k + 4, b.load(x, k))
        with b.lane(given) as j:
            b.store(out, j + 30, b.reduce(given, "max", lambda k: b.load(x, k) + b.load(x, j)))
    kernel = b.finish()
    values, length = random(f32, 20), max(count, 0)
    (got,) = run_everywhere(kernel, [values], [(60, f32)], [2, count], last=2)
    expected = np.zeros(60, np.float32)
    expected[:2] = 2 * values[:length].sum(dtype=np.float64)
    expected[4 : 4 + length] = values[:length]
    expected[30 : 30 + length] = values[:length] + (values[:length].max() if length else 0)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_a_launch_runs_only_its_part_of_the_grid():
    b = KernelBuilder()
    out = b.buffer(i64, write=True)
    rows = b.size()
    with b.grid(rows) as i:
        b.store(out, i, i * i)
    kernel = b.finish()
    compiled = load_object(compile_object(kernel))
    for run in (
        lambda array: interpret(kernel, [array], [10], [], 3, 7),
        lambda array: compiled(pack_slots(kernel, [array], [10]), 3, 7),
    ):
        array = np.full(10, -1)
        run(array)
        assert array.tolist() == [-1, -1, -1, 9, 16, 25, 36, -1, -1, -1]


def test_a_kernel_without_grid_runs_when_zero_is_in_the_range():
    b = KernelBuilder()
    out = b.buffer(i64, write=True)
    b.store(out, 0, 5)
    kernel = b.finish()
    compiled = load_object(compile_object(kernel))
    for first, last, expected in ((0, 1, 5), (1, 2, 0), (0, 0, 0)):
        for run in (
            lambda array, f=first, e=last: compiled(pack_slots(kernel, [array]), f, e),
            lambda array, f=first, e=last: interpret(kernel, [array], (), (), f, e),
        ):
            array = np.zeros(1, np.int64)
            run(array)
            assert array[0] == expected


def test_strides_may_be_anything():
    """out[i, j] = x[j, i] + y[i] + z[-j] + w[2 j]: transposed, broadcast, reversed and stepped at once."""
    b = KernelBuilder()
    x, y, z, w = (b.buffer(f32) for _ in range(4))
    out, other = b.buffer(f32, write=True), b.buffer(f32, write=True)
    rows, columns, step = b.size(), b.size(), b.size()
    with b.grid(rows) as i, b.lane(columns) as j:
        value = b.load(x, j * rows + i) + b.load(y, i) + b.load(z, columns - 1 - j) + b.load(w, j * 2)
        b.store(out, i * columns + (columns - 1 - j), value)
        b.store(other, (i * columns + j) * step, b.load(x, j * rows + i))
    kernel = b.finish()
    for columns_count in (1, 16, 37):
        shape = (3, columns_count)
        x_, y_, z_, w_ = (random(f32, n, k) for k, n in enumerate((3 * columns_count, 3, columns_count, 80)))
        size = 3 * columns_count
        got, spread = run_everywhere(
            kernel, [x_, y_, z_, w_], [(size, f32), (2 * size, f32)], [3, columns_count, 2], last=3
        )
        transposed = x_.reshape(columns_count, 3).T
        expected = transposed + y_[:, None] + z_[::-1] + w_[: 2 * columns_count : 2]
        np.testing.assert_array_equal(got.reshape(shape), expected[:, ::-1])
        np.testing.assert_array_equal(spread[::2].reshape(shape), transposed)
        assert not spread[1::2].any()


def test_indices_may_come_from_memory():
    b = KernelBuilder()
    x, index, out = b.buffer(f32), b.buffer(i32), b.buffer(f32, write=True)
    count = b.size()
    with b.lane(count) as i:
        b.store(out, i, b.load(x, b.cast(b.load(index, i), i64)))
    kernel = b.finish()
    x_, index_ = random(f32, 100), np.random.default_rng(0).integers(0, 100, 45).astype(np.int32)
    (got,) = run_everywhere(kernel, [x_, index_], [(45, f32)], [45])
    np.testing.assert_array_equal(got, x_[index_])


def test_lane_indices_are_values_too():
    b = KernelBuilder()
    out, halves, remainders = b.buffer(i64, write=True), b.buffer(f32, write=True), b.buffer(i64, write=True)
    count, by = b.size(), b.size()
    with b.lane(count) as i:
        b.store(out, i, -(i * 3 - 7) * by)
        b.store(halves, i, b.cast(i, f32) * 0.5)
        b.store(remainders, i, (i // by) * 100 + i % by)
    kernel = b.finish()
    i = np.arange(50)
    got = run_everywhere(kernel, [], [(50, i64), (50, f32), (50, i64)], [50, 6])
    np.testing.assert_array_equal(got[0], -(i * 3 - 7) * 6)
    np.testing.assert_array_equal(got[1], i * np.float32(0.5))
    np.testing.assert_array_equal(got[2], i // 6 * 100 + i % 6)


def test_one_kernel_may_write_several_outputs_in_place():
    b = KernelBuilder()
    x, y = b.buffer(f32, read=True, write=True), b.buffer(f64, read=True, write=True)
    count = b.size()
    with b.lane(count) as i:
        a, c = b.load(x, i), b.load(y, i)
        b.store(x, i, a + 1.0)
        b.store(y, i, b.cast(a, f64) * c)
    kernel = b.finish()
    compiled = load_object(compile_object(kernel))
    first, second = random(f32, 77), random(f64, 77)
    x_, y_ = first.copy(), second.copy()
    compiled(pack_slots(kernel, [x_, y_], [77]), 0, 1)
    np.testing.assert_array_equal(x_, first + 1)
    np.testing.assert_array_equal(y_, first.astype(np.float64) * second)


@pytest.mark.parametrize("columns", [1, 15, 16, 40, 300])
def test_serial_loops_carry_values_in_every_lane(columns):
    """A running product and sum along rows, lane by lane, and a scalar recurrence outside of lanes."""
    b = KernelBuilder()
    x, out, best = b.buffer(f32), b.buffer(f32, write=True), b.buffer(i64, write=True)
    rows, width = b.size(), b.size()
    one, zero = b.const(f32, 1.0), b.const(f32, 0.0)
    with b.lane(width) as j:

        def step(i, product, total):
            value = b.load(x, i * width + j)
            return product * value, total + product * value

        product, total = b.loop(rows, [one, zero], step)
        b.store(out, j, product)
        b.store(out, width + j, total)
    fibonacci = b.loop(10, [b.const(i64, 0), b.const(i64, 1)], lambda _, a, c: (c, a + c))
    b.store(best, 0, fibonacci[0])
    kernel = b.finish()
    values = np.random.default_rng(1).uniform(0.5, 1.5, (6, columns)).astype(np.float32)
    got, number = run_everywhere(kernel, [values], [(2 * columns, f32), (1, i64)], [6, columns])
    products = np.cumprod(values, axis=0, dtype=np.float32)
    np.testing.assert_array_equal(got[:columns], products[-1])
    np.testing.assert_allclose(got[columns:], products.sum(0), rtol=1e-6)
    assert number[0] == 55


def test_branches_that_differ_between_lanes_mask_memory():
    """Lanes that do not take the branch must not touch memory: their indices are out of range."""
    b = KernelBuilder()
    x, out, flags = b.buffer(f32), b.buffer(f32, write=True), b.buffer(bool_, write=True)
    count, limit = b.size(), b.size()
    with b.lane(count) as i:
        inside = i < limit
        value = b.branch(inside, lambda: b.load(x, i) * 2.0, lambda: b.const(f32, -1.0))
        b.store(out, i, value)
        with b.when(~inside & b.eq(i % 2, 0)):
            b.store(out, i, b.load(x, limit - 1) + b.load(x, i - limit))
        b.store(flags, i, inside)
    kernel = b.finish()
    x_ = random(f32, 20)
    got, flags_ = run_everywhere(kernel, [x_], [(37, f32), (37, bool_)], [37, 20])
    i = np.arange(37)
    expected = np.where(i < 20, 2 * np.pad(x_, (0, 17)), np.float32(-1))
    even = (i >= 20) & (i % 2 == 0)
    expected[even] = x_[19] + x_[i[even] - 20]
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(flags_, i < 20)


def test_branches_outside_lanes_are_jumps():
    b = KernelBuilder()
    x, out = b.buffer(f32), b.buffer(f32, write=True)
    rows, columns = b.size(), b.size()
    with b.grid(rows) as i:
        first = b.load(x, i * columns)
        total = b.branch(
            first > 0.0,
            lambda: b.reduce(columns, "sum", lambda j: b.load(x, i * columns + j)),
            lambda: -first,
        )
        with b.lane(columns) as j, b.when(total > 1.0):
            b.store(out, i * columns + j, total)
    kernel = b.finish()
    values = np.array([[1, 2, 3], [-2, 5, 5], [0.25, 0.25, 0.25], [-0.5, 9, 9]], np.float32)
    (got,) = run_everywhere(kernel, [values], [((4, 3), f32)], [4, 3], last=4)
    np.testing.assert_array_equal(got, np.repeat(np.array([[6], [2], [0], [0]], np.float32), 3, axis=1))


def test_shared_arrays_and_tables_hold_values_within_an_iteration():
    b = KernelBuilder()
    x, out = b.buffer(f32), b.buffer(f32, write=True)
    rows = b.size()
    row, weights = b.shared(f32, 24), b.table(f32, [0.5, 1.5, 2.5])
    with b.grid(rows) as i:
        with b.lane(24) as j:
            b.store(row, 23 - j, b.load(x, i * 24 + j))
        b.barrier()
        with b.lane(24) as j:
            b.store(out, i * 24 + j, b.load(row, j) * b.load(weights, j % 3))
    kernel = b.finish()
    values = random(f32, 48).reshape(2, 24)
    (got,) = run_everywhere(kernel, [values], [((2, 24), f32)], [2], last=2)
    np.testing.assert_array_equal(got, values[:, ::-1] * np.tile(np.array([0.5, 1.5, 2.5], np.float32), 8))


@pytest.mark.parametrize("dtype", [f32, i32, i64], ids=str)
def test_atomics_add_up_in_lanes_that_meet(dtype):
    b = KernelBuilder()
    index, out = b.buffer(i64), b.buffer(dtype, read=True, write=True)
    count = b.size()
    with b.lane(count) as i:
        b.atomic("add", out, b.load(index, i), b.const(dtype, 2))
    kernel = b.finish()
    index_ = np.random.default_rng(0).integers(0, 5, 100)
    (got,) = run_everywhere(kernel, [index_], [(5, dtype)], [100])
    np.testing.assert_array_equal(got, np.bincount(index_, minlength=5) * 2)


def test_bytes_and_bools_use_memory_of_one_byte():
    b = KernelBuilder()
    x, out = b.buffer(u8), b.buffer(bool_, write=True)
    count, flag = b.size(), b.scalar(bool_)
    with b.lane(count) as i:
        b.store(out, i, (b.load(x, i) > 100) ^ flag)
    kernel = b.finish()
    values = random(u8, 70)
    (got,) = run_everywhere(kernel, [values], [(70, bool_)], [70], [True])
    np.testing.assert_array_equal(got, ~(values > 100))


def test_what_a_target_lacks_is_named():
    b = KernelBuilder()
    out = b.buffer(i64, write=True)
    b.store(out, 0, b.topology("unit_position"))
    kernel = b.finish()
    with pytest.raises(KernelError, match="llvm: topology"):
        compile_object(kernel)
    with pytest.raises(KernelError, match="c: topology"):
        emit_c(kernel)
    with pytest.raises(KernelError, match="interpret: topology"):
        interpret(kernel, [np.zeros(1, np.int64)])

    b = KernelBuilder()
    x, out = b.buffer(f32), b.buffer(f32, write=True)
    b.store(out, 0, b.extract(b.load(x, 0, width=4) * 2.0, 1))
    kernel = b.finish()
    with pytest.raises(KernelError, match="short vectors"):
        compile_object(kernel)
    with pytest.raises(KernelError, match="short vectors"):
        emit_c(kernel)
    with pytest.raises(KernelError, match="vectors"):
        interpret(kernel, [np.zeros(4, np.float32), np.zeros(1, np.float32)])


def test_the_interpreter_refuses_indices_outside_a_buffer():
    b = KernelBuilder()
    x, out = b.buffer(f32), b.buffer(f32, write=True)
    count = b.size()
    with b.lane(count) as i:
        b.store(out, i, b.load(x, i + 1))
    with pytest.raises(KernelError, match="load at index 5 of a buffer of 5 elements"):
        interpret(b.finish(), [np.zeros(5, np.float32), np.zeros(5, np.float32)], [5])


def test_a_buffer_of_the_interpreter_may_begin_inside_of_its_array():
    b = KernelBuilder()
    x, out = b.buffer(f32), b.buffer(f32, write=True)
    with b.lane(b.size()) as i:
        b.store(out, i, b.load(x, -i))
    kernel, given, made = b.finish(), np.arange(5, dtype=np.float32), np.zeros(6, np.float32)
    interpret(kernel, [given, made], [5], origins=[4, 1])
    assert made.tolist() == [0.0, 4.0, 3.0, 2.0, 1.0, 0.0]
    with pytest.raises(KernelError, match="load at index -1 of a buffer of 5 elements"):
        interpret(kernel, [given, made], [5], origins=[3, 1])


@pytest.mark.parametrize("count", [1, 5, 8, 16, 20, 32, 33])
def test_lanes_read_small_tables_at_any_place(count):
    b = KernelBuilder()
    places, out, total = b.buffer(i64), b.buffer(f32, write=True), b.buffer(f32, write=True)
    table = b.table(f32, [each * 0.5 - 3.0 for each in range(count)])
    size = b.size()
    with b.lane(size) as j:
        b.store(out, j, b.load(table, b.load(places, j)))
    b.store(total, 0, b.reduce(size, "max", lambda j: b.load(table, b.load(places, j))))
    chosen = np.random.default_rng(0).integers(0, count, 77)
    got, greatest = run_everywhere(b.finish(), [chosen], [(77, f32), (1, f32)], [77])
    np.testing.assert_array_equal(got, chosen * 0.5 - 3.0)
    assert greatest[0] == got.max()


@pytest.mark.parametrize("dtype", [f32, f64, i32, u8, bool_], ids=str)
@pytest.mark.parametrize("count", [2, 3, 4, 5, 9])
def test_lanes_store_neighbours_side_by_side(count, dtype):
    b = KernelBuilder()
    x, out = b.buffer(dtype), b.buffer(dtype, write=True)
    size = b.size()
    with b.lane(size) as j:
        value = b.load(x, j)
        for position in range(count):
            kept = value if dtype is bool_ else value + b.const(dtype, position)
            b.store(out, j * count + position, kept)
    values = random(dtype, 83)
    (got,) = run_everywhere(b.finish(), [values], [(83 * count, dtype)], [83])
    added = np.zeros(count, dtype.numpy) if dtype is bool_ else np.arange(count).astype(dtype.numpy)
    expected = np.repeat(values, count).reshape(83, count)
    np.testing.assert_array_equal(got.reshape(83, count), expected if dtype is bool_ else expected + added)
