"""Shapes: the sizes of a tensor's dimensions, and the rules that combine them."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex, TypeAlias

from burn.errors import ArgumentError, DataError, ShapeError, shown
from burn.symbolic import index

ShapeLike: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
"""Sizes or dims as they are given: one number, or a sequence of them."""


class Shape(tuple[int, ...]):
    """The sizes of a tensor's dimensions. It is a tuple, so it compares and unpacks like one.

    Arguments:
        sizes: the sizes one by one, or one sequence of them.

    >>> shape = burn.Shape(2, 3)
    >>> shape == (2, 3), shape.rank, shape.num_dims(), shape.dims(), shape.num_elements()
    (True, 2, 2, (2, 3), 6)
    """

    __slots__ = ()

    def __new__(cls, *sizes: Any) -> Shape:
        if len(sizes) == 1:
            only = sizes[0]
            if only.__class__ is tuple or isinstance(only, Iterable):
                return tuple.__new__(cls, only)
        return tuple.__new__(cls, sizes)

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self)

    def num_dims(self) -> int:
        """The number of dimensions."""
        return len(self)

    def num_elements(self) -> int:
        """The number of elements."""
        return math.prod(self)

    def dims(self) -> tuple[int, ...]:
        """The sizes as a plain tuple."""
        return tuple(self)

    def into_ranges(self) -> list[range]:
        """One full range per dimension.

        >>> burn.Shape(2, 3).into_ranges()
        [range(0, 2), range(0, 3)]
        """
        return [range(size) for size in self]

    def with_dim(self, dim: int, size: int) -> Shape:
        """The same shape with another size at `dim`.

        >>> burn.Shape(2, 3).with_dim(1, 5)
        Shape([2, 5])
        """
        sizes = list(self)
        sizes[dim] = size
        return Shape(sizes)

    def insert(self, dim: int, size: int) -> Shape:
        """The shape with a new dimension of `size` before `dim`.

        >>> burn.Shape(2, 3).insert(0, 5)
        Shape([5, 2, 3])
        """
        return Shape((*self[:dim], size, *self[dim:]))

    def remove(self, dim: int) -> Shape:
        """The shape without `dim`.

        >>> burn.Shape(2, 3).remove(0)
        Shape([3])
        """
        return Shape((*self[:dim], *self[dim + 1 :]))

    def permute(self, axes: Sequence[int]) -> Shape:
        """The sizes in the order of `axes`.

        >>> burn.Shape(2, 3, 4).permute([2, 0, 1])
        Shape([4, 2, 3])
        """
        return Shape(self[axis] for axis in axes)

    def swap(self, first: int, second: int) -> Shape:
        """The shape with the sizes at `first` and `second` exchanged.

        >>> burn.Shape(2, 3, 4).swap(0, 2)
        Shape([4, 3, 2])
        """
        sizes = list(self)
        sizes[first], sizes[second] = sizes[second], sizes[first]
        return Shape(sizes)

    def expand(self, target: Iterable[int]) -> Shape:
        """The shape that `expand(target)` gives, where -1 keeps a size.

        >>> burn.Shape(1, 3).expand([2, -1])
        Shape([2, 3])
        """
        return expanded(self, tuple(target))

    def reshape(self, target: Iterable[int]) -> Shape:
        """The shape that `reshape(target)` gives, where -1 is inferred and 0 keeps a size.

        >>> burn.Shape(2, 3).reshape([3, -1])
        Shape([3, 2])
        """
        return reshaped(self, tuple(target))

    def broadcast(self, other: Iterable[int]) -> Shape:
        """The common shape of this one and `other`.

        >>> burn.Shape(2, 1).broadcast([3])
        Shape([2, 3])
        """
        return broadcast("broadcast", self, Shape(other))

    def __repr__(self) -> str:
        return f"Shape({list(self)})"

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self))}]"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (tuple(self),)


def as_shape(operation: str, value: Any) -> Shape:
    """Read a user's shape: an int, or a sequence of sizes of at least zero."""
    if value.__class__ is Shape:
        return value
    sizes = as_ints(operation, "shape", value)
    for size in sizes:
        if size < 0:
            raise ShapeError(f"{operation}: sizes must be 0 or more, got {list(sizes)}")
    return Shape(sizes)


def as_ints(operation: str, name: str, value: Any) -> tuple[int, ...]:
    """Read an int or a sequence of ints."""
    try:
        return (index(value),)
    except (TypeError, DataError):
        pass
    try:
        return tuple(index(each) for each in value)
    except (TypeError, DataError):
        raise ArgumentError(f"{operation}: {name} must be an int or a sequence of ints, got {shown(value)}") from None


def as_tuple(operation: str, name: str, value: Any, length: int) -> tuple[int, ...]:
    """Read an int (repeated) or a sequence of exactly `length` ints."""
    values = as_ints(operation, name, value)
    if len(values) == 1 and length != 1:
        values = values * length
    if len(values) != length:
        raise ArgumentError(f"{operation}: {name} needs {length} values, got {list(values)}")
    return values


def axis(operation: str, dim: SupportsIndex, rank: int) -> int:
    """Read one dim, counting from the end when it is negative."""
    try:
        found = operator.index(dim)
    except (TypeError, DataError):
        raise ArgumentError(f"{operation}: dim must be an int, got {shown(dim)}") from None
    if found < 0:
        found += rank
    if not 0 <= found < rank:
        span = f"between {-rank} and {rank - 1}" if rank else "impossible on a 0-d tensor"
        raise ShapeError(f"{operation}: dim {dim} is out of range for a tensor of rank {rank}: it must be {span}")
    return found


def axes(operation: str, dims: Any, rank: int) -> tuple[int, ...]:
    """Read one or several dims, which must not repeat."""
    found = tuple(axis(operation, dim, rank) for dim in as_ints(operation, "dims", dims))
    if len(set(found)) != len(found):
        raise ShapeError(f"{operation}: dims {list(found)} name a dimension twice")
    return found


_BROADCAST: dict[tuple[tuple[int, ...], tuple[int, ...]], Shape] = {}


LARGEST = 1 << 48
"""More bytes than any machine has: a shape beyond it is a mistake, and allocating it would only fail later."""


def broadcast(operation: str, x: Shape, y: Shape) -> Shape:
    """The common shape of two operands under NumPy's rules."""
    found = _BROADCAST.get((x, y))
    if found is None:
        found = _broadcast(operation, x, y)
        if len(_BROADCAST) > 4096:
            _BROADCAST.clear()
        _BROADCAST[x, y] = found
    return found


def _broadcast(operation: str, x: Shape, y: Shape) -> Shape:
    rank = max(len(x), len(y))
    left = (1,) * (rank - len(x)) + tuple(x)
    right = (1,) * (rank - len(y)) + tuple(y)
    sizes = []
    for dim, (a, b) in enumerate(zip(left, right, strict=True)):
        if a != b and a != 1 and b != 1:
            raise ShapeError(
                f"{operation}: shapes {tuple(x)} and {tuple(y)} do not broadcast: {a} != {b} at dim {dim - rank}"
            )
        sizes.append(b if a == 1 else a)
    if math.prod(sizes) > LARGEST:
        raise ShapeError(f"{operation}: shapes {tuple(x)} and {tuple(y)} broadcast to more elements than can exist")
    return Shape(sizes)


def broadcast_all(operation: str, shapes: Iterable[Shape]) -> Shape:
    """The common shape of several operands under NumPy's rules."""
    result = Shape(())
    for shape in shapes:
        result = broadcast(operation, result, shape)
    return result


def expanded(shape: Shape, target: Sequence[int], operation: str = "expand") -> Shape:
    """The result of expanding `shape` to `target`, where -1 keeps a size and new dims come first."""
    extra = len(target) - len(shape)
    if extra < 0:
        raise ShapeError(f"{operation}: {tuple(shape)} has more dims than the target {tuple(target)}")
    sizes = []
    for dim, size in enumerate(target):
        old = 1 if dim < extra else shape[dim - extra]
        if size == -1:
            if dim < extra:
                raise ShapeError(f"{operation}: -1 at dim {dim} keeps no size: {tuple(shape)} has no such dim")
            size = old
        if size < 0 or (old not in (1, size)):
            raise ShapeError(f"{operation}: {tuple(shape)} does not expand to {tuple(target)}: {old} at dim {dim}")
        sizes.append(size)
    return Shape(sizes)


def reshaped(shape: Shape, target: Sequence[int], operation: str = "reshape") -> Shape:
    """The result of reshaping `shape` to `target`: one -1 is inferred, 0 keeps the size at its place."""
    total = math.prod(shape)
    sizes = [shape[dim] if size == 0 and dim < len(shape) and total != 0 else size for dim, size in enumerate(target)]
    unknown = [dim for dim, size in enumerate(sizes) if size == -1]
    if len(unknown) > 1 or any(size < -1 for size in sizes):
        raise ShapeError(f"{operation}: {list(target)} may hold one -1 and otherwise sizes of 0 or more")
    if unknown:
        known = math.prod(size for size in sizes if size != -1)
        if known == 0 or total % known:
            raise ShapeError(f"{operation}: {tuple(shape)} has {total} elements: no size fits -1 in {list(target)}")
        sizes[unknown[0]] = total // known
    elif math.prod(sizes) != total:
        raise ShapeError(
            f"{operation}: {tuple(shape)} has {total} elements and {list(target)} needs {math.prod(sizes)}"
        )
    return Shape(sizes)
