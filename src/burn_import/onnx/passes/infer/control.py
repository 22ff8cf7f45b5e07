"""Rules of operators with bodies: If, Loop, Scan, SequenceMap, Gradient. The body is inferred first, then
its results are read.

What a loop carries may change from round to round: the body is inferred again with what both rounds have in common
until that stays the same.
"""

from __future__ import annotations

from burn_import.onnx.ir.graph import Graph
from burn_import.onnx.ir.types import ElementType, SequenceType, Shape, TensorType, Type
from burn_import.onnx.passes.infer import sizes
from burn_import.onnx.passes.infer.context import Inference, rule
from burn_import.onnx.passes.infer.merging import merge_types

ROUNDS = 4


@rule("If")
def branches(op: Inference) -> None:
    one = op.engine.body(op.attribute("then_branch"), [])
    other = op.engine.body(op.attribute("else_branch"), [])
    taken = op.elements(0)
    for index in range(len(op.node.outputs)):
        if taken is not None and isinstance(taken[0], bool):
            found = one[index] if taken[0] else other[index]
        else:
            found = merge_types(one[index], other[index])
        op.set_type(found, index)


@rule("Loop")
def loop(op: Inference) -> None:
    body = op.attribute("body")
    carried = [op.type(index) for index in range(2, len(op.node.inputs))]
    scalar = TensorType(ElementType.i64, _single(body, 0))
    condition = TensorType(ElementType.bool_, _single(body, 1))
    results: list[Type | None] = []
    for _ in range(ROUNDS):
        results = op.engine.body(body, [scalar, condition, *carried])
        merged = [merge_types(before, after) for before, after in zip(carried, results[1:])]
        if merged == carried:
            break
        carried = merged
    for index, found in enumerate(carried):
        op.set_type(found, index)
    trips = _trips(op)
    for index, found in enumerate(results[1 + len(carried) :], len(carried)):
        if isinstance(found, TensorType):
            op.set(None if found.shape is None else (trips, *found.shape), dtype=found.dtype, index=index)


def _single(body: Graph, index: int) -> Shape:
    """The shape of the counter or the condition in a body: a scalar, or a row of one where a file declares it so."""
    declared = body.inputs[index].declared if index < len(body.inputs) else None
    return (1,) if isinstance(declared, TensorType) and declared.rank == 1 else ()


def _trips(op: Inference) -> int | None:
    """How often a loop runs, when that is known: a count and a condition that stays true."""
    count = op.ints(0) if op.has(0) else None
    body = op.attribute("body")
    condition = body.outputs[0]
    forever = condition.constant is not None and bool(condition.constant.array.all())
    if condition.node is not None and condition.node.op_type == "Identity":
        forever = condition.node.input(0) is body.inputs[1]
    start = op.elements(1) if op.has(1) else [True]
    if count is None or not (forever or condition is body.inputs[1]) or not start or start[0] is not True:
        return None
    return max(0, count[0])


@rule("Scan")
def scan(op: Inference) -> None:
    body = op.attribute("body")
    scanned = op.attribute("num_scan_inputs")
    states = len(op.node.inputs) - scanned
    axes = op.attribute("scan_input_axes") or (0,) * scanned
    length: int | object | None = None
    slices: list[Type | None] = []
    for index, axis in enumerate(axes, states):
        shape = op.shape(index)
        if shape is not None:
            place = sizes.normalise(axis, len(shape))
            length = shape[place] if length is None else length
            shape = (*shape[:place], *shape[place + 1 :])
        slices.append(TensorType(op.dtype(index), shape))
    carried = [op.type(index) for index in range(states)]
    results: list[Type | None] = []
    for _ in range(ROUNDS):
        results = op.engine.body(body, [*carried, *slices])
        merged = [merge_types(before, after) for before, after in zip(carried, results)]
        if merged == carried:
            break
        carried = merged
    for index, found in enumerate(carried):
        op.set_type(found, index)
    outputs = results[states:]
    axes = op.attribute("scan_output_axes") or (0,) * len(outputs)
    for index, (found, axis) in enumerate(zip(outputs, axes), states):
        if isinstance(found, TensorType):
            shape = found.shape
            if shape is not None:
                place = sizes.normalise(axis, len(shape) + 1)
                shape = (*shape[:place], length, *shape[place:])  # type: ignore[arg-type]
            op.set(shape, dtype=found.dtype, index=index)


@rule("SequenceMap")
def sequence_map(op: Inference) -> None:
    body = op.attribute("body")
    inputs: list[Type | None] = []
    for index in range(len(op.node.inputs)):
        given = op.type(index)
        inputs.append(given.element if isinstance(given, SequenceType) else given)
    for index, found in enumerate(op.engine.body(body, inputs)):
        op.set_type(SequenceType(found), index)


@rule("GradientOf", domain="ai.onnx.preview.training")
def gradient(op: Inference) -> None:
    """Each result is like the input that it belongs to."""
    op.engine.body(op.attribute("body"), [op.type(index) for index in range(len(op.node.inputs))])
    for index in range(len(op.node.outputs)):
        op.set_type(op.type(index), index)
