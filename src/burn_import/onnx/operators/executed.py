"""Control flow that runs: what the statements of `control`, `sequences` and `movement` do, on values.

A branch is chosen and a loop is turned while the graph is evaluated, as the generated source does when it runs. Where a
device records, the evaluation is what is recorded: the value that chose is read there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from burn import Tensor
from burn_import.onnx.code.expression import Expression, Form
from burn_import.onnx.code.live import Live, plain
from burn_import.onnx.ir.graph import Graph
from burn_import.onnx.ir.types import ElementType, SequenceType, Shape, TensorType, Type
from burn_import.onnx.operators.operation import Operation, Unsupported


def branches(op: Operation) -> list[Expression | None]:
    """If: the body of one side."""
    name = "then_branch" if plain(op.number(0)) else "else_branch"
    return [*op.body(name)]


def loop(op: Operation) -> list[Expression | None]:
    """Loop: rounds until they are counted or the condition says so."""
    body: Graph = op.attribute("body")
    carried = op.count - 2
    state: list[Expression] = [
        op.tensor(index) if _is_tensor(op.type(index)) else op.raw(index) for index in range(2, op.count)
    ]
    scans: list[list[Any]] = [[] for _ in op.node.outputs[carried:]]
    going = bool(plain(op.number(1))) if op.has(1) else True
    most = plain(op.number(0)) if op.has(0) else None
    watched = not _is_endless(body)
    rounds = 0
    while going and (most is None or rounds < most):
        results = op.body("body", [Live(rounds), Live(going), *state], number_first=watched)
        for kept, value in zip(scans, results[1 + carried :]):
            kept.append(plain(value))
        if watched:
            going = bool(plain(results[0]))
        state = results[1 : 1 + carried]
        rounds += 1
    stacks = [_stacked(op, kept, index) for index, kept in enumerate(scans, carried)]
    return [*state, *stacks]


def scan(op: Operation) -> list[Expression | None]:
    """Scan: one round for each element along a dim of the inputs."""
    scanned = int(op.attribute("num_scan_inputs"))
    states = op.count - scanned
    axes = op.attribute("scan_input_axes") or (0,) * scanned
    backwards = op.attribute("scan_input_directions") or (0,) * scanned
    outputs = len(op.node.outputs) - states
    state = [op.tensor(index) for index in range(states)]
    scans: list[list[Any]] = [[] for _ in range(outputs)]
    sources = [op.tensor(states + index) for index in range(scanned)]
    places = [axis + op.rank(states + index) if axis < 0 else axis for index, axis in enumerate(axes)]
    length = int(plain(op.size(states, places[0])))
    for step in range(length):
        slices = [
            source.method("select_dim", axis, length - 1 - step if reverse else step)
            for source, axis, reverse in zip(sources, places, backwards)
        ]
        results = op.body("body", [*state, *slices])
        for kept, value in zip(scans, results[states:]):
            kept.append(plain(value))
        state = results[:states]
    kept_axes = op.attribute("scan_output_axes") or (0,) * outputs
    flipped = op.attribute("scan_output_directions") or (0,) * outputs
    found: list[Expression | None] = [*state]
    for index, values in enumerate(scans):
        rank = op.node.outputs[states + index].tensor.rank
        axis = kept_axes[index] + (rank or 0) if kept_axes[index] < 0 else kept_axes[index]
        found.append(_stacked(op, values[::-1] if flipped[index] else values, states + index, axis))
    return found


def over_elements(op: Operation) -> list[Expression | None]:
    """SequenceMap: the body for the elements of all sequences at once."""
    body: Graph = op.attribute("body")
    results: list[list[Any]] = [[] for _ in op.node.outputs]
    walked = [index for index in range(op.count) if isinstance(op.type(index), SequenceType)]
    fixed = {
        index: op.tensor(index) if _is_tensor(op.type(index)) else op.raw(index)
        for index in range(op.count)
        if index not in walked
    }
    for elements in zip(*(plain(op.raw(index)) for index in walked)):
        given: dict[int, Expression] = {**fixed}
        for index, value in zip(walked, elements):
            given[index] = Live(value, Form.tensor if _is_tensor(body.inputs[index].type) else Form.other)
        for kept, found in zip(results, op.body("body", [given[index] for index in range(op.count)]), strict=True):
            kept.append(plain(found))
    return [Live(kept, Form.other) for kept in results]


def squeezed(parts: Expression, axis: int) -> Expression:
    """Each of some tensors without a dim."""
    return Live([each.squeeze_dim(axis) for each in plain(parts)], Form.other)


def computed_slice(op: Operation) -> Expression:
    """Slice with axes, bounds or steps that only the run knows."""
    starts, ends = plain(op.numbers(1)), plain(op.numbers(2))
    axes = plain(op.numbers(3)) if op.has(3) else range(len(starts))
    steps = plain(op.numbers(4)) if op.has(4) else [None] * len(starts)
    bounds = [slice(None)] * plain(op.x.attribute("rank"))
    for axis, start, end, step in zip(axes, starts, ends, steps):
        bounds[axis] = slice(start, end, step)
    return op.x.item(Live(tuple(bounds)))


def computed_pairs(op: Operation) -> Expression:
    """What Pad adds around each dim, for axes that only the run knows."""
    amounts, axes = plain(op.numbers(1)), plain(op.numbers(3))
    pairs = [(0, 0)] * op.rank()
    for place, axis in enumerate(axes):
        pairs[axis] = (amounts[place], amounts[len(axes) + place])
    return Live(pairs, Form.other)


def empty_sizes(shape: Shape | None, axis: int) -> list[int]:
    """The sizes of the results of no round."""
    sizes = [size if isinstance(size, int) else 0 for size in (shape or (0,))]
    sizes[axis] = 0
    return sizes


def _stacked(op: Operation, values: Sequence[Any], index: int, axis: int = 0) -> Expression:
    type_ = op.output_type(index)
    if type_.dtype is None or type_.dtype.burn is None:
        raise Unsupported("results of rounds that are no tensors")
    if values:
        return Live(Tensor.stack(list(values), axis))
    return op.full(empty_sizes(type_.shape, axis), 0, type_.dtype)


def _is_tensor(type_: Type | None) -> bool:
    return isinstance(type_, TensorType) and type_.dtype is not ElementType.string


def _is_endless(body: Graph) -> bool:
    condition = body.outputs[0]
    return condition is body.inputs[1] or (condition.constant is not None and bool(condition.constant.array.all()))
