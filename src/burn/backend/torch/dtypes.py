"""Our dtypes and torch's."""

from __future__ import annotations

import torch

from burn import dtype as dtypes
from burn.dtype import DType
from burn.errors import DTypeError

_TO_TORCH: dict[DType, torch.dtype] = {
    dtypes.f64: torch.float64, dtypes.f32: torch.float32, dtypes.f16: torch.float16, dtypes.bf16: torch.bfloat16,
    dtypes.i64: torch.int64, dtypes.i32: torch.int32, dtypes.i16: torch.int16, dtypes.i8: torch.int8,
    dtypes.u64: torch.uint64, dtypes.u32: torch.uint32, dtypes.u16: torch.uint16, dtypes.u8: torch.uint8,
    dtypes.bool_: torch.bool, dtypes.f8e4m3fn: torch.float8_e4m3fn, dtypes.f8e4m3fnuz: torch.float8_e4m3fnuz,
    dtypes.f8e5m2: torch.float8_e5m2, dtypes.f8e5m2fnuz: torch.float8_e5m2fnuz,
}  # fmt: skip
_FROM_TORCH = {theirs: ours for ours, theirs in _TO_TORCH.items()}

HOST_ONLY = frozenset((torch.uint64, torch.uint32, torch.uint16))
"""Dtypes that torch stores but computes almost nothing in: their operations run on NumPy."""


def to_torch(dtype: DType) -> torch.dtype:
    """The torch dtype that stores `dtype`."""
    found = _TO_TORCH.get(dtype)
    if found is None:
        raise DTypeError(f"LibTorch stores no {dtype}; use one of {', '.join(each.name for each in _TO_TORCH)}")
    return found


def from_torch(dtype: torch.dtype) -> DType:
    """Our dtype for a torch dtype."""
    found = _FROM_TORCH.get(dtype)
    if found is None:
        raise DTypeError(f"{dtype} has no counterpart here; cast the torch tensor first")
    return found
