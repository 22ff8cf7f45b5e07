"""Kernels of reductions and running sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from burn.dtype import DType
from burn.ops import cumulative, reduce


class Reduce:
    """Kernels of the rows in `burn.ops.reduce` and `burn.ops.cumulative`."""

    int_dtype: DType

    sum_dims = staticmethod(reduce.sum_dims.op.reference)  # type: ignore[attr-defined]
    prod_dims = staticmethod(reduce.prod_dims.op.reference)  # type: ignore[attr-defined]
    max_dims = staticmethod(reduce.max_dims.op.reference)  # type: ignore[attr-defined]
    min_dims = staticmethod(reduce.min_dims.op.reference)  # type: ignore[attr-defined]
    any_dims = staticmethod(reduce.any_dims.op.reference)  # type: ignore[attr-defined]
    all_dims = staticmethod(reduce.all_dims.op.reference)  # type: ignore[attr-defined]
    cumsum = staticmethod(cumulative.cumsum.op.reference)  # type: ignore[attr-defined]
    cumprod = staticmethod(cumulative.cumprod.op.reference)  # type: ignore[attr-defined]
    cummax = staticmethod(cumulative.cummax.op.reference)  # type: ignore[attr-defined]
    cummin = staticmethod(cumulative.cummin.op.reference)  # type: ignore[attr-defined]

    def argmax(self, x: Any, dim: int) -> Any:
        return np.argmax(x, axis=dim, keepdims=True).astype(self.int_dtype.numpy, copy=False)

    def argmin(self, x: Any, dim: int) -> Any:
        return np.argmin(x, axis=dim, keepdims=True).astype(self.int_dtype.numpy, copy=False)
