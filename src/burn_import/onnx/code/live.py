"""Expressions that are values: rows of operators compute with them as they write with text.

    x = Live(tensor)
    x.method("softmax", -1)          # calls tensor.softmax(-1)
    binary("*", x, literal(2.0))     # multiplies

A row that puts its result together from texts of its own cannot do that; it raises `TextOnly`, and the model runs as
written source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from burn import Tensor
from burn.dtype import DType
from burn.symbolic import is_size
from burn_import.onnx.code.expression import Argument, Expression, Form, Part, Unknown, shortest
from burn_import.onnx.errors import TextOnly
from burn_import.onnx.ir.types import ElementType


class Live(Expression):
    """A value in the place of source text."""

    __slots__ = ("value",)

    is_live: ClassVar[bool] = True
    value: Any

    def __init__(self, value: Any, form: Form | None = None) -> None:
        put = object.__setattr__
        put(self, "value", value)
        put(self, "form", form_of_value(value) if form is None else form)
        put(self, "precedence", 10)
        put(self, "simple", True)
        put(self, "constant", Unknown.value)

    @property
    def text(self) -> str:
        raise TextOnly(f"the text of {type(self.value).__name__}")

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"Live({self.value!r})"

    def method(self, name: str, *arguments: Argument, **keywords: Argument) -> Live:
        return Live(getattr(self.value, name)(*map(plain, arguments), **_plain_values(keywords)))

    def attribute(self, name: str) -> Live:
        return Live(getattr(self.value, name))

    def __call__(self, *arguments: Argument, **keywords: Argument) -> Live:
        return Live(self.value(*map(plain, arguments), **_plain_values(keywords)))

    def item(self, index: Argument) -> Live:
        return Live(self.value[plain(index)])

    def part(self, start: Argument | None = None, stop: Argument | None = None, step: Argument | None = None) -> Live:
        return Live(self.value[plain(start) : plain(stop) : plain(step)])

    def parts(self, bounds: Sequence[Part]) -> Live:
        return Live(self.value[tuple([slice(*map(plain, each)) for each in bounds])])

    def number(self) -> Live:
        return Live(self.value, Form.number)

    def numbers(self) -> Live:
        return Live(self.value, Form.numbers)

    def other(self) -> Live:
        return Live(self.value, Form.other)

    def tensor(self) -> Live:
        return Live(self.value, Form.tensor)

    def is_there(self) -> Live:
        return Live(self.value is not None)

    def or_else(self, other: Argument) -> Live:
        return Live(self.value or plain(other))

    def applied(self, function: Callable[..., Any], *arguments: Argument) -> Live:
        return Live(function(*map(plain, arguments)))


def plain(argument: Argument) -> Any:
    """The value of an argument: that of an expression, or what a literal of it would be."""
    kind = argument.__class__
    if kind is Live:
        return argument.value
    if kind is Expression:
        if argument.constant is Unknown.value:
            raise TextOnly(argument.text)
        found = argument.constant
        return list(found) if found.__class__ is list else found
    if kind is list:
        return [plain(each) for each in argument]
    if kind is tuple:
        return tuple([plain(each) for each in argument])
    if isinstance(argument, ElementType):
        return argument.burn
    if hasattr(argument, "dtype") and not isinstance(argument, Tensor | DType):
        return shortest(argument)
    return argument


def _plain_values(keywords: dict[str, Argument]) -> dict[str, Any]:
    return {name: plain(each) for name, each in keywords.items()} if keywords else keywords


def form_of_value(value: Any) -> Form:
    """How a value exists."""
    if isinstance(value, Tensor):
        return Form.tensor
    if isinstance(value, float) or is_size(value):
        return Form.number
    if isinstance(value, list) and all(isinstance(each, float) or is_size(each) for each in value):
        return Form.numbers
    return Form.other


__all__ = ["Live", "form_of_value", "plain"]
