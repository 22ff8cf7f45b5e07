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
    """Convolve `x` (batch, channels, length) with `weight` and add `bias`.

    Arguments:
        weight: (out, channels / groups, *kernel).
        options: stride, padding, dilation and groups, as `ConvOptions` or `PaddedConvOptions`.

    >>> from burn.tensor.module import ConvOptions, conv1d
    >>> x, weight = Tensor.ones([1, 1, 4]), Tensor.ones([2, 1, 3])
    >>> conv1d(x, weight, options=ConvOptions(padding=1)).shape
    Shape([1, 2, 4])
    """
    return _convolution.conv1d(x, weight, bias, *_settings(options, 1))


def conv2d(
    x: Tensor[B],
    weight: Tensor[Any],
    bias: Tensor[Any] | None = None,
    options: ConvOptions | PaddedConvOptions | None = None,
) -> Tensor[B]:
    """Convolve `x` (batch, channels, height, width) with `weight` and add `bias`.

    Arguments:
        weight: (out, channels / groups, *kernel).
        options: stride, padding, dilation and groups, as `ConvOptions` or `PaddedConvOptions`.

    >>> from burn.tensor.module import ConvOptions, conv2d
    >>> x, weight = Tensor.ones([1, 1, 4, 4]), Tensor.ones([2, 1, 3, 3])
    >>> conv2d(x, weight, options=ConvOptions(padding=1)).shape
    Shape([1, 2, 4, 4])
    """
    return _convolution.conv2d(x, weight, bias, *_settings(options, 2))


def conv3d(
    x: Tensor[B],
    weight: Tensor[Any],
    bias: Tensor[Any] | None = None,
    options: ConvOptions | PaddedConvOptions | None = None,
) -> Tensor[B]:
    """Convolve `x` (batch, channels, depth, height, width) with `weight` and add `bias`.

    Arguments:
        weight: (out, channels / groups, *kernel).
        options: stride, padding, dilation and groups, as `ConvOptions` or `PaddedConvOptions`.

    >>> from burn.tensor.module import ConvOptions, conv3d
    >>> x, weight = Tensor.ones([1, 1, 4, 4, 4]), Tensor.ones([2, 1, 3, 3, 3])
    >>> conv3d(x, weight, options=ConvOptions(padding=1)).shape
    Shape([1, 2, 4, 4, 4])
    """
    return _convolution.conv3d(x, weight, bias, *_settings(options, 3))


def conv_transpose1d(
    x: Tensor[B],
    weight: Tensor[Any],
    bias: Tensor[Any] | None = None,
    options: ConvTransposeOptions | None = None,
) -> Tensor[B]:
    """Transpose the convolution of (batch, channels, length) by `weight`, and add `bias`.

    Arguments:
        weight: (channels, out / groups, *kernel).
        options: stride, padding, dilation and groups, as `ConvTransposeOptions`.

    >>> from burn.tensor.module import ConvTransposeOptions, conv_transpose1d
    >>> x, weight = Tensor.ones([1, 1, 4]), Tensor.ones([1, 2, 2])
    >>> conv_transpose1d(x, weight, options=ConvTransposeOptions(stride=2)).shape
    Shape([1, 2, 8])
    """
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
    """Transpose the convolution of (batch, channels, height, width) by `weight`, and add `bias`.

    Arguments:
        weight: (channels, out / groups, *kernel).
        options: stride, padding, dilation and groups, as `ConvTransposeOptions`.

    >>> from burn.tensor.module import ConvTransposeOptions, conv_transpose2d
    >>> x, weight = Tensor.ones([1, 1, 4, 4]), Tensor.ones([1, 2, 2, 2])
    >>> conv_transpose2d(x, weight, options=ConvTransposeOptions(stride=2)).shape
    Shape([1, 2, 8, 8])
    """
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
    """Transpose the convolution of (batch, channels, depth, height, width) by `weight`, and add `bias`.

    Arguments:
        weight: (channels, out / groups, *kernel).
        options: stride, padding, dilation and groups, as `ConvTransposeOptions`.

    >>> from burn.tensor.module import ConvTransposeOptions, conv_transpose3d
    >>> x, weight = Tensor.ones([1, 1, 4, 4, 4]), Tensor.ones([1, 2, 2, 2, 2])
    >>> conv_transpose3d(x, weight, options=ConvTransposeOptions(stride=2)).shape
    Shape([1, 2, 8, 8, 8])
    """
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
    """Convolve `x` (batch, channels, height, width) with a kernel whose elements are moved by `offset`.

    Arguments:
        offset: (batch, offset groups * kernel * 2, rows, columns), for each element a pair (down, right) in pixels.
        weight: (out, channels / weight groups, *kernel), after which `bias` (out,) is added.
        mask: a factor for each element (batch, offset groups * kernel, rows, columns).
        options: stride, padding, dilation and groups, as `DeformConvOptions`.

    >>> from burn.tensor.module import deform_conv2d
    >>> x, weight = burn.tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), Tensor.ones([1, 1, 1, 1])
    >>> deform_conv2d(x, Tensor.full([1, 2, 2, 2], 0.5), weight).tolist()
    [[[[2.5, 1.5], [1.75, 1.0]]]]
    """
    chosen = options or DeformConvOptions()
    return _deform_conv2d(
        x, offset, weight, mask, bias,
        chosen.stride, chosen.padding, chosen.dilation, chosen.weight_groups, chosen.offset_groups,
    )  # fmt: skip


# Patches and interpolation


def unfold4d(x: Tensor[B], kernel_size: Size, options: UnfoldOptions | None = None) -> Tensor[B]:
    """Cut an image (batch, channels, height, width) into patches (batch, channels * kernel, patches).

    Arguments:
        kernel_size: the height and width of a patch.
        options: stride, padding and dilation, as `UnfoldOptions`.

    >>> from burn.tensor.module import unfold4d
    >>> unfold4d(burn.tensor([[[[1, 2, 3], [4, 5, 6]]]]).float(), [2, 2]).tolist()
    [[[1.0, 2.0], [2.0, 3.0], [4.0, 5.0], [5.0, 6.0]]]
    """
    chosen = options or UnfoldOptions()
    return _spatial.unfold4d(x, kernel_size, chosen.stride, chosen.padding, chosen.dilation)


def fold4d(x: Tensor[B], output_size: Size, kernel_size: Size, options: UnfoldOptions | None = None) -> Tensor[B]:
    """Add patches up to an image of `output_size`: the adjoint of `unfold4d`.

    Arguments:
        kernel_size: the height and width of a patch.
        options: stride, padding and dilation, as `UnfoldOptions`.

    >>> from burn.tensor.module import fold4d
    >>> fold4d(Tensor.ones([1, 4, 2]), [2, 3], [2, 2]).tolist()
    [[[[1.0, 2.0, 1.0], [1.0, 2.0, 1.0]]]]
    """
    chosen = options or UnfoldOptions()
    return _spatial.fold4d(x, output_size, kernel_size, chosen.stride, chosen.padding, chosen.dilation)


def interpolate(x: Tensor[B], output_size: Size, options: InterpolateOptions | None = None) -> Tensor[B]:
    """Resample the spatial dims of `x` (batch, channels, *spatial) to `output_size`.

    Arguments:
        options: mode and alignment, as `InterpolateOptions`; the nearest element without.

    >>> from burn.tensor.module import interpolate
    >>> interpolate(burn.tensor([[[[1.0, 2.0]]]]), [1, 4]).tolist()
    [[[[1.0, 1.0, 2.0, 2.0]]]]
    """
    chosen = options or InterpolateOptions()
    return _interpolation.interpolate(x, output_size, chosen.mode, chosen.align_corners)


# Pooling


def max_pool1d(
    x: Tensor[B], kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1,
    ceil_mode: bool = False,
) -> Tensor[B]:  # fmt: skip
    """Take the largest element of each window of `x` (batch, channels, length).

    Arguments:
        kernel_size: of a window, a number or one a dim, as all sizes are.
        stride: from window to window; None means `kernel_size`.
        padding: how many places are added at both ends, which never win.
        dilation: from element to element of a window.
        ceil_mode: whether a last window may reach beyond the end.

    >>> from burn.tensor.module import max_pool1d
    >>> max_pool1d(burn.tensor([[[1.0, 3.0, 2.0, 4.0]]]), 2).tolist()
    [[[3.0, 4.0]]]
    """
    return max_pool1d_with_indices(x, kernel_size, stride, padding, dilation, ceil_mode)[0]


def max_pool1d_with_indices(
    x: Tensor[B], kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor[B], Tensor[B]]:  # fmt: skip
    """Take the largest element of each window, and its index in the flattened spatial dims.

    Arguments:
        kernel_size, stride, padding, dilation, ceil_mode: those of `max_pool1d`.

    >>> from burn.tensor.module import max_pool1d_with_indices
    >>> values, indices = max_pool1d_with_indices(burn.tensor([[[1.0, 3.0, 2.0, 4.0]]]), 2)
    >>> values.tolist(), indices.tolist()
    ([[[3.0, 4.0]]], [[[1, 3]]])
    """
    check_rank("max_pool1d", x.shape, 1)
    return _pooling.max_pool(x, kernel_size, stride, padding, dilation, ceil_mode)


def avg_pool1d(
    x: Tensor[B], kernel_size: Size, stride: Size | None = None, padding: Size = 0, count_include_pad: bool = True,
    ceil_mode: bool = False,
) -> Tensor[B]:  # fmt: skip
    """Take the mean of each window of `x` (batch, channels, length).

    Arguments:
        kernel_size: of a window, a number or one a dim, as all sizes are.
        stride: from window to window; None means `kernel_size`.
        padding: how many places are added at both ends, with zeros.
        count_include_pad: whether these count in the mean.
        ceil_mode: whether a last window may reach beyond the end.

    >>> from burn.tensor.module import avg_pool1d
    >>> avg_pool1d(burn.tensor([[[1.0, 3.0, 2.0, 4.0]]]), 2).tolist()
    [[[2.0, 3.0]]]
    """
    check_rank("avg_pool1d", x.shape, 1)
    return _pooling.avg_pool(x, kernel_size, stride, padding, count_include_pad, ceil_mode)


def adaptive_avg_pool1d(x: Tensor[B], output_size: Size) -> Tensor[B]:
    """Divide `x` (batch, channels, length) into `output_size` windows and take the mean of each.

    >>> from burn.tensor.module import adaptive_avg_pool1d
    >>> adaptive_avg_pool1d(burn.tensor([[[1.0, 3.0, 2.0, 4.0]]]), 2).tolist()
    [[[2.0, 3.0]]]
    """
    check_rank("adaptive_avg_pool1d", x.shape, 1)
    return _pooling.adaptive_avg_pool(x, output_size)


def adaptive_max_pool1d(x: Tensor[B], output_size: Size) -> Tensor[B]:
    """Divide `x` (batch, channels, length) into windows and take the largest element of each.

    Arguments:
        output_size: how many windows, a number or one a dim.

    >>> from burn.tensor.module import adaptive_max_pool1d
    >>> adaptive_max_pool1d(burn.tensor([[[1.0, 3.0, 2.0, 4.0]]]), 2).tolist()
    [[[3.0, 4.0]]]
    """
    return adaptive_max_pool1d_with_indices(x, output_size)[0]


def adaptive_max_pool1d_with_indices(x: Tensor[B], output_size: Size) -> tuple[Tensor[B], Tensor[B]]:
    """Take the largest element of each of `output_size` windows, and its index in the flattened spatial dims.

    >>> from burn.tensor.module import adaptive_max_pool1d_with_indices
    >>> values, indices = adaptive_max_pool1d_with_indices(burn.tensor([[[1.0, 3.0, 2.0, 4.0]]]), 2)
    >>> values.tolist(), indices.tolist()
    ([[[3.0, 4.0]]], [[[1, 3]]])
    """
    check_rank("adaptive_max_pool1d", x.shape, 1)
    return _pooling.adaptive_max_pool(x, output_size)


def max_pool2d(
    x: Tensor[B], kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1,
    ceil_mode: bool = False,
) -> Tensor[B]:  # fmt: skip
    """Take the largest element of each window of `x` (batch, channels, height, width).

    Arguments:
        kernel_size: of a window, a number or one a dim, as all sizes are.
        stride: from window to window; None means `kernel_size`.
        padding: how many places are added at both ends, which never win.
        dilation: from element to element of a window.
        ceil_mode: whether a last window may reach beyond the end.

    >>> from burn.tensor.module import max_pool2d
    >>> max_pool2d(burn.tensor([[[[1.0, 3.0], [2.0, 4.0]]]]), 2).tolist()
    [[[[4.0]]]]
    """
    return max_pool2d_with_indices(x, kernel_size, stride, padding, dilation, ceil_mode)[0]


def max_pool2d_with_indices(
    x: Tensor[B], kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor[B], Tensor[B]]:  # fmt: skip
    """Take the largest element of each window, and its index in the flattened spatial dims.

    Arguments:
        kernel_size, stride, padding, dilation, ceil_mode: those of `max_pool2d`.

    >>> from burn.tensor.module import max_pool2d_with_indices
    >>> values, indices = max_pool2d_with_indices(burn.tensor([[[[1.0, 3.0], [2.0, 4.0]]]]), 2)
    >>> values.tolist(), indices.tolist()
    ([[[[4.0]]]], [[[[3]]]])
    """
    check_rank("max_pool2d", x.shape, 2)
    return _pooling.max_pool(x, kernel_size, stride, padding, dilation, ceil_mode)


def avg_pool2d(
    x: Tensor[B], kernel_size: Size, stride: Size | None = None, padding: Size = 0, count_include_pad: bool = True,
    ceil_mode: bool = False,
) -> Tensor[B]:  # fmt: skip
    """Take the mean of each window of `x` (batch, channels, height, width).

    Arguments:
        kernel_size: of a window, a number or one a dim, as all sizes are.
        stride: from window to window; None means `kernel_size`.
        padding: how many places are added at both ends, with zeros.
        count_include_pad: whether these count in the mean.
        ceil_mode: whether a last window may reach beyond the end.

    >>> from burn.tensor.module import avg_pool2d
    >>> avg_pool2d(burn.tensor([[[[1.0, 3.0], [2.0, 4.0]]]]), 2).tolist()
    [[[[2.5]]]]
    """
    check_rank("avg_pool2d", x.shape, 2)
    return _pooling.avg_pool(x, kernel_size, stride, padding, count_include_pad, ceil_mode)


def adaptive_avg_pool2d(x: Tensor[B], output_size: Size) -> Tensor[B]:
    """Divide `x` (batch, channels, height, width) into `output_size` windows and take the mean of each.

    >>> from burn.tensor.module import adaptive_avg_pool2d
    >>> adaptive_avg_pool2d(burn.tensor([[[[1.0, 3.0], [2.0, 4.0]]]]), [1, 2]).tolist()
    [[[[1.5, 3.5]]]]
    """
    check_rank("adaptive_avg_pool2d", x.shape, 2)
    return _pooling.adaptive_avg_pool(x, output_size)


def adaptive_max_pool2d(x: Tensor[B], output_size: Size) -> Tensor[B]:
    """Divide `x` (batch, channels, height, width) into windows and take the largest element of each.

    Arguments:
        output_size: how many windows, a number or one a dim.

    >>> from burn.tensor.module import adaptive_max_pool2d
    >>> adaptive_max_pool2d(burn.tensor([[[[1.0, 3.0], [2.0, 4.0]]]]), [1, 2]).tolist()
    [[[[2.0, 4.0]]]]
    """
    return adaptive_max_pool2d_with_indices(x, output_size)[0]


def adaptive_max_pool2d_with_indices(x: Tensor[B], output_size: Size) -> tuple[Tensor[B], Tensor[B]]:
    """Take the largest element of each of `output_size` windows, and its index in the flattened spatial dims.

    >>> from burn.tensor.module import adaptive_max_pool2d_with_indices
    >>> values, indices = adaptive_max_pool2d_with_indices(burn.tensor([[[[1.0, 3.0], [2.0, 4.0]]]]), [1, 2])
    >>> values.tolist(), indices.tolist()
    ([[[[2.0, 4.0]]]], [[[[2, 3]]]])
    """
    check_rank("adaptive_max_pool2d", x.shape, 2)
    return _pooling.adaptive_max_pool(x, output_size)


def max_pool3d(
    x: Tensor[B], kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1,
    ceil_mode: bool = False,
) -> Tensor[B]:  # fmt: skip
    """Take the largest element of each window of `x` (batch, channels, depth, height, width).

    Arguments:
        kernel_size: of a window, a number or one a dim, as all sizes are.
        stride: from window to window; None means `kernel_size`.
        padding: how many places are added at both ends, which never win.
        dilation: from element to element of a window.
        ceil_mode: whether a last window may reach beyond the end.

    >>> from burn.tensor.module import max_pool3d
    >>> max_pool3d(burn.tensor([[[[[1.0, 3.0]], [[2.0, 4.0]]]]]), [2, 1, 2]).tolist()
    [[[[[4.0]]]]]
    """
    return max_pool3d_with_indices(x, kernel_size, stride, padding, dilation, ceil_mode)[0]


def max_pool3d_with_indices(
    x: Tensor[B], kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor[B], Tensor[B]]:  # fmt: skip
    """Take the largest element of each window, and its index in the flattened spatial dims.

    Arguments:
        kernel_size, stride, padding, dilation, ceil_mode: those of `max_pool3d`.

    >>> from burn.tensor.module import max_pool3d_with_indices
    >>> values, indices = max_pool3d_with_indices(burn.tensor([[[[[1.0, 3.0]], [[2.0, 4.0]]]]]), [2, 1, 2])
    >>> values.tolist(), indices.tolist()
    ([[[[[4.0]]]]], [[[[[3]]]]])
    """
    check_rank("max_pool3d", x.shape, 3)
    return _pooling.max_pool(x, kernel_size, stride, padding, dilation, ceil_mode)


def avg_pool3d(
    x: Tensor[B], kernel_size: Size, stride: Size | None = None, padding: Size = 0, count_include_pad: bool = True,
    ceil_mode: bool = False,
) -> Tensor[B]:  # fmt: skip
    """Take the mean of each window of `x` (batch, channels, depth, height, width).

    Arguments:
        kernel_size: of a window, a number or one a dim, as all sizes are.
        stride: from window to window; None means `kernel_size`.
        padding: how many places are added at both ends, with zeros.
        count_include_pad: whether these count in the mean.
        ceil_mode: whether a last window may reach beyond the end.

    >>> from burn.tensor.module import avg_pool3d
    >>> avg_pool3d(burn.tensor([[[[[1.0, 3.0]], [[2.0, 4.0]]]]]), [2, 1, 2]).tolist()
    [[[[[2.5]]]]]
    """
    check_rank("avg_pool3d", x.shape, 3)
    return _pooling.avg_pool(x, kernel_size, stride, padding, count_include_pad, ceil_mode)


def adaptive_avg_pool3d(x: Tensor[B], output_size: Size) -> Tensor[B]:
    """Divide `x` (batch, channels, depth, height, width) into windows and take the mean of each.

    Arguments:
        output_size: how many windows, a number or one a dim.

    >>> from burn.tensor.module import adaptive_avg_pool3d
    >>> adaptive_avg_pool3d(burn.tensor([[[[[1.0, 3.0]], [[2.0, 4.0]]]]]), [1, 1, 2]).tolist()
    [[[[[1.5, 3.5]]]]]
    """
    check_rank("adaptive_avg_pool3d", x.shape, 3)
    return _pooling.adaptive_avg_pool(x, output_size)


def adaptive_max_pool3d(x: Tensor[B], output_size: Size) -> Tensor[B]:
    """Divide `x` (batch, channels, depth, height, width) into windows and take the largest element of each.

    Arguments:
        output_size: how many windows, a number or one a dim.

    >>> from burn.tensor.module import adaptive_max_pool3d
    >>> adaptive_max_pool3d(burn.tensor([[[[[1.0, 3.0]], [[2.0, 4.0]]]]]), [1, 1, 2]).tolist()
    [[[[[2.0, 4.0]]]]]
    """
    return adaptive_max_pool3d_with_indices(x, output_size)[0]


def adaptive_max_pool3d_with_indices(x: Tensor[B], output_size: Size) -> tuple[Tensor[B], Tensor[B]]:
    """Take the largest element of each of `output_size` windows, and its index in the flattened spatial dims.

    >>> from burn.tensor.module import adaptive_max_pool3d_with_indices
    >>> values, indices = adaptive_max_pool3d_with_indices(burn.tensor([[[[[1.0, 3.0]], [[2.0, 4.0]]]]]), [1, 1, 2])
    >>> values.tolist(), indices.tolist()
    ([[[[[2.0, 4.0]]]]], [[[[[2, 3]]]]])
    """
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
    """Compute `softmax(query @ keyᵀ * scale + bias) @ value` over (..., length, size).

    Arguments:
        mask: where it is true, a key is hidden from a query.
        options: scale, softcap and causality, as `AttentionModuleOptions`.

    >>> from burn.tensor.module import attention
    >>> x = burn.tensor([[[[1.0, 0.0], [0.0, 1.0]]]])
    >>> attention(x, x, x).to_data()
    TensorData([[[[0.66976154, 0.33023846], [0.33023846, 0.66976154]]]], shape=[1, 1, 2, 2], dtype=f32)
    """
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
