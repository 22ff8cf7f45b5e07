"""Pools: windows, and whole images."""

from __future__ import annotations

from typing import Any

from burn_import.onnx.operators.convolution import layer_padding, padding, per_dim
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import operator
from burn_import.onnx.writer.expression import Expression


@operator("MaxPool")
def max_pool(op: Operation) -> Expression | list[Expression | None]:
    kernel = op.attribute("kernel_shape")
    dims = len(kernel)
    ones = (1,) * dims
    strides, dilations = op.attribute("strides") or ones, op.attribute("dilations") or ones
    around = layer_padding(op, dims) if dims in (1, 2, 3) else False
    if around is not False and not op.wanted(1) and op.dtype().is_float:
        keywords = _window(kernel, strides, around, dims)
        if dilations != ones:
            keywords["dilation"] = per_dim(dilations)
        if op.flag("ceil_mode"):
            keywords["ceil_mode"] = True
        return op.layer(f"pool.MaxPool{dims}d", per_dim(kernel), **keywords)(op.x)
    order = "column_major" if op.flag("storage_order") else "row_major"
    both = op.function("module", "max_pool_padded")(
        op.x, list(kernel), list(strides), padding(op, dims), list(dilations), op.flag("ceil_mode"), order
    )
    return op.unpack(both, 2)


@operator("AveragePool")
def average_pool(op: Operation) -> Expression:
    kernel = op.attribute("kernel_shape")
    dims = len(kernel)
    ones = (1,) * dims
    strides, dilations = op.attribute("strides") or ones, op.attribute("dilations") or ones
    around = layer_padding(op, dims) if dims in (1, 2, 3) else False
    if (
        around is not False
        and around is None
        and dilations == ones
        and op.dtype().is_float
        and not op.flag("ceil_mode")
    ):
        return op.layer(f"pool.AvgPool{dims}d", per_dim(kernel), **_window(kernel, strides, around, dims))(op.x)
    return op.function("module", "avg_pool_padded")(
        op.x, list(kernel), list(strides), padding(op, dims), list(dilations), op.flag("count_include_pad"),
        op.flag("ceil_mode"),
    )  # fmt: skip


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
    return op.function("module", "lp_pool")(
        op.x, op.attribute("p"), list(kernel), list(strides), padding(op, dims), list(dilations), op.flag("ceil_mode")
    )


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
