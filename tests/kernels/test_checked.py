"""The checked build finds each kind of fault, at the place where it is, and none where there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from burn.cube import Kernel, KernelBuilder, compile_object, load_object
from burn.cube.targets.llvm import checked
from burn.cube.targets.llvm.checked import FORBIDDEN, OUTSIDE, REPEATED, SHARED, UNWRITTEN, WRITABLE
from burn.cube.targets.llvm.cpu import Cpu
from burn.cube.targets.slots import pack_slots
from burn.dtype import f32, f64, i64, u8
from tests.kernels.running import processors

COUNT = 37


@pytest.fixture(params=processors(), ids=lambda cpu: cpu.name)
def cpu(request: pytest.FixtureRequest) -> Cpu:
    return request.param


class Checked:
    """A run of a kernel on arrays: `written` gives the stamps before it, and after."""

    def __init__(self, kernel: Kernel, cpu: Cpu, arrays: list[Any], sizes: tuple[int, ...] = (), **given: Any) -> None:
        flags, fresh, last = given.get("flags", WRITABLE), given.get("fresh", True), given.get("last", COUNT)
        buffers = [each.buffer for each in kernel.parameters if each.buffer is not None]
        self.stamps = [np.full(each.nbytes, not fresh, np.uint32) for each in arrays]
        self.readers = [np.zeros(each.nbytes, np.uint32) for each in arrays]
        rows, position = [], 0
        for parameter in kernel.parameters:
            row = [0] * len(checked.ROW)
            if parameter.buffer is not None:
                written = buffers[position].access != "read"
                row = [0, arrays[position].nbytes, 0, 0, flags if written else 0, 1]
                if written:
                    row[2], row[3] = self.stamps[position].ctypes.data, self.readers[position].ctypes.data
                position += 1
            rows += row
        table = np.array([0] * checked.HEAD + rows, np.int64)
        slots = pack_slots(kernel, arrays, sizes)
        whole = (type(slots)._type_ * (len(slots) + 1))(*slots, table.ctypes.data)
        load_object(compile_object(kernel, cpu.name, cpu.features, checked=True))(whole, 0, last)
        self.fault = dict(zip(checked.FAULT, table.tolist()))


def _copy(shift: int = 0, dtype: Any = f32) -> Kernel:
    """out[i] = x[i + shift], lanes along i."""
    b = KernelBuilder()
    x, out, count = b.buffer(dtype), b.buffer(dtype, write=True), b.size()
    with b.grid(1), b.lane(count) as i:
        b.store(out, i, b.load(x, i + shift))
    return b.finish()


def _arrays(*counts: int, dtype: Any = np.float32) -> list[Any]:
    return [np.arange(count).astype(dtype) for count in counts]


@pytest.mark.parametrize("dtype", [f32, f64, u8, i64], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("count", [1, 3, 15, 16, 17, 64, COUNT])
def test_a_right_kernel_has_no_fault_and_computes_the_same(cpu: Cpu, dtype: Any, count: int) -> None:
    arrays = _arrays(count, count, dtype=dtype.numpy)
    arrays[1][:] = 0
    run = Checked(_copy(dtype=dtype), cpu, arrays, (count,), last=1)
    assert run.fault["kind"] == 0
    np.testing.assert_array_equal(*arrays)
    assert (run.stamps[1] == 2).all()


@pytest.mark.parametrize("shift", [1, -1])
def test_a_read_outside(cpu: Cpu, shift: int) -> None:
    run = Checked(_copy(shift), cpu, _arrays(COUNT, COUNT), (COUNT,), last=1)
    outside = -1 if shift < 0 else COUNT
    assert run.fault == {"kind": OUTSIDE, "buffer": 0, "index": outside, "unit": 0, "other": 0, "writes": 0}


def test_a_write_outside_does_not_happen(cpu: Cpu) -> None:
    memory = np.full(COUNT + 8, 7, np.float32)
    run = Checked(_copy(), cpu, [_arrays(COUNT)[0], memory[:-8]], (COUNT + 1,), last=1)
    assert (run.fault["kind"], run.fault["buffer"], run.fault["index"]) == (OUTSIDE, 0, COUNT)
    run = Checked(_copy(), cpu, [_arrays(COUNT + 1)[0], memory[:-8]], (COUNT + 1,), last=1)
    assert (run.fault["kind"], run.fault["buffer"], run.fault["index"]) == (OUTSIDE, 1, COUNT)
    assert (memory[-8:] == 7).all()


def test_gathers_scatters_and_masks(cpu: Cpu) -> None:
    b = KernelBuilder()
    x, places, out, count = b.buffer(f32), b.buffer(i64), b.buffer(f32, write=True), b.size()
    with b.grid(1), b.lane(count) as i:
        place = b.load(places, i)
        with b.when(place >= 0):
            b.store(out, i * 3, b.load(x, place))
    kernel = b.finish()
    where = np.arange(COUNT)[::-1].copy()
    where[5] = -1  # masked: never looked at
    arrays = [_arrays(COUNT)[0], where, _arrays(3 * COUNT)[0]]
    assert Checked(kernel, cpu, arrays, (COUNT,), last=1).fault["kind"] == 0
    where[7] = COUNT
    fault = Checked(kernel, cpu, arrays, (COUNT,), last=1).fault
    assert (fault["kind"], fault["buffer"], fault["index"]) == (OUTSIDE, 0, COUNT)
    where[7] = 0
    arrays[2] = arrays[2][: 3 * COUNT - 3]
    fault = Checked(kernel, cpu, arrays, (COUNT,), last=1).fault
    assert (fault["kind"], fault["buffer"], fault["index"], fault["writes"]) == (OUTSIDE, 2, 3 * COUNT - 3, 1)


def _chain(body: Callable[[KernelBuilder, Any, Any], None]) -> Kernel:
    b = KernelBuilder()
    out = b.buffer(f32, write=True, read=True)
    with b.grid(b.size()) as i:
        body(b, out, i)
    return b.finish()


def test_reading_what_nobody_wrote(cpu: Cpu) -> None:
    kernel = _chain(lambda b, out, i: b.store(out, i, b.load(out, i) + 1.0))
    fault = Checked(kernel, cpu, _arrays(COUNT), (COUNT,)).fault
    assert (fault["kind"], fault["index"]) == (UNWRITTEN, 0)
    assert Checked(kernel, cpu, _arrays(COUNT), (COUNT,), fresh=False).fault["kind"] == 0


def test_two_units_write_one_place(cpu: Cpu) -> None:
    kernel = _chain(lambda b, out, i: b.store(out, i // 2, b.cast(i, f32)))
    fault = Checked(kernel, cpu, _arrays(COUNT), (COUNT,)).fault
    assert fault == {"kind": SHARED, "buffer": 0, "index": 0, "unit": 1, "other": 2, "writes": 1}


def test_the_same_value_twice_is_allowed_where_the_kernel_says_so(cpu: Cpu) -> None:
    same = _chain(lambda b, out, i: b.store(out, i // 2, b.cast(i // 2, f32)))
    assert Checked(same, cpu, _arrays(COUNT), (COUNT,)).fault["kind"] == SHARED
    assert Checked(same, cpu, _arrays(COUNT), (COUNT,), flags=WRITABLE | REPEATED).fault["kind"] == 0
    other = _chain(lambda b, out, i: b.store(out, i // 2, b.cast(i, f32)))
    assert Checked(other, cpu, _arrays(COUNT), (COUNT,), flags=WRITABLE | REPEATED).fault["kind"] == SHARED


@pytest.mark.parametrize("step", [1, -1], ids=["before it is written", "after it was written"])
def test_a_unit_reads_what_another_writes(cpu: Cpu, step: int) -> None:
    def body(b: KernelBuilder, out: Any, i: Any) -> None:
        neighbour = b.min(b.max(i + step, 0), COUNT - 1)
        b.store(out, i, b.load(out, neighbour))

    fault = Checked(_chain(body), cpu, _arrays(COUNT), (COUNT,), fresh=False).fault
    assert (fault["kind"], fault["unit"]) == (SHARED, 1)


def test_writing_what_is_not_to_be_written(cpu: Cpu) -> None:
    fault = Checked(_copy(), cpu, _arrays(COUNT, COUNT), (COUNT,), last=1, flags=0).fault
    assert (fault["kind"], fault["buffer"], fault["index"]) == (FORBIDDEN, 1, 0)


def test_arrays_of_a_block_belong_to_one_iteration(cpu: Cpu) -> None:
    b = KernelBuilder()
    out, count = b.buffer(f32, write=True), b.size()
    held = b.shared(f32, 8)
    with b.grid(count) as i:
        with b.when(i < 1):
            b.store(held, 3, 2.0)
        b.store(out, i, b.load(held, 3))
    fault = Checked(b.finish(), cpu, _arrays(COUNT), (COUNT,)).fault
    assert (fault["kind"], fault["index"], fault["unit"], fault["buffer"]) == (UNWRITTEN, 3, 1, 2)


def test_arrays_of_a_block_have_an_end(cpu: Cpu) -> None:
    b = KernelBuilder()
    out, count = b.buffer(f32, write=True), b.size()
    held = b.shared(f32, COUNT)
    with b.grid(1):
        with b.lane(count) as i:
            b.store(held, i, 1.0)
        b.store(out, 0, b.load(held, 0))
    kernel = b.finish()
    assert Checked(kernel, cpu, _arrays(1), (COUNT,), last=1).fault["kind"] == 0
    fault = Checked(kernel, cpu, _arrays(1), (COUNT + 1,), last=1).fault
    assert (fault["kind"], fault["index"], fault["writes"]) == (OUTSIDE, COUNT, 1)


def test_constant_tables_have_an_end(cpu: Cpu) -> None:
    b = KernelBuilder()
    places, out, count = b.buffer(i64), b.buffer(f32, write=True), b.size()
    table = b.table(f32, [1.0, 2.0, 3.0])
    with b.grid(1), b.lane(count) as i:
        b.store(out, i, b.load(table, b.load(places, i)))
    kernel = b.finish()
    where = np.arange(COUNT) % 3
    assert Checked(kernel, cpu, [where, _arrays(COUNT)[0]], (COUNT,), last=1).fault["kind"] == 0
    where[20] = 3
    assert Checked(kernel, cpu, [where, _arrays(COUNT)[0]], (COUNT,), last=1).fault["kind"] == OUTSIDE
