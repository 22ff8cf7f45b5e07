"""Kernels as data: typed SSA values, operations, regions, and loops over axes.

A kernel is a list of parameters and one region. A region is a list of operations, some of which hold
regions themselves: loops over axes, and branches. What an axis *is* decides how a target runs it:

- `grid`: iterations are independent; the outermost one is split between threads or blocks.
- `lane`: iterations are independent and alike; a CPU runs many at once in vector registers.
- `reduce`: contributions are combined in a fixed order (`PARTIALS` below); it vectorises too.
- `serial`: one after the other, with values carried from iteration to iteration.

The order of a reduction is part of the kernel's meaning, so every target gives the same bits: outside a
lane axis, contribution `j` goes to partial `j % PARTIALS`, and the partials are combined by halving. Inside
a lane axis, or around another lane or reduce axis, contributions are combined one after the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from burn.dtype import DType

if TYPE_CHECKING:
    from burn.cube.builder import KernelBuilder

PARTIALS = 32
"""How many partial results a vectorised reduction keeps, on every target."""

AXES = ("grid", "lane", "reduce", "serial")
LOOPS = frozenset(AXES)


class Value:
    """One SSA value. While its kernel is being built, Python's operators add operations to it.

    `==` and `!=` compare identity, as for any object; `builder.eq` and `builder.ne` compare elements.
    """

    __slots__ = ("builder", "constant", "dtype", "scope", "width")

    def __init__(self, dtype: DType, *, width: int = 1, constant: float | int | bool | None = None) -> None:
        self.dtype = dtype
        self.width = width
        self.constant = constant
        self.builder: KernelBuilder | None = None
        self.scope: Any = None

    def _build(self) -> KernelBuilder:
        assert self.builder is not None, "the kernel of this value is finished"
        return self.builder

    def __add__(self, other: Operand) -> Value:
        return self._build().add(self, other)

    def __radd__(self, other: Operand) -> Value:
        return self._build().add(other, self)

    def __sub__(self, other: Operand) -> Value:
        return self._build().sub(self, other)

    def __rsub__(self, other: Operand) -> Value:
        return self._build().sub(other, self)

    def __mul__(self, other: Operand) -> Value:
        return self._build().mul(self, other)

    def __rmul__(self, other: Operand) -> Value:
        return self._build().mul(other, self)

    def __truediv__(self, other: Operand) -> Value:
        return self._build().div(self, other)

    def __rtruediv__(self, other: Operand) -> Value:
        return self._build().div(other, self)

    def __floordiv__(self, other: Operand) -> Value:
        return self._build().floor_div(self, other)

    def __mod__(self, other: Operand) -> Value:
        return self._build().floor_rem(self, other)

    def __neg__(self) -> Value:
        return self._build().neg(self)

    def __abs__(self) -> Value:
        return self._build().abs(self)

    def __invert__(self) -> Value:
        return self._build().bit_not(self)

    def __and__(self, other: Operand) -> Value:
        return self._build().bit_and(self, other)

    def __or__(self, other: Operand) -> Value:
        return self._build().bit_or(self, other)

    def __xor__(self, other: Operand) -> Value:
        return self._build().bit_xor(self, other)

    def __lshift__(self, other: Operand) -> Value:
        return self._build().shl(self, other)

    def __rshift__(self, other: Operand) -> Value:
        return self._build().shr(self, other)

    def __lt__(self, other: Operand) -> Value:
        return self._build().lt(self, other)

    def __le__(self, other: Operand) -> Value:
        return self._build().le(self, other)

    def __gt__(self, other: Operand) -> Value:
        return self._build().gt(self, other)

    def __ge__(self, other: Operand) -> Value:
        return self._build().ge(self, other)

    def __bool__(self) -> bool:
        raise TypeError("kernel: a value is known only when the kernel runs; use select() or branch() instead of `if`")


Operand = Value | float | int | bool


class Buffer:
    """Memory a kernel reads or writes: a parameter, a shared array of one block, or a constant table."""

    __slots__ = ("access", "count", "dtype", "space", "values")

    def __init__(
        self,
        dtype: DType,
        access: str,
        *,
        space: str = "parameter",
        count: int = 0,
        values: tuple[Any, ...] = (),
    ) -> None:
        self.dtype = dtype
        self.access = access
        self.space = space
        self.count = count
        self.values = values


class Parameter:
    """One positional parameter: a buffer, a run-time size (i64) or a run-time scalar."""

    __slots__ = ("buffer", "dtype", "kind", "value")

    def __init__(self, kind: str, dtype: DType, *, buffer: Buffer | None = None, value: Value | None = None) -> None:
        self.kind = kind
        self.dtype = dtype
        self.buffer = buffer
        self.value = value


class Region:
    """Operations in order, the values they are given, and the values they yield."""

    __slots__ = ("arguments", "operations", "results")

    def __init__(self, arguments: tuple[Value, ...] = ()) -> None:
        self.arguments = arguments
        self.operations: list[Operation] = []
        self.results: tuple[Value, ...] = ()


class Operation:
    """One operation: its name, operands, results, attributes, and regions.

    Loops and branches follow one layout each:
    - `grid`, `lane`: operands (extent); one region of (index).
    - `serial`: operands (extent, first values ...); one region of (index, carried ...) that yields the next ones.
    - `reduce`: operands (extent, identities ...); a region of (index) that yields contributions, and a region of
      (left ..., right ...) that yields the combination.
    - `if`: operands (condition); two regions that yield the results.
    """

    __slots__ = ("attributes", "buffer", "name", "operands", "regions", "results")

    def __init__(
        self,
        name: str,
        operands: tuple[Value, ...],
        results: tuple[Value, ...],
        *,
        regions: tuple[Region, ...] = (),
        buffer: Buffer | None = None,
        attributes: tuple[tuple[str, Any], ...] = (),
    ) -> None:
        self.name = name
        self.operands = operands
        self.results = results
        self.regions = regions
        self.buffer = buffer
        self.attributes = attributes

    @property
    def result(self) -> Value:
        return self.results[0]


class Kernel:
    """A finished kernel. `str(kernel)` is its normal form, and `key()` the hash of that."""

    __slots__ = ("body", "buffers", "index_width", "parameters", "_key", "_text")

    def __init__(
        self, parameters: tuple[Parameter, ...], buffers: tuple[Buffer, ...], body: Region, index_width: int
    ) -> None:
        self.parameters = parameters
        self.buffers = buffers
        """Shared arrays and constant tables, in the order they were declared."""
        self.body = body
        self.index_width = index_width
        """Bits that hold every index: a promise to targets with narrow indices. CPU targets use 64."""
        self._text: str | None = None
        self._key: str | None = None

    def __str__(self) -> str:
        if self._text is None:
            from burn.cube.printer import print_kernel

            self._text = print_kernel(self)
        return self._text

    def key(self) -> str:
        """The SHA-256 of the normal form: equal for kernels that compute the same thing the same way."""
        if self._key is None:
            self._key = hashlib.sha256(str(self).encode()).hexdigest()
        return self._key

    @property
    def grid(self) -> Operation | None:
        """The outermost grid axis, whose range a launch splits."""
        return next((each for each in self.body.operations if each.name == "grid"), None)


def walk(region: Region) -> Iterator[Operation]:
    """Every operation of a region and of the regions inside it, in order."""
    for operation in region.operations:
        yield operation
        for inner in operation.regions:
            yield from walk(inner)


SEQUENTIAL = frozenset({"grid", "lane", "reduce", "barrier"})


def is_vectorised(operation: Operation, inside: bool) -> bool:
    """Whether a loop runs its iterations side by side, given whether one around it already does."""
    if inside:
        return False
    if operation.name == "lane":
        return not any(each.name == "barrier" or each.name.startswith("atomic") for each in walk(operation.regions[0]))
    if operation.name == "reduce":
        body = walk(operation.regions[0])
        return not any(each.name in SEQUENTIAL or each.name.startswith("atomic") for each in body)
    return False
