"""Normalization kernels."""

from __future__ import annotations


class Normalization:
    """Kernels of the rows in `burn.ops.normalization`."""
