"""Convolution kernels."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

Sizes = tuple[int, ...]
Padding = tuple[tuple[int, int], ...]

_backward: Any = torch.ops.aten.convolution_backward


def _symmetric(padding: Padding) -> Sizes | None:
    """One number a dim where both sides are padded alike: what torch's kernels take."""
    if all(before == after >= 0 for before, after in padding):
        return tuple(before for before, _ in padding)
    return None


def _sides(padding: Padding, sign: int = 1) -> list[int]:
    """The padding as `functional.pad` wants it: the last dim first."""
    return [sign * side for pair in reversed(padding) for side in pair]


def _layer(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: Sizes,
    padding: Padding,
    dilation: Sizes,
    groups: int,
) -> torch.Tensor:
    sides = _symmetric(padding)
    if sides is None:
        x, sides = functional.pad(x, _sides(padding)), (0,) * len(stride)
    return torch.convolution(x, weight, bias, stride, sides, dilation, False, (0,) * len(stride), groups)


class Convolution:
    """Torch's convolution and its backward; uneven padding is applied to the input first."""

    conv1d = conv2d = conv3d = staticmethod(_layer)

    @staticmethod
    def conv(
        x: torch.Tensor, weight: torch.Tensor, stride: Sizes, padding: Padding, dilation: Sizes, groups: int
    ) -> torch.Tensor:
        return _layer(x, weight, None, stride, padding, dilation, groups)

    @staticmethod
    def conv_x_backward(
        gradient: torch.Tensor,
        weight: torch.Tensor,
        x_spatial: Sizes,
        stride: Sizes,
        padding: Padding,
        dilation: Sizes,
        groups: int,
    ) -> torch.Tensor:
        sides = _symmetric(padding)
        zeros = (0,) * len(stride)
        uneven = sides is None
        if uneven:
            x_spatial = tuple(size + sum(pair) for size, pair in zip(x_spatial, padding, strict=True))
        x = gradient.new_empty(1).expand(gradient.shape[0], weight.shape[1] * groups, *x_spatial)
        wanted = (True, False, False)
        result = _backward(
            gradient, x, weight, None, stride, sides or zeros, dilation, False, zeros, groups, wanted
        )[0]  # fmt: skip
        return functional.pad(result, _sides(padding, -1)) if uneven else result

    @staticmethod
    def conv_weight_backward(
        x: torch.Tensor,
        gradient: torch.Tensor,
        kernel_spatial: Sizes,
        stride: Sizes,
        padding: Padding,
        dilation: Sizes,
        groups: int,
    ) -> torch.Tensor:
        sides = _symmetric(padding)
        zeros = (0,) * len(stride)
        if sides is None:
            x, sides = functional.pad(x, _sides(padding)), zeros
        weight = gradient.new_empty(1).expand(gradient.shape[1], x.shape[1] // groups, *kernel_spatial)
        wanted = (False, True, False)
        return _backward(gradient, x, weight, None, stride, sides, dilation, False, zeros, groups, wanted)[1]  # type: ignore[no-any-return]
