"""Memory for tensors: aligned buffers that are handed out again when nobody looks at them any more.

A `Buffer` is some bytes on a 64-byte boundary together with their address, since asking NumPy for an
address costs a microsecond. It is freed by being forgotten: NumPy views of it keep it alive, and when
the last one is gone its block goes back to the cache of its size class, for the next buffer of about
that size. Fresh memory is slow (the system clears each page on first touch), so blocks are kept up
to a limit.

    memory = Memory()
    buffer = memory.allocate(4 * 1024)
    array = buffer.view(np.float32, (32, 32))
"""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from collections import deque
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from burn.classes import dataclass
from burn.errors import ArgumentError, OutOfMemory

ALIGNMENT = 64
LARGE = 1 << 15
"""Bytes from which on an allocation asks the system for pages, which it must first clear."""
STEPS = 8
"""Size classes in each doubling: a block is at most an eighth larger than what was asked for."""


@lru_cache(maxsize=4096)
def size_class(size: int) -> int:
    """The size of the block that holds `size` bytes."""
    if size <= ALIGNMENT:
        return ALIGNMENT
    step = max(ALIGNMENT, 1 << max(0, (size - 1).bit_length() - 4))
    return -(-size // step) * step


def default_limit() -> int:
    """A quarter of the machine's memory, and at most four gibibytes."""
    try:
        physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        physical = 4 << 30
    return min(physical // 4, 4 << 30)


@dataclass(frozen=True)
class MemoryUse:
    """Bytes that a device takes.

    Arguments:
        live: in buffers of results that somebody holds.
        cached: kept for later buffers.
        peak: the most there ever was in buffers.
        plans: what plans keep to run again.

    >>> use = burn.Cpu().memory()
    >>> use.peak >= use.live
    True
    """

    live: int
    cached: int
    peak: int
    plans: int = 0


class _Block:
    """Memory as it came from the system, and the first aligned address in it."""

    __slots__ = ("memory", "bytes", "address", "offset", "capacity", "stamp")

    def __init__(self, capacity: int) -> None:
        self.memory = np.empty(capacity + ALIGNMENT, np.uint8)
        start = self.memory.ctypes.data
        # Arrays over what is no array are the base of their views: they live as long as somebody looks.
        self.bytes = (ctypes.c_char * (capacity + ALIGNMENT)).from_buffer(self.memory)  # type: ignore[arg-type]
        self.offset = -start % ALIGNMENT
        self.address = start + self.offset
        self.capacity = capacity
        self.stamp = 0


class Buffer:
    """Aligned bytes. `address` stays the same as long as the buffer or a view of it lives."""

    __slots__ = ("address", "size", "_block", "_returned", "__weakref__")

    def __init__(self, block: _Block, size: int, returned: deque[_Block]) -> None:
        self.address = block.address
        self.size = size
        self._block = block
        self._returned = returned

    def __del__(self) -> None:
        # Runs in any thread, even inside `allocate`: nothing here may wait for a lock.
        self._returned.append(self._block)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {"data": (self.address, False), "shape": (self.size,), "typestr": "|u1", "version": 3}

    def view(self, dtype: DTypeLike, shape: tuple[int, ...] = (-1,), offset: int = 0) -> NDArray[Any]:
        """A NumPy array over the bytes from `offset` on, which keeps the buffer alive."""
        dtype = np.dtype(dtype)
        array = np.asarray(self)
        if shape == (-1,):
            return array[offset : offset + (self.size - offset) // dtype.itemsize * dtype.itemsize].view(dtype)
        needed = dtype.itemsize
        for each in shape:
            needed *= each
        if offset + needed > self.size:
            raise ArgumentError(
                f"view: {shape} of {dtype} at {offset} needs {offset + needed} bytes; the buffer has {self.size}"
            )
        return np.ndarray(shape, dtype, array, offset)

    def __repr__(self) -> str:
        return f"Buffer({self.size} bytes at {self.address:#x})"


class _Loan(weakref.ref[NDArray[Any]]):
    """Tells when the array over a block is gone."""

    __slots__ = ("block",)

    block: _Block


class Memory:
    """Buffers of one device, with a cache of at most `limit` bytes that nobody uses."""

    def __init__(self, limit: int | None = None) -> None:
        self._lock = threading.Lock()
        self._returned: deque[_Block] = deque()
        self._lent: dict[int, _Loan] = {}
        self._free: dict[int, deque[_Block]] = {}
        self._limit = default_limit() if limit is None else _checked(limit)
        self._live = self._cached = self._peak = self._stamp = 0
        _instances.add(self)

    def allocate(self, size: int) -> Buffer:
        """A buffer of `size` bytes with unknown contents."""
        if size < 0:
            raise ArgumentError(f"allocate: {size} is not a size; write at least 0")
        return Buffer(self._take(size_class(size)), size, self._returned)

    def array(self, shape: tuple[int, ...], dtype: Any, size: int) -> NDArray[Any]:
        """An array of `size` bytes with unknown contents; its block comes back when its last view is gone."""
        block = self._take(size_class(size))
        made: NDArray[Any] = np.ndarray(shape, dtype, block.bytes, block.offset)  # type: ignore[arg-type]
        loan = _Loan(made, self._take_back)
        loan.block = block
        self._lent[id(loan)] = loan
        return made

    def _take_back(self, loan: _Loan) -> None:
        # Runs in any thread, even inside `array`: nothing here may wait for a lock.
        del self._lent[id(loan)]
        self._returned.append(loan.block)

    def _take(self, capacity: int) -> _Block:
        with self._lock:
            if self._returned:
                self._collect()
            free = self._free.get(capacity)
            if free:
                block = free.pop()  # the one used last: its bytes may still be in the caches
                self._cached -= capacity
            else:
                block = self._fresh(capacity)
            self._live += capacity
            if self._live > self._peak:
                self._peak = self._live
        return block

    def use(self) -> MemoryUse:
        """What is used now, and the peak."""
        with self._lock:
            self._collect()
            return MemoryUse(self._live, self._cached, self._peak)

    def reset_peak(self) -> None:
        """Count the peak from now on."""
        with self._lock:
            self._collect()
            self._peak = self._live

    @property
    def limit(self) -> int:
        """The most bytes kept for later buffers."""
        return self._limit

    @limit.setter
    def limit(self, size: int) -> None:
        self._limit = _checked(size)
        with self._lock:
            self._collect()

    def trim(self, to: int = 0) -> None:
        """Give cached memory back to the system until at most `to` bytes are kept."""
        with self._lock:
            self._collect()
            self._shrink(to)

    # Inside, under the lock

    def _collect(self) -> None:
        """Take in the blocks of buffers that are gone."""
        returned = self._returned
        while returned:
            block = returned.popleft()
            capacity = block.capacity
            block.stamp = self._stamp = self._stamp + 1
            free = self._free.get(capacity)
            if free is None:
                free = self._free[capacity] = deque()
            free.append(block)
            self._live -= capacity
            self._cached += capacity
        if self._cached > self._limit:
            self._shrink(self._limit)

    def _shrink(self, to: int) -> None:
        """Free what was returned longest ago."""
        while self._cached > to:
            capacity = min(
                (each for each, free in self._free.items() if free), key=lambda each: self._free[each][0].stamp
            )
            free = self._free[capacity]
            free.popleft()
            if not free:
                del self._free[capacity]
            self._cached -= capacity

    def _fresh(self, capacity: int) -> _Block:
        try:
            return _Block(capacity)
        except MemoryError:
            self._shrink(0)
        try:
            return _Block(capacity)
        except MemoryError:
            raise OutOfMemory(
                f"allocate: the system has no {capacity} bytes left; {self._live} bytes are in use, nothing is cached; "
                "use a smaller batch, or free tensors that are no longer needed"
            ) from None


def _checked(limit: int) -> int:
    if limit < 0:
        raise ArgumentError(f"limit: {limit} is not a number of bytes; write at least 0")
    return limit


_instances: weakref.WeakSet[Memory] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for each in _instances:
        each._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
