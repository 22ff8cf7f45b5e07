"""The device stacks that every row runs on."""

from __future__ import annotations

from burn.backend import Autodiff, BalancedCheckpointing, LibTorch, NdArray

NDARRAY = NdArray()
TORCH = LibTorch("cpu")

STACKS = {
    "ndarray": NDARRAY,
    "libtorch": TORCH,
    "autodiff-ndarray": Autodiff(NDARRAY),
    "autodiff-libtorch": Autodiff(TORCH),
}

GRADIENT_STACKS = {
    "autodiff-ndarray": Autodiff(NDARRAY),
    "autodiff-libtorch": Autodiff(TORCH),
    "checkpointed-ndarray": Autodiff(NDARRAY, BalancedCheckpointing),
}
