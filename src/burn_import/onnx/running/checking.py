"""What a model asks for and its rows cannot do, found when it is loaded: every fault at once.

The rows are asked as the writer asks them, with expressions that stand for nothing. Nothing is laid out or named.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from typing import Any

from burn.dim import Dim
from burn_import.onnx.code.expression import Argument, Expression, Form, literal
from burn_import.onnx.code.fields import Array, Source, Weight
from burn_import.onnx.code.frame import form_of
from burn_import.onnx.errors import OnnxError
from burn_import.onnx.ir.graph import Graph, Node, Value
from burn_import.onnx.ir.model import Model
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.operators import rows
from burn_import.onnx.operators.operation import Operation, Unsupported
from burn_import.onnx.operators.text_movement import TextMovement, moves_text
from burn_import.onnx.operators.values import Values

SOMETHING = Expression("value", simple=True)


class Checker(Values):
    """Asks the rows of a graph, and of the bodies in it."""

    def __init__(self) -> None:
        self.values: dict[Value, Expression] = {}
        self.done: set[Node] = set()
        self.faults: list[str] = []

    def body(self, graph: Graph, inputs: Sequence[Expression | None], number_first: bool = False) -> list[Expression]:
        for value, given in zip(graph.inputs, inputs):
            if given is not None:
                self.bind(value, given)
        for value in graph.inputs:
            self.values.setdefault(value, SOMETHING if form_of(value) is Form.tensor else SOMETHING.other())
        for node in graph:
            if node not in self.done and not self.is_known(node):
                self._node(node)
        return [self.values.get(value, SOMETHING) for value in graph.outputs]

    def _node(self, node: Node) -> None:
        results: list[Expression | None] = []
        target = node
        try:
            op = TextMovement(self, node) if moves_text(node) else Operation(self, node)
            made = rows()[node.domain, node.op_type].write(op)
            results = [made] if isinstance(made, Expression) else list(made or ())
            if op.absorbed is not None:
                target = op.absorbed
                self.done.add(target)
        except Unsupported as reason:
            self.faults.append(f"{node.operator} {node.name or node.outputs[0].name!r}: {reason}")
        for index, value in enumerate(target.outputs):
            result = results[index] if index < len(results) else None
            if value not in self.values:
                self.values[value] = SOMETHING if result is None else _like(result)

    def lookup(self, value: Value) -> Expression | None:
        return self.values.get(value)

    def element(self, element: Any) -> Expression | None:
        if isinstance(element, Dim):
            return SOMETHING.number() if element.is_integral else None
        return None if element is None or isinstance(element, Fraction) else literal(element)

    def constant(self, value: Value) -> Expression:
        assert value.constant is not None
        if value.constant.dtype.burn is None and value.constant.dtype is not ElementType.string:
            raise Unsupported(f"a constant of {value.constant.dtype}")
        return SOMETHING

    def text(self, array: Array) -> Expression:
        return SOMETHING.other()

    def is_learnt(self, value: Value) -> bool:
        return False

    @property
    def device(self) -> Expression:
        return SOMETHING.other()

    def named(self, name: str) -> Expression:
        return SOMETHING

    def function(self, module: str, name: str) -> Expression:
        return SOMETHING

    def imported(self, module: str, name: str) -> Expression:
        return SOMETHING

    def bind(self, value: Value, expression: Expression) -> None:
        self.values[value] = _like(expression)

    def assign(self, hint: str, value: Expression) -> Expression:
        return _like(value)

    def unpack(self, node: Node, value: Expression, count: int) -> list[Expression | None]:
        return [SOMETHING if each.is_used else None for each in node.outputs[:count]]

    def apart(self, value: Expression, hints: Sequence[str | None]) -> list[Expression | None]:
        return [None if hint is None else SOMETHING for hint in hints]

    def closure(self, graph: Graph, hint: str, arguments: Sequence[str]) -> Expression:
        self.body(graph, [])
        return SOMETHING

    def holds(self, node: Node) -> bool:
        return True

    def layer(
        self,
        op: Operation,
        kind: str,
        settings: Sequence[Argument],
        keywords: dict[str, Argument],
        weights: dict[str, Source],
        mode: str | None,
    ) -> Expression:
        return SOMETHING

    def parameter(self, value: Value, hint: str | None, weight: Weight) -> Expression:
        return SOMETHING

    def table(self, hint: str, array: Array) -> Expression:
        return SOMETHING

    def fresh(self, hint: str) -> str:
        return "value"

    def statement(self, text: str, comment: str = "") -> None:
        """Nothing is written."""

    def block(self, header: str) -> AbstractContextManager[None]:
        return nullcontext()


def _like(expression: Expression) -> Expression:
    """Something in the form of an expression, as a variable of it would be."""
    if expression.simple:
        return expression
    return Expression("value", form=expression.form, simple=True)


def check_nodes(model: Model) -> None:
    """Every node that its row cannot do, as one error."""
    checker = Checker()
    checker.body(model.graph, [])
    if checker.faults:
        raise OnnxError("import", checker.faults)


__all__ = ["check_nodes"]
