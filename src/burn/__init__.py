"""Burn for Python: a deep-learning framework in which the code that trains is the code that ships.

import burn
from burn import NdArray

x = burn.tensor([[1.0, 2.0], [3.0, 4.0]], device=NdArray().autodiff()).require_grad()
grads = (x * x).sum().backward()
print(x.grad(grads))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.backend import Autodiff, BalancedCheckpointing, NdArray, NoCheckpointing
from burn.device import Device, default_device, set_default_device, set_default_factory
from burn.dtype import (
    Bool,
    DType,
    Float,
    Int,
    bf16,
    bool_,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)
from burn.errors import (
    ArgumentError,
    AutodiffError,
    BurnError,
    DataError,
    DeviceError,
    DTypeError,
    IndexingError,
    MissingOperation,
    OutOfMemory,
    ShapeError,
)
from burn.shape import Shape
from burn.tensor import Distribution, Tensor, TensorData
from burn.version import __version__

if TYPE_CHECKING:
    from burn.backend import Cpu, Fusion, LibTorch
    from burn.backend.cpu.pool import get_num_threads, set_num_threads
    from burn.capture import CaptureWarning, Scalar, compile
    from burn.tensor.methods.creation import tensor

set_default_factory(NdArray)

__all__ = [
    "ArgumentError", "Autodiff", "AutodiffError", "BalancedCheckpointing", "Bool", "BurnError", "CaptureWarning",
    "Cpu", "DType", "DTypeError", "DataError", "Device", "DeviceError", "Distribution", "Float", "Fusion",
    "IndexingError", "Int", "LibTorch", "MissingOperation", "NdArray", "NoCheckpointing", "OutOfMemory", "Scalar",
    "Shape", "ShapeError", "Tensor", "TensorData", "__version__", "bf16", "bool_", "compile", "default_device", "f16",
    "f32", "f64", "get_num_threads", "i16", "i32", "i64", "i8", "set_default_device", "set_num_threads", "tensor",
    "u16", "u32", "u64", "u8",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in ("get_num_threads", "set_num_threads"):
        from burn.backend.cpu import pool

        return getattr(pool, name)
    if name in ("CaptureWarning", "Scalar", "compile"):
        import burn.capture

        return getattr(burn.capture, name)
    if name in ("Cpu", "Fusion", "LibTorch"):
        import burn.backend

        return getattr(burn.backend, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
