"""Creation kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from burn.dtype import DType
from burn.ops.creation import arange, literal


class Creation:
    """Tensors made of nothing."""

    arange = staticmethod(arange.op.reference)  # type: ignore[attr-defined]
    literal = staticmethod(literal.op.reference)  # type: ignore[attr-defined]

    @staticmethod
    def full(value: Any, shape: tuple[int, ...], dtype: DType) -> Any:
        return np.full(shape, value, dtype.numpy)

    @staticmethod
    def empty(shape: tuple[int, ...], dtype: DType) -> Any:
        return np.empty(shape, dtype.numpy)
