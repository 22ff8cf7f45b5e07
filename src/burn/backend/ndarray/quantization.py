"""Quantization kernels."""

from __future__ import annotations


class Quantization:
    """The rows of `burn.ops.quantization` have bodies, which serve here."""
