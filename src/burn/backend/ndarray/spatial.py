"""Kernels of patches and interpolation."""

from __future__ import annotations

from burn.ops.interpolation import interpolate, interpolate_backward
from burn.ops.spatial import fold4d, unfold4d


class Spatial:
    """Views of windows, and sums along taps."""

    unfold4d = staticmethod(unfold4d.op.reference)  # type: ignore[attr-defined]
    fold4d = staticmethod(fold4d.op.reference)  # type: ignore[attr-defined]
    interpolate = staticmethod(interpolate.op.reference)  # type: ignore[attr-defined]
    interpolate_backward = staticmethod(interpolate_backward.op.reference)  # type: ignore[attr-defined]
