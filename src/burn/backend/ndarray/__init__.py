"""The reference backend: every operation as one NumPy expression. Correct, not fast."""

from burn.backend.ndarray.device import NdArray

__all__ = ["NdArray"]
