"""Named tensors: dimensions known by name instead of by place. Experimental.

    x = NamedTensor(burn.tensor(...), ("batch", "feature"))
    w = NamedTensor(burn.tensor(...), ("feature", "hidden"))
    x.matmul(w).dims                            # ("batch", "hidden")
    x + NamedTensor(bias, ("feature",))         # aligned by name, not by place

A name stands for one size: where two tensors share a name they must agree on its size. The result of
an elementwise operation has the dims of the left operand, then those only the right one has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.errors import ArgumentError, ShapeError

if TYPE_CHECKING:
    from burn.tensor.tensor import Tensor

Dims = tuple[str, ...]


def _read_dims(operation: str, dims: str | Iterable[str]) -> Dims:
    names = (dims,) if isinstance(dims, str) else tuple(dims)
    for name in names:
        if not isinstance(name, str) or not name:
            raise ArgumentError(f"{operation}: a dim needs a name, got {name!r}")
    if len(set(names)) != len(names):
        raise ShapeError(f"{operation}: {_show(names)} names a dimension twice")
    return names


def _show(dims: Dims) -> str:
    return f"({', '.join(dims)})"


class NamedTensor:
    """A tensor whose dimensions have names.

    Arguments:
        tensor: the values.
        dims: a name for each dim.

    >>> from burn.tensor import NamedTensor
    >>> x = NamedTensor(burn.tensor([[1, 2], [3, 4]]), ("batch", "feature"))
    >>> x.sum_dim("feature").dims, x.rename(feature="input").dims, x.rearrange(("feature", "batch")).shape
    (('batch',), ('batch', 'input'), {'feature': 2, 'batch': 2})
    """

    __slots__ = ("_dims", "_tensor")

    def __init__(self, tensor: Tensor[Any], dims: str | Iterable[str]) -> None:
        self._dims = _read_dims("NamedTensor", dims)
        self._tensor = tensor
        if len(self._dims) != len(tensor.shape):
            raise ShapeError(
                f"NamedTensor: {_show(self._dims)} names {len(self._dims)} dims and the tensor has "
                f"{len(tensor.shape)}: {tuple(tensor.shape)}"
            )

    @property
    def tensor(self) -> Tensor[Any]:
        """The tensor without names."""
        return self._tensor

    @property
    def dims(self) -> Dims:
        """The names, in the order of the shape."""
        return self._dims

    @property
    def shape(self) -> dict[str, int]:
        """The size of each dim by name."""
        return dict(zip(self._dims, self._tensor.shape, strict=True))

    # Movement

    def rearrange(self, dims: str | Iterable[str]) -> NamedTensor:
        """The same values with the dims in another order."""
        wanted = _read_dims("rearrange", dims)
        if set(wanted) != set(self._dims):
            raise ShapeError(
                f"rearrange: {_show(self._dims)} does not rearrange to {_show(wanted)}: {self._lack(wanted)}"
            )
        return NamedTensor(self._tensor.permute([self._dims.index(name) for name in wanted]), wanted)

    def rename(self, **names: str) -> NamedTensor:
        """Other `names` for some dims: `x.rename(feature="input")`."""
        for name in names:
            self._place("rename", name)
        return NamedTensor(self._tensor, [names.get(name, name) for name in self._dims])

    # Operations that align by name

    def matmul(self, other: NamedTensor) -> NamedTensor:
        """Multiply matrices: contract the last dim of this tensor with the dim of that name in `other`.

        Other dims that both have are batch dims and stay; the dims only `other` has come last.

        >>> from burn.tensor import NamedTensor
        >>> x = NamedTensor(burn.tensor([[1, 2]]), ("batch", "feature"))
        >>> x.matmul(NamedTensor(burn.tensor([[1], [10]]), ("feature", "hidden"))).shape
        {'batch': 1, 'hidden': 1}
        """
        if not isinstance(other, NamedTensor):
            raise ArgumentError(f"matmul: needs a NamedTensor, got {type(other).__name__}")
        if not self._dims or not other._dims:
            raise ShapeError(f"matmul: needs dims to multiply, got {_show(self._dims)} @ {_show(other._dims)}")
        inner = self._dims[-1]
        if inner not in other._dims:
            raise ShapeError(
                f"matmul: {_show(self._dims)} @ {_show(other._dims)}: no dim {inner!r} on the right; "
                "rename or rearrange so that the last dim of the left is in both"
            )
        self._check_sizes("matmul", other)
        batch = tuple(name for name in self._dims[:-1] if name in other._dims)
        rows = tuple(name for name in self._dims[:-1] if name not in other._dims)
        columns = tuple(name for name in other._dims if name not in self._dims)
        sizes = {**other.shape, **self.shape}
        left = self._grouped(batch, rows, (inner,))
        right = other._grouped(batch, (inner,), columns)
        shape = [sizes[name] for name in (*batch, *rows, *columns)]
        result = NamedTensor(left.matmul(right).reshape(shape), (*batch, *rows, *columns))
        return result.rearrange((*self._dims[:-1], *columns))

    def _grouped(self, batch: Dims, first: Dims, second: Dims) -> Tensor[Any]:
        """The tensor as [batch..., product of first, product of second]."""
        sizes = self.shape
        rows, columns = 1, 1
        for name in first:
            rows *= sizes[name]
        for name in second:
            columns *= sizes[name]
        moved = self.rearrange((*batch, *first, *second)).tensor
        return moved.reshape([*(sizes[name] for name in batch), rows, columns])

    def _aligned(self, dims: Dims) -> Tensor[Any]:
        """The tensor with its dims in the order of `dims`, and size 1 for those it lacks."""
        present = tuple(name for name in dims if name in self._dims)
        sizes = self.shape
        return self.rearrange(present).tensor.reshape([sizes.get(name, 1) for name in dims])

    def _combine(self, operation: str, other: Any, function: Callable[[Any, Any], Tensor[Any]]) -> NamedTensor:
        if not isinstance(other, NamedTensor):
            if not isinstance(other, (int, float, np.number)):
                given = type(other).__name__
                raise ArgumentError(f"{operation}: {given} has no named dims; write NamedTensor(tensor, dims)")
            return NamedTensor(function(self._tensor, other), self._dims)
        self._check_sizes(operation, other)
        dims = (*self._dims, *(name for name in other._dims if name not in self._dims))
        return NamedTensor(function(self._aligned(dims), other._aligned(dims)), dims)

    def add(self, other: NamedTensor | float) -> NamedTensor:
        """Add, aligned by name.

        >>> from burn.tensor import NamedTensor
        >>> x = NamedTensor(burn.tensor([4.0, 6.0]), ("feature",))
        >>> x.add(2.0).tensor.tolist()
        [6.0, 8.0]
        """
        return self._combine("add", other, lambda x, y: x + y)

    def sub(self, other: NamedTensor | float) -> NamedTensor:
        """Subtract, aligned by name.

        >>> from burn.tensor import NamedTensor
        >>> x = NamedTensor(burn.tensor([4.0, 6.0]), ("feature",))
        >>> x.sub(2.0).tensor.tolist()
        [2.0, 4.0]
        """
        return self._combine("sub", other, lambda x, y: x - y)

    def mul(self, other: NamedTensor | float) -> NamedTensor:
        """Multiply, aligned by name.

        >>> from burn.tensor import NamedTensor
        >>> x = NamedTensor(burn.tensor([4.0, 6.0]), ("feature",))
        >>> x.mul(2.0).tensor.tolist()
        [8.0, 12.0]
        """
        return self._combine("mul", other, lambda x, y: x * y)

    def div(self, other: NamedTensor | float) -> NamedTensor:
        """Divide, aligned by name.

        >>> from burn.tensor import NamedTensor
        >>> x = NamedTensor(burn.tensor([4.0, 6.0]), ("feature",))
        >>> x.div(2.0).tensor.tolist()
        [2.0, 3.0]
        """
        return self._combine("div", other, lambda x, y: x / y)

    __add__ = __radd__ = add
    __mul__ = __rmul__ = mul
    __sub__ = sub
    __truediv__ = div
    __matmul__ = matmul

    def __rsub__(self, other: float) -> NamedTensor:
        return self._combine("sub", other, lambda x, y: y - x)

    def __rtruediv__(self, other: float) -> NamedTensor:
        return self._combine("div", other, lambda x, y: y / x)

    # Operations on each element, and along one dim

    def map(self, function: Callable[[Tensor[Any]], Tensor[Any]]) -> NamedTensor:
        """Apply a function that keeps the shape, such as `burn.activation.gelu`.

        >>> from burn.tensor import NamedTensor
        >>> NamedTensor(burn.tensor([-1.0, 2.0]), ("feature",)).map(Tensor.relu).tensor.tolist()
        [0.0, 2.0]
        """
        return NamedTensor(function(self._tensor), self._dims)

    def neg(self) -> NamedTensor:
        """Change the sign of each element.

        >>> from burn.tensor import NamedTensor
        >>> NamedTensor(burn.tensor([1.0, -2.0]), ("feature",)).neg().tensor.tolist()
        [-1.0, 2.0]
        """
        return self.map(lambda x: -x)

    __neg__ = neg

    def exp(self) -> NamedTensor:
        """Raise e to the power of each element.

        >>> from burn.tensor import NamedTensor
        >>> NamedTensor(burn.tensor([0.0]), ("feature",)).exp().tensor.tolist()
        [1.0]
        """
        return self.map(lambda x: x.exp())

    def log(self) -> NamedTensor:
        """The natural logarithm of each element.

        >>> from burn.tensor import NamedTensor
        >>> NamedTensor(burn.tensor([1.0]), ("feature",)).log().tensor.tolist()
        [0.0]
        """
        return self.map(lambda x: x.log())

    def sqrt(self) -> NamedTensor:
        """The square root of each element.

        >>> from burn.tensor import NamedTensor
        >>> NamedTensor(burn.tensor([4.0, 9.0]), ("feature",)).sqrt().tensor.tolist()
        [2.0, 3.0]
        """
        return self.map(lambda x: x.sqrt())

    def tanh(self) -> NamedTensor:
        """The hyperbolic tangent of each element.

        >>> from burn.tensor import NamedTensor
        >>> NamedTensor(burn.tensor([0.0]), ("feature",)).tanh().tensor.tolist()
        [0.0]
        """
        return self.map(lambda x: x.tanh())

    def relu(self) -> NamedTensor:
        """Replace negative elements with 0.

        >>> from burn.tensor import NamedTensor
        >>> NamedTensor(burn.tensor([-1.0, 2.0]), ("feature",)).relu().tensor.tolist()
        [0.0, 2.0]
        """
        return self.map(lambda x: x.clamp_min(0))

    def sum_dim(self, name: str) -> NamedTensor:
        """Add along the dim called `name`, which goes away."""
        return self._reduced("sum_dim", name, lambda x, dim: x.sum_dim(dim))

    def mean_dim(self, name: str) -> NamedTensor:
        """Average along the dim called `name`, which goes away.

        >>> from burn.tensor import NamedTensor
        >>> NamedTensor(burn.tensor([[1.0, 3.0]]), ("batch", "feature")).mean_dim("feature").tensor.tolist()
        [2.0]
        """
        return self._reduced("mean_dim", name, lambda x, dim: x.mean_dim(dim))

    def _reduced(self, operation: str, name: str, function: Callable[[Any, int], Tensor[Any]]) -> NamedTensor:
        place = self._place(operation, name)
        kept = self._dims[:place] + self._dims[place + 1 :]
        sizes = self.shape
        return NamedTensor(function(self._tensor, place).reshape([sizes[each] for each in kept]), kept)

    # Checks

    def _place(self, operation: str, name: str) -> int:
        if name not in self._dims:
            raise ShapeError(f"{operation}: no dim {name!r} in {_show(self._dims)}")
        return self._dims.index(name)

    def _lack(self, wanted: Dims) -> str:
        missing = [name for name in self._dims if name not in wanted]
        unknown = [name for name in wanted if name not in self._dims]
        parts = [f"missing {', '.join(missing)}"] if missing else []
        return "; ".join([*parts, *([f"unknown {', '.join(unknown)}"] if unknown else [])])

    def _check_sizes(self, operation: str, other: NamedTensor) -> None:
        theirs = other.shape
        for name, size in self.shape.items():
            if theirs.get(name, size) != size:
                raise ShapeError(
                    f"{operation}: {_show(self._dims)} and {_show(other._dims)} disagree on {name!r}: "
                    f"{size} != {theirs[name]}"
                )

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}: {size}" for name, size in self.shape.items())
        return f"NamedTensor({sizes})"

    def __str__(self) -> str:
        return f"{self!r}\n{self._tensor}"
