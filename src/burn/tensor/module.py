"""The functions of the layers: `conv2d(x, weight, bias, ConvOptions(stride=2))` and the like.

Names and order of arguments are Burn's. Each function states its number of spatial dims; the rows
under `burn.ops` that compute them take any. Weights have the shapes: convolution
(out, in / groups, *kernel), transposed convolution (in, out / groups, *kernel), linear (in, out).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.ops import attention as _attention
from burn.ops import convolution_layers as _convolution
from burn.ops import interpolation as _interpolation
from burn.ops import pooling as _pooling
from burn.ops import spatial as _spatial
from burn.ops.blocks import fold
from burn.ops.convolution import conv
from burn.ops.convolution_layers import conv_transpose
from burn.ops.ctc import ctc_loss
from burn.ops.deformable import deform_conv2d as _deform_conv2d
from burn.ops.layers import embedding, linear
from burn.ops.normalization import (
    batch_norm,
    batch_norm_training,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    rms_norm,
)
from burn.ops.padded_pooling import avg_pool_padded, lp_pool, max_pool_padded, max_unpool
from burn.ops.windows import check_rank
from burn.tensor.options import (
    AttentionModuleOptions,
    ConvOptions,
    ConvTransposeOptions,
    DeformConvOptions,
    InterpolateOptions,
    PaddedConvOptions,
    Size,
    UnfoldOptions,
)

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor

# Convolution


def _settings(options: ConvOptions | PaddedConvOptions | None, spatial: int) -> tuple[Any, ...]:
    """Stride, padding, dilation and groups."""
    padded = options if isinstance(options, PaddedConvOptions) else PaddedConvOptions(options or ConvOptions())
    chosen = padded.options
    return chosen.stride, padded.pairs(spatial), chosen.dilation, chosen.groups


def conv1d(
    x: Tensor[B],
    weight: Tensor[Any],
    bias: Tensor[Any] | None = None,
    options: ConvOptions | PaddedConvOptions | None = None,
) -> Tensor[B]:
    """Convolve `x` (batch, channels, length) with `weight` and add `bias`."""
    return _convolution.conv1d(x, weight, bias, *_settings(options, 1))


def conv2d(
    x: Tensor[B],
    weight: Tensor[Any],
    bias: Tensor[Any] | None = None,
    options: ConvOptions | PaddedConvOptions | None = None,
) -> Tensor[B]:
    """Convolve `x` (batch, channels, height, width) with `weight` and add `bias`."""
    return _convolution.conv2d(x, weight, bias, *_settings(options, 2))


def conv3d(
    x: Tensor[B],
    weight: Tensor[Any],
    bias: Tensor[Any] | None = None,
    options: ConvOptions | PaddedConvOptions | None = None,
) -> Tensor[B]:
    """Convolve `x` (batch, channels, depth, height, width) with `weight` and add `bias`."""
    return _convolution.conv3d(x, weight, bias, *_settings(options, 3))


def conv_transpose1d(
    x: Tensor[B],
    weight: Tensor[Any],
    bias: Tensor[Any] | None = None,
    options: ConvTransposeOptions | None = None,
) -> Tensor[B]:
    """Transpose the convolution of (batch, channels, length) by `weight`, and add `bias`."""
    chosen = options or ConvTransposeOptions()
    return _convolution.conv_transpose1d(
        x, weight, bias, chosen.stride, chosen.padding, chosen.padding_out, chosen.dilation, chosen.groups
    )


def conv_transpose2d(
    x: Tensor[B],
    weight: Tensor[Any],
    bias: Tensor[Any] | None = None,
    options: ConvTransposeOptions | None = None,
) -> Tensor[B]:
    """Transpose the convolution of (batch, channels, height, width) by `weight`, and add `bias`."""
    chosen = options or ConvTransposeOptions()
    return _convolution.conv_transpose2d(
        x, weight, bias, chosen.stride, chosen.padding, chosen.padding_out, chosen.dilation, chosen.groups
    )


def conv_transpose3d(
    x: Tensor[B],
    weight: Tensor[Any],
    bias: Tensor[Any] | None = None,
    options: ConvTransposeOptions | None = None,
) -> Tensor[B]:
    """Transpose the convolution of (batch, channels, depth, height, width) by `weight`, and add `bias`."""
    chosen = options or ConvTransposeOptions()
    return _convolution.conv_transpose3d(
        x, weight, bias, chosen.stride, chosen.padding, chosen.padding_out, chosen.dilation, chosen.groups
    )


def deform_conv2d(
    x: Tensor[B],
    offset: Tensor[Any],
    weight: Tensor[Any],
    mask: Tensor[Any] | None = None,
    bias: Tensor[Any] | None = None,
    options: DeformConvOptions | None = None,
) -> Tensor[B]:
    """Convolve `x` with a kernel whose elements are moved by `offset` and weighed by `mask`."""
    chosen = options or DeformConvOptions()
    return _deform_conv2d(
        x, offset, weight, mask, bias,
        chosen.stride, chosen.padding, chosen.dilation, chosen.weight_groups, chosen.offset_groups,
    )  # fmt: skip


# Patches and interpolation


def unfold4d(x: Tensor[B], kernel_size: Size, options: UnfoldOptions | None = None) -> Tensor[B]:
    """Cut an image (batch, channels, height, width) into patches (batch, channels * kernel, patches)."""
    chosen = options or UnfoldOptions()
    return _spatial.unfold4d(x, kernel_size, chosen.stride, chosen.padding, chosen.dilation)


def fold4d(x: Tensor[B], output_size: Size, kernel_size: Size, options: UnfoldOptions | None = None) -> Tensor[B]:
    """Add patches up to an image of `output_size`: the adjoint of `unfold4d`."""
    chosen = options or UnfoldOptions()
    return _spatial.fold4d(x, output_size, kernel_size, chosen.stride, chosen.padding, chosen.dilation)


def interpolate(x: Tensor[B], output_size: Size, options: InterpolateOptions | None = None) -> Tensor[B]:
    """Resample the spatial dims of `x` to `output_size`."""
    chosen = options or InterpolateOptions()
    return _interpolation.interpolate(x, output_size, chosen.mode, chosen.align_corners)


# Pooling


def max_pool1d(
    x: Tensor[B], kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1,
    ceil_mode: bool = False,
) -> Tensor[B]:  # fmt: skip
    """Take the largest element of each window of `x` (batch, channels, length)."""
    return max_pool1d_with_indices(x, kernel_size, stride, padding, dilation, ceil_mode)[0]


def max_pool1d_with_indices(
    x: Tensor[B], kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor[B], Tensor[B]]:  # fmt: skip
    """Take the largest element of each window, and its index in the flattened spatial dims."""
    check_rank("max_pool1d", x.shape, 1)
    return _pooling.max_pool(x, kernel_size, stride, padding, dilation, ceil_mode)


def avg_pool1d(
    x: Tensor[B], kernel_size: Size, stride: Size | None = None, padding: Size = 0, count_include_pad: bool = True,
    ceil_mode: bool = False,
) -> Tensor[B]:  # fmt: skip
    """Take the mean of each window of `x` (batch, channels, length)."""
    check_rank("avg_pool1d", x.shape, 1)
    return _pooling.avg_pool(x, kernel_size, stride, padding, count_include_pad, ceil_mode)


def adaptive_avg_pool1d(x: Tensor[B], output_size: Size) -> Tensor[B]:
    """Divide `x` (batch, channels, length) into `output_size` windows and take the mean of each."""
    check_rank("adaptive_avg_pool1d", x.shape, 1)
    return _pooling.adaptive_avg_pool(x, output_size)


def adaptive_max_pool1d(x: Tensor[B], output_size: Size) -> Tensor[B]:
    """Divide `x` (batch, channels, length) into `output_size` windows and take the largest element of each."""
    return adaptive_max_pool1d_with_indices(x, output_size)[0]


def adaptive_max_pool1d_with_indices(x: Tensor[B], output_size: Size) -> tuple[Tensor[B], Tensor[B]]:
    """Take the largest element of each of `output_size` windows, and its index in the flattened spatial dims."""
    check_rank("adaptive_max_pool1d", x.shape, 1)
    return _pooling.adaptive_max_pool(x, output_size)


def max_pool2d(
    x: Tensor[B], kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1,
    ceil_mode: bool = False,
) -> Tensor[B]:  # fmt: skip
    """Take the largest element of each window of `x` (batch, channels, height, width)."""
    return max_pool2d_with_indices(x, kernel_size, stride, padding, dilation, ceil_mode)[0]


def max_pool2d_with_indices(
    x: Tensor[B], kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor[B], Tensor[B]]:  # fmt: skip
    """Take the largest element of each window, and its index in the flattened spatial dims."""
    check_rank("max_pool2d", x.shape, 2)
    return _pooling.max_pool(x, kernel_size, stride, padding, dilation, ceil_mode)


def avg_pool2d(
    x: Tensor[B], kernel_size: Size, stride: Size | None = None, padding: Size = 0, count_include_pad: bool = True,
    ceil_mode: bool = False,
) -> Tensor[B]:  # fmt: skip
    """Take the mean of each window of `x` (batch, channels, height, width)."""
    check_rank("avg_pool2d", x.shape, 2)
    return _pooling.avg_pool(x, kernel_size, stride, padding, count_include_pad, ceil_mode)


def adaptive_avg_pool2d(x: Tensor[B], output_size: Size) -> Tensor[B]:
    """Divide `x` (batch, channels, height, width) into `output_size` windows and take the mean of each."""
    check_rank("adaptive_avg_pool2d", x.shape, 2)
    return _pooling.adaptive_avg_pool(x, output_size)


def adaptive_max_pool2d(x: Tensor[B], output_size: Size) -> Tensor[B]:
    """Divide `x` (batch, channels, height, width) into `output_size` windows and take the largest element of each."""
    return adaptive_max_pool2d_with_indices(x, output_size)[0]


def adaptive_max_pool2d_with_indices(x: Tensor[B], output_size: Size) -> tuple[Tensor[B], Tensor[B]]:
    """Take the largest element of each of `output_size` windows, and its index in the flattened spatial dims."""
    check_rank("adaptive_max_pool2d", x.shape, 2)
    return _pooling.adaptive_max_pool(x, output_size)


def max_pool3d(
    x: Tensor[B], kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1,
    ceil_mode: bool = False,
) -> Tensor[B]:  # fmt: skip
    """Take the largest element of each window of `x` (batch, channels, depth, height, width)."""
    return max_pool3d_with_indices(x, kernel_size, stride, padding, dilation, ceil_mode)[0]


def max_pool3d_with_indices(
    x: Tensor[B], kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor[B], Tensor[B]]:  # fmt: skip
    """Take the largest element of each window, and its index in the flattened spatial dims."""
    check_rank("max_pool3d", x.shape, 3)
    return _pooling.max_pool(x, kernel_size, stride, padding, dilation, ceil_mode)


def avg_pool3d(
    x: Tensor[B], kernel_size: Size, stride: Size | None = None, padding: Size = 0, count_include_pad: bool = True,
    ceil_mode: bool = False,
) -> Tensor[B]:  # fmt: skip
    """Take the mean of each window of `x` (batch, channels, depth, height, width)."""
    check_rank("avg_pool3d", x.shape, 3)
    return _pooling.avg_pool(x, kernel_size, stride, padding, count_include_pad, ceil_mode)


def adaptive_avg_pool3d(x: Tensor[B], output_size: Size) -> Tensor[B]:
    """Divide `x` (batch, channels, depth, height, width) into `output_size` windows and take the mean of each."""
    check_rank("adaptive_avg_pool3d", x.shape, 3)
    return _pooling.adaptive_avg_pool(x, output_size)


def adaptive_max_pool3d(x: Tensor[B], output_size: Size) -> Tensor[B]:
    """Divide `x` (batch, channels, depth, height, width) into windows and take the largest element of each."""
    return adaptive_max_pool3d_with_indices(x, output_size)[0]


def adaptive_max_pool3d_with_indices(x: Tensor[B], output_size: Size) -> tuple[Tensor[B], Tensor[B]]:
    """Take the largest element of each of `output_size` windows, and its index in the flattened spatial dims."""
    check_rank("adaptive_max_pool3d", x.shape, 3)
    return _pooling.adaptive_max_pool(x, output_size)


# Attention


def attention(
    query: Tensor[B],
    key: Tensor[Any],
    value: Tensor[Any],
    mask: Tensor[Any] | None = None,
    bias: Tensor[Any] | None = None,
    options: AttentionModuleOptions | None = None,
) -> Tensor[B]:
    """Compute `softmax(query @ keyᵀ * scale + bias) @ value`; a key is hidden where `mask` is true."""
    chosen = options or AttentionModuleOptions()
    return _attention.attention(query, key, value, mask, bias, chosen.scale, chosen.softcap, chosen.is_causal)


__all__ = [
    "AttentionModuleOptions", "ConvOptions", "ConvTransposeOptions", "DeformConvOptions", "InterpolateOptions",
    "PaddedConvOptions", "UnfoldOptions", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d",
    "adaptive_max_pool1d", "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices", "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices", "attention",
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "avg_pool_padded", "batch_norm", "batch_norm_training", "conv", "conv1d",
    "conv2d", "conv3d", "conv_transpose", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "ctc_loss",
    "deform_conv2d", "embedding", "fold", "fold4d", "group_norm", "instance_norm", "interpolate", "layer_norm",
    "linear", "local_response_norm", "lp_pool", "max_pool1d", "max_pool1d_with_indices", "max_pool2d",
    "max_pool2d_with_indices", "max_pool3d", "max_pool3d_with_indices", "max_pool_padded", "max_unpool", "rms_norm",
    "unfold4d",
]  # fmt: skip
