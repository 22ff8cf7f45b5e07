"""Adapters of elementwise operators: broadcasting rules, bounds and scales that were attributes."""

from __future__ import annotations

from burn_import.onnx.ir import schemas
from burn_import.onnx.ir.graph import Node
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.passes.lift.registry import Edit, adapt, rank


@adapt("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less", before=7)
def broadcast(node: Node, edit: Edit) -> None:
    """`axis` said where in the first operand the sizes of the second begin; now sizes align at the end."""
    axis = node.attributes.pop("axis", None)
    is_broadcast = node.attributes.pop("broadcast", 0)
    if not is_broadcast or axis is None:
        return
    left, right = rank(node.input(0)), rank(node.input(1))
    if left is None or right is None:
        edit.fault("broadcasts along an axis, and the ranks of its operands are not known")
        return
    missing = left - (axis + left if axis < 0 else axis) - right
    if missing < 0:
        edit.fault(f"broadcasts rank {right} into rank {left} from axis {axis}, which does not fit")
    elif missing and right:
        axes = edit.constant(list(range(right, right + missing)))
        node.set_input(1, edit.emit("Unsqueeze", [node.input(1), axes]))


@adapt("PRelu", before=7)
def slope_by_channel(node: Node, edit: Edit) -> None:
    """A row of slopes belonged to the channels, the second axis; now sizes align at the end."""
    data, slope = node.input(0), node.input(1)
    if slope is None or rank(slope) != 1 or slope.tensor.shape == (1,):
        return
    count = rank(data)
    if count is None:
        edit.fault("has one slope a channel, and the rank of its input is not known")
    elif count > 2:
        axes = edit.constant(list(range(1, count - 1)))
        node.set_input(1, edit.emit("Unsqueeze", [slope, axes]))


@adapt("Clip", before=11)
def bounds(node: Node, edit: Edit) -> None:
    """`min` and `max` become inputs."""
    data = node.input(0)
    assert data is not None
    for index, name, missing in ((1, "min", -3.4028234663852886e38), (2, "max", 3.4028234663852886e38)):
        bound = node.attributes.pop(name, missing)
        if bound != missing:
            node.set_input(index, edit.like(bound, data))


@adapt("Selu", before=6)
def coefficients(node: Node, edit: Edit) -> None:
    """The defaults had fewer digits."""
    node.attributes.setdefault("alpha", 1.673200011253357)
    node.attributes.setdefault("gamma", 1.0506999492645264)


_TYPE_NAMES = {
    "FLOAT": ElementType.f32, "UINT8": ElementType.u8, "INT8": ElementType.i8, "UINT16": ElementType.u16,
    "INT16": ElementType.i16, "INT32": ElementType.i32, "INT64": ElementType.i64, "STRING": ElementType.string,
    "BOOL": ElementType.bool_, "FLOAT16": ElementType.f16, "DOUBLE": ElementType.f64, "UINT32": ElementType.u32,
    "UINT64": ElementType.u64, "COMPLEX64": ElementType.complex64, "COMPLEX128": ElementType.complex128,
}  # fmt: skip


@adapt("Cast", before=6)
def target_type(node: Node, edit: Edit) -> None:
    """The target was the name of a type."""
    name = node.attributes.get("to", "")
    if isinstance(name, str):
        dtype = _TYPE_NAMES.get(name.upper())
        if dtype is None:
            edit.fault(f"casts to {name!r}, which names no type")
        else:
            node.attributes["to"] = dtype.value


@adapt("Dropout", before=10)
def boolean_mask(node: Node, edit: Edit) -> None:
    """The mask had the type of the data. The operator was written for training and read for inference: it drops
    elements only if a file asks for the mask."""
    node.attributes.pop("is_test", None)
    if len(node.outputs) > 1 and node.outputs[1].is_used:
        mask = node.outputs[1]
        cast = Node("CastLike", [mask, node.input(0)], version=schemas.newest("", "CastLike") or 0)
        edit.graph.insert(cast, after=node)
        mask.replace_by(cast.output, unless=cast)


@adapt("Dropout", before=12)
def ratio(node: Node, edit: Edit) -> None:
    """The ratio becomes an input; without a third input the operator is the identity."""
    node.set_input(1, edit.constant(node.attributes.pop("ratio", 0.5), ElementType.f32))
