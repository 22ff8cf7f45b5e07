"""Loops that are written with `burn.control.scan`: their body is recorded once, whatever the number of rounds.

A body can be recorded if it computes with tensors alone: each of its operators is one of those below, what is carried
keeps its type, and nothing decides about the next round. Any other loop is a Python loop (`control.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from burn_import.onnx.code.expression import Argument, Expression
from burn_import.onnx.code.hints import value_hint
from burn_import.onnx.ir.graph import Graph, Node, Value
from burn_import.onnx.ir.types import ElementType, TensorType, Type
from burn_import.onnx.operators.activations import FUNCTIONS, PLAIN
from burn_import.onnx.operators.elementwise import COMPARISONS, METHODS, PAIRS
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.reductions import SIMPLE

TENSORS = frozenset({
    *METHODS, *COMPARISONS, *PAIRS, *PLAIN, *FUNCTIONS,
    "Identity", "Neg", "Add", "Sub", "Mul", "Div", "Pow", "Mod", "Max", "Min", "Sum", "Mean", "Where", "Cast",
    "LeakyRelu", "Elu", "Celu", "ThresholdedRelu", "HardSigmoid", "Gelu", "Softmax", "LogSoftmax", "MatMul", "Gemm",
    "Transpose", "Concat", "Gather", "GatherElements",
})  # fmt: skip
"""Operators that read no value, whatever their inputs are."""

SETTINGS = frozenset({
    *SIMPLE, "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Split", "Slice", "Expand", "Tile", "Clip", "CumSum",
    "ArgMax", "ArgMin",
})  # fmt: skip
"""Operators that read what stands behind the first input, so that it has to be constant."""


def can_record(body: Graph, carried: Sequence[Type | None], scanned: int, results: slice) -> bool:
    """Whether a body computes with tensors alone, and what it carries keeps the type that it has before the loop.

    `results` are the outputs of the body from what is carried on.
    """
    made = [each.type for each in body.outputs[results]]
    return (
        len(carried) + scanned > 0
        and all(map(_is_whole, made))
        and made[: len(carried)] == list(carried)
        and all(map(_is_plain, body))
    )


def _is_whole(type_: Type | None) -> bool:
    """Whether shape and dtype of a tensor are known as far as a file can tell them."""
    if not isinstance(type_, TensorType) or type_.shape is None or None in type_.shape:
        return False
    return _is_held(type_.dtype)


def _is_held(dtype: ElementType | None) -> bool:
    """Whether tensors of a dtype compute."""
    return dtype is ElementType.bool_ or (dtype is not None and dtype.burn is not None and dtype.burn.is_arithmetic)


def _is_plain(node: Node) -> bool:
    if node.domain or node.subgraphs or not all(_is_whole(each.type) for each in node.outputs if each.is_used):
        return False
    if not all(isinstance(each.type, TensorType) and _is_held(each.type.dtype) for each in node.inputs if each):
        return False
    if node.op_type in TENSORS:
        return True
    settings = [each for each in node.inputs[1:] if each is not None]
    return node.op_type in SETTINGS and all(each.constant is not None for each in settings)


def write_scan(
    op: Operation,
    body: Graph,
    given: Sequence[Expression | None],
    init: Sequence[Expression],
    xs: Sequence[tuple[Value, Expression]],
    results: slice,
    length: Argument = None,
    reverse: bool = False,
) -> list[Expression | None]:
    """The step as a function, and the scan over it: the last of what is carried, then the results of all rounds.

    `given` has the inputs of the body in order; what is carried and what is scanned is None there and gets names.
    `results` are the outputs of the body from what is carried on.
    """
    values = [value for value, each in zip(body.inputs, given) if each is None]
    scanned = {value for value, _ in xs}
    names = {value: op.fresh(value_hint(value)) for value in values}
    carried = [names[value] for value in values if value not in scanned]
    elements = [names[value] for value, _ in xs]
    step, count = op.fresh("step"), len(carried)
    made = body.outputs[results]
    carry, x = _parameter(op, "carry", carried), _parameter(op, "x", elements)
    shown = f"({carry}: {_typed(count)}, {x}: {_typed(len(elements))})"
    with op.block(f"def {step}{shown} -> tuple[{_typed(count)}, {_typed(len(made) - count)}]:"):
        for name, parts in ((carry, carried), (x, elements)):
            if len(parts) > 1:
                op.statement(f"{', '.join(parts)} = {name}")
        inside = [Expression.name(names[value]) if each is None else each for value, each in zip(body.inputs, given)]
        texts = [each.text for each in op.body("body", inside)[results]]
        op.statement(f"return {_tuple(texts[:count])}, {_tuple(texts[count:])}")
    outputs = [op.fresh(value_hint(value)) if value.is_used else "_" for value in op.node.outputs]
    options: dict[str, Argument] = {} if length is None else {"length": length}
    if reverse:
        options["reverse"] = True
    scan = op.imported("burn.control", "scan")
    arguments: list[Argument] = [Expression(step), Expression(_tuple([each.text for each in init]))]
    if xs:
        arguments.append(Expression(_tuple([each.text for _, each in xs])))
    called = scan(*arguments, **options)
    op.statement(f"{_target(outputs[:count])}, {_target(outputs[count:])} = {called.text}")
    return [Expression.name(name) if value.is_used else None for name, value in zip(outputs, op.node.outputs)]


def _parameter(op: Operation, hint: str, names: Sequence[str]) -> str:
    """What a function calls its parameter: the one thing that it is, or all of them."""
    return names[0] if len(names) == 1 else op.fresh(hint) if names else "_"


def _typed(count: int) -> str:
    if count < 2:
        return "Tensor" if count else "None"
    return f"tuple[{', '.join(['Tensor'] * count) if count < 4 else 'Tensor, ...'}]"


def _tuple(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})" if texts else "None"


def _target(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"({', '.join(names)})" if names else "_"
