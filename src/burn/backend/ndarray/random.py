"""Random kernels."""

from __future__ import annotations

from burn.ops import random


class Random:
    """Kernels of the rows in `burn.ops.random`."""

    random_uniform = staticmethod(random.random_uniform.op.reference)  # type: ignore[attr-defined]
    random_bernoulli = staticmethod(random.random_bernoulli.op.reference)  # type: ignore[attr-defined]
    random_normal = staticmethod(random.random_normal.op.reference)  # type: ignore[attr-defined]
