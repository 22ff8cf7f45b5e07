"""bf16 through DLPack, of which NumPy knows the other dtypes: the bits travel as i16, and the capsule says bf16.

A capsule holds a C struct (https://dmlc.github.io/dlpack/latest/c_api.html); one byte of it names the kind of element.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from burn.dtype import bf16

_INT, _BFLOAT = 0, 4
_KIND = {b"dltensor": 20, b"dltensor_versioned": 52}
"""Where the byte is: after a pointer, the device and the number of dims; a versioned struct has more before them."""

_name = ctypes.pythonapi.PyCapsule_GetName
_name.restype, _name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def _kind_of(capsule: Any) -> Any:
    """The byte that names the kind of element, as something that can be written."""
    name = _name(capsule)
    start = _pointer(capsule, name)
    assert name in _KIND
    assert start is not None
    return (ctypes.c_uint8 * 2).from_address(start + _KIND[name])


def exported(array: Any, options: dict[str, Any]) -> Any:
    """A capsule over a bf16 array."""
    capsule = array.view(np.int16).__dlpack__(**options)
    _kind_of(capsule)[0] = _BFLOAT
    return capsule


class _Shown:
    """Hands a capsule to NumPy that says i16 where it said bf16."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self.was_half = False

    def __dlpack__(self, **options: Any) -> Any:
        try:
            capsule = self._source.__dlpack__(**options)
        except TypeError:  # it knows no options
            capsule = self._source.__dlpack__()
        kind = _kind_of(capsule)
        if tuple(kind) == (_BFLOAT, 16):
            kind[0], self.was_half = _INT, True
        return capsule

    def __dlpack_device__(self) -> Any:
        return self._source.__dlpack_device__()


def imported(other: Any) -> np.ndarray[Any, Any]:
    """An array over another library's memory, bf16 included."""
    shown = _Shown(other)
    array = np.from_dlpack(shown)
    return array.view(bf16.numpy) if shown.was_half else array
