"""Sort kernels."""

from __future__ import annotations

from typing import Any

import torch

from burn.backend.torch.dtypes import to_torch
from burn.dtype import DType


class Sort:
    """Kernels of the rows in `burn.ops.sort`."""

    int_dtype: DType

    def sort_with_indices(self, x: torch.Tensor, dim: int, descending: bool) -> Any:
        values, indices = torch.sort(x, dim=dim, descending=descending, stable=True)
        return values, indices.to(to_torch(self.int_dtype))

    def topk_with_indices(self, x: torch.Tensor, k: int, dim: int) -> Any:
        values, indices = torch.topk(x, k, dim)
        return values, indices.to(to_torch(self.int_dtype))
