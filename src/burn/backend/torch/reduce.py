"""Kernels of reductions and running sums."""

from __future__ import annotations

import torch

from burn.backend.torch.dtypes import to_torch
from burn.dtype import DType


class Reduce:
    """Kernels of the rows in `burn.ops.reduce` and `burn.ops.cumulative`.

    Torch reads an empty list of dims as all of them, so that case is answered before it is asked.
    """

    int_dtype: DType

    @staticmethod
    def sum_dims(x: torch.Tensor, dims: tuple[int, ...]) -> torch.Tensor:
        return torch.sum(x, dims, keepdim=True, dtype=x.dtype) if dims else x

    @staticmethod
    def prod_dims(x: torch.Tensor, dims: tuple[int, ...]) -> torch.Tensor:
        half = x.dtype in (torch.float16, torch.bfloat16)
        result = x.float() if half else x
        for dim in dims:
            result = torch.prod(result, dim, keepdim=True, dtype=result.dtype)
        return result.to(x.dtype)

    @staticmethod
    def max_dims(x: torch.Tensor, dims: tuple[int, ...]) -> torch.Tensor:
        return torch.amax(x, dims, keepdim=True) if dims else x

    @staticmethod
    def min_dims(x: torch.Tensor, dims: tuple[int, ...]) -> torch.Tensor:
        return torch.amin(x, dims, keepdim=True) if dims else x

    @staticmethod
    def any_dims(x: torch.Tensor, dims: tuple[int, ...]) -> torch.Tensor:
        truth = x.to(torch.bool)
        return torch.any(truth, dims, keepdim=True) if dims else truth

    @staticmethod
    def all_dims(x: torch.Tensor, dims: tuple[int, ...]) -> torch.Tensor:
        truth = x.to(torch.bool)
        return torch.all(truth, dims, keepdim=True) if dims else truth

    def argmax(self, x: torch.Tensor, dim: int) -> torch.Tensor:
        return torch.argmax(x, dim, keepdim=True).to(to_torch(self.int_dtype))

    def argmin(self, x: torch.Tensor, dim: int) -> torch.Tensor:
        return torch.argmin(x, dim, keepdim=True).to(to_torch(self.int_dtype))

    def max_dim_with_indices(self, x: torch.Tensor, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
        values, indices = torch.max(x, dim, keepdim=True)
        return values, indices.to(to_torch(self.int_dtype))

    def min_dim_with_indices(self, x: torch.Tensor, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
        values, indices = torch.min(x, dim, keepdim=True)
        return values, indices.to(to_torch(self.int_dtype))

    @staticmethod
    def cumsum(x: torch.Tensor, dim: int) -> torch.Tensor:
        return torch.cumsum(x, dim, dtype=x.dtype)

    @staticmethod
    def cumprod(x: torch.Tensor, dim: int) -> torch.Tensor:
        return torch.cumprod(x, dim, dtype=x.dtype)

    @staticmethod
    def cummax(x: torch.Tensor, dim: int) -> torch.Tensor:
        return torch.cummax(x, dim)[0]

    @staticmethod
    def cummin(x: torch.Tensor, dim: int) -> torch.Tensor:
        return torch.cummin(x, dim)[0]
