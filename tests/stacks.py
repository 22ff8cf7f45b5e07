"""The device stacks that every row runs on."""

from __future__ import annotations

from burn.backend import Autodiff, BalancedCheckpointing, Cpu, Fusion, LibTorch, NdArray

NDARRAY = NdArray()
TORCH = LibTorch("cpu")
CPU = Cpu()

STACKS = {
    "ndarray": NDARRAY,
    "libtorch": TORCH,
    "autodiff-ndarray": Autodiff(NDARRAY),
    "autodiff-libtorch": Autodiff(TORCH),
    "fusion-ndarray": Fusion(NDARRAY),
    "cpu": CPU,
    "autodiff-cpu": Autodiff(CPU),
}

GRADIENT_STACKS = {
    "autodiff-ndarray": Autodiff(NDARRAY),
    "autodiff-libtorch": Autodiff(TORCH),
    "checkpointed-ndarray": Autodiff(NDARRAY, BalancedCheckpointing),
    "autodiff-cpu": Autodiff(CPU),
}
