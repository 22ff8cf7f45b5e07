"""Arrays and numbers of NumPy in pickles: some checkpoints keep them beside their tensors, or instead."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.record.errors import RecordError
from burn.record.layouts import Deferred
from burn.record.tensors import NAMES as DTYPE_NAMES
from burn.tensor import TensorData
from burn_import.pytorch.elements import ELEMENTS
from burn_import.pytorch.storage import sizes_of
from burn_import.pytorch.unfinished import Unfinished

if TYPE_CHECKING:
    from burn_import.pytorch.machine import Machine

CODES = {
    "f8": "float64", "f4": "float32", "f2": "float16", "i8": "int64", "i4": "int32", "i2": "int16", "i1": "int8",
    "u8": "uint64", "u4": "uint32", "u2": "uint16", "u1": "uint8", "b1": "bool", "?": "bool",
}  # fmt: skip


class ArrayType(Unfinished):
    """An element type of NumPy: its code, and the order of its bytes."""

    def __init__(self, code: str) -> None:
        self.code, self.order = code.lstrip("<>=|"), "<"

    def build(self, state: Any) -> None:
        """Take the order of bytes."""
        self.order = ">" if isinstance(state, tuple) and len(state) > 1 and state[1] == ">" else "<"

    def array(self, data: bytes) -> np.ndarray[Any, Any]:
        """Flat numbers of some bytes."""
        if self.code not in CODES:
            raise RecordError(f"an array of NumPy's {self.code[:20]!r}, which holds no numbers")
        code = "u1" if CODES[self.code] == "bool" else self.code
        found = np.frombuffer(data, np.dtype(f"{self.order}{code}"))
        wanted = np.dtype(np.bool_) if CODES[self.code] == "bool" else found.dtype.newbyteorder("=")
        return found.astype(wanted, copy=False)


class ArrayItem(Deferred, Unfinished):
    """An array of NumPy, as a tensor."""

    def __init__(self) -> None:
        self.shape, self.dtype, self.fault = (), "", "an array of NumPy without its values"
        self._data, self._kind, self._by_columns = b"", ArrayType("u1"), False

    def build(self, state: Any) -> None:
        """Take shape, element type, order of dims and bytes."""
        _, sizes, kind, by_columns, data = state
        shape = sizes_of(sizes)
        if not isinstance(kind, ArrayType):
            raise TypeError("no element type")
        raw = data.encode("latin-1") if isinstance(data, str) else data
        self.shape, self._kind, self._by_columns = shape, kind, bool(by_columns)
        if not isinstance(raw, bytes) or kind.code not in CODES:
            self.dtype = kind.code.upper()
            self.fault = f"an array of NumPy's {kind.code[:20]!r}, which holds no numbers"
            return
        element = ELEMENTS[CODES[kind.code]]
        assert element.dtype is not None
        if math.prod(shape) * element.size != len(raw):
            raise ValueError(f"shape {list(shape)} of {element.name} has no {len(raw):,} bytes")
        self.dtype, self.fault, self._data = DTYPE_NAMES[element.dtype], "", raw

    def read(self) -> TensorData:
        """The values, row-major."""
        if self.fault:
            raise RecordError(self.fault)
        values = self._kind.array(self._data)
        if self._by_columns:
            return TensorData.adopt(values.reshape(self.shape[::-1]).T)
        return TensorData.adopt(values.reshape(self.shape))


def _dtype(m: Machine, code: Any, *flags: Any) -> ArrayType:
    if not isinstance(code, str):
        raise TypeError("no code")
    return ArrayType(code)


def _reconstruct(m: Machine, kind: Any, sizes: Any, code: Any) -> ArrayItem:
    return ArrayItem()


def _from_buffer(m: Machine, data: Any, kind: Any, sizes: Any, order: Any) -> ArrayItem:
    made = ArrayItem()
    made.build((1, sizes, kind, order == "F", data))
    return made


def _scalar(m: Machine, kind: Any, data: Any = b"") -> Any:
    if not isinstance(kind, ArrayType):
        raise TypeError("no element type")
    values = kind.array(data.encode("latin-1") if isinstance(data, str) else data)
    if values.size != 1:
        raise ValueError("not one number")
    return values[0].item()


NAMES: dict[str, Any] = {
    "numpy.dtype": _dtype,
    "numpy._core.multiarray._reconstruct": _reconstruct,
    "numpy._core.multiarray.scalar": _scalar,
    "numpy._core.numeric._frombuffer": _from_buffer,
    "numpy.ndarray": None,
}
"""What pickles call these."""
