"""The error of kernels: one class, whose message says which operation is wrong and where."""

from __future__ import annotations

from burn.errors import BurnError


class KernelError(BurnError, ValueError):
    """A kernel that is not well formed, or that a target cannot express."""
