"""PyTorch's kernels behind our operations: an oracle, and a way to a GPU for those who have it."""

from burn.backend.torch.device import LibTorch

__all__ = ["LibTorch"]
