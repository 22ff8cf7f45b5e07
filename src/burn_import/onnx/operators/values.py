"""What rows ask of the values around a node, whoever asks: the writer of source, or what runs the graph at once.

Both decide in the same way in which form an operand comes - a tensor, a number, a list of numbers - so that the source
of a model and its runs do the same. They differ in what an expression is.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from burn_import.onnx.code.expression import Argument, Expression, Form, call, first, literal
from burn_import.onnx.code.fields import Array, Source, Weight
from burn_import.onnx.code.frame import form_of
from burn_import.onnx.errors import TextOnly
from burn_import.onnx.ir.graph import Graph, Node, Value
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.operators.operation import Operation, Unsupported
from burn_import.onnx.passes.infer.context import content_of

ARITHMETIC = frozenset(each for each in ElementType if each.burn is not None and each.burn.is_arithmetic)


class Values:
    """Finds operands: computed before, known from sizes, or constant."""

    @abstractmethod
    def lookup(self, value: Value) -> Expression | None:
        """The expression of a value that was computed before, here or around here."""

    @abstractmethod
    def element(self, element: Any) -> Expression | None:
        """One element of a content: a number or a size; None where it is not known."""

    @abstractmethod
    def constant(self, value: Value) -> Expression:
        """A constant as a tensor."""

    @abstractmethod
    def text(self, array: Array) -> Expression:
        """An array of strings."""

    @abstractmethod
    def imported(self, module: str, name: str) -> Expression:
        """A name of the framework."""

    @property
    @abstractmethod
    def device(self) -> Expression:
        """Where new tensors belong."""

    @abstractmethod
    def is_learnt(self, value: Value) -> bool:
        """Whether a number belongs into the record."""

    # What rows write beside expressions

    is_live = False
    """Whether nodes are run as they are met."""
    done: set[Node]
    """Nodes that others have taken over."""

    @abstractmethod
    def named(self, name: str) -> Expression:
        """What Python or the framework calls so."""

    @abstractmethod
    def function(self, module: str, name: str) -> Expression:
        """A function that nodes call."""

    @abstractmethod
    def assign(self, hint: str, value: Expression) -> Expression:
        """A variable."""

    @abstractmethod
    def unpack(self, node: Node, value: Expression, count: int) -> list[Expression | None]:
        """The outputs of a node from a tuple."""

    @abstractmethod
    def apart(self, value: Expression, hints: Sequence[str | None]) -> list[Expression | None]:
        """The elements of a tuple."""

    @abstractmethod
    def closure(self, graph: Graph, hint: str, arguments: Sequence[str]) -> Expression:
        """A function around a body."""

    @abstractmethod
    def body(self, graph: Graph, inputs: Sequence[Expression | None], number_first: bool = False) -> list[Expression]:
        """The results of a body."""

    @abstractmethod
    def holds(self, node: Node) -> bool:
        """Whether a node is met here, so that another one may take it over."""

    @abstractmethod
    def bind(self, value: Value, expression: Expression) -> None:
        """Remember the expression of a value."""

    @abstractmethod
    def layer(
        self, op: Operation, kind: str, settings: Sequence[Argument], keywords: dict[str, Argument],
        weights: dict[str, Source], mode: str | None,
    ) -> Expression:  # fmt: skip
        """A layer with its weights."""

    @abstractmethod
    def parameter(self, value: Value, hint: str | None, weight: Weight) -> Expression:
        """A constant as a parameter."""

    @abstractmethod
    def table(self, hint: str, array: Array) -> Expression:
        """A constant that a row computed."""

    def fresh(self, hint: str) -> str:
        """A name for a variable, in source."""
        raise TextOnly(hint)

    def statement(self, text: str, comment: str = "") -> None:
        """A line of source."""
        raise TextOnly(text)

    def block(self, header: str) -> AbstractContextManager[None]:
        """Lines of source below a header."""
        raise TextOnly(header)

    # Operands

    def result(self, value: Value) -> Expression:
        """A result of the function or of a body: tensors as tensors, everything else as it is."""
        return self.tensor(value) if form_of(value) is Form.tensor else self.raw(value)

    def raw(self, value: Value) -> Expression:
        known = self.lookup(value)
        if known is not None:
            return known
        if value.constant is not None and value.constant.dtype is ElementType.string:
            return self.text(value.constant.array)
        return self.tensor(value)

    def tensor(self, value: Value) -> Expression:
        known = self.lookup(value)
        if known is not None and known.form in (Form.tensor, Form.other):
            return known
        if value.constant is not None:
            return self.constant(value)
        dtype = value.tensor.dtype
        if dtype is None:
            raise Unsupported(f"the element type of {value.name!r} is not known")
        content = known
        if content is None:
            each = self.each(value)
            if each is None:
                raise Unsupported(f"{value.name!r} has no expression")
            content = each[0] if value.tensor.rank == 0 else literal(list(each))
        return self.new(content, dtype)

    def new(self, content: Argument, dtype: ElementType) -> Expression:
        """A tensor of Python numbers; a captured call keeps it as a part of the program."""
        return call(self.imported("burn.ops.constants", "constant"), content, dtype, self.device)

    def operand(self, value: Value, beside: Value) -> Expression:
        constant, rank, other = value.constant, value.tensor.rank, beside.tensor.rank
        if (
            constant is not None
            and constant.size == 1
            and rank is not None
            and beside.constant is None
            and (rank == 0 or (other is not None and rank <= other))
            and constant.dtype in ARITHMETIC
            and beside.tensor.dtype is constant.dtype
            and self._is_plain_tensor(beside)
            and not self.is_learnt(value)
        ):
            return first(constant.array)
        if value.constant is None and rank == 0 and self._is_plain_tensor(beside):
            known = self.lookup(value)
            if known is not None and known.form is Form.number:
                return known
            if known is None:
                each = self.each(value)
                if each is not None:
                    return each[0]
        return self.tensor(value)

    def _is_plain_tensor(self, value: Value) -> bool:
        known = self.lookup(value)
        return known is not None and known.form is Form.tensor

    def number(self, value: Value) -> Expression:
        found = self.each(value)
        if found is not None and len(found) == 1:
            return found[0]
        known = self.lookup(value)
        if known is not None and known.form is Form.number:
            return known
        if known is not None and known.form is Form.numbers:
            return known.item(0).number()
        if value.constant is not None and value.constant.size == 1:
            return first(value.constant.array)
        return self.tensor(value).method("item").number()

    def numbers(self, value: Value) -> Expression:
        found = self.each(value)
        if found is not None:
            return literal(list(found))
        known = self.lookup(value)
        if known is not None and known.form is Form.numbers:
            return known
        if value.tensor.rank == 0:
            return literal([self.number(value)])
        return self.tensor(value).method("tolist").numbers()

    # Sizes

    def elements(self, value: Value) -> list[Any] | None:
        """What inference knows about the elements of a value."""
        content = content_of(value)
        return None if content is None else list(content.reshape(-1).tolist())

    def each(self, value: Value) -> list[Expression] | None:
        """One expression for each element of a value of rank 0 or 1; None when one of them is not known."""
        elements = self.elements(value)
        if elements is None or (value.tensor.rank or 0) > 1:
            return None
        found: list[Expression] = []
        for element in elements:
            one = self.element(element)
            if one is None:
                return None
            found.append(one)
        return found

    def size(self, value: Value, axis: int) -> Expression:
        """One size of a value."""
        shape = value.tensor.shape
        if shape is not None:
            found = self.element(shape[axis])
            if found is not None:
                return found
        return self.tensor(value).attribute("shape").item(axis).number()

    def is_known(self, node: Node) -> bool:
        """Whether every result that is used can be written from sizes, so that nothing has to be computed."""
        for value in node.outputs:
            if not value.is_used:
                continue
            dtype, rank = value.tensor.dtype, value.tensor.rank
            if dtype not in (ElementType.i64, ElementType.i32) or rank is None or rank > 1:
                return False
            found = self.each(value)
            if found is None:
                return False
        return True


__all__ = ["ARITHMETIC", "Values"]
