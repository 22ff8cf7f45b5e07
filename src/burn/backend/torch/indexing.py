"""Indexing kernels.

Index values are checked where the tensor is in the host's memory. On other hardware a check would
wait for the device; there torch refuses them itself.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

import torch

from burn.backend.torch.dtypes import to_torch
from burn.dtype import DType
from burn.ops.indexing_references import Ranges, out_of_range

_REDUCTIONS = {"add": "sum", "mul": "prod", "min": "amin", "max": "amax"}
_TRUTHS = {"add": "amax", "mul": "amin", "min": "amin", "max": "amax"}


def _checked(operation: str, indices: torch.Tensor, dim: int, size: int) -> torch.Tensor:
    """Index values as torch wants them, all of them inside the dim."""
    if indices.device.type == "cpu" and indices.numel():
        low, high = (int(each) for each in torch.aminmax(indices))
        if low < 0 or high >= size:
            raise out_of_range(operation, low if low < 0 else high, dim, size)
    return indices.long()


def _selection(ranges: Ranges) -> tuple[tuple[Any, ...], list[int]]:
    """Ranges with positive steps as an index, and the dims to flip afterwards."""
    found, flipped = [], []
    for dim, (start, size, step) in enumerate(ranges):
        if step < 0:
            start, step = start + (size - 1) * step, -step
            flipped.append(dim)
        found.append(builtins.slice(start, start + size * step, step) if size else builtins.slice(0, 0))
    return tuple(found), flipped


def _wide(x: torch.Tensor) -> torch.Tensor:
    """Values in a dtype in which torch combines them well."""
    if x.dtype is torch.bool:
        return x.to(torch.uint8)
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def _bits(x: torch.Tensor) -> torch.Tensor:
    """Values only to be copied: torch copies 8-bit floats, element by element, as bytes only."""
    return x.view(torch.uint8) if x.is_floating_point() and x.itemsize == 1 else x


def _combined(x: torch.Tensor, dim: int, indices: torch.Tensor, values: torch.Tensor, update: str) -> torch.Tensor:
    """One value combined into one element for each index."""
    reduction = (_TRUTHS if x.dtype is torch.bool else _REDUCTIONS)[update]
    return torch.scatter_reduce(_wide(x), dim, indices, _wide(values), reduction).to(x.dtype)


def _combined_rows(x: torch.Tensor, dim: int, indices: torch.Tensor, values: torch.Tensor, update: str) -> torch.Tensor:
    """One slice combined into one slice for each index."""
    if update == "assign":
        return torch.index_copy(_bits(x), dim, indices, _bits(values)).view(x.dtype)
    if update == "add" and x.dtype is not torch.bool:
        return torch.index_add(_wide(x), dim, indices, _wide(values)).to(x.dtype)
    shape = [-1 if place == dim else 1 for place in range(x.ndim)]
    return _combined(x, dim, indices.reshape(shape).expand_as(values), values, update)


class Indexing:
    """Kernels of the rows in `burn.ops.indexing`."""

    int_dtype: DType

    @staticmethod
    def slice(x: torch.Tensor, ranges: Ranges) -> torch.Tensor:
        chosen, flipped = _selection(ranges)
        found = x[chosen]
        return found.flip(flipped) if flipped else found

    @staticmethod
    def slice_assign(x: torch.Tensor, values: torch.Tensor, ranges: Ranges) -> torch.Tensor:
        chosen, flipped = _selection(ranges)
        result = x.clone(memory_format=torch.contiguous_format)
        result[chosen] = values.flip(flipped) if flipped else values
        return result

    @staticmethod
    def select(x: torch.Tensor, indices: torch.Tensor, dim: int) -> torch.Tensor:
        return torch.index_select(x, dim, _checked("select", indices, dim, x.shape[dim]))

    @staticmethod
    def select_assign(
        x: torch.Tensor, indices: torch.Tensor, values: torch.Tensor, dim: int, update: str
    ) -> torch.Tensor:
        return _combined_rows(x, dim, _checked("select_assign", indices, dim, x.shape[dim]), values, update)

    @staticmethod
    def gather(x: torch.Tensor, indices: torch.Tensor, dim: int) -> torch.Tensor:
        return torch.gather(_bits(x), dim, _checked("gather", indices, dim, x.shape[dim])).view(x.dtype)

    @staticmethod
    def scatter(x: torch.Tensor, indices: torch.Tensor, values: torch.Tensor, dim: int, update: str) -> torch.Tensor:
        places = _checked("scatter", indices, dim, x.shape[dim])
        if update == "assign":
            return torch.scatter(_bits(x), dim, places, _bits(values)).view(x.dtype)
        return _combined(x, dim, places, values, update)

    @staticmethod
    def gather_nd(x: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
        return x[tuple(_columns("gather_nd", x, indices))]

    @staticmethod
    def scatter_nd(x: torch.Tensor, indices: torch.Tensor, values: torch.Tensor, update: str) -> torch.Tensor:
        depth = indices.shape[-1]
        places = indices.new_zeros(indices.shape[:-1], dtype=torch.int64)
        for column, size in zip(_columns("scatter_nd", x, indices), x.shape):
            places = places * size + column
        rows = x.reshape(math.prod(x.shape[:depth]), *x.shape[depth:])
        values = values.reshape(places.numel(), *x.shape[depth:])
        return _combined_rows(rows, 0, places.reshape(-1), values, update).reshape(x.shape)

    def argwhere(self, x: torch.Tensor) -> torch.Tensor:
        return torch.argwhere(x).to(to_torch(self.int_dtype))


def _columns(operation: str, x: torch.Tensor, indices: torch.Tensor) -> list[torch.Tensor]:
    return [_checked(operation, indices[..., dim], dim, x.shape[dim]) for dim in range(indices.shape[-1])]
