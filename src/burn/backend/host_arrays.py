"""What devices have in common whose handles are NumPy arrays: reading them, and sharing their memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from burn.device import Device
from burn.dtype import DType, bf16, f32, from_numpy, i64
from burn.dtype import dtype as as_dtype
from burn.errors import DTypeError


class HostArrays(Device):
    """A device over NumPy arrays, with the dtypes that new tensors get."""

    place = "Cpu"

    def __init__(self, float: DType = f32, int: DType = i64) -> None:
        super().__init__()
        self.float_dtype = as_dtype(float)
        self.int_dtype = as_dtype(int)

    @classmethod
    def identity(cls, float: Any = f32, int: Any = i64) -> tuple[Any, ...]:
        float_dtype, int_dtype = as_dtype(float), as_dtype(int)
        if not float_dtype.is_float or not float_dtype.is_arithmetic:
            raise DTypeError(f"{cls.__name__}: float must be one of f64, f32, f16, bf16, got {float_dtype}")
        if not int_dtype.is_int or not int_dtype.is_arithmetic:
            raise DTypeError(f"{cls.__name__}: int must be an integer dtype, got {int_dtype}")
        return float_dtype, int_dtype

    def is_handle(self, value: Any) -> bool:
        return isinstance(value, np.ndarray | np.generic)

    def from_host(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return array

    def to_host(self, handle: Any) -> np.ndarray[Any, Any]:
        return np.asarray(handle)

    def dtype_of(self, handle: Any) -> DType:
        return from_numpy(handle.dtype)

    def to_dlpack(self, handle: Any, **options: Any) -> Any:
        array = np.asarray(handle).view()
        array.flags.writeable = False
        version = options.get("max_version")
        if (version is None or version[0] < 1) and options.get("copy") is not False:
            array = array.copy()  # who asks so cannot be told that nobody may write to it
        if array.dtype.kind == "V" and from_numpy(array.dtype) is bf16:
            from burn.backend.half_exchange import exported

            return exported(array, options)
        return array.__dlpack__(**options)

    def dlpack_device(self, handle: Any) -> tuple[int, int]:
        return 1, 0

    def from_dlpack(self, other: Any, copy: bool) -> Any:
        try:
            array = np.from_dlpack(other)
        except (BufferError, RuntimeError):  # NumPy has no bf16
            from burn.backend.half_exchange import imported

            array = imported(other)
        return array.copy() if copy else array

    def dtype_settings(self) -> list[str]:
        """The dtypes that are not the usual ones, as one would write them."""
        settings = []
        if self.float_dtype is not f32:
            settings.append(f"float={self.float_dtype}")
        if self.int_dtype is not i64:
            settings.append(f"int={self.int_dtype}")
        return settings
