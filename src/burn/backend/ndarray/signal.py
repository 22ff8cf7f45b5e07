"""Signal kernels."""

from __future__ import annotations


class Signal:
    """Kernels of the rows in `burn.ops.signal`."""
