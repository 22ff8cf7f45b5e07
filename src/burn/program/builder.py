"""Building a program node by node, with the rules of the op table deciding shapes and dtypes."""

from __future__ import annotations

from typing import Any

from burn.device import Device
from burn.dtype import DType
from burn.ops.op import Op
from burn.program.program import Constant, Node, Operand, Program, Scalar, Value
from burn.shape import Shape


class _Known:
    """A value as a rule sees it."""

    __slots__ = ("device", "dtype", "shape")

    def __init__(self, value: Value, device: Device) -> None:
        self.shape, self.dtype, self.device = value.shape, value.dtype, device


class ProgramBuilder:
    """Collects inputs and nodes; `finish` gives the program."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.values: list[Value] = []
        self.nodes: list[Node] = []
        self.inputs = 0
        self.scalars = 0

    def input(self, shape: Any, dtype: DType) -> int:
        """Another input. All inputs come before the first node."""
        assert not self.nodes, "inputs come before the first node"
        self.values.append(Value(Shape(shape), dtype))
        self.inputs += 1
        return len(self.values) - 1

    def scalar(self, kind: str = "float") -> Scalar:
        """Another number given at run time."""
        self.scalars += 1
        return Scalar(self.scalars - 1, kind)

    def apply(self, op: Op, operands: tuple[Operand, ...], attributes: tuple[Any, ...] = ()) -> tuple[int, ...]:
        """Add a node; its row's rule checks the operands and tells what it makes."""
        rule = op.recorded or op.rule
        assert rule is not None, f"{op.name} has no rule"
        if op.family in ("creation", "random"):
            number = 1 if op.family == "random" else 1.0  # seeds are whole numbers
            shape, dtype, _ = rule(op, self.device, *[self._seen(each, number) for each in operands], *attributes)
        else:
            shape, dtype, attributes = rule(op, *[self._seen(each) for each in operands], *attributes)
        shapes, dtypes = (shape, dtype) if op.outputs != 1 else ([shape], [dtype])
        results = tuple(range(len(self.values), len(self.values) + len(shapes)))
        self.values.extend(Value(Shape(s), d) for s, d in zip(shapes, dtypes, strict=True))
        self.nodes.append(Node(op, operands, tuple(attributes), results))
        return results

    def _seen(self, operand: Operand, number: float = 1.0) -> Any:
        if isinstance(operand, int):
            return _Known(self.values[operand], self.device)
        if isinstance(operand, tuple):
            return [_Known(self.values[number], self.device) for number in operand]
        if isinstance(operand, Constant):
            return operand.value
        return number if isinstance(operand, Scalar) else None

    def finish(self, outputs: tuple[int, ...]) -> Program:
        """The program that computes `outputs`."""
        return Program(tuple(self.values), self.inputs, self.scalars, tuple(self.nodes), outputs)
