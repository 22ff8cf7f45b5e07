"""Pooling kernels."""

from __future__ import annotations

from typing import Any

from burn.dtype import DType
from burn.ops import pooling as rows


class Pooling:
    """The reductions over sliding windows that the rows describe."""

    int_dtype: DType

    def max_pool(self, *args: Any) -> Any:
        values, indices = rows.max_pool.op.reference(*args)  # type: ignore[attr-defined]
        return values, indices.astype(self.int_dtype.numpy, copy=False)

    def adaptive_max_pool(self, *args: Any) -> Any:
        values, indices = rows.adaptive_max_pool.op.reference(*args)  # type: ignore[attr-defined]
        return values, indices.astype(self.int_dtype.numpy, copy=False)

    max_pool_backward = staticmethod(rows.max_pool_backward.op.reference)  # type: ignore[attr-defined]
    avg_pool = staticmethod(rows.avg_pool.op.reference)  # type: ignore[attr-defined]
    avg_pool_backward = staticmethod(rows.avg_pool_backward.op.reference)  # type: ignore[attr-defined]
    adaptive_avg_pool = staticmethod(rows.adaptive_avg_pool.op.reference)  # type: ignore[attr-defined]
    adaptive_avg_pool_backward = staticmethod(rows.adaptive_avg_pool_backward.op.reference)  # type: ignore[attr-defined]
