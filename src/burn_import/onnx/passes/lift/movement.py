"""Adapters of operators that move, cut and pick elements: axes and sizes that were attributes."""

from __future__ import annotations

import numpy as np

from burn_import.onnx.ir.constant import Constant
from burn_import.onnx.ir.graph import Node
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.passes.lift.registry import Edit, adapt, array, canonical, rank


@adapt("Squeeze", "Unsqueeze", before=13)
def axes_of_ones(node: Node, edit: Edit) -> None:
    edit.move_to_input("axes", 1)


@adapt("ReduceSum", before=13)
@adapt("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
       "ReduceSumSquare", before=18)  # fmt: skip
def reduced_axes(node: Node, edit: Edit) -> None:
    if node.attributes.get("axes") == ():
        del node.attributes["axes"]  # no axes were all axes
    edit.move_to_input("axes", 1)


@adapt("Slice", before=10)
def bounds_of_slice(node: Node, edit: Edit) -> None:
    for index, name in enumerate(("starts", "ends", "axes"), 1):
        edit.move_to_input(name, index)


@adapt("Pad", before=2)
def renamed_pads(node: Node, edit: Edit) -> None:
    node.attributes["pads"] = node.attributes.pop("paddings", ())


@adapt("Pad", before=11)
def pads(node: Node, edit: Edit) -> None:
    data = node.input(0)
    assert data is not None
    edit.move_to_input("pads", 1)
    value = node.attributes.pop("value", 0.0)
    if value and node.attributes.get("mode", "constant") == "constant":
        node.set_input(2, edit.like(value, data))


@adapt("Split", before=13)
def lengths(node: Node, edit: Edit) -> None:
    edit.move_to_input("split", 1)


@adapt("Split", before=18)
def number_of_parts(node: Node, edit: Edit) -> None:
    """Without lengths the outputs told how many equal parts there are."""
    if node.input(1) is None:
        node.attributes["num_outputs"] = len(node.outputs)


@adapt("Concat", before=4)
def default_axis(node: Node, edit: Edit) -> None:
    node.attributes.setdefault("axis", 1)


@adapt("Reshape", before=5)
def shape(node: Node, edit: Edit) -> None:
    edit.move_to_input("shape", 1)


@adapt("Tile", before=6)
def repeats(node: Node, edit: Edit) -> None:
    """One axis was repeated; now every axis has a count."""
    data, tiles, axis = node.input(0), node.input(1), node.input(2)
    assert data is not None
    assert tiles is not None
    assert axis is not None
    count, number, where = rank(data), array(tiles), array(axis)
    if count is not None and number is not None and where is not None:
        counts = np.ones(count, np.int64)
        counts[int(where.item())] = int(number.item())
        node.set_inputs([data, edit.constant(counts)])
        return
    one = edit.constant([1])
    ranks = edit.emit("Shape", [edit.emit("Shape", [data])])
    ones = edit.emit("ConstantOfShape", [ranks], value=Constant.of(np.ones(1, np.int64)))
    whole = ElementType.i64.value
    position = edit.emit("Reshape", [edit.emit("Cast", [axis], to=whole), one])
    amount = edit.emit("Reshape", [edit.emit("Cast", [tiles], to=whole), one])
    node.set_inputs([data, edit.emit("ScatterElements", [ones, position, amount])])


@adapt("TopK", before=10)
def count_of_best(node: Node, edit: Edit) -> None:
    k = node.attributes.pop("k", None)
    if k is not None and node.input(1) is None:
        node.set_input(1, edit.constant([k]))


@adapt("Scatter", before=11)
def renamed_scatter(node: Node, edit: Edit) -> None:
    node.op_type = "ScatterElements"


@adapt("Upsample", before=7)
def scales_by_name(node: Node, edit: Edit) -> None:
    """Heights and widths had a scale each; images were the only input."""
    height, width = node.attributes.pop("height_scale", 1.0), node.attributes.pop("width_scale", 1.0)
    node.attributes.setdefault("scales", (1.0, 1.0, height, width))


@adapt("Upsample", before=9)
def scales(node: Node, edit: Edit) -> None:
    values = node.attributes.pop("scales", ())
    node.set_input(1, edit.constant(values, ElementType.f32))


@adapt("Upsample", before=10)
def renamed_upsample(node: Node, edit: Edit) -> None:
    mode = node.attributes.get("mode", "nearest")
    node.op_type = "Resize"
    node.attributes["mode"] = {"bilinear": "linear"}.get(mode, mode)


@adapt("Resize", before=11)
def resize_from_the_corner(node: Node, edit: Edit) -> None:
    """Sizes were scaled from the corner. The standard left rounding open; readers round down when an image grows and
    up when it shrinks."""
    factors = array(node.input(1))
    shrinks = factors is not None and bool((factors <= 1).all() and (factors < 1).any())
    node.attributes["coordinate_transformation_mode"] = "asymmetric"
    node.attributes["nearest_mode"] = "ceil" if shrinks else "floor"
    node.set_inputs([node.input(0), None, node.input(1)])


@canonical("Resize")
def absent_scales(node: Node, edit: Edit) -> None:
    """Files write an empty tensor for an input they leave out."""
    for index in (1, 2, 3):
        value = node.input(index)
        if value is not None and value.constant is not None and value.constant.size == 0:
            node.set_input(index, None)
    node.set_inputs(node.inputs)


@adapt("GridSample", before=20)
def renamed_modes(node: Node, edit: Edit) -> None:
    mode = node.attributes.get("mode", "bilinear")
    node.attributes["mode"] = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)


@adapt("RoiAlign", before=16)
def whole_pixels(node: Node, edit: Edit) -> None:
    """Regions were not moved by half a pixel."""
    node.attributes["coordinate_transformation_mode"] = "output_half_pixel"


@adapt("DFT", before=20)
def axis_of_transform(node: Node, edit: Edit) -> None:
    axis = node.attributes.pop("axis", 1)
    node.set_input(2, edit.constant(axis))


@adapt("LpPool", "GlobalLpPool", before=2)
def whole_norm(node: Node, edit: Edit) -> None:
    """The order of the norm was a float."""
    order = node.attributes.get("p", 2.0)
    if order != int(order):
        edit.fault(f"has a norm of order {order}, which newer versions have not")
    node.attributes["p"] = int(order)
