"""Sort kernels."""

from __future__ import annotations

from typing import Any

from burn.dtype import DType
from burn.ops import sort


class Sort:
    """Kernels of the rows in `burn.ops.sort`."""

    int_dtype: DType

    def sort_with_indices(self, x: Any, dim: int, descending: bool) -> Any:
        values, indices = sort.sort_with_indices.op.reference(x, dim, descending)  # type: ignore[attr-defined]
        return values, indices.astype(self.int_dtype.numpy, copy=False)

    def topk_with_indices(self, x: Any, k: int, dim: int) -> Any:
        values, indices = sort.topk_with_indices.op.reference(x, k, dim)  # type: ignore[attr-defined]
        return values, indices.astype(self.int_dtype.numpy, copy=False)
