"""What the tests of library operations share: PyTorch tensors as buffers, packed on the way where asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch

from burn.backend.cpu.onednn import Layout, Primitive, Step, available, reorder
from burn.dtype import DType, bf16, f16, f32, i8, i32, u8

needs_onednn = pytest.mark.skipif(not available(), reason="oneDNN is not installed")

DTYPES: dict[Any, DType] = {
    torch.float32: f32, torch.float16: f16, torch.bfloat16: bf16,
    torch.int32: i32, torch.int8: i8, torch.uint8: u8,
}  # fmt: skip
FILLING = 77.0  # what an output holds before, so that an element left out shows


def randn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def last(x: torch.Tensor) -> torch.Tensor:
    """The same values with the channels innermost in memory."""
    rank = x.dim()
    return x.permute(0, *range(2, rank), 1).contiguous().permute(0, rank - 1, *range(1, rank - 1))


def like(x: torch.Tensor) -> torch.Tensor:
    """An output to be written, in the memory order of `x`."""
    return torch.empty_like(x, memory_format=torch.preserve_format).fill_(FILLING)


def layout(x: torch.Tensor) -> Layout:
    return Layout.strided(tuple(x.shape), tuple(x.stride()), DTYPES[x.dtype])


def any_order(x: torch.Tensor) -> Layout:
    return Layout.any(tuple(x.shape), DTYPES[x.dtype])


def buffer(of: Layout) -> torch.Tensor:
    """Raw bytes for a layout, aligned to cache lines."""
    bytes_ = torch.empty(of.size + 64, dtype=torch.uint8)
    start = -bytes_.data_ptr() % 64
    return bytes_[start : start + of.size]


def pack(plain: Layout, x: torch.Tensor, packed: Layout) -> torch.Tensor:
    """The elements of `x`, seen as `plain`, in the order of `packed`."""
    result = buffer(packed)
    reorder(plain, packed).step({"x": x.data_ptr(), "out": result.data_ptr()}).run()
    return result


def bound(primitive: Primitive, buffers: Mapping[str, torch.Tensor], packs: Mapping[str, Layout]) -> tuple[Step, Any]:
    """A step on these tensors; a role in `packs` is packed from the plain layout given there."""
    kept = {role: pack(packs[role], x, primitive.layouts[role]) if role in packs else x for role, x in buffers.items()}
    return primitive.step({role: x.data_ptr() for role, x in kept.items()}), kept


def run(primitive: Primitive, packs: Mapping[str, Layout] | None = None, /, **buffers: torch.Tensor) -> None:
    step, kept = bound(primitive, buffers, packs or {})
    step.run()
    del kept


def close(found: torch.Tensor, expected: torch.Tensor, scale: float = 1.0) -> None:
    torch.testing.assert_close(
        found, expected, rtol=1e-4 * scale, atol=2e-5 * scale * max(1.0, float(expected.abs().max()))
    )
