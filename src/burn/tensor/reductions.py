"""Reductions as PyTorch and NumPy spell them: `dim=None, keepdim=False`, one dim or several, over Burn's rows.

The rows keep a reduced dim with size 1. Here it is dropped unless `keepdim` says otherwise; without a dim everything is
reduced, to shape [1] as in Burn, and with `keepdim` to size 1 along every dim.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from burn.dtype import dtype as as_dtype
from burn.errors import ArgumentError, DTypeError, ShapeError
from burn.ops import linalg, reduce, statistics
from burn.ops.dispatch import cast_to
from burn.shape import axes
from burn.shape import axis as one_axis

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from burn.device import Device
    from burn.tensor.tensor import Tensor

    B = TypeVar("B", bound=Device, default=Device, covariant=True)
else:
    from typing import TypeVar

    B = TypeVar("B")

Dims = int | Sequence[int]
Row = Callable[..., Any]
NOT_GIVEN: Any = ...
"""Stands for an argument that was not given, where None means something."""


class ValuesAndIndices(NamedTuple, Generic[B]):
    """What `max`, `min` and `median` along a dim give: `values`, and `indices`, where along the dim they were.

    >>> largest = burn.tensor([[1.0, 2.0], [5.0, 3.0]]).max(dim=1)
    >>> largest.values.tolist(), largest.indices.tolist()
    ([2.0, 5.0], [1, 0])
    """

    values: Tensor[B]
    indices: Tensor[B]


def spelled(operation: str, dim: Any, keepdim: Any, axis: Any, keepdims: Any) -> tuple[Any, bool]:
    """`dim` and `keepdim`, which NumPy calls `axis` and `keepdims`: one of the two may be given."""
    if axis is not None:
        if dim is not None:
            raise ArgumentError(f"{operation}: dim={dim!r} and axis={axis!r} are the same argument; give one of them")
        dim = axis
    if keepdims is not None:
        keepdim = keepdims
    if keepdim is not True and keepdim is not False:
        _check_keepdim(operation, keepdim)
    return dim, bool(keepdim)


def _check_keepdim(operation: str, keepdim: Any) -> None:
    if type(keepdim).__name__ not in ("bool", "bool_"):
        raise ArgumentError(
            f"{operation}: keepdim must be True or False, got {keepdim!r}; "
            f"write several dims as one sequence: {operation}((0, 1))"
        )


def dims_of(operation: str, x: Tensor[Any], dim: Any) -> tuple[int, ...]:
    """The reduced dims from the front; all of them for None."""
    if dim is None:
        return tuple(range(len(x.shape)))
    found = axes(operation, dim, len(x.shape))
    if not found:
        raise ArgumentError(f"{operation}: dim={dim!r} names no dim; write {operation}() to reduce all of them")
    return found


def dropped(x: Tensor[Any], dims: tuple[int, ...]) -> Tensor[Any]:
    """`x` without dims of size 1."""
    return x.reshape([size for dim, size in enumerate(x.shape) if dim not in dims])


def shaped(x: Tensor[Any], dims: tuple[int, ...], everything: bool, keepdim: bool) -> Tensor[Any]:
    """A result whose reduced dims have size 1, in the shape that was asked for."""
    if keepdim:
        return x
    return x.reshape((1,)) if everything else dropped(x, dims)


def reduced(operation: str, row: Row, x: Tensor[Any], dim: Any, keepdim: bool) -> Tensor[Any]:
    """`row(x, dims)`, which keeps the dims, along `dim`."""
    dims = dims_of(operation, x, dim)
    return shaped(row(x, dims), dims, dim is None, keepdim)


def in_dtype(x: Tensor[Any], dtype: Any) -> Tensor[Any]:
    """`x` in the dtype in which it is summed; truth values are counted as ints."""
    if dtype is not None:
        return cast_to(x, as_dtype(dtype))
    return x.int() if x.dtype.is_bool else x


def floats_only(operation: str, x: Tensor[Any]) -> None:
    """Refuse ints, of which a mean is no int."""
    if not x.dtype.is_float:
        raise DTypeError(f"{operation}: needs a float tensor, got {x.dtype}; write x.float().{operation}(...)")


def along_last(x: Tensor[Any], dims: tuple[int, ...]) -> Tensor[Any]:
    """`x` with the given dims made one, at the end."""
    kept = [dim for dim in range(len(x.shape)) if dim not in dims]
    moved = x if [*kept, *dims] == list(range(len(x.shape))) else x.permute([*kept, *dims])
    size = math.prod(x.shape[dim] for dim in dims)
    return moved.reshape([*(x.shape[dim] for dim in kept), size])


def kept_ones(x: Tensor[Any], dims: tuple[int, ...]) -> list[int]:
    """The shape of `x` with size 1 at `dims`."""
    return [1 if dim in dims else size for dim, size in enumerate(x.shape)]


def folded(operation: str, row: Row, x: Tensor[Any], dim: Any, keepdim: bool) -> Tensor[Any]:
    """`row(x, dim)`, which takes one dim, along one dim or several as one."""
    dims = dims_of(operation, x, dim)
    if len(dims) == 1:
        out = row(x, dims[0])
    else:
        out = row(along_last(x, dims), -1).reshape(kept_ones(x, dims))
    return shaped(out, dims, dim is None, keepdim)


def positions(operation: str, row: Row, x: Tensor[Any], dim: Any, keepdim: bool) -> Tensor[Any]:
    """Where the chosen element is along a dim; without a dim, where it is in row-major order."""
    if dim is not None:
        one_axis(operation, dim, len(x.shape))
    elif not x.shape.num_elements():
        raise ShapeError(f"{operation}: shape {tuple(x.shape)} has no elements: there is nothing to choose from")
    return folded(operation, row, x, dim, keepdim)


def chosen(operation: str, row: Row, x: Tensor[Any], dim: Any, keepdim: bool, several: str) -> ValuesAndIndices[Any]:
    """The chosen elements along one dim, and where they were."""
    if not hasattr(dim, "__index__"):
        raise ArgumentError(f"{operation}: dim must be one int, got {dim!r}; {several}")
    place = one_axis(operation, dim, len(x.shape))
    values, indices = row(x, place)
    if keepdim:
        return ValuesAndIndices(values, indices)
    return ValuesAndIndices(dropped(values, (place,)), dropped(indices, (place,)))


def variance(operation: str, x: Tensor[Any], dim: Any, keepdim: bool, unbiased: Any, correction: Any) -> Tensor[Any]:
    """The mean square of the distances from the mean, divided by `count - correction`."""
    floats_only(operation, x)
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    elif unbiased is not None:
        raise ArgumentError(f"{operation}: unbiased and correction say the same thing; give one of them")
    if not isinstance(correction, int | float):
        raise ArgumentError(f"{operation}: correction must be a number, got {correction!r}")
    dims = dims_of(operation, x, dim)
    if len(dims) == 1 and correction in (0, 1):
        out: Any = (statistics.var if correction else statistics.var_bias)(x, dims[0])
    else:
        wide = reduce.widened(x)
        centred = wide - wide.mean_dims(dims)
        count = math.prod(x.shape[each] for each in dims)
        out = cast_to((centred * centred).sum_dims(dims) / max(float(count - correction), 0.0), x.dtype)
    return shaped(out, dims, dim is None, keepdim)


def norm(x: Tensor[Any], p: Any, dim: Any, keepdim: bool) -> Tensor[Any]:
    """The length of vectors: along `dim`, or of all elements as one vector."""
    if p is None or (isinstance(p, str) and p == "fro"):
        p = 2.0
    elif isinstance(p, str) and p in ("inf", "-inf"):
        p = float(p)
    elif isinstance(p, str):
        raise ArgumentError(f"norm: p must be a number, 'fro' or math.inf, got {p!r}")
    return folded("norm", lambda values, place: linalg.vector_norm(values, p, place), x, dim, keepdim)
