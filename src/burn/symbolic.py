"""Sizes that stand for more than one number: a function that is recorded with them serves every size.

A `Symbolic` is computed with like an int. It knows its expression over named sizes (`burn.dim`) and the number that it
has in this recording. Where the number decides something - a comparison, an index, a text - what was found is written
down as an assumption. What was recorded holds for all sizes for which its assumptions hold, so that it can be too
special and never wrong:

    found = Assumptions()
    length = found.symbol(24)
    rows = (length + 7) // 8       # (s0 + 7)//8, here 3
    rows > 1                       # True, and `found` has: (s0 + 7)//8 - 2 >= 0
    found.function()(40)           # True: 40 would have gone the same way

It is no int, since code in C reads those without asking. `number(x)` is the int of either and an assumption.
"""

from __future__ import annotations

import functools
import operator
import os
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any, TypeAlias, TypeVar

from burn.dim import Dim, Linear, TooComplex, floor_divide, is_at_least, maximum, source

Size: TypeAlias = Any  # int | Symbolic
T = TypeVar("T")

_NUMBERS = count()
_OURS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "burn")
"""What the paths of our packages begin with."""


class Assumptions:
    """What a recording took for granted about its named sizes: expressions that are, or are not, 0, or at least 0."""

    def __init__(self) -> None:
        self.names: list[str] = []
        """Of the sizes, in the order in which they were asked for."""
        self.values: list[int] = []
        """What they are in this recording."""
        self.found: dict[tuple[str, Dim], str] = {}
        """Relations to 0, each with the place in the source that asked."""

    def symbol(self, value: int) -> Symbolic:
        """A named size of at least 1 that has a value in this recording. No other recording has its name."""
        if value < 1:
            raise ValueError(f"symbol: a named size is at least 1, and this one is {value}")
        self.names.append(f"s{next(_NUMBERS)}")
        self.values.append(value)
        return Symbolic(Dim(self.names[-1]), value, self)

    def add(self, relation: str, dim: Dim) -> None:
        """Take for granted that an expression is in a relation to 0."""
        if (relation, dim) not in self.found:
            self.found[relation, dim] = _place()

    def fixed(self) -> dict[str, str]:
        """The expressions that have to be what they were, and the places that asked: where generality was lost."""
        return {f"{dim} == 0": place for (relation, dim), place in self.found.items() if relation == "=="}

    def pinned(self) -> list[int]:
        """Which of the named sizes, by their positions, can be no other number than they were, as far as a look at
        some of their neighbours tells."""
        holds = self.function()
        if not holds(*self.values):
            return list(range(len(self.values)))
        found = []
        for position, value in enumerate(self.values):
            others = {value + step for step in range(-4, 5)} | {value * 2, value * 3, value // 2, value * 16} - {value}
            tried = ([*self.values[:position], other, *self.values[position + 1 :]] for other in others - {value})
            if not any(holds(*numbers) for numbers in tried):
                found.append(position)
        return found

    def conditions(self) -> list[str]:
        """The assumptions as Python expressions over the named sizes."""
        return [f"{source(dim)} {relation} 0" for relation, dim in self.found]

    def function(self) -> Callable[..., bool]:
        """A function of the named sizes, in their order, that tells whether every assumption holds."""
        parts = [f"{name} >= 1" for name in self.names] + self.conditions()
        text = f"lambda {', '.join(self.names)}: {' and '.join(parts) or 'True'}"
        made: Callable[..., bool] = eval(compile(text, __file__, "eval"), {"min": min, "max": max})
        return made

    def __len__(self) -> int:
        return len(self.found)


class DoesNotFit(Exception):
    """Inputs of sizes for which what was recorded, and made ready, does not hold: it has to be made for them."""


class NotForSizes(Exception):
    """What was recorded with named sizes cannot be made ready for all of them at once."""


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
            return number(self) + other
        return self._made(lambda x, y: x + y, self.value + value_of(other), other)

    def __sub__(self, other: Any) -> Any:
        if not is_size(other):
            return number(self) - other
        return self._made(lambda x, y: x - y, self.value - value_of(other), other)

    def __rsub__(self, other: Any) -> Any:
        if not is_size(other):
            return other - number(self)
        return self._made(lambda x, y: y - x, value_of(other) - self.value, other)

    def __mul__(self, other: Any) -> Any:
        if not is_size(other):
            return number(self) * other
        return self._made(lambda x, y: x * y, self.value * value_of(other), other)

    __radd__, __rmul__ = __add__, __mul__

    def __floordiv__(self, other: Any) -> Any:
        if not is_size(other):
            return number(self) // other
        if other == 0:
            raise ZeroDivisionError("division by zero")
        return self._made(floor_divide, self.value // value_of(other), other)

    def __rfloordiv__(self, other: Any) -> Any:
        if not is_size(other):
            return other // number(self)
        if self == 0:
            raise ZeroDivisionError("division by zero")
        return self._made(lambda x, y: floor_divide(y, x), value_of(other) // self.value, other)

    def __mod__(self, other: Any) -> Any:
        return self - (self // other) * other if is_size(other) else number(self) % other

    def __rmod__(self, other: Any) -> Any:
        return other - (other // self) * self if is_size(other) else other % number(self)

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

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """Asked for what it is, it is an int, as it is elsewhere."""
        return int

    def __eq__(self, other: object) -> bool:
        if isinstance(other, float):  # NumPy's f64 is one
            return other.is_integer() and self == int(other)
        if not is_size(other):
            return False if other is None or isinstance(other, str | bytes) else bool(number(self) == other)
        apart = self._apart(other)
        if apart is None or not isinstance(apart, Dim):
            return bool(self.value == value_of(other) if apart is None else apart == 0)
        equal: bool = self.value == value_of(other)
        if not equal and (is_at_least(apart, 1) or is_at_least(-apart, 1)):
            return False
        self.assumptions.add("==" if equal else "!=", apart)
        return equal

    def __hash__(self) -> int:
        """Ours tell expressions apart; anybody else looks for the number, among other numbers."""
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith("<"):
            frame = frame.f_back
        if frame is not None and not frame.f_code.co_filename.startswith(_OURS):
            return hash(self.__index__())
        return hash(self.dim)

    def _at_least(self, other: Any) -> bool:
        """Whether this is `other` or more."""
        apart = self._apart(other)
        if apart is None or not isinstance(apart, Dim):
            return bool(self.value >= value_of(other) if apart is None else apart >= 0)
        if is_at_least(apart, 0):
            return True
        if is_at_least(-apart, 1):
            return False
        found: bool = self.value >= value_of(other)
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

    def __invert__(self) -> int:
        return ~self.__index__()

    def __round__(self, digits: int | None = None) -> int:
        return round(self.__index__(), digits)

    @property
    def numerator(self) -> Symbolic:
        """As of an int."""
        return self

    real = numerator
    denominator, imag = 1, 0

    def conjugate(self) -> Symbolic:
        """As of an int."""
        return self

    def as_integer_ratio(self) -> tuple[Symbolic, int]:
        """As of an int."""
        return self, 1

    def to_bytes(self, *args: Any, **kwargs: Any) -> bytes:
        """Of the number."""
        return self.__index__().to_bytes(*args, **kwargs)

    def bit_count(self) -> int:
        """Of the number."""
        return self.__index__().bit_count()

    def bit_length(self) -> int:
        """Of the number."""
        return self.__index__().bit_length()

    def __repr__(self) -> str:
        return repr(self.__index__())

    __str__ = __repr__

    def __format__(self, how: str) -> str:
        return format(self.__index__(), how)

    def __reduce__(self) -> Any:
        return int, (self.__index__(),)


def _by_number(name: str, turned: bool = False) -> Any:
    """An operator that needs the number."""
    apply = getattr(operator, name)

    def method(self: Symbolic, other: Any) -> Any:
        return apply(number(other), number(self)) if turned else apply(number(self), number(other))

    return method


for _name in ("truediv", "pow", "and_", "or_", "xor", "lshift", "rshift"):
    setattr(Symbolic, f"__{_name.strip('_')}__", _by_number(_name))
    setattr(Symbolic, f"__r{_name.strip('_')}__", _by_number(_name, turned=True))


def is_size(value: object) -> bool:
    """Whether something is an int, bools apart from none, or stands for one."""
    return type(value) is Symbolic or isinstance(value, int)


def holds_sizes(value: Any) -> bool:
    """Whether a size that may be another one is in a nest of tuples and lists."""
    return type(value) is Symbolic or (isinstance(value, tuple | list) and any(map(holds_sizes, value)))


def alike(one: Any, other: Any) -> bool:
    """Whether two shapes are the same for all sizes: for decisions that are right, if not best, where they are not."""
    if one is None or other is None:
        return one is other
    return len(one) == len(other) and all(map(_is_same, one, other))


def _is_same(one: Any, other: Any) -> bool:
    if type(one) is Symbolic or type(other) is Symbolic:
        return type(one) is type(other) and bool(one.dim == other.dim)
    return bool(one == other)


def number(value: Any) -> Any:
    """The number of a size, which the recording depends on from now on; anything else is itself."""
    return value.__index__() if type(value) is Symbolic else value


def value_of(value: Any) -> Any:
    """The number of a size in this recording, which must decide nothing."""
    return value.value if type(value) is Symbolic else value


def linear(value: Any) -> Linear:
    """The expression of a size: an int, or a `Dim`."""
    return value.dim if type(value) is Symbolic else int(value)


def is_symbolic(values: Iterable[Any]) -> bool:
    """Whether one of some sizes may be another one later."""
    return any(type(each) is Symbolic for each in values)


def _whole(value: Linear) -> Dim:
    assert isinstance(value, Dim)
    return value


def _place() -> str:
    """The file and line that asked for a number."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename in (__file__, "<string>"):
        frame = frame.f_back  # type: ignore[assignment]
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def typical(value: T, few: int = 256) -> T:
    """The number of a size, for decisions that are right for any number and best near this one. From then on the size
    stays in its class: one, 2 to `few`, and then up to sixteen times as much each. What is no size is itself."""
    if type(value) is not Symbolic:
        return value
    size: Any = value
    low = high = 1
    while high < size.value:
        low, high = high + 1, few if high == 1 else high * 16
    found: T = size.value if size >= low and size <= high else number(size)
    return found


def likely(value: int, usual: int = 64) -> int:
    """A number for decisions that any size may live with: that of a size, or a usual one where it is small now."""
    size: Any = value
    return max(size.value, usual) if type(size) is Symbolic else value


def largest(one: Size, other: Size) -> Size:
    """The larger one of two sizes, which decides nothing: as an expression."""
    if type(one) is not Symbolic and type(other) is not Symbolic:
        return max(one, other)
    if type(one) is Symbolic:
        return one._made(maximum, max(one.value, value_of(other)), other)
    return other._made(maximum, max(one, other.value), one)


def index(value: Any) -> int:
    """An int that somebody gives, as `operator.index` takes it, or a size that stands for one."""
    return value if type(value) is Symbolic else operator.index(value)  # type: ignore[return-value]


def bound(value: Any, step: int) -> int:
    """A number that a size is not beyond, for the memory that it takes: a multiple of `step`, and of a size that may be
    another one four times `step`, sixteen times, and so on, which it stays below from then on."""
    if type(value) is not Symbolic:
        return int(-(-value // step) * step)
    most = step
    while most < value.value:
        most *= 4
    return most if value <= most else number(value)


def room(value: Any, least: int) -> int:
    """A power of two that a size is not beyond, and at least `least`, which is one: for memory inside of a kernel."""
    if type(value) is not Symbolic:
        return max(least, 1 << max(int(value) - 1, 0).bit_length())
    most = max(least, 1 << max(value.value - 1, 0).bit_length())
    return most if value <= most else number(value)


class Sizes:
    """Numbers for the named sizes of a recording, and with them for every expression over these."""

    def __init__(self, names: Sequence[str], numbers: Sequence[int]) -> None:
        self._numbers = dict(zip(names, numbers, strict=True))
        self._scope = {"min": min, "max": max, **self._numbers}

    def number(self, size: Any) -> Any:
        """The number of a size here; anything else is itself."""
        if type(size) is not Symbolic:
            return size
        found: int = eval(_code(size.dim), self._scope)
        return found

    def all(self, values: Any) -> Any:
        """A nest of tuples, lists and dicts with numbers in the place of sizes; a tuple that has none is itself."""
        kind = type(values)
        if kind is Symbolic:
            return self.number(values)
        if isinstance(values, tuple):
            made = tuple([self.all(each) for each in values])
            if all(one is other for one, other in zip(made, values)):
                return values
            return made if kind is tuple else kind._make(made) if hasattr(kind, "_make") else kind(made)
        if kind is list:
            return [self.all(each) for each in values]
        if kind is dict:
            return {key: self.all(each) for key, each in values.items()}
        return values


@functools.lru_cache(maxsize=1 << 14)
def _code(dim: Dim) -> types.CodeType:
    """An expression as code. Names are ours: `Assumptions` makes them."""
    return compile(source(dim), __file__, "eval")
