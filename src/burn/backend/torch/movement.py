"""Movement kernels."""

from __future__ import annotations

import torch


class Movement:
    """Kernels of the rows in `burn.ops.movement` and `burn.ops.joining`."""

    reshape = staticmethod(torch.reshape)
    expand = staticmethod(torch.broadcast_to)
    permute = staticmethod(torch.permute)
    flip = staticmethod(torch.flip)
    cat = staticmethod(torch.cat)
    tril = staticmethod(torch.tril)
    triu = staticmethod(torch.triu)
    repeat = staticmethod(torch.tile)

    @staticmethod
    def roll(x: torch.Tensor, shifts: tuple[int, ...], dims: tuple[int, ...]) -> torch.Tensor:
        return torch.roll(x, shifts, dims) if dims else x

    @staticmethod
    def unfold(x: torch.Tensor, dim: int, size: int, step: int) -> torch.Tensor:
        if x.shape[dim] < size:
            return x.new_empty((*x.shape[:dim], 0, *x.shape[dim + 1 :], size))
        return x.unfold(dim, size, step)
