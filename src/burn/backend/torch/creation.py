"""Creation kernels."""

from __future__ import annotations

from typing import Any

import torch

from burn.backend.torch.dtypes import to_torch
from burn.dtype import DType


class Creation:
    """Tensors made of nothing, on the device's own hardware."""

    torch_device: torch.device

    def full(self, value: Any, shape: tuple[int, ...], dtype: DType) -> torch.Tensor:
        return torch.full(shape, value, dtype=to_torch(dtype), device=self.torch_device)

    def empty(self, shape: tuple[int, ...], dtype: DType) -> torch.Tensor:
        return torch.empty(shape, dtype=to_torch(dtype), device=self.torch_device)

    def literal(self, data: bytes, shape: tuple[int, ...], dtype: DType) -> torch.Tensor:
        if not data:
            return torch.empty(shape, dtype=to_torch(dtype), device=self.torch_device)
        values = torch.frombuffer(bytearray(data), dtype=to_torch(dtype))
        return values.reshape(shape).to(self.torch_device)

    def arange(self, start: Any, step: Any, count: int, dtype: DType) -> torch.Tensor:
        whole = not (isinstance(start, float) or isinstance(step, float))
        counted = torch.arange(count, dtype=torch.int64 if whole else torch.float64, device=self.torch_device)
        values: torch.Tensor = counted * step + start
        return values.to(to_torch(dtype))
