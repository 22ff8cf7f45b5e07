"""Operators on images: sampled at coordinates, cut into regions, pieced together."""

from __future__ import annotations

from typing import Any

from burn_import.onnx.code.expression import Expression, binary
from burn_import.onnx.code.fields import Source
from burn_import.onnx.ir.graph import Value
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.operators.convolution import layer_padding, padding
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import operator


def _unusual(**settings: tuple[Any, Any]) -> dict[str, Any]:
    """Of settings with their usual values those that are different."""
    return {name: value for name, (value, usual) in settings.items() if value != usual}


@operator("GridSample")
def grid_sample(op: Operation) -> Expression:
    """Where places come from a division they may be no finite numbers: such a place is -1, as for ONNX Runtime."""
    settings = _unusual(
        mode=(op.attribute("mode"), "linear"),
        padding=(op.attribute("padding_mode"), "zeros"),
        align_corners=(op.flag("align_corners"), False),
    )
    grid = op.tensor(1)
    if _is_divided(op.value(1)):
        grid = op.assign("grid", grid)
        grid = grid.method("mask_fill", grid.method("is_finite").method("bool_not"), -1.0)
    return op.x.method("grid_sample", grid, **settings)


def _is_divided(value: Value, depth: int = 16) -> bool:
    """Whether a value comes from a division by numbers that are not known."""
    seen, level = set[Value](), [value]
    for _ in range(depth):
        nodes = [each.node for each in level if each.node is not None]
        if any(node.op_type == "Div" and not node.input(1).is_constant for node in nodes):  # type: ignore[union-attr]
            return True
        seen.update(level)
        level = [each for node in nodes for each in node.inputs if each is not None and each not in seen]
    return False


@operator("AffineGrid")
def affine_grid(op: Operation) -> Expression:
    settings = _unusual(align_corners=(op.flag("align_corners"), False))
    return op.function("vision", "affine_grid")(op.x, op.numbers(1), **settings)


@operator("RoiAlign")
def roi_align(op: Operation) -> Expression:
    settings = _unusual(
        spatial_scale=(op.attribute("spatial_scale"), 1.0),
        sampling_ratio=(op.attribute("sampling_ratio"), 0),
        mode=(op.attribute("mode"), "avg"),
        half_pixel=(op.attribute("coordinate_transformation_mode") == "half_pixel", True),
    )
    sizes = (op.attribute("output_height"), op.attribute("output_width"))
    return op.function("vision", "roi_align")(op.x, op.tensor(1), op.tensor(2), sizes, **settings)


@operator("MaxRoiPool")
def max_roi_pool(op: Operation) -> Expression:
    settings = _unusual(spatial_scale=(op.attribute("spatial_scale"), 1.0))
    return op.function("vision", "roi_max_pool")(op.x, op.tensor(1), op.attribute("pooled_shape"), **settings).item(0)


@operator("NonMaxSuppression")
def non_max_suppression(op: Operation) -> Expression:
    most, overlap, least = (op.number(index) if op.has(index) else None for index in (2, 3, 4))
    settings = _unusual(score_threshold=(least, None), center=(op.flag("center_point_box"), False))
    return op.function("vision", "non_max_suppression")(
        op.x, op.tensor(1), 0 if most is None else most, 0.0 if overlap is None else overlap, **settings,
        index_dtype=ElementType.i64,
    )  # fmt: skip


@operator("CenterCropPad")
def center_crop_pad(op: Operation) -> Expression:
    axes = op.attribute("axes")
    return op.x.method("center_crop_pad", op.numbers(1), *(() if axes is None else (list(axes),)))


@operator("Col2Im")
def fold(op: Operation) -> Expression:
    sizes = op.shape(1)
    pads = op.attribute("pads")
    dims = len(pads) // 2 if pads else sizes[0] if sizes and isinstance(sizes[0], int) else 0
    around = padding(op, dims)
    strides, dilations = op.attribute("strides"), op.attribute("dilations")
    settings: dict[str, Any] = {}
    if strides and any(step != 1 for step in strides):
        settings["stride"] = list(strides)
    if any(any(pair) for pair in around):
        settings["padding"] = around
    if dilations and any(step != 1 for step in dilations):
        settings["dilation"] = list(dilations)
    return op.function("vision", "fold")(op.x, op.numbers(1), op.numbers(2), **settings)


@operator("MaxUnpool")
def max_unpool(op: Operation) -> Expression:
    """The indices count in the result that the window alone would give; what a wanted shape adds comes at the ends."""
    kernel = op.attribute("kernel_shape")
    dims = len(kernel)
    strides, around = op.attribute("strides") or (1,) * dims, padding(op, dims)
    sizes = [_unpooled(op, axis, *window) for axis, window in enumerate(zip(kernel, strides, around), 2)]
    result = op.function("module", "max_unpool")(op.x, op.tensor(1), sizes, "row_major")
    if not op.has(2) or op.known_ints(2) == [*(op.shape() or ())[:2], *sizes]:
        return result
    wanted = op.elements(2)
    if wanted is None:
        numbers = op.assign("wanted", op.numbers(2))
        wanted = [numbers.item(axis).number() for axis in range(2 + dims)]
    ends = [(0, binary("-", want, size)) for want, size in zip(wanted[2:], sizes)]
    return result.method("pad_or_crop", [(0, 0), (0, 0), *ends])


def _unpooled(op: Operation, axis: int, kernel: int, step: int, pair: Any) -> Any:
    """The size from which windows gave the one of the input: an int, or an expression."""
    shape, more = op.shape(), kernel - step - sum(pair)
    size = None if shape is None else shape[axis]
    if isinstance(size, int):
        return size * step + more
    wide = op.size(0, axis) if step == 1 else binary("*", op.size(0, axis), step)
    return wide if not more else binary("+" if more > 0 else "-", wide, abs(more))


@operator("DeformConv")
def deform_conv(op: Operation) -> Expression:
    """A layer where weight and bias are constants, else the function."""
    ones = (1, 1)
    settings = _unusual(
        stride=(op.attribute("strides") or ones, ones),
        dilation=(op.attribute("dilations") or ones, ones),
        weight_groups=(op.attribute("group", 1), 1),
        offset_groups=(op.attribute("offset_group", 1), 1),
    )
    x, offset, bias = op.x, op.tensor(2), op.node.input(3)
    masks = [op.tensor(4)] if op.has(4) else []
    weight, around = op.value(1).constant, layer_padding(op, 2)
    learnt = weight is not None and 0 not in weight.shape and (bias is None or bias.constant is not None)
    if learnt and weight is not None and around is not False:
        if around is not None:
            settings["padding"] = around
        weights: dict[str, Source] = {"weight": op.weight(1)}
        if bias is None:
            settings["bias"] = False
        else:
            weights["bias"] = op.weight(3)
        channels = (weight.shape[1] * op.attribute("group", 1), weight.shape[0])
        return op.layer("conv.DeformConv2d", channels, weight.shape[2:], weights=weights, **settings)(x, offset, *masks)
    sides = padding(op, 2)
    if any(pair[0] != pair[1] or pair[0] < 0 for pair in sides):  # type: ignore[operator]
        # A place outside reads 0 like one in the padding.
        x = x.method("pad_or_crop", [(0, 0), (0, 0), *sides])
    elif any(any(pair) for pair in sides):
        settings["padding"] = tuple(pair[0] for pair in sides)
    given: dict[str, Any] = {"mask": masks[0]} if masks else {}
    if bias is not None:
        given["bias"] = op.tensor(3)
    if settings:
        given["options"] = op.function("module", "DeformConvOptions")(**settings)
    return op.function("module", "deform_conv2d")(x, offset, op.tensor(1), **given)


@operator("LRN")
def local_response_norm(op: Operation) -> Expression:
    settings = _unusual(
        alpha=(op.attribute("alpha"), 1e-4), beta=(op.attribute("beta"), 0.75), k=(op.attribute("bias"), 1.0)
    )
    return op.layer("LocalResponseNorm", op.attribute("size"), **settings)(op.x)
