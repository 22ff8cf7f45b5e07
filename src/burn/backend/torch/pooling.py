"""Pooling kernels."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn import functional

from burn.backend.torch.dtypes import to_torch
from burn.backend.torch.indexing import _checked
from burn.backend.torch.precision import through_single
from burn.dtype import DType

Sizes = tuple[int, ...]

_MAX = (functional.max_pool1d, functional.max_pool2d, functional.max_pool3d)
_ADAPTIVE_MAX = (functional.adaptive_max_pool1d, functional.adaptive_max_pool2d, functional.adaptive_max_pool3d)
_AVG: tuple[Any, ...] = (functional.avg_pool1d, functional.avg_pool2d, through_single(functional.avg_pool3d))
_ADAPTIVE_AVG = (functional.adaptive_avg_pool1d, functional.adaptive_avg_pool2d, functional.adaptive_avg_pool3d)
_aten: Any = torch.ops.aten
_AVG_BACKWARD = (_aten.avg_pool2d_backward, through_single(_aten.avg_pool3d_backward))
_ADAPTIVE_AVG_BACKWARD = (_aten._adaptive_avg_pool2d_backward, _aten._adaptive_avg_pool3d_backward)


def _is_small(spatial: Sizes, kernel: Sizes) -> bool:
    """Whether a kernel exceeds the input, which torch refuses in three dims even where padding makes up for it."""
    return any(size < k for size, k in zip(spatial, kernel, strict=True))


class Pooling:
    """Torch's pooling. In one dim the backward of two dims serves, the first of them of size 1.

    The mean of a box is the mean of means: what torch refuses in three dims is done in two steps.
    """

    int_dtype: DType

    def max_pool(
        self, x: torch.Tensor, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
    ) -> tuple[torch.Tensor, torch.Tensor]:
        function: Any = _MAX[len(kernel) - 1]
        values, indices = function(x, kernel, stride, padding, dilation, ceil_mode, return_indices=True)
        return values, indices.to(to_torch(self.int_dtype))

    def adaptive_max_pool(self, x: torch.Tensor, output_size: Sizes) -> tuple[torch.Tensor, torch.Tensor]:
        function: Any = _ADAPTIVE_MAX[len(output_size) - 1]
        values, indices = function(x, output_size, return_indices=True)
        return values, indices.to(to_torch(self.int_dtype))

    @staticmethod
    @through_single
    def max_pool_backward(gradient: torch.Tensor, indices: torch.Tensor, x_spatial: Sizes) -> torch.Tensor:
        size = math.prod(x_spatial)
        result = gradient.new_zeros((*gradient.shape[:2], size))
        result.scatter_add_(2, _checked("max_pool_backward", indices, 2, size).flatten(2), gradient.flatten(2))
        return result.reshape(*gradient.shape[:2], *x_spatial)

    @staticmethod
    def avg_pool(
        x: torch.Tensor, kernel: Sizes, stride: Sizes, padding: Sizes, count_include_pad: bool, ceil_mode: bool
    ) -> torch.Tensor:
        if len(kernel) == 3 and _is_small(x.shape[2:], kernel):
            batch, channels, depth = x.shape[:3]
            x = x.reshape(batch, channels * depth, *x.shape[3:])
            x = functional.avg_pool2d(x, kernel[1:], stride[1:], padding[1:], ceil_mode, count_include_pad)
            rest = x.shape[2:]
            x = x.reshape(batch, channels, depth, math.prod(rest))
            x = functional.avg_pool2d(x, (kernel[0], 1), (stride[0], 1), (padding[0], 0), ceil_mode, count_include_pad)
            return x.reshape(*x.shape[:3], *rest)
        return _AVG[len(kernel) - 1](x, kernel, stride, padding, ceil_mode, count_include_pad)  # type: ignore[no-any-return]

    @staticmethod
    def avg_pool_backward(
        gradient: torch.Tensor,
        x_spatial: Sizes,
        kernel: Sizes,
        stride: Sizes,
        padding: Sizes,
        count_include_pad: bool,
        ceil_mode: bool,
    ) -> torch.Tensor:
        rules = (ceil_mode, count_include_pad)
        if len(kernel) == 1:
            gradient, x_spatial = gradient.unsqueeze(2), (1, *x_spatial)
            kernel, stride, padding = (1, *kernel), (1, *stride), (0, *padding)
            return _avg_backward(gradient, x_spatial, kernel, stride, padding, *rules).squeeze(2)
        if len(kernel) == 3 and _is_small(x_spatial, kernel):
            (batch, channels), sizes, depth = gradient.shape[:2], gradient.shape[3:], x_spatial[0]
            flat = gradient.flatten(3)
            flat = _avg_backward(flat, (depth, flat.shape[3]), (kernel[0], 1), (stride[0], 1), (padding[0], 0), *rules)
            flat = flat.reshape(batch, channels * depth, *sizes)
            flat = _avg_backward(flat, x_spatial[1:], kernel[1:], stride[1:], padding[1:], *rules)
            return flat.reshape(batch, channels, *x_spatial)
        return _avg_backward(gradient, x_spatial, kernel, stride, padding, *rules)

    @staticmethod
    def adaptive_avg_pool(x: torch.Tensor, output_size: Sizes) -> torch.Tensor:
        function: Any = _ADAPTIVE_AVG[len(output_size) - 1]
        return function(x, output_size)  # type: ignore[no-any-return]

    @staticmethod
    def adaptive_avg_pool_backward(gradient: torch.Tensor, x_spatial: Sizes) -> torch.Tensor:
        if len(x_spatial) == 1:
            x = gradient.new_empty((*gradient.shape[:2], 1, *x_spatial))
            return _ADAPTIVE_AVG_BACKWARD[0](gradient.unsqueeze(2), x).squeeze(2)  # type: ignore[no-any-return]
        x = gradient.new_empty((*gradient.shape[:2], *x_spatial))
        return _ADAPTIVE_AVG_BACKWARD[len(x_spatial) - 2](gradient, x)  # type: ignore[no-any-return]


def _avg_backward(gradient: torch.Tensor, x_spatial: Sizes, kernel: Sizes, *settings: Any) -> torch.Tensor:
    x = gradient.new_empty((*gradient.shape[:2], *x_spatial))
    return _AVG_BACKWARD[len(kernel) - 2](gradient.contiguous(), x, kernel, *settings, None)
