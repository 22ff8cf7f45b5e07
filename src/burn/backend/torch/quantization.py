"""Quantization kernels."""

from __future__ import annotations

import torch

from burn.backend.torch.dtypes import to_torch
from burn.dtype import DType


class Quantization:
    """Bits read as another dtype; the other rows of these families have bodies, which serve here."""

    @staticmethod
    def bitcast(x: torch.Tensor, dtype: DType) -> torch.Tensor:
        return x.view(to_torch(dtype))
