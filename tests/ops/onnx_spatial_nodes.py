"""How spatial, signal and selecting nodes of the exchange format read in our rows: for `test_onnx_spatial`.

Each entry takes the node's inputs (None where one is left out) and its attributes, and gives its results.
`wanted` is the number of results that the node asks for, `opset` the version it was written for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import burn
from burn.ops import indexing
from burn.shape import Shape
from burn.tensor import Tensor, module, signal, vision
from burn.tensor.linalg import det, einsum
from tests.ops.onnx_nodes import dtype_of

SPATIAL: dict[str, Callable[..., Any]] = {}


def node(*names: str) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        for name in names:
            SPATIAL[name] = function
        return function

    return register


def numbers(tensor: Any) -> list[Any]:
    """The values of a small tensor on the host: shapes, axes and the like."""
    return np.asarray(tensor).reshape(-1).tolist()


def one(tensor: Any, otherwise: Any = None) -> Any:
    found = [] if tensor is None else numbers(tensor)
    return found[0] if found else otherwise


PADS = {"SAME_UPPER": "same", "SAME_LOWER": "same_lower", "VALID": "valid"}


def padding_of(pads: Any, auto_pad: str, rank: int) -> Any:
    if auto_pad != "NOTSET":
        return PADS[auto_pad]
    return tuple(zip(pads[:rank], pads[rank:], strict=True)) if pads else 0


# Images


@node("Resize")
def _resize(
    x: Any, roi: Any = None, scales: Any = None, sizes: Any = None, mode: str = "nearest", axes: Any = None,
    coordinate_transformation_mode: str = "half_pixel", nearest_mode: str = "round_prefer_floor",
    cubic_coeff_a: float = -0.75, exclude_outside: int = 0, antialias: int = 0, extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch",
) -> Any:  # fmt: skip
    chosen = None if sizes is None or not numbers(sizes) else numbers(sizes)
    region = numbers(roi) if roi is not None and coordinate_transformation_mode == "tf_crop_and_resize" else None
    return x.resize(
        chosen, numbers(scales) if chosen is None else None, mode, axes, coordinate_transformation_mode, nearest_mode,
        cubic_coeff_a, bool(exclude_outside), bool(antialias), region, extrapolation_value, keep_aspect_ratio_policy,
    )  # fmt: skip


@node("Upsample")
def _upsample(x: Any, scales: Any, mode: str = "nearest") -> Any:
    return x.resize(None, numbers(scales), mode, None, "asymmetric", "floor")


@node("GridSample")
def _grid_sample(x: Any, grid: Any, mode: str = "linear", padding_mode: str = "zeros", align_corners: int = 0) -> Any:
    return x.grid_sample(grid, mode, padding_mode, bool(align_corners))


@node("AffineGrid")
def _affine_grid(theta: Any, size: Any, align_corners: int = 0) -> Any:
    return vision.affine_grid(theta, numbers(size), bool(align_corners))


@node("RoiAlign")
def _roi_align(
    x: Any, rois: Any, images: Any, coordinate_transformation_mode: str = "half_pixel", mode: str = "avg",
    output_height: int = 1, output_width: int = 1, sampling_ratio: int = 0, spatial_scale: float = 1.0,
) -> Any:  # fmt: skip
    half = coordinate_transformation_mode == "half_pixel"
    return vision.roi_align(x, rois, images, (output_height, output_width), spatial_scale, sampling_ratio, mode, half)


@node("MaxRoiPool")
def _max_roi_pool(x: Any, rois: Any, pooled_shape: Any, spatial_scale: float = 1.0) -> Any:
    return vision.roi_max_pool(x, rois, pooled_shape, spatial_scale)[0]


@node("NonMaxSuppression")
def _non_max_suppression(
    boxes: Any, scores: Any, most: Any = None, iou: Any = None, score: Any = None, center_point_box: int = 0
) -> Any:
    return vision.non_max_suppression(
        boxes, scores, one(most, 0), one(iou, 0.0), one(score), bool(center_point_box), "i64"
    )


SPATIAL["DepthToSpace"] = lambda x, blocksize, mode="DCR": x.depth_to_space(blocksize, mode)
SPATIAL["SpaceToDepth"] = lambda x, blocksize, mode="DCR": x.space_to_depth(blocksize, mode)
SPATIAL["CenterCropPad"] = lambda x, shape, axes=None: x.center_crop_pad(numbers(shape), axes)


@node("Col2Im")
def _col2im(x: Any, image_shape: Any, block_shape: Any, strides: Any = 1, pads: Any = None, dilations: Any = 1) -> Any:
    sizes = numbers(image_shape)
    return vision.fold(x, sizes, numbers(block_shape), strides, padding_of(pads, "NOTSET", len(sizes)), dilations)


# Windows


@node("MaxPool")
def _max_pool(
    x: Any, kernel_shape: Any, strides: Any = 1, pads: Any = None, dilations: Any = 1, ceil_mode: int = 0,
    auto_pad: str = "NOTSET", storage_order: int = 0,
) -> Any:  # fmt: skip
    return module.max_pool_padded(
        x, kernel_shape, strides, padding_of(pads, auto_pad, len(kernel_shape)), dilations, bool(ceil_mode),
        "column_major" if storage_order else "row_major",
    )  # fmt: skip


@node("MaxUnpool")
def _max_unpool(
    x: Any, indices: Any, output_shape: Any = None, kernel_shape: Any = None, strides: Any = None, pads: Any = None
) -> Any:
    rank = len(kernel_shape)
    steps, pairs = strides or [1] * rank, padding_of(pads or [0] * 2 * rank, "NOTSET", rank)
    each = zip(x.shape[2:], steps, pairs, kernel_shape, strict=True)
    sizes = [(size - 1) * step - sum(pair) + k for size, step, pair, k in each]
    found = module.max_unpool(x, indices, sizes, "row_major")
    if output_shape is None:
        return found
    wanted = numbers(output_shape)  # the indices count in the smaller result: what the shape adds comes at the ends
    return found.pad_or_crop([(0, want - have) for want, have in zip(wanted, found.shape, strict=True)])


@node("AveragePool")
def _average_pool(
    x: Any, kernel_shape: Any, strides: Any = 1, pads: Any = None, dilations: Any = 1, ceil_mode: int = 0,
    auto_pad: str = "NOTSET", count_include_pad: int = 0,
) -> Any:  # fmt: skip
    padding = padding_of(pads, auto_pad, len(kernel_shape))
    include = bool(count_include_pad)
    return module.avg_pool_padded(x, kernel_shape, strides, padding, dilations, include, bool(ceil_mode))


@node("LpPool")
def _lp_pool(
    x: Any, kernel_shape: Any, p: int = 2, strides: Any = 1, pads: Any = None, dilations: Any = 1, ceil_mode: int = 0,
    auto_pad: str = "NOTSET",
) -> Any:  # fmt: skip
    padding = padding_of(pads, auto_pad, len(kernel_shape))
    return module.lp_pool(x, p, kernel_shape, strides, padding, dilations, bool(ceil_mode))


SPATIAL["GlobalLpPool"] = lambda x, p=2: module.lp_pool(x, p, x.shape[2:])
SPATIAL["GlobalMaxPool"] = lambda x: x.max_dims(list(range(2, len(x.shape))))
SPATIAL["GlobalAveragePool"] = lambda x: x.mean_dims(list(range(2, len(x.shape))))


@node("Conv")
def _conv(
    x: Any, weight: Any, bias: Any = None, strides: Any = 1, pads: Any = None, dilations: Any = 1, group: int = 1,
    auto_pad: str = "NOTSET", kernel_shape: Any = None,
) -> Any:  # fmt: skip
    rank = len(x.shape) - 2
    found = module.conv(x, weight, strides, padding_of(pads, auto_pad, rank), dilations, group)
    return found if bias is None else found + bias.reshape((1, bias.shape[0], *(1,) * rank))


@node("ConvTranspose")
def _conv_transpose(
    x: Any, weight: Any, bias: Any = None, strides: Any = 1, pads: Any = None, dilations: Any = 1, group: int = 1,
    auto_pad: str = "NOTSET", kernel_shape: Any = None, output_padding: Any = 0, output_shape: Any = None,
) -> Any:  # fmt: skip
    padding = padding_of(pads, auto_pad, len(x.shape) - 2)
    return module.conv_transpose(x, weight, bias, strides, padding, output_padding, dilations, group, output_shape)


@node("DeformConv")
def _deform_conv(
    x: Any, weight: Any, offset: Any, bias: Any = None, mask: Any = None, strides: Any = 1, pads: Any = None,
    dilations: Any = 1, group: int = 1, offset_group: int = 1, kernel_shape: Any = None,
) -> Any:  # fmt: skip
    from burn.ops.deformable import deform_conv2d

    padding = padding_of(pads, "NOTSET", 2)
    return deform_conv2d(x, offset, weight, mask, bias, strides, padding, dilations, group, offset_group)


@node("LRN")
def _lrn(x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> Any:
    return module.local_response_norm(x, size, alpha, beta, bias)


@node("Pad")
def _pad(x: Any, pads: Any, value: Any = None, axes: Any = None, mode: str = "constant") -> Any:
    dims, amounts = numbers(axes) if axes is not None else range(len(x.shape)), numbers(pads)
    pairs = [(0, 0)] * len(x.shape)
    for place, dim in enumerate(dims):
        pairs[dim] = (amounts[place], amounts[len(amounts) // 2 + place])
    return x.pad_or_crop(pairs, one(value, 0), mode)


# Signals


@node("DFT")
def _dft(x: Any, length: Any = None, axis: Any = None, inverse: int = 0, onesided: int = 0, opset: int = 20) -> Any:
    dim = axis if isinstance(axis, int) else one(axis, -2 if opset >= 20 else 1)
    return signal.dft(x, one(length), dim, bool(inverse), bool(onesided))


@node("STFT")
def _stft(x: Any, step: Any, window: Any = None, length: Any = None, onesided: int = 1) -> Any:
    return signal.short_time_dft(x, window, one(step), one(length), bool(onesided))


WINDOWS = {"HannWindow": (0.5, 0.5), "HammingWindow": (25 / 46, 21 / 46), "BlackmanWindow": (0.42, 0.5, 0.08)}
for _kind, _weights in WINDOWS.items():
    SPATIAL[_kind] = lambda size, output_datatype=1, periodic=1, weights=_weights: signal.cosine_window(
        weights, one(size), bool(periodic), size.device, dtype_of(output_datatype)
    )


@node("MelWeightMatrix")
def _mel(bins: Any, length: Any, rate: Any, low: Any, high: Any, output_datatype: int = 1) -> Any:
    return signal.mel_weights(
        one(bins), one(length), one(rate), one(low), one(high), bins.device, dtype_of(output_datatype)
    )


SPATIAL["Det"] = det
SPATIAL["Einsum"] = lambda *tensors, equation: einsum(equation, *tensors)


# Selection


@node("TopK")
def _top(x: Any, k: Any, axis: int = -1, largest: int = 1, sorted: int = 1) -> Any:
    return x.extremes_with_indices(one(k), axis, bool(largest), bool(sorted))


@node("Unique")
def _unique(x: Any, axis: int | None = None, sorted: int = 1) -> Any:
    return x.unique(axis, bool(sorted), "i64")


SPATIAL["Compress"] = lambda x, condition, axis=None: x.compress(condition, axis)
SPATIAL["ReverseSequence"] = lambda x, lengths, time_axis=0, batch_axis=1: x.reverse_sequence(
    lengths, time_axis, batch_axis
)
UPDATES = {"none": "assign", "add": "add", "mul": "mul", "min": "min", "max": "max"}


@node("ScatterElements", "Scatter")
def _scatter(x: Any, indices: Any, updates: Any, axis: int = 0, reduction: str = "none") -> Any:
    return x.scatter(axis, indices.wrap_indices(x.shape[axis]), updates, UPDATES[reduction])


@node("ScatterND")
def _scatter_nd(x: Any, indices: Any, updates: Any, reduction: str = "none") -> Any:
    return x.scatter_nd(indices.wrap_indices(x.shape[: indices.shape[-1]]), updates, UPDATES[reduction])


@node("GatherND")
def _gather_nd(x: Any, indices: Any, batch_dims: int = 0) -> Any:
    sizes = x.shape[batch_dims : batch_dims + indices.shape[-1]]
    return x.gather_nd_batched(indices.wrap_indices(sizes), batch_dims)


SPATIAL["Gather"] = lambda x, indices, axis=0: x.take(axis, indices.wrap_indices(x.shape[axis]))
SPATIAL["GatherElements"] = lambda x, indices, axis=0: x.gather(axis, indices.wrap_indices(x.shape[axis]))


@node("TensorScatter")
def _tensor_scatter(cache: Any, update: Any, starts: Any = None, mode: str = "linear", axis: int = -2) -> Any:
    return cache.write_cache(update, starts, axis, mode == "circular")


@node("Trilu")
def _trilu(x: Any, k: Any = None, upper: int = 1) -> Any:
    return (x.triu if upper else x.tril)(one(k, 0))


SPATIAL["EyeLike"] = lambda x, dtype=0, k=0: x.eye_like(k, dtype_of(dtype))
SPATIAL["CumSum"] = lambda x, axis, exclusive=0, reverse=0: x.running_sum(one(axis), bool(exclusive), bool(reverse))
SPATIAL["CumProd"] = lambda x, axis, exclusive=0, reverse=0: x.running_product(
    one(axis), bool(exclusive), bool(reverse)
)
SPATIAL["OneHot"] = lambda indices, depth, values, axis=-1: indices.one_hot_values(values, int(one(depth)), axis)
SPATIAL["NonZero"] = lambda x: x.argwhere().transpose()
SPATIAL["Where"] = lambda condition, x, y: y.mask_where(condition, x)
SPATIAL["Tile"] = lambda x, repeats: x.repeat(numbers(repeats))
SPATIAL["Expand"] = lambda x, shape: x.broadcast_with(numbers(shape))


@node("Range")
def _range(start: Any, limit: Any, delta: Any) -> Any:
    from burn.ops.creation import arange

    return arange(one(start), one(limit), one(delta), start.dtype, device=start.device)  # type: ignore[call-arg]


def _extreme(first: str, last: str) -> Callable[..., Any]:
    def run(x: Any, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Any:
        found = getattr(x, last if select_last_index else first)(axis)
        return found if keepdims else found.squeeze_dim(axis)

    return run


SPATIAL["ArgMax"] = _extreme("argmax", "argmax_last")
SPATIAL["ArgMin"] = _extreme("argmin", "argmin_last")


# Pieces


@node("Slice")
def _slice(x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    dims = numbers(axes) if axes is not None else range(len(numbers(starts)))
    strides = numbers(steps) if steps is not None else [1] * len(numbers(starts))
    ranges = [(0, size, 1) for size in x.shape]
    for dim, start, end, step in zip(dims, numbers(starts), numbers(ends), strides, strict=True):
        chosen = range(x.shape[dim])[slice(start, end, step)]
        ranges[dim] = (chosen.start, len(chosen), chosen.step)
    return indexing.slice(x, ranges)


SPATIAL["Concat"] = lambda *tensors, axis: Tensor.cat(list(tensors), axis)
SPATIAL["Shape"] = lambda x, start=0, end=None: burn.tensor(np.array(Shape(x.shape)[start:end], np.int64))
