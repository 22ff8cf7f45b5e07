"""Scalars: numbers that a captured function receives anew at each call.

Inside a function under `burn.compile`, a float argument that changes from call to call is a `Scalar`: a float whose
arithmetic is recorded (in double precision) and done again at every call, so a learning rate may change without a new
capture. Every other use of it (`if s > 0`, `f"{s}"`, `int(s)`, `table[s]`) is a read: the capture then holds for
this value alone.
"""

from __future__ import annotations

import math
import operator
import weakref
from collections.abc import Callable, Sequence
from typing import Any

Compute = Callable[..., float]


class Family:
    """All scalars of one recording: which of its arguments were read, and who is still there when it has ended."""

    __slots__ = ("is_open", "members", "note_read")

    def __init__(self, note_read: Callable[[int], None]) -> None:
        self.note_read = note_read
        self.members: list[weakref.ref[Scalar]] = []
        self.is_open = True


class Scalar(float):
    """A number known at run time: an argument of a function under `burn.compile`, or computed from such arguments.

    Arguments:
        value: the number of today.
        index: which argument it is.
        compute, operands: how it is computed, where it is none.
        family: the scalars of the same recording.

    >>> rate = burn.Scalar(0.5, index=0)
    >>> half = (rate * rate).pow(2).sqrt()
    >>> half.read(), half.evaluate([3.0]), half.arguments(), half.copy() == half
    (0.25, 9.0, {0}, True)
    >>> rate.exp().identity(), rate.log().read()
    (('exp', ('argument', 0)), -0.6931471805599453)
    """

    __slots__ = ("compute", "family", "index", "operands", "value", "__weakref__")

    __tree_leaf__ = True

    value: float
    index: int
    compute: Compute | None
    operands: tuple[Any, ...]
    family: Family | None

    def __new__(
        cls,
        value: float,
        index: int = -1,
        compute: Compute | None = None,
        operands: tuple[Any, ...] = (),
        family: Family | None = None,
    ) -> Scalar:
        """The number `value`: argument `index`, or what `compute` makes of `operands`."""
        if index < 0 and compute is None:  # `type(number)(1)` of somebody who knows nothing of this class
            return float(value)  # type: ignore[return-value]
        made = float.__new__(cls, value)
        made.value, made.index, made.compute, made.operands, made.family = value, index, compute, operands, family
        if family is not None:
            family.members.append(weakref.ref(made))
        return made

    def evaluate(self, arguments: Sequence[float]) -> float:
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

    def copy(self) -> Scalar:
        """How it is computed, without a tie to the recording it comes from."""
        operands = tuple([each.copy() if isinstance(each, Scalar) else each for each in self.operands])
        return Scalar(self.value, self.index, self.compute, operands)

    def arguments(self) -> set[int]:
        """The arguments that it depends on."""
        found: set[int] = set()
        waiting: list[Any] = [self]
        while waiting:
            each = waiting.pop()
            if isinstance(each, Scalar):
                waiting += each.operands
                if each.compute is None:
                    found.add(each.index)
        return found

    def read(self) -> float:
        """The number of today; the recording is told."""
        family = self.family
        if family is not None and family.is_open:
            for index in self.arguments():
                family.note_read(index)
        return self.value

    # Arithmetic

    def _apply(self, compute: Compute, *operands: Any) -> Any:
        result = compute(*[each.value if isinstance(each, Scalar) else each for each in operands])
        if result.__class__ is not float:  # a negative number to a broken power is complex
            self.read()
            return result
        family = next((each.family for each in operands if isinstance(each, Scalar) and each.family), self.family)
        if family is not None and not family.is_open:
            return result
        return Scalar(result, -1, compute, operands, family)

    def _with(self, compute: Compute, one: Any, two: Any, other: Any) -> Any:
        kind = other.__class__
        if kind is float or kind is int or kind is Scalar or kind is bool:
            return self._apply(compute, one, two)
        if not getattr(kind, "__tree_leaf__", False):  # tensors take numbers as they are, others look into them
            self.read()
        return NotImplemented

    def __add__(self, other: Any) -> Any:
        return self._with(operator.add, self, other, other)

    def __radd__(self, other: Any) -> Any:
        return self._with(operator.add, other, self, other)

    def __sub__(self, other: Any) -> Any:
        return self._with(operator.sub, self, other, other)

    def __rsub__(self, other: Any) -> Any:
        return self._with(operator.sub, other, self, other)

    def __mul__(self, other: Any) -> Any:
        return self._with(operator.mul, self, other, other)

    def __rmul__(self, other: Any) -> Any:
        return self._with(operator.mul, other, self, other)

    def __truediv__(self, other: Any) -> Any:
        return self._with(operator.truediv, self, other, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(operator.truediv, other, self, other)

    def __floordiv__(self, other: Any) -> Any:
        return self._with(operator.floordiv, self, other, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._with(operator.floordiv, other, self, other)

    def __mod__(self, other: Any) -> Any:
        return self._with(operator.mod, self, other, other)

    def __rmod__(self, other: Any) -> Any:
        return self._with(operator.mod, other, self, other)

    def __divmod__(self, other: Any) -> Any:
        return divmod(self.read(), other)

    def __rdivmod__(self, other: Any) -> Any:
        return divmod(other, self.read())

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            return pow(self.read(), other, modulus)
        return self._with(operator.pow, self, other, other)

    def __rpow__(self, other: Any, modulus: Any = None) -> Any:
        return self._with(operator.pow, other, self, other)

    def __neg__(self) -> Any:
        return self._apply(operator.neg, self)

    def __pos__(self) -> Scalar:
        return self

    def __abs__(self) -> Any:
        return self._apply(operator.abs, self)

    def sqrt(self) -> Any:
        """The square root."""
        return self._apply(math.sqrt, self)

    def exp(self) -> Any:
        """Raise e to this power."""
        return self._apply(math.exp, self)

    def log(self) -> Any:
        """The natural logarithm."""
        return self._apply(math.log, self)

    def pow(self, exponent: Any) -> Any:
        """This number to the power `exponent`."""
        return self**exponent

    def __copy__(self) -> Scalar:
        return self

    def __deepcopy__(self, memo: Any) -> Scalar:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        return float, (self.read(),)


def _reads(name: str) -> Any:
    """A method of float that reads the number."""
    function = getattr(float, name)

    def method(self: Scalar, *args: Any) -> Any:
        return function(self.read(), *[each.read() if isinstance(each, Scalar) else each for each in args])

    method.__name__, method.__qualname__, method.__doc__ = name, f"Scalar.{name}", function.__doc__
    return method


for _name in (
    "__float__ __int__ __bool__ __lt__ __le__ __gt__ __ge__ __eq__ __ne__ __hash__ __repr__ __str__ __format__ "
    "__round__ __trunc__ __floor__ __ceil__ __getnewargs__ is_integer as_integer_ratio hex conjugate"
).split():
    setattr(Scalar, _name, _reads(_name))
Scalar.real = property(lambda self: self.read())  # type: ignore[assignment, method-assign]
Scalar.imag = property(lambda self: self.read().imag)  # type: ignore[assignment, method-assign]
