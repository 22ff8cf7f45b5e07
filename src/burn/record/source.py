"""Where a record is read from: bytes in memory, or a file that is mapped rather than read.

A reader looks at headers through `view` and asks `array` for the numbers. In a mapped file numbers that
are aligned are used where they lie, without a copy: the pages are those of the file, they cost no
memory of the process until they are touched, and the system may drop them again. Numbers that are not
aligned are copied.

A mapping follows the file, not its name: replacing the file by renaming, as recorders do, leaves what
was loaded untouched. Shortening the very file in place takes the pages away, and touching them then
ends the process (SIGBUS); writing into it changes the numbers. `mapped=False` gives every tensor
memory of its own, which is safe against both once loading is over.
"""

from __future__ import annotations

import mmap
import os
import stat
import weakref
from typing import Any

import numpy as np

from burn.record.errors import RecordError

Array = np.ndarray[Any, Any]

SMALL = 1 << 20
"""Files below this size are simply read."""


STEP = 1 << 25
"""Bytes that are copied out of a mapping at a time."""


class Source:
    """Bytes to read a record from."""

    def __init__(self, data: Any, descriptor: int | None = None, mapped: bool = True) -> None:
        self.view = memoryview(data).cast("B")
        self.size = len(self.view)
        self._mapping: mmap.mmap | None = data if isinstance(data, mmap.mmap) else None
        self._descriptor = descriptor
        self._mapped = mapped
        if descriptor is not None:
            weakref.finalize(self, os.close, descriptor)

    def array(self, offset: int, length: int, dtype: np.dtype[Any]) -> Array:
        """A flat, read-only array over `length` bytes; the bytes are known to be there."""
        count = length // dtype.itemsize
        if not count:
            return np.empty(0, dtype)
        if self._descriptor is not None and not self._mapped:
            return self._read(offset, count, dtype)
        raw = np.frombuffer(self.view, np.uint8, length, offset)
        found = raw.view(dtype)
        if found.flags.aligned:
            return found
        result = np.empty(count, dtype)
        target = result.view(np.uint8)
        for start in range(0, length, STEP):
            end = min(length, start + STEP)
            target[start:end] = raw[start:end]
            self._release(offset + start, end - start)
        return result

    def _release(self, offset: int, length: int) -> None:
        """Give back the pages of a mapping that were copied, so that they do not count as ours twice."""
        if self._mapping is not None and hasattr(mmap, "MADV_DONTNEED"):
            first = -(-offset // mmap.PAGESIZE) * mmap.PAGESIZE
            length = (offset + length) // mmap.PAGESIZE * mmap.PAGESIZE - first
            if length > 0:
                self._mapping.madvise(mmap.MADV_DONTNEED, first, length)

    def _read(self, offset: int, count: int, dtype: np.dtype[Any]) -> Array:
        """Numbers read from the file, not from the mapping."""
        assert self._descriptor is not None
        result = np.empty(count, dtype)
        target = memoryview(result.view(np.uint8))  # type: ignore[arg-type]
        while target:
            got = os.preadv(self._descriptor, [target[:STEP]], offset)
            if not got:
                raise RecordError("the file became shorter while it was read")
            target, offset = target[got:], offset + got
        return result


def open_source(path: str, mapped: bool = True) -> Source:
    """The contents of a file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise RecordError(f"cannot be opened: {error.strerror or error}") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise RecordError("is not a regular file; read it yourself and pass the open file")
        if status.st_size >= SMALL and hasattr(os, "preadv"):
            data = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
            return Source(data, descriptor, mapped)
        with open(descriptor, "rb", closefd=False) as file:
            source = Source(file.read())
    except BaseException as error:
        os.close(descriptor)
        if isinstance(error, OSError):
            raise RecordError(f"cannot be read: {error.strerror or error}") from error
        raise
    os.close(descriptor)
    return source
