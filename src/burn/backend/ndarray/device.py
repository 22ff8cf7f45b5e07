"""The `NdArray` device: handles are NumPy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from burn.backend.ndarray.activation import Activation
from burn.backend.ndarray.convolution import Convolution
from burn.backend.ndarray.creation import Creation
from burn.backend.ndarray.elementwise import Elementwise
from burn.backend.ndarray.indexing import Indexing
from burn.backend.ndarray.linalg import Linalg
from burn.backend.ndarray.movement import Movement
from burn.backend.ndarray.normalization import Normalization
from burn.backend.ndarray.pooling import Pooling
from burn.backend.ndarray.quantization import Quantization
from burn.backend.ndarray.quiet import quiet, quiet_pair
from burn.backend.ndarray.random import Random
from burn.backend.ndarray.reduce import Reduce
from burn.backend.ndarray.signal import Signal
from burn.backend.ndarray.sort import Sort
from burn.backend.ndarray.spatial import Spatial
from burn.device import Device
from burn.dtype import DType, f32, from_numpy, i64
from burn.dtype import dtype as as_dtype
from burn.errors import DTypeError

if TYPE_CHECKING:
    from burn.ops.op import Op


class NdArray(
    Activation, Convolution, Creation, Elementwise, Indexing, Linalg, Movement, Normalization, Pooling, Quantization,
    Random, Reduce, Signal, Sort, Spatial, Device,
):  # fmt: skip
    """NumPy on the CPU. `NdArray(float=f64)` chooses the dtypes that new tensors get."""

    label = "ndarray"
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

    def resolve(self, op: Op) -> Any:
        kernel = super().resolve(op)
        if kernel is None or op.kind == "hosted":
            return kernel
        if op.is_elementwise and op.operand_count == 2:
            return quiet_pair(kernel, keeps_dtype=op.result_dtype is None)
        return quiet(kernel, len(op.parameters))

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
        return array.__dlpack__(**options)

    def dlpack_device(self, handle: Any) -> tuple[int, int]:
        return 1, 0

    def from_dlpack(self, other: Any, copy: bool) -> Any:
        array = np.from_dlpack(other)
        return array.copy() if copy else array

    def __repr__(self) -> str:
        settings = []
        if self.float_dtype is not f32:
            settings.append(f"float={self.float_dtype}")
        if self.int_dtype is not i64:
            settings.append(f"int={self.int_dtype}")
        return f"NdArray({', '.join(settings)})"

    def __reduce__(self) -> Any:
        return NdArray, (self.float_dtype, self.int_dtype)
