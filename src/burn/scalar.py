"""Scalars: numbers that a captured function receives anew at each call.

Inside a function under `burn.compile`, a float argument is a `Scalar`. Arithmetic on it is recorded (in
double precision) and done again at every call, so a learning rate may change without a new capture.
Turning it into a Python number (`float(s)`, `if s > 0`) is a read: the function is then run without
capture, because what happens next would depend on the value of today.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from typing import Any

Compute = Callable[..., float]


class Scalar:
    """A number known at run time: an argument of the function, or computed from such arguments."""

    __slots__ = ("compute", "family", "index", "note_read", "operands", "value", "__weakref__")

    __tree_leaf__ = True

    def __init__(
        self,
        value: float,
        index: int = -1,
        compute: Compute | None = None,
        operands: tuple[Any, ...] = (),
        note_read: Callable[[], None] | None = None,
        family: list[weakref.ref[Scalar]] | None = None,
    ) -> None:
        self.value = value
        self.index = index  # the argument it is, or -1
        self.compute = compute
        self.operands = operands
        self.note_read = note_read
        self.family = family  # all scalars of one recording: who is still there when it has ended?
        if family is not None:
            family.append(weakref.ref(self))

    def evaluate(self, arguments: list[float]) -> float:
        """The value for other arguments."""
        if self.compute is None:
            return arguments[self.index]
        return self.compute(*[each.evaluate(arguments) if isinstance(each, Scalar) else each for each in self.operands])

    def identity(self) -> Any:
        """How it is computed, in plain data: equal for equal recordings."""
        if self.compute is None:
            return ("argument", self.index)
        name = getattr(self.compute, "__qualname__", repr(self.compute))
        return (name, *(each.identity() if isinstance(each, Scalar) else each for each in self.operands))

    def _apply(self, compute: Compute, *operands: Any) -> Scalar:
        values = [each.value if isinstance(each, Scalar) else each for each in operands]
        first = next((each for each in operands if isinstance(each, Scalar) and each.note_read), self)
        return Scalar(compute(*values), -1, compute, operands, first.note_read, first.family)

    def copy(self) -> Scalar:
        """How it is computed, without a tie to the recording it comes from."""
        operands = tuple([each.copy() if isinstance(each, Scalar) else each for each in self.operands])
        return Scalar(self.value, self.index, self.compute, operands)

    def __add__(self, other: Any) -> Any:
        return self._apply(_add, self, other) if _is_number(other) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return self._apply(_add, other, self) if _is_number(other) else NotImplemented

    def __sub__(self, other: Any) -> Any:
        return self._apply(_subtract, self, other) if _is_number(other) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return self._apply(_subtract, other, self) if _is_number(other) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        return self._apply(_multiply, self, other) if _is_number(other) else NotImplemented

    def __rmul__(self, other: Any) -> Any:
        return self._apply(_multiply, other, self) if _is_number(other) else NotImplemented

    def __truediv__(self, other: Any) -> Any:
        return self._apply(_divide, self, other) if _is_number(other) else NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        return self._apply(_divide, other, self) if _is_number(other) else NotImplemented

    def __pow__(self, other: Any) -> Any:
        return self._apply(_power, self, other) if _is_number(other) else NotImplemented

    def __rpow__(self, other: Any) -> Any:
        return self._apply(_power, other, self) if _is_number(other) else NotImplemented

    def __neg__(self) -> Scalar:
        return self._apply(_negate, self)

    def __pos__(self) -> Scalar:
        return self

    def sqrt(self) -> Scalar:
        """The square root."""
        return self._apply(math.sqrt, self)

    def exp(self) -> Scalar:
        """e to this power."""
        return self._apply(math.exp, self)

    def log(self) -> Scalar:
        """The natural logarithm."""
        return self._apply(math.log, self)

    def pow(self, exponent: Any) -> Any:
        """This number to a power."""
        return self**exponent

    # Reads

    def _read(self) -> float:
        if self.note_read is not None:
            self.note_read()
        return self.value

    def __float__(self) -> float:
        return self._read()

    def __int__(self) -> int:
        return int(self._read())

    def __bool__(self) -> bool:
        return bool(self._read())

    def __lt__(self, other: Any) -> bool:
        return self._read() < float(other)

    def __le__(self, other: Any) -> bool:
        return self._read() <= float(other)

    def __gt__(self, other: Any) -> bool:
        return self._read() > float(other)

    def __ge__(self, other: Any) -> bool:
        return self._read() >= float(other)

    def __eq__(self, other: object) -> bool:
        return self._read() == (other._read() if isinstance(other, Scalar) else other)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"Scalar({self.value!r})"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Scalar)


def _add(x: float, y: float) -> float:
    return x + y


def _subtract(x: float, y: float) -> float:
    return x - y


def _multiply(x: float, y: float) -> float:
    return x * y


def _divide(x: float, y: float) -> float:
    return x / y if y else math.copysign(math.inf, x) if x else math.nan


def _power(x: float, y: float) -> float:
    return float(x**y)


def _negate(x: float) -> float:
    return -x
