"""Buffers are aligned, are used again when nobody holds them, and are accounted for."""

from __future__ import annotations

import gc
import os
import resource
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burn.backend.cpu import memory as module
from burn.backend.cpu.memory import ALIGNMENT, Buffer, Memory, MemoryUse, size_class
from burn.errors import ArgumentError, OutOfMemory


@given(st.integers(0, 1 << 40))
def test_a_block_is_large_enough_aligned_and_hardly_larger(size: int) -> None:
    capacity = size_class(size)
    assert capacity >= max(size, 1)
    assert capacity % ALIGNMENT == 0
    assert capacity - size <= max(ALIGNMENT, size / 8)
    assert size_class(capacity) == capacity, "a class is its own class"


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 1000, 4096, 1 << 20, (1 << 20) + 1])
def test_buffers_are_aligned_and_know_their_address(size: int) -> None:
    buffer = Memory().allocate(size)
    array = np.asarray(buffer)
    assert buffer.address % 64 == 0
    assert array.shape == (size,)
    if size:  # NumPy may place an empty array anywhere
        assert array.ctypes.data == buffer.address
    array[:] = 7
    assert (np.asarray(buffer) == 7).all()


def test_views_have_shape_dtype_and_offset() -> None:
    buffer = Memory().allocate(1000)
    whole = buffer.view(np.float32)
    assert whole.shape == (250,)
    whole[:] = np.arange(250)
    part = buffer.view(np.float32, (3, 4), offset=40)
    np.testing.assert_array_equal(part, np.arange(10, 22, dtype=np.float32).reshape(3, 4))
    assert part.ctypes.data == buffer.address + 40
    assert buffer.view(np.float64, (0, 3)).shape == (0, 3)
    assert buffer.view(np.int64, (), offset=8).shape == ()


def test_a_view_larger_than_the_buffer_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"view: \(3, 4\) of float64 at 8 needs 104 bytes; the buffer has 96"):
        Memory().allocate(96).view(np.float64, (3, 4), offset=8)


def test_a_forgotten_buffer_is_handed_out_again() -> None:
    memory = Memory()
    first = memory.allocate(5000)
    address = first.address
    other = memory.allocate(5000)
    assert other.address != address
    del first
    assert memory.allocate(4990).address == address


def test_a_view_keeps_the_memory_from_being_handed_out() -> None:
    memory = Memory()
    buffer = memory.allocate(4096)
    address = buffer.address
    rows = buffer.view(np.float32, (32, 32))[3:5].T
    rows[:] = 5
    del buffer
    gc.collect()
    fresh = memory.allocate(4096)
    assert fresh.address != address
    fresh.view(np.float32)[:] = 9
    assert (rows == 5).all()
    del rows
    assert memory.allocate(4096).address == address


def test_an_array_gives_its_memory_back_when_its_last_view_is_gone() -> None:
    memory = Memory()
    array = memory.array((32, 33), np.dtype(np.float32), 32 * 33 * 4)
    address = array.ctypes.data
    assert address % ALIGNMENT == 0
    assert array.shape == (32, 33)
    view = array[3:5].T.reshape(-1)[::2]
    rows = array.view()[1:]
    rows[:] = 5
    del array, view
    gc.collect()
    other = memory.array((32, 33), np.dtype(np.float32), 32 * 33 * 4)
    assert other.ctypes.data != address
    other[:] = 9
    assert (rows == 5).all()
    assert memory.use().live == 2 * size_class(32 * 33 * 4)
    del rows
    assert memory.array((1000,), np.dtype(np.float32), 32 * 33 * 4).ctypes.data == address
    del other
    assert memory.use().live == 0


def test_live_cached_and_peak_bytes_are_counted() -> None:
    memory = Memory(limit=1 << 20)
    assert memory.use() == MemoryUse(0, 0, 0)
    one, two = memory.allocate(1024), memory.allocate(2048)
    assert memory.use() == MemoryUse(3072, 0, 3072)
    del one
    assert memory.use() == MemoryUse(2048, 1024, 3072)
    three = memory.allocate(1000)
    assert memory.use() == MemoryUse(3072, 0, 3072)
    del two, three
    assert memory.use() == MemoryUse(0, 3072, 3072)
    memory.reset_peak()
    assert memory.use() == MemoryUse(0, 3072, 0)
    memory.trim()
    assert memory.use() == MemoryUse(0, 0, 0)


def test_the_cache_stays_below_its_limit_and_drops_the_oldest() -> None:
    memory = Memory(limit=4096)
    held = [memory.allocate(size) for size in (1024, 2048, 1024, 4096)]
    addresses = [each.address for each in held]
    while held:
        held.pop(0)
        assert memory.use().cached <= 4096
    assert memory.use() == MemoryUse(0, 4096, 8192)
    assert memory.allocate(4096).address == addresses[3]
    memory.limit = 0
    assert memory.use().cached == 0
    with pytest.raises(ArgumentError, match="limit: -1 is not a number of bytes"):
        memory.limit = -1


def resident() -> int:
    """The memory of this process in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads /proc")
def test_memory_does_not_grow_over_many_cycles() -> None:
    memory = Memory(limit=64 << 20)
    generator = np.random.default_rng(0)
    sizes = generator.integers(1, 1 << 20, 64)

    def cycle(count: int) -> None:
        held: list[Buffer] = []
        for number in range(count):
            buffer = memory.allocate(int(sizes[number % 64]))
            buffer.view(np.uint8)[::4096] = 1
            held.append(buffer)
            if len(held) > 16:
                del held[int(generator.integers(len(held)))]

    cycle(2000)
    before = resident()
    cycle(10_000)
    assert memory.use().live == 0
    assert memory.use().cached <= 64 << 20
    assert resident() - before < 8 << 20


def test_threads_may_allocate_and_free_at_once() -> None:
    memory = Memory(limit=1 << 16)
    faults: list[int] = []

    def work(mark: int) -> None:
        for number in range(400):
            buffer = memory.allocate(64 + 64 * (number % 40))
            array = np.asarray(buffer)
            array[:] = mark
            if number % 3 == 0:
                array = array[5:]
                del buffer
            if not (array == mark).all():
                faults.append(mark)

    threads = [threading.Thread(target=work, args=(mark,)) for mark in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not faults, "two buffers shared memory"
    assert memory.use().live == 0
    assert memory.use().cached <= 1 << 16


def test_out_of_memory_empties_the_cache_and_tries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory()
    del (kept := [memory.allocate(1 << 20)])[0]
    real, refusals = module._Block, [MemoryError()]

    def refuse_once(capacity: int) -> object:
        if refusals:
            raise refusals.pop()
        return real(capacity)

    monkeypatch.setattr(module, "_Block", refuse_once)
    kept.append(memory.allocate(4096))
    assert memory.use() == MemoryUse(4096, 0, 1 << 20)


def test_more_memory_than_there_is_says_what_to_do() -> None:
    memory = Memory()
    held = memory.allocate(64)
    with pytest.raises(OutOfMemory, match=r"allocate: .* 64 bytes are in use, .* smaller batch"):
        memory.allocate(1 << 60)
    assert memory.use().live == 64
    assert held.size == 64
    with pytest.raises(ArgumentError, match="allocate: -1 is not a size"):
        memory.allocate(-1)
