"""Storages and the tensors over them: places in a file, looked at only when a tensor is read.

A storage is a run of bytes, a tensor a view of it: an offset, sizes and strides, which are the file's word and
are checked against the storage. Several tensors may share one storage. A tensor that lies in the file in order
is used where it lies, without a copy.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from burn.dtype import bool_
from burn.record.errors import RecordError
from burn.record.layouts import Deferred
from burn.record.source import Array, Source
from burn.record.tensors import NAMES, check_shape
from burn.tensor import TensorData
from burn_import.pytorch.elements import Element


class Storage:
    """A run of elements. Its place is filled in by the container when it is known."""

    def __init__(self, key: str, element: Element, count: int) -> None:
        self.key, self.element, self.count = key, element, count
        self.source: Source | None = None
        self.offset = 0
        self.swapped = False

    def place(self, source: Source, offset: int, length: int, big_endian: bool = False) -> None:
        """Say where the bytes are; there have to be enough of them."""
        needed = self.count * self.element.size
        if not 0 <= needed <= length or not 0 <= offset <= source.size - length:
            raise RecordError(
                f"storage {self.key[:40]}: {self.count:,} elements of {self.element.name} need {needed:,} bytes, "
                f"and {max(0, min(length, source.size - offset)):,} are there"
            )
        self.source, self.offset = source, offset
        self.swapped = big_endian != (sys.byteorder == "big")


class View(Deferred):
    """A tensor: elements of a storage in the order of sizes and strides."""

    def __init__(self, storage: Storage, offset: Any, sizes: Any, strides: Any, element: Element) -> None:
        self.storage, self.element = storage, element
        self.shape = sizes_of(sizes)
        self.offset: int = offset
        self.strides: tuple[int, ...] = strides
        self.negated = False
        self.fault = element.fault
        self.dtype = NAMES.get(element.dtype, element.name.upper()) if element.dtype else element.name.upper()
        if type(strides) is not tuple or len(strides) != len(self.shape):
            raise RecordError(f"a tensor of shape {list(self.shape)} has strides of another length")
        if not all(type(each) is int and each >= 0 for each in (offset, *strides)):
            raise RecordError("an offset or a stride of a tensor is no whole number of 0 or more")
        if self.count and (offset + self.span) * element.size > storage.count * storage.element.size:
            raise RecordError(
                f"a tensor of shape {list(self.shape)} and strides {list(strides)} at {offset:,} reaches out of its "
                f"storage of {storage.count * storage.element.size // element.size:,} elements"
            )

    @property
    def count(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def span(self) -> int:
        """From the first to the last element in the storage, both counted."""
        return 1 + sum((size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True))

    @property
    def repeated(self) -> int:
        """Bytes that reading makes beyond those of the file, for a tensor that was expanded."""
        return max(0, self.count - self.span) * self.element.size if self.count else 0

    def read(self) -> TensorData:
        """The values, row-major."""
        if self.fault or self.element.dtype is None:
            raise RecordError(self.fault)
        dtype = self.element.dtype
        if not self.count:
            return TensorData.adopt(np.empty(self.shape, dtype.numpy), dtype)
        array = self._elements()
        if self._is_ordered():
            array = array.reshape(self.shape)
        else:
            steps = [stride * array.itemsize for stride in self.strides]
            array = np.lib.stride_tricks.as_strided(array, self.shape, steps, writeable=False)
        return TensorData.adopt(-array if self.negated else array, dtype)

    def _elements(self) -> Array:
        """The part of the storage from the first to the last element."""
        assert self.element.dtype is not None
        assert self.storage.source is not None
        size, dtype = self.element.size, self.element.dtype
        start = self.storage.offset + self.offset * size
        raw = np.dtype(f"u{size}")
        if dtype is bool_:
            array = self.storage.source.array(start, self.span, raw)
            return array.view(np.bool_) if array.max() <= 1 else array != 0
        array = self.storage.source.array(start, self.span * size, dtype.numpy if not self.storage.swapped else raw)
        return array.byteswap().view(dtype.numpy) if self.storage.swapped else array

    def _is_ordered(self) -> bool:
        expected = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size != 1 and stride != expected:
                return False
            expected *= size
        return True


def sizes_of(value: Any) -> tuple[int, ...]:
    """The sizes of a tensor, if that is what a pickle holds. What is shown in an error is never nested."""
    if not isinstance(value, tuple) or not all(type(size) is int for size in value):
        raise RecordError("what should be the sizes of a tensor is no shape")
    return check_shape(value)


class Unreadable(Deferred):
    """A tensor that is there but cannot be read, and why: an error only for those who need it."""

    def __init__(self, kind: str, fault: str, shape: tuple[int, ...] = ()) -> None:
        self.dtype, self.fault, self.shape = kind, fault, shape

    def read(self) -> TensorData:
        """Always an error."""
        raise RecordError(self.fault)
