"""The `NdArray` device: handles are NumPy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.backend.host_arrays import HostArrays
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

if TYPE_CHECKING:
    from burn.ops.op import Op


class NdArray(
    Activation, Convolution, Creation, Elementwise, Indexing, Linalg, Movement, Normalization, Pooling, Quantization,
    Random, Reduce, Signal, Sort, Spatial, HostArrays,
):  # fmt: skip
    """NumPy on the CPU: the reference.

    Arguments:
        float, int: the dtypes that new tensors get.

    >>> Tensor.zeros([2], burn.NdArray(float=burn.f64)).dtype
    f64
    """

    label = "ndarray"

    def resolve(self, op: Op) -> Any:
        kernel = super().resolve(op)
        if kernel is None or op.kind in ("hosted", "region"):
            return kernel
        if op.is_elementwise and op.operand_count == 2:
            return quiet_pair(kernel, keeps_dtype=op.result_dtype is None)
        return quiet(kernel, len(op.parameters))

    def __repr__(self) -> str:
        return f"NdArray({', '.join(self.dtype_settings())})"

    def __reduce__(self) -> Any:
        return NdArray, (self.float_dtype, self.int_dtype)
