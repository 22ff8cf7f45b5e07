"""Indexing kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from burn.dtype import DType
from burn.ops import indexing_references as reference


class Indexing:
    """Kernels of the rows in `burn.ops.indexing`."""

    int_dtype: DType

    slice = staticmethod(reference.slice)
    slice_assign = staticmethod(reference.slice_assign)
    select = staticmethod(reference.select)
    select_assign = staticmethod(reference.select_assign)
    gather = staticmethod(reference.gather)
    scatter = staticmethod(reference.scatter)
    gather_nd = staticmethod(reference.gather_nd)
    scatter_nd = staticmethod(reference.scatter_nd)

    def argwhere(self, x: Any) -> Any:
        return np.argwhere(x).astype(self.int_dtype.numpy, copy=False)
