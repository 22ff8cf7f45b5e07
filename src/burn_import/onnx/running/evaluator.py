"""The second writer: the rows of operators, given values in the place of text, compute what they would have written.

An evaluation visits each node once, in order. On a device that records, as `Fusion` does, nothing is computed until
somebody reads; so an evaluation is a recording as well, and `recorder` keeps it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import burn
from burn import Tensor, nn
from burn.dim import Dim
from burn.dim import Operation as Quotient
from burn.symbolic import Symbolic
from burn_import.onnx.code.expression import Argument, Expression, Form, literal
from burn_import.onnx.code.fields import Array, Source, Weight
from burn_import.onnx.code.frame import package_of
from burn_import.onnx.code.live import Live, plain
from burn_import.onnx.errors import OnnxError, TextOnly
from burn_import.onnx.ir.graph import Graph, Node, Value
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.operators.operation import Operation, Unsupported
from burn_import.onnx.operators.text_movement import TextMovement, moves_text
from burn_import.onnx.operators.values import Values
from burn_import.onnx.running.weights import Held, Step


def _whole(value: Any) -> Any:
    return value if type(value) is Symbolic else int(value)


NAMED: dict[str, Any] = {
    "Tensor": Tensor, "Tensor.cat": Tensor.cat, "Tensor.stack": Tensor.stack, "Tensor.full": Tensor.full,
    "burn.Distribution": burn.Distribution, "nn": nn, "nn.LstmState": nn.LstmState, "int": _whole, "bool": bool,
    "len": len, "list": list, "range": range, "list[Tensor]": list, "(25 / 46, 21 / 46)": (25 / 46, 21 / 46),
}  # fmt: skip


class Evaluator(Values):
    """Evaluates one graph, or the body of a node in another one."""

    is_live = True

    def __init__(self, held: Held, graph: Graph, outer: Evaluator | None = None) -> None:
        self.held = held
        self.graph = graph
        self.outer = outer
        self.values: dict[Value, Expression] = {}
        self.sizes: dict[str, Any] = {}
        self.done: set[Node] = set()

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """The results of the graph for tensors, sequences and texts."""
        return [plain(each) for each in self._evaluated([Live(each) for each in inputs], False)]

    def _evaluated(self, inputs: Sequence[Expression | None], number_first: bool) -> list[Expression]:
        for value, given in zip(self.graph.inputs, inputs):
            if given is not None:
                self.bind(value, given)
        values = self.values
        for step in self.held.order(self.graph):
            if step.node not in self.done and not self.is_known(step.node):
                self._step(step)
            for value in step.dropped:
                values.pop(value, None)
        outputs = list(self.graph.outputs)
        first: list[Expression] = [self.number(outputs.pop(0))] if number_first else []
        return [*first, *map(self.result, outputs)]

    def _step(self, step: Step) -> None:
        node = step.node
        op = TextMovement(self, node) if moves_text(node) else Operation(self, node)
        try:
            made = step.row.write(op)
        except Unsupported as reason:
            where = f"{node.operator} {node.name or node.outputs[0].name!r}"
            raise OnnxError("import", [f"{where}: {reason}"]) from None
        results = [made] if isinstance(made, Expression) else list(made or ())
        if isinstance(op, TextMovement):
            results = [None if each is None else op.picked(index, each) for index, each in enumerate(results)]
        if op.absorbed is not None:
            self.done.add(op.absorbed)
        for value, result in zip((op.absorbed or node).outputs, results):
            if result is not None and value.is_used and value not in self.values:
                self.bind(value, result if result.is_live else Live(plain(result), result.form))

    def bind(self, value: Value, expression: Expression) -> None:
        self.values[value] = expression
        shape = value.tensor.shape
        if shape is not None and isinstance(plain(expression), Tensor):
            for axis, size in enumerate(shape):
                if isinstance(size, Dim) and size.name is not None:
                    self.sizes[size.name] = plain(expression).shape[axis]

    # Values

    def lookup(self, value: Value) -> Expression | None:
        known = self.values.get(value)
        return known if known is not None or self.outer is None else self.outer.lookup(value)

    def element(self, element: Any) -> Expression | None:
        if isinstance(element, Dim):
            found = self._size(element)
            return None if found is None else Live(found, Form.number)
        return None if element is None or isinstance(element, Fraction) else literal(element)

    def _size(self, size: Any) -> Any:
        """A size by ordinary arithmetic; None when a name in it is not known."""
        if not isinstance(size, Dim):
            return size
        if not size.is_integral:
            return None
        total: Any = 0
        for atoms, factor in size.terms:
            product: Any = factor
            for atom in atoms:
                found = self._named(atom) if isinstance(atom, str) else self._quotient(atom)
                if found is None:
                    return None
                product = found if product.__class__ is int and product == 1 else product * found
            total = product if total.__class__ is int and total == 0 else total + product
        return total

    def _quotient(self, atom: Quotient) -> Any:
        left, right = self._size(atom.left), self._size(atom.right)
        if left is None or right is None:
            return None
        if atom.operation == "//":
            return left // right
        return max(left, right) if atom.operation == "max" else min(left, right)

    def _named(self, name: str) -> Any:
        found = self.sizes.get(name)
        return found if found is not None or self.outer is None else self.outer._named(name)

    def constant(self, value: Value) -> Expression:
        constant = value.constant
        assert constant is not None
        if constant.dtype is ElementType.string:
            return self.text(constant.array)
        if constant.dtype.burn is None:
            raise Unsupported(f"a constant of {constant.dtype}")
        return Live(self.held.constant(value), Form.tensor)

    def text(self, array: Array) -> Expression:
        return Live(array, Form.other)

    def is_learnt(self, value: Value) -> bool:
        return self.held.weights.has(Weight(value))

    @property
    def device(self) -> Expression:
        return Live(self.held.device, Form.other)

    # What rows write beside expressions

    def named(self, name: str) -> Expression:
        if name not in NAMED:
            raise TextOnly(name)
        return Live(NAMED[name], Form.other)

    def function(self, module: str, name: str) -> Expression:
        return Live(getattr(importlib.import_module(f"{package_of(module)}.{module}"), name), Form.other)

    def imported(self, module: str, name: str) -> Expression:
        return Live(getattr(importlib.import_module(module), name), Form.other)

    def assign(self, hint: str, value: Expression) -> Expression:
        return value

    def unpack(self, node: Node, value: Expression, count: int) -> list[Expression | None]:
        found = list(plain(value))
        return [Live(each) for each in found[: len(node.outputs)]]

    def apart(self, value: Expression, hints: Sequence[str | None]) -> list[Expression | None]:
        return [None if hint is None else Live(each) for hint, each in zip(hints, plain(value), strict=True)]

    def closure(self, graph: Graph, hint: str, arguments: Sequence[str]) -> Expression:
        def function(*tensors: Any) -> Any:
            return plain(self.body(graph, [Live(each) for each in tensors])[0])

        made: Callable[..., Any] = function
        return Live(made, Form.other)

    def body(self, graph: Graph, inputs: Sequence[Expression | None], number_first: bool = False) -> list[Expression]:
        return Evaluator(self.held, graph, self)._evaluated(inputs, number_first)

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
        return Live(self.held.layer(op.node, kind, settings, keywords, weights, mode), Form.other)

    def parameter(self, value: Value, hint: str | None, weight: Weight) -> Expression:
        return Live(self.held.parameter(weight), Form.tensor)

    def table(self, hint: str, array: Array) -> Expression:
        return Live(self.held.table(array), Form.tensor)


__all__ = ["Evaluator"]
