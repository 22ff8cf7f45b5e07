"""Linalg kernels."""

from __future__ import annotations

from burn.ops import linalg


class Linalg:
    """Kernels of the rows in `burn.ops.linalg`."""

    matmul = staticmethod(linalg.matmul_reference)
