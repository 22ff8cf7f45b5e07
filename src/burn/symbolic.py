"""Sizes that stand for more than one number: a function that is recorded with them serves every size.

A `Symbolic` is computed with like an int. It knows its expression over named sizes (`burn.dim`) and the number that it
has in this recording. Where the number decides something - a comparison, an index, a text - what was found is written
down as an assumption. What was recorded holds for all sizes for which its assumptions hold, so that it can be too
special and never wrong:

    found = Assumptions()
    length = found.symbol("length", 24)
    rows = (length + 7) // 8              # (length + 7)//8, here 3
    rows > 1                              # True, and `found` has: (length + 7)//8 - 2 >= 0
    found.function(["length"])(40)        # True: 40 would have gone the same way

It is no int, since code in C reads those without asking. `number(x)` is the int of either and an assumption.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from burn.dim import Dim, Linear, TooComplex, floor_divide, is_at_least

Size: TypeAlias = Any  # int | Symbolic

_RELATIONS: dict[str, Callable[[int], bool]] = {
    "==": lambda x: x == 0, "!=": lambda x: x != 0, ">=": lambda x: x >= 0,
}  # fmt: skip


class Assumptions:
    """What a recording took for granted about its named sizes: expressions that are, or are not, 0, or at least 0."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, Dim], str] = {}
        """Relations to 0, each with the place in the source that asked."""

    def symbol(self, name: str, value: int) -> Symbolic:
        """A named size of at least 1 that has a value in this recording."""
        if not name.isidentifier():
            raise ValueError(f"symbol: {name!r} is no identifier")
        if value < 1:
            raise ValueError(f"symbol: {name} is {value}, and a named size is at least 1")
        return Symbolic(Dim(name), value, self)

    def add(self, relation: str, dim: Dim) -> None:
        """Take for granted that an expression is in a relation to 0."""
        if (relation, dim) not in self.found:
            self.found[relation, dim] = _place()

    def fixed(self) -> dict[str, str]:
        """The expressions that have to be what they were, and the places that asked: where generality was lost."""
        return {f"{dim} == 0": place for (relation, dim), place in self.found.items() if relation == "=="}

    def conditions(self) -> list[str]:
        """The assumptions as Python expressions over the named sizes."""
        return [f"{dim} {relation} 0" for relation, dim in self.found]

    def function(self, names: Sequence[str]) -> Callable[..., bool]:
        """A function of the named sizes, in this order, that tells whether every assumption holds."""
        parts = [f"{name} >= 1" for name in names] + self.conditions()
        text = f"lambda {', '.join(names)}: {' and '.join(parts) or 'True'}"
        made: Callable[..., bool] = eval(compile(text, __file__, "eval"), {"min": min, "max": max})
        return made

    def __len__(self) -> int:
        return len(self.found)


class Symbolic:
    """A size that is known in this recording, and may be another one later."""

    __slots__ = ("assumptions", "dim", "value")

    def __init__(self, dim: Dim, value: int, assumptions: Assumptions) -> None:
        self.dim, self.value, self.assumptions = dim, value, assumptions

    # Arithmetic: an expression as long as there is one

    def _made(self, expression: Callable[[Linear, Linear], Linear], value: int, other: Size) -> Size:
        try:
            found = expression(self.dim, linear(other))
        except TooComplex:
            number(self), number(other)
            return value
        return Symbolic(found, value, self.assumptions) if isinstance(found, Dim) else found

    def __add__(self, other: Any) -> Any:
        if not is_size(other):
            return NotImplemented
        return self._made(lambda x, y: x + y, self.value + value_of(other), other)

    def __sub__(self, other: Any) -> Any:
        if not is_size(other):
            return NotImplemented
        return self._made(lambda x, y: x - y, self.value - value_of(other), other)

    def __rsub__(self, other: Any) -> Any:
        if not is_size(other):
            return NotImplemented
        return self._made(lambda x, y: y - x, value_of(other) - self.value, other)

    def __mul__(self, other: Any) -> Any:
        if not is_size(other):
            return NotImplemented
        return self._made(lambda x, y: x * y, self.value * value_of(other), other)

    __radd__, __rmul__ = __add__, __mul__

    def __floordiv__(self, other: Any) -> Any:
        if not is_size(other):
            return NotImplemented
        if other == 0:
            raise ZeroDivisionError("division by zero")
        return self._made(floor_divide, self.value // value_of(other), other)

    def __rfloordiv__(self, other: Any) -> Any:
        if not is_size(other):
            return NotImplemented
        if self == 0:
            raise ZeroDivisionError("division by zero")
        return self._made(lambda x, y: floor_divide(y, x), value_of(other) // self.value, other)

    def __mod__(self, other: Any) -> Any:
        return NotImplemented if not is_size(other) else self - (self // other) * other

    def __rmod__(self, other: Any) -> Any:
        return NotImplemented if not is_size(other) else other - (other // self) * self

    def __divmod__(self, other: Any) -> Any:
        quotient = self // other
        return quotient, self - quotient * other

    def __rdivmod__(self, other: Any) -> Any:
        quotient = other // self
        return quotient, other - quotient * self

    def __neg__(self) -> Any:
        return self._made(lambda x, y: -x, -self.value, 0)

    def __pos__(self) -> Symbolic:
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    # Questions: answered, and written down

    def __eq__(self, other: object) -> bool:
        if not is_size(other):
            return False
        apart = self._apart(other)
        if apart is None or not isinstance(apart, Dim):
            return self.value == value_of(other) if apart is None else apart == 0
        equal = self.value == value_of(other)
        if not equal and (is_at_least(apart, 1) or is_at_least(-apart, 1)):
            return False
        self.assumptions.add("==" if equal else "!=", apart)
        return equal

    def __hash__(self) -> int:
        return hash(self.dim)

    def _at_least(self, other: Any) -> bool:
        """Whether this is `other` or more."""
        apart = self._apart(other)
        if apart is None or not isinstance(apart, Dim):
            return self.value >= value_of(other) if apart is None else apart >= 0
        if is_at_least(apart, 0):
            return True
        if is_at_least(-apart, 1):
            return False
        found = self.value >= value_of(other)
        self.assumptions.add(">=", apart if found else _whole(-apart - 1))
        return found

    def _apart(self, other: Any) -> Linear | None:
        """The difference; None where it has no expression, and then both are taken for what they are."""
        try:
            return self.dim - linear(other)
        except TooComplex:
            number(self), number(other)
            return None

    def __ge__(self, other: Any) -> bool:
        return self._at_least(other) if is_size(other) else number(self) >= other

    def __lt__(self, other: Any) -> bool:
        return not self._at_least(other) if is_size(other) else number(self) < other

    def __gt__(self, other: Any) -> bool:
        return self._at_least(other + 1) if is_size(other) else number(self) > other

    def __le__(self, other: Any) -> bool:
        return not self._at_least(other + 1) if is_size(other) else number(self) <= other

    def __bool__(self) -> bool:
        return self != 0

    # Everything else needs the number

    def __index__(self) -> int:
        self.assumptions.add("==", _whole(self.dim - self.value))
        return self.value

    __int__ = __index__
    __trunc__ = __floor__ = __ceil__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __repr__(self) -> str:
        return repr(self.__index__())

    __str__ = __repr__

    def __format__(self, how: str) -> str:
        return format(self.__index__(), how)

    def __reduce__(self) -> Any:
        return int, (self.__index__(),)


def _number_method(name: str) -> Any:
    def method(self: Symbolic, *others: Any) -> Any:
        return getattr(self.__index__(), name)(*map(number, others))

    return method


for _name in (
    "__truediv__", "__rtruediv__", "__pow__", "__rpow__", "__and__", "__rand__", "__or__", "__ror__", "__xor__",
    "__rxor__", "__lshift__", "__rlshift__", "__rshift__", "__rrshift__", "__invert__", "__round__", "bit_length",
):  # fmt: skip
    setattr(Symbolic, _name, _number_method(_name))


def is_size(value: object) -> bool:
    """Whether something is an int, bools apart from none, or stands for one."""
    return value.__class__ is Symbolic or isinstance(value, int)


def number(value: Any) -> Any:
    """The number of a size, which the recording depends on from now on; anything else is itself."""
    return value.__index__() if value.__class__ is Symbolic else value


def value_of(value: Any) -> Any:
    """The number of a size in this recording, which must decide nothing."""
    return value.value if value.__class__ is Symbolic else value


def linear(value: Any) -> Linear:
    """The expression of a size: an int, or a `Dim`."""
    return value.dim if value.__class__ is Symbolic else int(value)


def is_symbolic(values: Iterable[Any]) -> bool:
    """Whether one of some sizes may be another one later."""
    return any(each.__class__ is Symbolic for each in values)


def _whole(value: Linear) -> Dim:
    assert isinstance(value, Dim)
    return value


def _place() -> str:
    """The file and line that asked for a number."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back  # type: ignore[assignment]
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
