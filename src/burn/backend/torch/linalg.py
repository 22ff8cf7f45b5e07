"""Linalg kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from burn.ops.decompositions import singular

HALVES = (torch.float16, torch.bfloat16)


def _in_f32(function: Callable[..., Any]) -> Any:
    """A torch function that knows no half precision, given f32."""

    def run(x: torch.Tensor, *rest: Any) -> Any:
        if x.dtype not in HALVES:
            return function(x, *rest)
        out = function(x.float(), *(each.float() if isinstance(each, torch.Tensor) else each for each in rest))
        return tuple(each.to(x.dtype) for each in out) if isinstance(out, tuple) else out.to(x.dtype)

    return staticmethod(run)


def _cofactor(x: torch.Tensor) -> torch.Tensor:
    left, values, right = torch.linalg.svd(x)
    ones = torch.ones_like(values[..., :1])
    before = torch.cumprod(torch.cat([ones, values[..., :-1]], -1), -1)
    after = torch.cumprod(torch.cat([ones, values[..., 1:].flip(-1)], -1), -1).flip(-1)
    sign = torch.linalg.det(left) * torch.linalg.det(right)
    return torch.matmul(left * (before * after * sign.unsqueeze(-1)).unsqueeze(-2), right)


def _inverse(x: torch.Tensor) -> torch.Tensor:
    out, fault = torch.linalg.inv_ex(x)
    if bool(fault.any()):
        raise singular("inverse")
    return out  # type: ignore[no-any-return]


def _solve(matrix: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    out, fault = torch.linalg.solve_ex(matrix, values)
    if bool(fault.any()):
        raise singular("solve")
    return out  # type: ignore[no-any-return]


class Linalg:
    """Kernels of the rows in `burn.ops.linalg` and `burn.ops.decompositions`."""

    det = _in_f32(torch.linalg.det)
    cofactor = _in_f32(_cofactor)
    inverse = _in_f32(_inverse)
    solve = _in_f32(_solve)
    lu = _in_f32(lambda x: tuple(torch.linalg.lu(x)))
    qr = _in_f32(lambda x, reduced: tuple(torch.linalg.qr(x, "reduced" if reduced else "complete")))

    @staticmethod
    def matmul(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if x.is_floating_point() or x.device.type == "cpu":
            return torch.matmul(x, y)
        # torch multiplies integer matrices on the CPU alone
        return torch.sum(x.unsqueeze(-1) * y.unsqueeze(-3), dim=-2, dtype=x.dtype)

    @staticmethod
    def cross(x: torch.Tensor, y: torch.Tensor, dim: int) -> torch.Tensor:
        rank = max(x.ndim, y.ndim)
        x, y = (each.reshape((1,) * (rank - each.ndim) + each.shape) for each in (x, y))
        return torch.linalg.cross(x, y, dim=dim)  # type: ignore[no-any-return]

    @staticmethod
    def vector_norm(x: torch.Tensor, p: float, dim: int) -> torch.Tensor:
        return torch.linalg.vector_norm(x, p, dim, keepdim=True)  # type: ignore[no-any-return]
