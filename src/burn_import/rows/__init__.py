"""Rows of the op table that exist for exchange formats: importing this package adds them."""

from burn_import.rows import hosted, integer, linear_quantization, trees

__all__ = ["hosted", "integer", "linear_quantization", "trees"]
