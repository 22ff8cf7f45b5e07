"""Adapters of layers: normalisation, softmax, constants, loops and the encoders of ai.onnx.ml."""

from __future__ import annotations

import numpy as np

from burn_import.onnx.ir import schemas
from burn_import.onnx.ir.constant import Constant
from burn_import.onnx.ir.graph import Graph, Node, Value
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.passes.lift.registry import Edit, adapt, canonical, rank


@adapt("Softmax", "LogSoftmax", "Hardmax", before=13)
def as_matrix(node: Node, edit: Edit) -> None:
    """The input was flattened to a matrix before `axis` and the rows were normalised; now one axis is."""
    data = node.input(0)
    assert data is not None
    axis = node.attributes.get("axis", 1)
    count = rank(data)
    if axis == -1 or (count is not None and axis % max(count, 1) == count - 1):
        node.attributes["axis"] = -1
        return
    shape = data.tensor.shape
    if count is not None and shape is not None and all(size == 1 for size in shape[axis % count + 1 :]):
        node.attributes["axis"] = axis % count  # the rest of a row has one element
        return
    sizes = edit.emit("Shape", [data])
    matrix = edit.emit("Flatten", [data], axis=axis)
    rows = edit.emit(node.op_type, [matrix], axis=-1)
    node.replace_by(edit.emit("Reshape", [rows, sizes], allowzero=1))


@adapt("BatchNormalization", before=9)
def by_element(node: Node, edit: Edit) -> None:
    """`spatial=0` had statistics for every position, not for every channel."""
    if node.attributes.pop("spatial", 1):
        return
    x, scale, bias, mean, variance = node.inputs
    assert x is not None
    assert variance is not None
    if any(value.is_used for value in node.outputs[1:]):
        edit.fault("trains with statistics for every position (spatial=0), which newer versions have not")
        return
    epsilon = edit.like(node.attributes.get("epsilon", 1e-5), x)
    deviation = edit.emit("Sqrt", [edit.emit("Add", [variance, epsilon])])
    normal = edit.emit("Div", [edit.emit("Sub", [x, mean]), deviation])
    node.drop_outputs(1)
    node.replace_by(edit.emit("Add", [edit.emit("Mul", [normal, scale]), bias]))


@adapt("BatchNormalization", before=14)
def training_by_outputs(node: Node, edit: Edit) -> None:
    """A node trained when it gave statistics; now an attribute says so."""
    node.attributes.pop("is_test", None)
    statistics = any(value.is_used for value in node.outputs[1:])
    if any(value.is_used for value in node.outputs[3:]):
        edit.fault("gives the saved mean or variance, which newer versions do not")
        return
    node.drop_outputs(min(len(node.outputs), 3 if statistics else 1))
    node.attributes["training_mode"] = int(statistics)


@adapt("GroupNormalization", before=21)
def scale_by_channel(node: Node, edit: Edit) -> None:
    """Scale and bias had one element a group; now they have one a channel."""
    data = node.input(0)
    assert data is not None
    groups = node.attributes["num_groups"]
    shape = data.tensor.shape
    for index in (1, 2):
        value = node.input(index)
        assert value is not None
        column = edit.emit("Unsqueeze", [value, edit.constant([1])])
        if shape is not None and isinstance(shape[1], int):
            sizes = edit.constant([groups, shape[1] // groups])
        else:
            channels = edit.emit("Shape", [data], start=1, end=2)
            each = edit.emit("Div", [channels, edit.constant([groups])])
            sizes = edit.emit("Concat", [edit.constant([groups]), each], axis=0)
        wide = edit.emit("Expand", [column, sizes])
        node.set_input(index, edit.emit("Reshape", [wide, edit.constant([-1])]))


@adapt("Scan", before=9)
def batches_of_scans(node: Node, edit: Edit) -> None:
    """Every value had a batch axis first: a scan over the batch whose body scans one example."""
    if node.input(0) is not None:
        edit.fault("has sequence lengths, which newer versions have not")
        return
    body = node.attributes["body"]
    scanned = node.attributes["num_scan_inputs"]
    directions = node.attributes.get("directions", ())
    states = len(node.inputs) - 1 - scanned
    outer = Graph(f"{body.name}_batch", edit.graph.names)
    inputs: list[Value | None] = [outer.add_input(outer.names.fresh(value.name)) for value in body.inputs]
    inner = Node("Scan", inputs, len(node.outputs), {"body": body, "num_scan_inputs": scanned}, version=9)
    if directions:
        inner.attributes["scan_input_directions"] = directions
    outer.append(inner)
    for value in inner.outputs:
        outer.add_output(value)
    node.attributes = {"body": outer, "num_scan_inputs": states + scanned}
    node.set_inputs(node.inputs[1:])


@canonical("Constant")
def to_constant(node: Node, edit: Edit) -> None:
    """A node that holds a value becomes a constant of its graph."""
    made: Constant | None = None
    for name, value in node.attributes.items():
        if name in ("value", "sparse_value"):
            made = value
        elif name.startswith("value_"):
            kind = {"i": ElementType.i64, "f": ElementType.f32, "s": ElementType.string}[name[6]]
            made = Constant.of(np.asarray(value, dtype=kind.numpy))
    if made is None:
        edit.fault("holds no value")
        return
    edit.graph.make_constant(node.output, made)
    node.remove()


@adapt("LabelEncoder", before=2, domain="ai.onnx.ml")
def keys_and_values(node: Node, edit: Edit) -> None:
    """One list of classes went both ways, by the type of the input."""
    classes = node.attributes.pop("classes_strings", ())
    data = node.input(0)
    dtype = data.tensor.dtype if data is not None else None
    numbers = tuple(range(len(classes)))
    if dtype is None:
        edit.fault("encodes strings or numbers, and the type of its input is not known")
    elif dtype is ElementType.string:
        node.attributes.update(keys_strings=classes, values_int64s=numbers)
    else:
        node.attributes.update(keys_int64s=numbers, values_strings=classes)


def newest_form(node: Node) -> None:
    """Set the newest version, drop attributes it does not know, and fill in the defaults of the others."""
    version = schemas.newest(node.domain, node.op_type)
    if version is None:
        return
    node.version = version
    schema = schemas.schema(node.domain, node.op_type, version)
    assert schema is not None
    for name in [name for name in node.attributes if name not in schema.attributes]:
        del node.attributes[name]
    for name, rule in schema.attributes.items():
        if rule.default is not None and name not in node.attributes:
            node.attributes[name] = tuple(rule.default) if isinstance(rule.default, list) else rule.default
