"""Pools: windows, and whole images."""

from __future__ import annotations

from typing import Any

from burn_import.onnx.code.expression import Expression
from burn_import.onnx.operators.calling import written
from burn_import.onnx.operators.convolution import layer_padding, padding, per_dim
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import operator


@operator("MaxPool")
def max_pool(op: Operation) -> Expression | list[Expression | None]:
    kernel = op.attribute("kernel_shape")
    dims = len(kernel)
    ones = (1,) * dims
    strides, dilations = op.attribute("strides") or ones, op.attribute("dilations") or ones
    around = layer_padding(op, dims) if dims in (1, 2, 3) else False
    narrow = _may_be_narrow(op, kernel, dilations)
    if around is not False and not op.wanted(1) and op.dtype().is_float and not narrow:
        keywords = _window(kernel, strides, around, dims)
        if dilations != ones:
            keywords["dilation"] = per_dim(dilations)
        if op.flag("ceil_mode"):
            keywords["ceil_mode"] = True
        return op.layer(f"pool.MaxPool{dims}d", per_dim(kernel), **keywords)(op.x)
    settings = (list(kernel), *_steps(op, kernel, strides, dilations), op.flag("ceil_mode"))
    if not op.wanted(1):
        return written(op, "module", "max_pool_padded", op.x, *settings, partial=narrow).item(0)
    order = "column_major" if op.flag("storage_order") else "row_major"
    return op.unpack(written(op, "module", "max_pool_padded", op.x, *settings, order, narrow), 2)


@operator("AveragePool")
def average_pool(op: Operation) -> Expression:
    kernel = op.attribute("kernel_shape")
    dims = len(kernel)
    ones = (1,) * dims
    strides, dilations = op.attribute("strides") or ones, op.attribute("dilations") or ones
    around = layer_padding(op, dims) if dims in (1, 2, 3) else False
    narrow = _may_be_narrow(op, kernel, dilations)
    if (
        around is not False
        and around is None
        and dilations == ones
        and op.dtype().is_float
        and not op.flag("ceil_mode")
        and not narrow
    ):
        return op.layer(f"pool.AvgPool{dims}d", per_dim(kernel), **_window(kernel, strides, around, dims))(op.x)
    return written(
        op, "module", "avg_pool_padded", op.x, list(kernel), *_steps(op, kernel, strides, dilations),
        op.flag("count_include_pad"), op.flag("ceil_mode"), narrow,
    )  # fmt: skip


def _steps(op: Operation, kernel: Any, strides: Any, dilations: Any) -> tuple[Any, Any, Any]:
    """Stride, padding and dilation as the functions take them, or their defaults."""
    around = padding(op, len(kernel))
    nothing = not isinstance(around, str) and not any(any(pair) for pair in around)
    same = strides == kernel
    return None if same else list(strides), 0 if nothing else around, 1 if set(dilations) == {1} else list(dilations)


def _may_be_narrow(op: Operation, kernel: Any, dilations: Any) -> bool:
    """Whether an input can be narrower than a window, which the standard's rounding still counts as one."""
    around, shape = padding(op, len(kernel)), op.shape()
    if op.flag("ceil_mode") or around in ("same", "same_lower"):
        return False
    for axis, (span, hole) in enumerate(zip(kernel, dilations)):
        size = shape[2 + axis] if shape is not None else None
        wide = (size if isinstance(size, int) else 1) + (0 if isinstance(around, str) else sum(around[axis]))
        if wide < (span - 1) * hole + 1:
            return True
    return False


def _window(kernel: Any, strides: Any, around: Any, dims: int) -> dict[str, Any]:
    keywords: dict[str, Any] = {}
    if strides != kernel:
        keywords["stride" if dims == 1 else "strides"] = per_dim(strides)
    if around is not None:
        keywords["padding"] = around
    return keywords


@operator("GlobalAveragePool")
def global_average_pool(op: Operation) -> Expression:
    return op.x.method("mean_dims", list(range(2, op.rank())))


@operator("GlobalMaxPool")
def global_max_pool(op: Operation) -> Expression:
    return op.x.method("max_dims", list(range(2, op.rank())))


@operator("LpPool")
def lp_pool(op: Operation) -> Expression:
    kernel = op.attribute("kernel_shape")
    dims = len(kernel)
    ones = (1,) * dims
    strides, dilations = op.attribute("strides") or ones, op.attribute("dilations") or ones
    settings = (list(kernel), list(strides), padding(op, dims), list(dilations), op.flag("ceil_mode"))
    rest = (True,) if _may_be_narrow(op, kernel, dilations) else ()
    return op.function("module", "lp_pool")(op.x, op.attribute("p"), *settings, *rest)


@operator("GlobalLpPool")
def global_lp_pool(op: Operation) -> Expression:
    sizes = [op.size(0, axis) for axis in range(2, op.rank())]
    return op.function("module", "lp_pool")(op.x, op.attribute("p"), sizes)


@operator("Resize")
def resize(op: Operation) -> Expression:
    """The sizes or the scales, and of the settings those that are not the usual ones."""
    chosen: dict[str, Any] = {}
    if op.has(3) and op.known_ints(3) != []:
        chosen["sizes"] = op.numbers(3)
    elif op.has(2):
        chosen["scales"] = op.numbers(2)
    coordinates = op.attribute("coordinate_transformation_mode")
    found = {
        "mode": (op.attribute("mode"), "nearest"),
        "dims": (op.attribute("axes"), None),
        "coordinates": (coordinates, "half_pixel"),
        "rounding": (op.attribute("nearest_mode"), "round_prefer_floor"),
        "cubic_coefficient": (op.attribute("cubic_coeff_a"), -0.75),
        "exclude_outside": (op.flag("exclude_outside"), False),
        "antialias": (op.flag("antialias"), False),
        "extrapolation": (op.attribute("extrapolation_value"), 0.0),
        "aspect": (op.attribute("keep_aspect_ratio_policy"), "stretch"),
    }
    chosen |= {name: value for name, (value, usual) in found.items() if value != usual}
    if coordinates == "tf_crop_and_resize" and op.has(1):
        chosen["region"] = op.numbers(1)
    return op.x.method("resize", **chosen)
