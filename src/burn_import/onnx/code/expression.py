"""Expressions of the generated source, built and never pasted together.

An `Expression` is text with a precedence, so that brackets appear where they are needed and nowhere else:

    x = Expression.name("x")
    binary("*", binary("+", x, 1), 2)                    # (x + 1) * 2
    x.method("reshape", [2, -1]).method("softmax", -1)   # x.reshape([2, -1]).softmax(-1)

Whoever runs a graph instead of writing it gives the same functions `Live` expressions (`code/live.py`), which hold a
value: then methods are called and operators applied at once.

Arguments may be expressions or Python values: numbers, strings, None, lists, tuples and element types become their
literals. Names of methods, attributes and keywords must be identifiers. Nothing else turns a string into source, so
no text of a model can end up in it unescaped.
"""

from __future__ import annotations

import enum
import keyword
import operator as operators
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np

from burn.classes import dataclass
from burn.dtype import DType
from burn_import.onnx.ir.types import ElementType

APPLIED: dict[str, Callable[[Any, Any], Any]] = {
    "==": operators.eq, "!=": operators.ne, "<": operators.lt, "<=": operators.le, ">": operators.gt,
    ">=": operators.ge, "|": operators.or_, "^": operators.xor, "&": operators.and_, "<<": operators.lshift,
    ">>": operators.rshift, "+": operators.add, "-": operators.sub, "*": operators.mul, "/": operators.truediv,
    "//": operators.floordiv, "%": operators.mod, "@": operators.matmul, "**": operators.pow,
}  # fmt: skip
"""What the operators do with values."""
_SAFE = frozenset("+-*")  # known without computing: the sizes of a product
_SIGNS: dict[str, Callable[[Any], Any]] = {"-": operators.neg, "~": operators.invert, "+": operators.pos}


class Form(enum.Enum):
    """How a value exists while the generated code runs."""

    tensor = "tensor"  # burn.Tensor
    number = "number"  # a Python int, float or bool in the place of a tensor of rank 0
    numbers = "numbers"  # a Python list of them in the place of a tensor of rank 1
    other = "other"  # list of values, dict, None, array of strings: what ONNX calls sequence, map, optional, string


_PUBLIC = {
    "bf16", "bool_", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64",
}  # fmt: skip
CONDITIONAL, COMPARISON, BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, PRODUCT, UNARY, POWER, ATOM = range(11)
_BINARY = {
    "==": COMPARISON, "!=": COMPARISON, "<": COMPARISON, "<=": COMPARISON, ">": COMPARISON, ">=": COMPARISON,
    "|": BIT_OR, "^": BIT_XOR, "&": BIT_AND, "<<": SHIFT, ">>": SHIFT, "+": SUM, "-": SUM, "*": PRODUCT,
    "/": PRODUCT, "//": PRODUCT, "%": PRODUCT, "@": PRODUCT, "**": POWER,
}  # fmt: skip


class Unknown(enum.Enum):
    """What stands for the value of an expression that only the generated source has."""

    value = "unknown"


@dataclass(frozen=True, slots=True)
class Expression:
    """Source text of one value. `simple` says that writing it twice costs nothing: a name, an attribute, a literal.

    `constant` is what a literal stands for.
    """

    text: str
    precedence: int = ATOM
    form: Form = Form.tensor
    simple: bool = False
    constant: Any = field(default=Unknown.value, compare=False)

    is_live: ClassVar[bool] = False
    """Whether there is a value in place of text."""

    @classmethod
    def name(cls, name: str, form: Form = Form.tensor) -> Expression:
        return cls(identifier(name), ATOM, form, simple=True)

    def bracketed(self, least: int) -> str:
        """The text, in brackets when it binds less than `least`."""
        return self.text if self.precedence >= least else f"({self.text})"

    def method(self, name: str, *arguments: Argument, **keywords: Argument) -> Expression:
        """`self.name(...)`"""
        return call(self.attribute(name), *arguments, **keywords)

    def attribute(self, name: str) -> Expression:
        """`self.name`"""
        receiver = self.bracketed(ATOM)
        if receiver[0].isdigit():
            receiver = f"({receiver})"
        return Expression(f"{receiver}.{identifier(name)}", simple=self.simple)

    def __call__(self, *arguments: Argument, **keywords: Argument) -> Expression:
        """`self(...)`"""
        return call(self, *arguments, **keywords)

    def item(self, index: Argument) -> Expression:
        """`self[index]`"""
        return Expression(f"{self.bracketed(ATOM)}[{literal(index).text}]", simple=self.simple)

    def part(
        self, start: Argument | None = None, stop: Argument | None = None, step: Argument | None = None
    ) -> Expression:
        """`self[start:stop:step]`"""
        bounds = ["" if each is None else literal(each).text for each in (start, stop)]
        if step is not None:
            bounds.append(literal(step).text)
        return Expression(f"{self.bracketed(ATOM)}[{sliced(bounds)}]", form=self.form)

    def parts(self, bounds: Sequence[Part]) -> Expression:
        """`self[start:stop:step, ...]`, one triple for each dim."""
        written = [
            sliced(["" if each is None else literal(each).text for each in (start, stop)]
                   + ([] if step is None else [literal(step).text]))
            for start, stop, step in bounds
        ]  # fmt: skip
        return Expression(f"{self.bracketed(ATOM)}[{', '.join(written)}]")

    def number(self) -> Expression:
        """This expression, known to be a Python number."""
        return replace(self, form=Form.number)

    def numbers(self) -> Expression:
        """This expression, known to be a list of Python numbers."""
        return replace(self, form=Form.numbers)

    def other(self) -> Expression:
        """This expression, known to be neither a tensor nor numbers."""
        return replace(self, form=Form.other)

    def tensor(self) -> Expression:
        """This expression, known to be a tensor."""
        return replace(self, form=Form.tensor)

    def is_there(self) -> Expression:
        """`self is not None`"""
        return Expression(f"{self.bracketed(COMPARISON + 1)} is not None", COMPARISON, Form.number)

    def or_else(self, other: Argument) -> Expression:
        """`self or other`"""
        return Expression(f"{self.text} or {literal(other).text}", CONDITIONAL)

    def applied(self, function: Callable[..., Any], *arguments: Argument) -> Expression:
        """What a function gives for values; live expressions know how."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.text


def sliced(bounds: Sequence[str]) -> str:
    """The bounds of a slice with colons between them, spaced where one of them is more than a name or a number."""
    if all(not each or _BOUND.match(each) for each in bounds):
        return ":".join(bounds)
    return " : ".join(bounds).strip().replace("  ", " ")


_OPERAND = re.compile(r"^-?[\w.]+$")  # what stands close to a power
_BOUND = re.compile(r"^-?\w+$")
Part: TypeAlias = tuple["Argument | None", "Argument | None", "Argument | None"]  # start, stop and step of one dim
Argument: TypeAlias = Any  # Expression, number, str, None, DType, ElementType, or a list or tuple of arguments


def identifier(name: str) -> str:
    """`name`, which must be one already; names of models go through `names.Names` first."""
    assert name.isidentifier(), name
    assert name.isascii(), name
    assert not keyword.iskeyword(name), name
    return name


def literal(value: Argument) -> Expression:
    """A Python value as source; an expression is itself."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, list | tuple):
        parts = [literal(each) for each in value]
        live = next((each for each in parts if each.is_live), None)
        if live is not None:
            return live.applied(_a_list if isinstance(value, list) else _a_tuple, *parts)
        known: Any = Unknown.value
        if not any(each.constant is Unknown.value for each in parts):
            known = type(value)([each.constant for each in parts])
        text = ", ".join(each.text for each in parts)
        written = f"[{text}]" if isinstance(value, list) else f"({text}{',' if len(value) == 1 else ''})"
        return Expression(written, form=Form.numbers, constant=known)
    if isinstance(value, ElementType):
        assert value.burn is not None, f"{value} has no dtype"
        value = value.burn
    if isinstance(value, DType):
        return Expression(_dtype_name(value), simple=True, form=Form.other, constant=value)
    if isinstance(value, np.generic) or hasattr(value, "dtype"):
        value = shortest(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, bool | int):
        negative = not isinstance(value, bool) and value < 0
        return Expression(repr(value), UNARY if negative else ATOM, Form.number, simple=True, constant=value)
    if isinstance(value, str):
        return Expression(_quoted(value), form=Form.other, simple=True, constant=value)
    if value is None or isinstance(value, bytes):
        return Expression(ascii(value), form=Form.other, simple=True, constant=value)
    raise TypeError(f"{value!r} has no literal")


def _dtype_name(dtype: DType) -> str:
    name = identifier("bool_" if str(dtype) == "bool" else str(dtype))
    return f"burn.{name}" if name in _PUBLIC else f"burn.dtype.{name}"


def _quoted(value: str) -> str:
    """A string in double quotes, unless it has quotes itself; everything but printable ASCII is escaped."""
    return ascii(value) if "'" in value or '"' in value else f'"{ascii(value)[1:-1]}"'


def _float(value: float) -> Expression:
    if value != value or value in (float("inf"), float("-inf")):
        return Expression(f'float("{value}")', form=Form.number, simple=True, constant=value)
    text = repr(value).replace("e+", "e")
    return Expression(text, UNARY if text[0] == "-" else ATOM, Form.number, simple=True, constant=value)


def _a_list(*parts: Any) -> list[Any]:
    return list(parts)


def _a_tuple(*parts: Any) -> tuple[Any, ...]:
    return parts


def shortest(value: Any) -> bool | int | float:
    """A NumPy number as the shortest Python number that is the same in its dtype."""
    if value.dtype.kind in "biu":
        return value.item()  # type: ignore[no-any-return]
    return float(str(value))


def first(array: Any) -> Expression:
    """The first element of an array as a literal."""
    return literal(array.reshape(-1)[0])


def rounded(value: float) -> float:
    """A number that a file holds in 32 bits, as people write it: 1e-05 instead of 9.999999747378752e-06."""
    narrow = np.float32(value)
    return float(str(narrow)) if float(narrow) == value else value


def call(function: Expression, *arguments: Argument, **keywords: Argument) -> Expression:
    """`function(...)`"""
    if function.is_live:
        return function(*arguments, **keywords)
    parts = [literal(each).text for each in arguments]
    parts += [f"{identifier(name)}={literal(each).text}" for name, each in keywords.items()]
    return Expression(f"{function.bracketed(ATOM)}({', '.join(parts)})")


def binary(operator: str, left: Argument, right: Argument) -> Expression:
    """`left operator right`; the result is a number when both are."""
    level = _BINARY[operator]
    one, other = literal(left), literal(right)
    if one.is_live or other.is_live:
        return (one if one.is_live else other).applied(APPLIED[operator], one, other)
    lower, upper = (level + 1, level + 1) if level == COMPARISON else (level, level + 1)
    if operator == "**":
        lower, upper = POWER + 1, UNARY
    form = Form.number if one.form is other.form is Form.number else Form.tensor
    first, second = one.bracketed(lower), other.bracketed(upper)
    close = operator == "**" and _OPERAND.match(first) and _OPERAND.match(second)
    known: Any = Unknown.value
    if operator in _SAFE and isinstance(one.constant, int) and isinstance(other.constant, int):
        known = APPLIED[operator](one.constant, other.constant)
    text = f"{first}{operator}{second}" if close else f"{first} {operator} {second}"
    return Expression(text, level, form, constant=known)


def unary(operator: str, value: Argument) -> Expression:
    """`-value`, `~value`"""
    assert operator in ("-", "~", "+")
    one = literal(value)
    if one.is_live:
        return one.applied(_SIGNS[operator], one)
    text = f"({one.text})" if one.precedence == POWER else one.bracketed(UNARY)
    known = _SIGNS[operator](one.constant) if isinstance(one.constant, int) else Unknown.value
    return Expression(f"{operator}{text}", UNARY, one.form, constant=known)


def conditional(condition: Argument, one: Argument, other: Argument) -> Expression:
    """`one if condition else other`"""
    first, second = literal(one), literal(other)
    asked = literal(condition)
    if asked.is_live:
        return asked.applied(_chosen, asked, first, second)
    texts = [literal(each).bracketed(CONDITIONAL + 1) for each in (first, condition)]
    return Expression(f"{texts[0]} if {texts[1]} else {second.text}", CONDITIONAL, first.form)


def _chosen(condition: Any, one: Any, other: Any) -> Any:
    return one if condition else other


def comprehension(value: Expression, variable: str, iterable: Expression) -> Expression:
    """`[value for variable in iterable]`"""
    names = ", ".join(identifier(each) for each in variable.split(", "))
    return Expression(f"[{value.text} for {names} in {iterable.text}]", form=Form.other)


def product(parts: Iterable[Argument]) -> Expression:
    """The parts multiplied; 1 when there are none."""
    result: Expression | None = None
    for each in parts:
        result = literal(each) if result is None else binary("*", result, each)
    return literal(1) if result is None else result
