"""Sequences as Python lists, which are never changed in place, and optionals as a value or None."""

from __future__ import annotations

from burn_import.onnx.code.expression import Expression, Form, binary, comprehension, literal
from burn_import.onnx.code.hints import value_hint
from burn_import.onnx.ir.graph import Graph
from burn_import.onnx.ir.types import ElementType, SequenceType, TensorType, Type
from burn_import.onnx.operators import executed
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import operator


def _is_tensor(type_: Type | None) -> bool:
    return isinstance(type_, TensorType) and type_.dtype is not ElementType.string


def _element(op: Operation, index: int) -> Expression:
    return op.tensor(index) if _is_tensor(op.type(index)) else op.raw(index)


def _typed(op: Operation, value: Expression) -> Expression:
    """A result that is a tensor or not, as inference says."""
    return value.tensor() if _is_tensor(op.node.outputs[0].type) else value.other()


@operator("SequenceConstruct")
def construct(op: Operation) -> Expression:
    return literal([_element(op, index) for index in range(op.count)]).other()


@operator("SequenceEmpty")
def empty(op: Operation) -> Expression:
    return op.named("list[Tensor]")().other()


@operator("SequenceInsert")
def insert(op: Operation) -> Expression:
    values, new = op.raw(0), _element(op, 1)
    if not op.has(2):
        return binary("+", values, [new]).other()
    values, place = op.assign("values", values), op.assign("place", op.number(2))
    return binary("+", binary("+", values.part(None, place), [new]), values.part(place)).other()


@operator("SequenceErase")
def erase(op: Operation) -> Expression:
    values = op.assign("values", op.raw(0))
    if not op.has(1):
        return values.part(None, -1).other()
    place = op.assign("place", op.number(1))
    return binary("+", values.part(None, place), values.part(place).part(1)).other()


@operator("SequenceAt")
def at(op: Operation) -> Expression:
    return _typed(op, op.raw(0).item(op.number(1)))


@operator("SequenceLength")
def length(op: Operation) -> Expression:
    return op.named("len")(op.raw(0)).number()


@operator("ConcatFromSequence")
def concat(op: Operation) -> Expression:
    name = "Tensor.stack" if op.flag("new_axis") else "Tensor.cat"
    axis = op.attribute("axis")
    rank = op.node.outputs[0].tensor.rank
    if op.node.outputs[0].tensor.dtype is ElementType.string:
        return op.function("text", "join")(op.raw(0), axis, op.flag("new_axis")).other()
    return op.named(name)(op.raw(0), axis + rank if axis < 0 and rank is not None else axis)


@operator("SplitToSequence")
def split(op: Operation) -> Expression:
    axis = op.axis()
    if not op.has(1):
        parts = op.x.method("split", 1, axis)
        if op.attribute("keepdims", 1):
            return parts.other()
        if op.is_live:
            return executed.squeezed(parts, axis)
        each = op.fresh("part")
        return comprehension(Expression.name(each).method("squeeze_dim", axis), each, parts)
    if op.rank(1) == 0:
        return op.x.method("split", op.number(1), axis).other()
    return op.x.method("split_with_sizes", op.numbers(1), axis).other()


@operator("SequenceMap")
def over_elements(op: Operation) -> list[Expression | None]:
    """A loop over all sequences at once; inputs that are none are the same in each round."""
    if op.is_live:
        return executed.over_elements(op)
    body: Graph = op.attribute("body")
    results = [op.fresh(value_hint(value)) for value in op.node.outputs]
    for name in results:
        op.statement(f"{name} = []")
    bound: list[Expression | None] = []
    walked: list[tuple[str, Expression]] = []
    for index in range(op.count):
        if isinstance(op.type(index), SequenceType):
            name = op.fresh(value_hint(body.inputs[index]))
            walked.append((name, op.raw(index)))
            bound.append(Expression.name(name, Form.tensor if _is_tensor(body.inputs[index].type) else Form.other))
        else:
            bound.append(op.assign("value", _element(op, index)))
    names, values = ", ".join(name for name, _ in walked), [value for _, value in walked]
    source = values[0] if len(values) == 1 else Expression("zip")(*values)
    with op.block(f"for {names} in ", source, ":"):
        for name, value in zip(results, op.body("body", bound), strict=True):
            op.statement(f"{name}.append({value.text})")
    return [Expression.name(name, Form.other) for name in results]


@operator("Optional")
def optional(op: Operation) -> Expression:
    return (_element(op, 0) if op.has(0) else literal(None)).other()


@operator("OptionalHasElement")
def has_element(op: Operation) -> Expression:
    if not op.has(0):
        return literal(False)
    value = op.raw(0)
    if value.form is Form.tensor:
        return literal(True)
    return value.is_there()


@operator("OptionalGetElement")
def get_element(op: Operation) -> Expression:
    return _typed(op, op.raw(0))
