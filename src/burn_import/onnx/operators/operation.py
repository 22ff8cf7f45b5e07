"""What the row of an operator sees of one node, and the ways it has to write it.

Operands come in the form that the operator wants, whatever form they have: `tensor(0)` is a device tensor,
`numbers(1)` a Python list of numbers, `number(2)` one Python number. Constants among the inputs are seen with
`constant(1)`. What the model learns is declared with `layer` or `parameter`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from burn_import.onnx.code.expression import Argument, Expression, literal, rounded
from burn_import.onnx.code.fields import Array, Source, Weight
from burn_import.onnx.ir import schemas
from burn_import.onnx.ir.graph import Node, Value
from burn_import.onnx.ir.types import ElementType, Shape, Size, TensorType, Type

if TYPE_CHECKING:
    from burn_import.onnx.operators.values import Values


class Unsupported(Exception):
    """A node that its row cannot write, with the reason. The importer reports all of them at once."""


class Operation:
    """One node while it is written."""

    __slots__ = ("writer", "node", "absorbed")

    def __init__(self, writer: Values, node: Node) -> None:
        self.writer = writer
        self.node = node
        self.absorbed: Node | None = None

    def refuse(self, reason: str) -> Unsupported:
        """`raise op.refuse("mode 'cubic' of five dims")`"""
        return Unsupported(reason)

    @property
    def is_live(self) -> bool:
        """Whether the node is run, and not written: statements have a twin in `executed` for that."""
        return self.writer.is_live

    # -- what is known about the inputs

    @property
    def count(self) -> int:
        """How many inputs there are, absent ones in between counted."""
        return len(self.node.inputs)

    def has(self, index: int) -> bool:
        """Whether the optional input at `index` is there."""
        return self.node.input(index) is not None

    def value(self, index: int) -> Value:
        """The input itself."""
        value = self.node.input(index)
        if value is None:
            raise Unsupported(f"input {index} is missing")
        return value

    def type(self, index: int) -> Type | None:
        value = self.node.input(index)
        return None if value is None else value.type

    def dtype(self, index: int = 0) -> ElementType:
        """The element type of an input, which inference must know."""
        found = self.value(index).tensor.dtype
        if found is None:
            raise Unsupported(f"the element type of input {index} is not known")
        return found

    def shape(self, index: int = 0) -> Shape | None:
        """The sizes of an input: ints and `Dim`s; None when not even the rank is known."""
        return self.value(index).tensor.shape

    def rank(self, index: int = 0) -> int:
        """The rank of an input, which inference must know."""
        found = self.value(index).tensor.rank
        if found is None:
            raise Unsupported(f"the rank of input {index} is not known")
        return found

    def known_rank(self, index: int = 0) -> int | None:
        """The rank of an input; None when inference does not know it."""
        return self.value(index).tensor.rank

    def constant(self, index: int) -> Array | None:
        """The elements of an input, when they are known."""
        value = self.node.input(index)
        return None if value is None or value.constant is None else value.constant.array

    def known_ints(self, index: int) -> list[int] | None:
        """The elements of an input as Python ints, when every one is known."""
        found = self.writer.elements(self.value(index))
        if found is None or not all(isinstance(each, int) for each in found):
            return None
        return [int(each) for each in found]

    # -- operands in the form that is wanted

    @property
    def x(self) -> Expression:
        """The first input as a tensor."""
        return self.tensor(0)

    def tensor(self, index: int) -> Expression:
        """An input as a tensor on the device."""
        return self.writer.tensor(self.value(index))

    def tensors(self, start: int = 0) -> list[Expression]:
        """All inputs from `start` on as tensors."""
        return [self.tensor(index) for index in range(start, self.count)]

    def optional(self, index: int) -> Expression | None:
        """An input as a tensor; None when it is absent."""
        return self.tensor(index) if self.has(index) else None

    def operand(self, index: int, beside: int | None = None) -> Expression:
        """An input as a tensor, or as a Python number where it has one element that is known and broadcasts away
        beside input `beside` (the other one of two)."""
        other = 1 - index if beside is None else beside
        return self.writer.operand(self.value(index), self.value(other))

    def number(self, index: int) -> Expression:
        """An input of one element as a Python number, read from the device if it must be."""
        return self.writer.number(self.value(index))

    def numbers(self, index: int) -> Expression:
        """An input of rank 1 as a list of Python numbers, read from the device if it must be."""
        return self.writer.numbers(self.value(index))

    def elements(self, index: int) -> list[Expression] | None:
        """An input of rank 1 as one expression an element; None when its length is not known."""
        return self.writer.each(self.value(index))

    def raw(self, index: int) -> Expression:
        """An input in the form it has: for sequences, optionals, maps, strings, and operators that move any form."""
        return self.writer.raw(self.value(index))

    def size(self, index: int, axis: int) -> Expression:
        """One size of an input: a number, a named size, or `x.shape[axis]`."""
        return self.writer.size(self.value(index), axis)

    # -- attributes

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute, else the standard's default, else `default`. Floats come as people write them, unless the node
        computes in 64 bits: an attribute has 32, and 1e-05 is another number than 9.999999747378752e-06 there."""
        value = self.node.attributes.get(name)
        if value is None:
            schema = schemas.schema(self.node.domain, self.node.op_type, self.node.version)
            known = schema.attributes.get(name) if schema is not None else None
            value = known.default if known is not None and known.default is not None else default
        written = _exact if self._is_wide() else rounded
        if isinstance(value, float):
            return written(value)
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        if isinstance(value, list | tuple) and value and isinstance(value[0], float):
            return tuple(written(each) for each in value)
        return tuple(value) if isinstance(value, list) else value

    def _is_wide(self) -> bool:
        known = [*(each for each in self.node.inputs if each is not None), *self.node.outputs]
        return any(isinstance(each.type, TensorType) and each.type.dtype is ElementType.f64 for each in known)

    def flag(self, name: str) -> bool:
        """An attribute that is 0 or 1."""
        return bool(self.attribute(name, 0))

    def axis(self, name: str = "axis", default: int | None = None, rank: int | None = None) -> int:
        """An attribute that counts axes of the first input, from 0; negative when the rank is not known."""
        axis = self.node.attributes.get(name)
        if axis is None:
            axis = default if default is not None else self.attribute(name)
        rank = rank if rank is not None else self.known_rank(0)
        return int(axis) + rank if axis < 0 and rank is not None else int(axis)

    # -- outputs

    def wanted(self, index: int) -> bool:
        """Whether anybody uses an output."""
        outputs = self.node.outputs
        return index < len(outputs) and outputs[index].is_used

    def output_type(self, index: int = 0) -> TensorType:
        return self.node.outputs[index].tensor

    def output_dtype(self, index: int = 0) -> ElementType:
        """The element type of an output, which inference must know."""
        found = self.node.outputs[index].tensor.dtype
        if found is None:
            raise Unsupported("the element type of the result is not known")
        return found

    # -- writing

    @property
    def device(self) -> Expression:
        """Where new tensors belong."""
        return self.writer.device

    def function(self, module: str, name: str) -> Expression:
        """A function of `burn.tensor` or `burn_import.functions`: `op.function("activation", "hard_swish")`; the import
        is written too."""
        return self.writer.function(module, name)

    def imported(self, module: str, name: str) -> Expression:
        """Any other name of the framework, with its import: `op.imported("burn.ops.constants", "arange")`. Names that
        generated source may import are listed in `code.names.RESERVED`."""
        return self.writer.imported(module, name)

    def named(self, name: str) -> Expression:
        """What Python or the framework calls so, and every source may: `op.named("Tensor.cat")(parts, 0)`."""
        return self.writer.named(name)

    def new(self, content: Argument, dtype: ElementType) -> Expression:
        """A tensor of Python numbers: `constant([batch, 2], burn.i64, x.device)`."""
        return self.writer.new(content, dtype)

    def full(self, shape: Argument, fill: Argument, dtype: ElementType) -> Expression:
        """A tensor full of one number."""
        return self.named("Tensor.full")(shape, fill, self.device, dtype)

    def cast(self, value: Expression, dtype: ElementType) -> Expression:
        return value.method("cast", dtype)

    def assign(self, hint: str, value: Argument) -> Expression:
        """A variable that holds `value`, for what is written more than once. Simple expressions stay as they are."""
        expression = literal(value)
        return expression if expression.simple else self.writer.assign(hint, expression)

    def unpack(self, value: Expression, count: int | None = None) -> list[Expression | None]:
        """The first outputs of the node from a tuple or list: `values, indices = ...`."""
        return self.writer.unpack(self.node, value, len(self.node.outputs) if count is None else count)

    def apart(self, value: Expression, hints: Sequence[str | None]) -> list[Expression | None]:
        """The elements of a tuple, each in a variable; None where nobody wants one: `output, state = ...`."""
        return self.writer.apart(value, hints)

    def closure(self, name: str, hint: str, arguments: Sequence[str]) -> Expression:
        """A function of tensors around a body, which gives the body's first result."""
        return self.writer.closure(self.node.attributes[name], hint, arguments)

    def statement(self, *parts: str | Expression) -> None:
        """One statement of keywords of ours and expressions: `op.statement("assert ", condition)`."""
        self.writer.statement("".join(part if isinstance(part, str) else part.text for part in parts))

    def block(self, *parts: str | Expression) -> AbstractContextManager[None]:
        """`with op.block("if ", condition, ":"):`; what is written inside is indented."""
        return self.writer.block("".join(part if isinstance(part, str) else part.text for part in parts))

    def body(self, name: str, inputs: Sequence[Expression | None] = (), number_first: bool = False) -> list[Expression]:
        """Write a body here, its inputs bound to expressions, and give its results; the first one as a number where
        it is run and decides."""
        return self.writer.body(self.node.attributes[name], inputs, number_first)

    def fresh(self, hint: str) -> str:
        """A variable name that is not taken."""
        return self.writer.fresh(hint)

    # -- what is learnt

    def weight(self, index: int, change: Callable[[Array], Array] | None = None) -> Weight:
        """A constant input for the record, transposed or split by `change` if need be."""
        value = self.value(index)
        if value.constant is None:
            raise Unsupported(f"input {index} is not a constant")
        return Weight(value, change)

    def layer(
        self,
        kind: str,
        *settings: Argument,
        weights: Mapping[str, Source] | None = None,
        mode: str | None = None,
        **keywords: Argument,
    ) -> Expression:
        """A field that holds a layer of `burn.nn`, such as "conv.Conv2d"; its config gets the settings.

        `weights` has the parameters by name. A layer without any is made without a device.
        """
        return self.writer.layer(self, kind, settings, keywords, dict(weights or {}), mode)

    def parameter(self, index: int, hint: str | None = None) -> Expression:
        """A constant input as a `Param` of the model, whatever its size."""
        return self.writer.parameter(self.value(index), hint, self.weight(index))

    def table(self, hint: str, array: Array) -> Expression:
        """A constant that the row computed: in the source when it is small, else in the record."""
        return self.writer.table(hint, np.asarray(array))

    # -- neighbours

    def followed_by(self, name: str) -> Node | None:
        """The next node, when it is a `name` and the only one that uses the first output."""
        output = self.node.outputs[0]
        uses = output.uses
        if len(uses) != 1 or any(each.is_used for each in self.node.outputs[1:]):
            return None
        user = uses[0][0]
        if not isinstance(user, Node) or user.op_type != name or user.domain or user.graph is not self.node.graph:
            return None
        return user if self.writer.holds(user) else None

    def absorb(self, node: Node) -> None:
        """What this row gives is the result of `node` too, which is not written any more."""
        self.absorbed = node


def _exact(value: float) -> float:
    return float(np.float32(value))


__all__ = ["ElementType", "Operation", "Size", "Unsupported"]
