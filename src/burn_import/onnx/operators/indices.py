"""What is known of indices: those that cannot be negative need not be wrapped."""

from __future__ import annotations

from burn_import.onnx.ir.graph import Value

DEPTH = 12  # how far back to look

ALL = {"Concat", "Transpose", "Flatten", "Identity", "Add", "Mul", "Max", "Min", "Sum"}  # of every input
FIRST = {"Squeeze", "Unsqueeze", "Reshape", "Expand", "Tile", "Slice", "Gather", "GatherElements", "GatherND", "CumSum",
         "ReduceSum", "ReduceMax", "ReduceMin", "Split", "Compress"}  # fmt: skip
COUNTS = {"Shape", "Size", "ArgMax", "ArgMin", "NonZero"}


def counts_from_start(value: Value, *, ids: bool = False, depth: int = DEPTH) -> bool:
    """Whether the whole numbers of a value are surely 0 or more.

    With `ids` a graph's own integer input counts as ids of something: a table is read with it as it is, and a negative
    id is an error instead of a row from the end. Numbers taken from floats, or subtracted, may always be negative.
    """
    if value.constant is not None:
        return value.constant.size == 0 or not (value.constant.array < 0).any()
    dtype, node = value.tensor.dtype, value.node
    if dtype is None or dtype.is_float:
        return False
    if dtype.name.startswith("u"):
        return True
    if node is None:
        return ids
    if depth == 0 or node.domain:
        return False
    name, given = node.op_type, [each for each in node.inputs if each is not None]
    if name in COUNTS or (name == "TopK" and value.index == 1):
        return True
    if name in FIRST or name == "Cast":
        given = given[:1]
    elif name == "Where":
        given = given[1:]
    elif name == "Range":
        given = [given[0], given[2]]
    elif name not in ALL:
        return False
    return all(counts_from_start(each, ids=ids, depth=depth - 1) for each in given)
