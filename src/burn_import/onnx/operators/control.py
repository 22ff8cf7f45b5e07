"""Control flow as Python control flow: If, Loop and Scan.

What a branch or a round gives is bound to variables that the code behind it reads. Values cross these borders as
tensors, except sequences, optionals and strings, which are Python objects anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

from burn_import.onnx.code.expression import Expression, Form, literal
from burn_import.onnx.code.hints import value_hint
from burn_import.onnx.ir.graph import Graph
from burn_import.onnx.ir.types import ElementType, TensorType
from burn_import.onnx.operators import executed
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import operator


def _form(op: Operation, index: int) -> Form:
    type_ = op.node.outputs[index].type
    return Form.tensor if isinstance(type_, TensorType) and type_.dtype is not ElementType.string else Form.other


def _begin(op: Operation, names: Sequence[str | None], values: Sequence[Expression]) -> None:
    """The first values of new variables. A parameter is written as the tensor it is: others may follow it."""
    plain: list[str | None] = list(names)
    for index, (name, value) in enumerate(zip(names, values)):
        if name is not None and value.form is Form.tensor and value.text.startswith("self."):
            op.statement(f"{name}: Tensor = {value.text}")
            plain[index] = None
    _bind(op, plain, values)


def _bind(op: Operation, names: Sequence[str | None], values: Sequence[Expression]) -> None:
    """All at once, so that no new value is read in the place of an old one."""
    chosen = [(name, value) for name, value in zip(names, values) if name is not None and name != value.text]
    if chosen:
        left = ", ".join(name for name, _ in chosen)
        right = ", ".join(value.text for _, value in chosen)
        op.statement(f"{left} = {right}")


@operator("If")
def branches(op: Operation) -> list[Expression | None]:
    if op.is_live:
        return executed.branches(op)
    names: list[str | None] = [op.fresh(value_hint(value)) if value.is_used else None for value in op.node.outputs]
    condition = op.number(0)
    with op.block("if ", condition, ":"):
        _begin(op, names, op.body("then_branch"))
    with op.block("else:"):
        _bind(op, names, op.body("else_branch"))
    return [None if name is None else Expression.name(name, _form(op, index)) for index, name in enumerate(names)]


@operator("Loop")
def loop(op: Operation) -> list[Expression | None]:
    """A `for` when the rounds are counted, a `while` when only a condition ends it."""
    if op.is_live:
        return executed.loop(op)
    body: Graph = op.attribute("body")
    carried = op.count - 2
    given = [op.raw(index) if _is_other(op, index) else op.tensor(index) for index in range(2, op.count)]
    names = [op.fresh(value_hint(value)) for value in op.node.outputs[:carried]]
    _begin(op, names, given)
    scans = [op.fresh(value_hint(value)) for value in op.node.outputs[carried:]]
    for name in scans:
        op.statement(f"{name} = []")
    endless = _is_endless(body)
    going = None
    if not endless or op.has(1):
        going = op.fresh("going")
        op.statement(f"{going} = ", Expression("bool")(op.number(1)) if op.has(1) else literal(True))
    counter = op.fresh("round")
    if op.has(0):
        header = f"for {counter} in range({op.number(0).text}):"
    else:
        op.statement(f"{counter} = 0")
        header = f"while {going or 'True'}:"
    with op.block(header):
        if op.has(0) and going is not None:
            with op.block(f"if not {going}:"):
                op.statement("break")
        start = [Expression.name(counter, Form.number), Expression.name(going, Form.number) if going else literal(True)]
        inside = [Expression.name(name, given[index].form) for index, name in enumerate(names)]
        results = op.body("body", [*start, *inside])
        for name, value in zip(scans, results[1 + carried :]):
            op.statement(f"{name}.append({value.text})")
        if going is not None and not endless:
            condition = op.writer.number(body.outputs[0])
            _bind(op, [going, *names], [Expression("bool")(condition), *results[1 : 1 + carried]])
        else:
            _bind(op, names, results[1 : 1 + carried])
        if not op.has(0):
            op.statement(f"{counter} += 1")
    found: list[Expression | None] = [Expression.name(name, _form(op, index)) for index, name in enumerate(names)]
    for index, name in enumerate(scans, carried):
        found.append(_stacked(op, name, index))
    return found


def _is_other(op: Operation, index: int) -> bool:
    type_ = op.type(index)
    return not isinstance(type_, TensorType) or type_.dtype is ElementType.string


def _is_endless(body: Graph) -> bool:
    """Whether the condition of a loop never changes inside it."""
    condition = body.outputs[0]
    return condition is body.inputs[1] or (condition.constant is not None and bool(condition.constant.array.all()))


def _stacked(op: Operation, name: str, index: int, axis: int = 0) -> Expression:
    """The results of all rounds as one tensor; without a round it is empty."""
    made = op.named("Tensor.stack")(Expression.name(name, Form.other), axis)
    type_ = op.output_type(index)
    if type_.dtype is None or type_.dtype.burn is None:
        raise op.refuse("results of rounds that are no tensors")
    empty = op.full(executed.empty_sizes(type_.shape, axis), 0, type_.dtype)
    return Expression(f"{made.text} if {name} else {empty.text}", 0)


@operator("Scan")
def scan(op: Operation) -> list[Expression | None]:
    if op.is_live:
        return executed.scan(op)
    body: Graph = op.attribute("body")
    scanned = int(op.attribute("num_scan_inputs"))
    states = op.count - scanned
    axes = op.attribute("scan_input_axes") or (0,) * scanned
    backwards = op.attribute("scan_input_directions") or (0,) * scanned
    outputs = len(op.node.outputs) - states
    names = [op.fresh(value_hint(value)) for value in op.node.outputs[:states]]
    _begin(op, names, [op.tensor(index) for index in range(states)])
    scans = [op.fresh(value_hint(value)) for value in op.node.outputs[states:]]
    for name in scans:
        op.statement(f"{name} = []")
    sources = [op.assign("steps", op.tensor(states + index)) for index in range(scanned)]
    places = [axis + op.rank(states + index) if axis < 0 else axis for index, axis in enumerate(axes)]
    counter = op.fresh("step")
    length = op.size(states, places[0])
    with op.block(f"for {counter} in range({length.text}):"):
        slices: list[Expression] = []
        for source, axis, reverse in zip(sources, places, backwards):
            place = Expression(f"{length.bracketed(6)} - 1 - {counter}" if reverse else counter)
            slices.append(
                op.assign(value_hint(body.inputs[states + len(slices)]), source.method("select_dim", axis, place))
            )
        results = op.body("body", [*(Expression.name(name) for name in names), *slices])
        for name, value in zip(scans, results[states:]):
            op.statement(f"{name}.append({value.text})")
        _bind(op, names, results[:states])
    found: list[Expression | None] = [Expression.name(name) for name in names]
    kept = op.attribute("scan_output_axes") or (0,) * outputs
    flipped = op.attribute("scan_output_directions") or (0,) * outputs
    for index, name in enumerate(scans):
        rank = op.node.outputs[states + index].tensor.rank
        axis = kept[index] + (rank or 0) if kept[index] < 0 else kept[index]
        if flipped[index]:
            op.statement(f"{name}.reverse()")
        found.append(_stacked(op, name, states + index, axis))
    return found
