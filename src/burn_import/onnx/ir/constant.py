"""Tensors known when a model is read: weights, initialisers, tensor attributes and what folding computed.

The bytes stay where they are, most often in a memory-mapped file, until `array` is asked for. Small arrays are kept;
large ones are kept only as long as somebody holds them, so walking over a model's weights does not copy the model.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from burn_import.onnx.ir.types import ElementType, TensorType

KEPT = 1 << 16  # bytes


class Constant:
    """A tensor with known elements.

    `array` is read-only, C-contiguous, aligned and in native byte order. Types of fewer than 8 bits take one byte an
    element in memory; strings are Python `str` in an object array.
    """

    __slots__ = ("dtype", "shape", "_load", "_array", "_weak", "__weakref__")

    def __init__(self, dtype: ElementType, shape: tuple[int, ...], load: Callable[[], np.ndarray[Any, Any]]) -> None:
        self.dtype = dtype
        self.shape = shape
        self._load = load
        self._array: np.ndarray[Any, Any] | None = None
        self._weak: weakref.ref[np.ndarray[Any, Any]] | None = None

    @classmethod
    def of(cls, value: Any, dtype: ElementType | None = None) -> Constant:
        """A constant that holds `value`: anything NumPy makes an array of."""
        array = np.asarray(value, dtype=dtype.numpy if dtype is not None else None)
        if array.dtype.kind in "US":
            array = array.astype(object)
        array = array.view() if array.flags.c_contiguous else np.ascontiguousarray(array)
        array.flags.writeable = False
        made = cls(ElementType.from_numpy(array.dtype), array.shape, lambda: array)
        made._array = array
        return made

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """The elements."""
        if self._array is not None:
            return self._array
        if self._weak is not None:
            held = self._weak()
            if held is not None:
                return held
        array = np.asarray(self._load())  # arithmetic on an array of no dims gives a NumPy scalar
        array.flags.writeable = False
        if array.nbytes <= KEPT:
            self._array = array
        else:
            self._weak = weakref.ref(array)
        return array

    @property
    def type(self) -> TensorType:
        return TensorType(self.dtype, self.shape)

    @property
    def size(self) -> int:
        """How many elements there are."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of `array`."""
        return self.size * self.dtype.numpy.itemsize

    def __repr__(self) -> str:
        if self.size <= 8:
            return f"{self.type} {self.array.tolist()}"
        return f"{self.type} ..."
