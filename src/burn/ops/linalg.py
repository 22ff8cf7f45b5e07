"""Products of matrices and vectors, what is read off a matrix, and lengths of vectors."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from burn.classes import dataclass
from burn.dtype import HALVES, from_numpy
from burn.errors import ArgumentError, ShapeError
from burn.ops import indexing
from burn.ops.activation import number, wide
from burn.ops.declare import composite, floating, numeric, prepared, primitive
from burn.ops.dispatch import cast_to
from burn.ops.op import Op
from burn.shape import Shape, axis, broadcast

if TYPE_CHECKING:
    from burn.ops.declare import B, Binary
    from burn.tensor import Tensor


def _matmul_rule(op: Op, x: Any, y: Any) -> Any:
    return _product_shape(op.name, x.shape, y.shape), x.dtype, ()


@functools.lru_cache(4096)
def _product_shape(operation: str, left: Shape, right: Shape) -> Shape:
    for name, shape in (("x", left), ("y", right)):
        if len(shape) < 2:
            raise ShapeError(
                f"{operation}: {name} has shape {tuple(shape)} and must have at least 2 dims; "
                "write x @ y for vectors, or x.dot(y)"
            )
    if left[-1] != right[-2]:
        raise ShapeError(
            f"{operation}: inner dimensions differ: {tuple(left)} @ {tuple(right)}: {left[-1]} != {right[-2]}"
        )
    batch = broadcast(operation, Shape(left[:-2]), Shape(right[:-2]))
    return Shape((*batch, left[-2], right[-1]))


def _one_dtype(op: Op, operands: list[Any]) -> list[Any]:
    x, y = operands
    if getattr(x, "dtype", None) is getattr(y, "dtype", None) and x.dtype in numeric.accepts:
        return operands
    return _promote(op, operands)


_promote = prepared(numeric, "x", "y")


def matmul_reference(x: Any, y: Any) -> Any:
    """`np.matmul`; halves accumulate in f32, and one matrix for a whole batch is one product."""
    dtype = x.dtype
    if from_numpy(dtype) in HALVES:
        return matmul_reference(x.astype(np.float32), y.astype(np.float32)).astype(dtype)
    if y.ndim == 2 and x.ndim > 2 and x.size:
        return np.matmul(x.reshape(-1, x.shape[-1]), y).reshape(*x.shape[:-1], y.shape[-1])
    return np.matmul(x, y)


def as_rows(x: Any) -> Any:
    """All leading dims as one."""
    if len(x.shape) == 2:
        return x
    return x.reshape((math.prod(x.shape[:-1]), x.shape[-1]))


def _left_gradient(g: Any, y: Any) -> Any:
    return matmul(g, y.transpose())


def _right_gradient(g: Any, x: Any, y_shape: Any) -> Any:
    """One product where a single matrix served a batch, instead of a batch of products and a sum."""
    if len(y_shape) == 2 and len(x.shape) > 2:
        g, x = as_rows(g), as_rows(x)
    return matmul(x.transpose(), g)


_product = cast(
    "Callable[[Callable[..., Any]], Binary]",
    primitive(
        rule=_matmul_rule,
        reference=matmul_reference,
        prepare=_one_dtype,
        vjp=dict(x=_left_gradient, y=_right_gradient),
        bound="compute",
    ),
)


@_product
def matmul(x: Tensor[Any], y: Tensor[Any]) -> Tensor[Any]:
    """Multiply matrices in the last two dims; the dims before them broadcast. Integers wrap.

    >>> (burn.tensor([[1, 2], [3, 4]]) @ burn.tensor([[1], [10]])).tolist()
    [[21], [43]]
    """
    ...


# Vectors


def _vectors_rule(op: Op, x: Any, y: Any) -> Any:
    if len(x.shape) != 1 or x.shape != y.shape:
        raise ShapeError(
            f"{op.name}: needs two vectors of one length, got {tuple(x.shape)} and {tuple(y.shape)}; "
            "write x @ y for matrices"
        )
    return Shape((1,)), x.dtype, ()


@composite(
    rule=_vectors_rule,
    prepare=prepared(numeric, "x", "y"),
    vjp=dict(x=lambda g, y: g * y, y=lambda g, x: g * x),
)
def dot(x: Tensor[B], y: Tensor[Any]) -> Tensor[B]:
    """Sum the products of two vectors into a tensor of shape [1].

    >>> burn.tensor([1, 2]).dot(burn.tensor([10, 20])).tolist()
    [50]
    """
    return matmul(x.reshape((1, x.shape[0])), y.reshape((y.shape[0], 1))).reshape((1,))


def _matvec_rule(op: Op, matrix: Any, vector: Any) -> Any:
    left, right = matrix.shape, vector.shape
    if len(left) < 2 or not right:
        raise ShapeError(f"{op.name}: needs a matrix and a vector, got {tuple(left)} and {tuple(right)}")
    if left[-1] != right[-1]:
        raise ShapeError(
            f"{op.name}: inner dimensions differ: {tuple(left)} and {tuple(right)}: {left[-1]} != {right[-1]}"
        )
    batch = broadcast(op.name, Shape(left[:-2]), Shape(right[:-1]))
    return Shape((*batch, left[-2])), matrix.dtype, ()


@composite(rule=_matvec_rule, prepare=prepared(numeric, "matrix", "vector"))
def matvec(matrix: Tensor[B], vector: Tensor[Any]) -> Tensor[B]:
    """Multiply each `matrix` (the last two dims) by a `vector` (the last dim); the dims before them broadcast.

    >>> from burn.tensor import linalg
    >>> linalg.matvec(burn.tensor([[1, 2], [3, 4]]), burn.tensor([1, 10])).tolist()
    [21, 43]
    """
    out = matmul(matrix, vector.reshape((*vector.shape, 1)))
    return out.reshape(out.shape[:-1])


@composite()
def outer(x: Tensor[B], y: Tensor[Any]) -> Tensor[B]:
    """Multiply each element along the last dim of `x` by each along that of `y`.

    >>> from burn.tensor import linalg
    >>> linalg.outer(burn.tensor([1, 2]), burn.tensor([1, 10])).tolist()
    [[1, 10], [2, 20]]
    """
    return outer_dim(x, y, -1)


def _outer_rule(op: Op, x: Any, y: Any, dim: Any) -> Any:
    if len(x.shape) != len(y.shape):
        raise ShapeError(f"{op.name}: needs two tensors of one rank, got {tuple(x.shape)} and {tuple(y.shape)}")
    found = axis(op.name, dim, len(x.shape))
    return broadcast(op.name, x.shape.insert(found + 1, 1), y.shape.insert(found, 1)), x.dtype, (found,)


@composite(rule=_outer_rule, prepare=prepared(numeric, "x", "y"))
def outer_dim(x: Tensor[B], y: Tensor[Any], dim: int) -> Tensor[B]:
    """Multiply each element along `dim` of `x` by each along `dim` of `y`, which becomes the dim after it.

    >>> from burn.tensor import linalg
    >>> linalg.outer_dim(burn.tensor([[1], [2]]), burn.tensor([[1], [10]]), dim=0).tolist()
    [[[1], [10]], [[2], [20]]]
    """
    return x.reshape(x.shape.insert(dim + 1, 1)) * y.reshape(y.shape.insert(dim, 1))


def _cross_rule(op: Op, x: Any, y: Any, dim: Any) -> Any:
    shape = broadcast(op.name, x.shape, y.shape)
    from_end = axis(op.name, dim, len(shape)) - len(shape)
    for name, each in (("x", x.shape), ("y", y.shape)):
        size = each[from_end] if len(each) >= -from_end else 1
        if size != 3:
            raise ShapeError(f"{op.name}: dim {dim} of {name} {tuple(each)} has size {size}, which must be 3")
    return shape, x.dtype, (from_end,)


def _cross_left_gradient(g: Any, y: Any, dim: int) -> Any:
    return cross(y, g, dim)


def _cross_right_gradient(g: Any, x: Any, dim: int) -> Any:
    return cross(g, x, dim)


@composite(
    rule=_cross_rule,
    prepare=prepared(numeric, "x", "y"),
    vjp=dict(x=_cross_left_gradient, y=_cross_right_gradient),
)
def cross(x: Tensor[B], y: Tensor[Any], dim: int = -1) -> Tensor[B]:
    """Take the cross product of the vectors of three numbers along `dim`.

    >>> burn.tensor([1, 0, 0]).cross(burn.tensor([0, 1, 0])).tolist()
    [0, 0, 1]
    """
    forward: Any = x.roll_dim(-1, dim) * y.roll_dim(-2, dim)
    return forward - x.roll_dim(-2, dim) * y.roll_dim(-1, dim)  # type: ignore[no-any-return]


# Diagonals


def check_matrices(op: Op, x: Any) -> None:
    """Refuse what has no rows and columns."""
    if len(x.shape) < 2:
        raise ShapeError(f"{op.name}: needs matrices in the last two dims, got shape {tuple(x.shape)}")


def _diag_rule(op: Op, x: Any) -> Any:
    check_matrices(op, x)
    return Shape((*x.shape[:-2], min(x.shape[-2:]))), x.dtype, ()


@composite(rule=_diag_rule)
def diag(x: Tensor[B]) -> Tensor[B]:
    """Read the diagonal of each matrix in the last two dims.

    >>> from burn.tensor import linalg
    >>> linalg.diag(burn.tensor([[1, 2], [3, 4]])).tolist()
    [1, 4]
    """
    rows, columns = x.shape[-2:]
    flat = x.reshape((*x.shape[:-2], rows * columns))
    chosen = indexing.one_range(flat.shape, len(flat.shape) - 1, (0, min(rows, columns), columns + 1))
    return indexing.slice(flat, chosen)


def _trace_rule(op: Op, x: Any) -> Any:
    check_matrices(op, x)
    return Shape((*x.shape[:-2], 1, 1)), x.dtype, ()


@composite(rule=_trace_rule, prepare=prepared(numeric))
def trace(x: Tensor[B]) -> Tensor[B]:
    """Sum the diagonal of each matrix in the last two dims, which are kept with size 1.

    >>> from burn.tensor import linalg
    >>> linalg.trace(burn.tensor([[1, 2], [3, 4]])).tolist()
    [[5]]
    """
    return diag(x).sum_dim(-1).reshape((*x.shape[:-2], 1, 1))


# Lengths of vectors along a dim, which is kept with size 1


@dataclass(frozen=True)
class Norm:
    """Which norm: `Norm.L0`, `Norm.L1`, `Norm.L2`, `Norm.LInf`, `Norm.LNegInf`, or `Norm.Lp(p)`.

    Where a norm is asked for, the number `p` also serves.

    >>> from burn.tensor import linalg
    >>> linalg.vector_norm(burn.tensor([3.0, 4.0]), linalg.Norm.L2, dim=0).tolist()
    [5.0]
    """

    p: float

    L0: ClassVar[Norm]
    L1: ClassVar[Norm]
    L2: ClassVar[Norm]
    LInf: ClassVar[Norm]
    LNegInf: ClassVar[Norm]

    @staticmethod
    def Lp(p: float) -> Norm:
        """The `p`-th root of the sum of `p`-th powers.

        >>> from burn.tensor import linalg
        >>> linalg.vector_norm(burn.tensor([1.0, 2.0]), linalg.Norm.Lp(3.0), dim=0).to_data()
        TensorData([2.0800838], shape=[1], dtype=f32)
        """
        return Norm(float(p))

    def __float__(self) -> float:
        return self.p


Norm.L0 = Norm(0.0)
Norm.L1 = Norm(1.0)
Norm.L2 = Norm(2.0)
Norm.LInf = Norm(math.inf)
Norm.LNegInf = Norm(-math.inf)


def _order(op: Op, p: Any) -> float:
    order = p.p if isinstance(p, Norm) else number(op, "p", p)
    if math.isnan(order):
        raise ArgumentError(f"{op.name}: p must not be NaN; write Norm.L2, 2.0 or math.inf")
    return order


def _norm_rule(op: Op, x: Any, p: Any, dim: Any) -> Any:
    found = axis(op.name, dim, len(x.shape))
    return x.shape.with_dim(found, 1), x.dtype, (_order(op, p), found)


def _norm_gradient(g: Any, x: Any, out: Any, p: float, dim: int) -> Any:
    """PyTorch's choices: 0 for a vector of zeros, an equal share for each of several extremes."""
    if p == 0.0:
        return x.zeros_like()
    if p == 1.0:
        return x.sign() * g
    if p == 2.0:
        return (x * (g / out)).mask_fill(out == 0.0, 0.0)
    if math.isinf(p):
        extreme = (x.abs() == out).cast(x.dtype)
        return x.sign() * extreme * (g / extreme.sum_dim(dim))
    slope = x.sign() * x.abs().powf_scalar(p - 1.0)
    if p < 1.0:
        return slope.mask_fill(x == 0.0, 0.0) * (g * out.powf_scalar(1.0 - p))
    return (slope * (g / out.powf_scalar(p - 1.0))).mask_fill(out == 0.0, 0.0)


@composite(rule=_norm_rule, prepare=prepared(floating), vjp=dict(x=_norm_gradient))
def vector_norm(x: Tensor[B], p: Any, dim: int) -> Tensor[B]:
    """Measure the vectors along `dim`: `p` is a number or a `Norm`. L0 counts what is not 0.

    >>> from burn.tensor import linalg
    >>> linalg.vector_norm(burn.tensor([[3.0, 4.0], [6.0, 8.0]]), 2, dim=1).tolist()
    [[5.0], [10.0]]
    """
    values = wide(x)
    if p == 0.0:
        out = (values != 0.0).cast(values.dtype).sum_dim(dim)
    elif p == 1.0:
        out = values.abs().sum_dim(dim)
    elif p == 2.0:
        out = (values * values).sum_dim(dim).sqrt()
    elif math.isinf(p):
        out = values.abs().max_dim(dim) if p > 0 else values.abs().min_dim(dim)
    else:
        out = values.abs().powf_scalar(p).sum_dim(dim).powf_scalar(1.0 / p)
    return cast_to(out, x.dtype)


@composite()
def l0_norm(x: Tensor[B], dim: int) -> Tensor[B]:
    """Count the elements along `dim` that are not 0.

    >>> from burn.tensor import linalg
    >>> linalg.l0_norm(burn.tensor([3.0, 0.0, 4.0]), dim=0).tolist()
    [2.0]
    """
    return vector_norm(x, 0.0, dim)


@composite()
def l1_norm(x: Tensor[B], dim: int) -> Tensor[B]:
    """Sum the absolute values along `dim`.

    >>> from burn.tensor import linalg
    >>> linalg.l1_norm(burn.tensor([3.0, -4.0]), dim=0).tolist()
    [7.0]
    """
    return vector_norm(x, 1.0, dim)


@composite()
def l2_norm(x: Tensor[B], dim: int) -> Tensor[B]:
    """Measure the vectors along `dim` by the square root of the sum of squares.

    >>> from burn.tensor import linalg
    >>> linalg.l2_norm(burn.tensor([3.0, -4.0]), dim=0).tolist()
    [5.0]
    """
    return vector_norm(x, 2.0, dim)


@composite()
def lp_norm(x: Tensor[B], p: float, dim: int) -> Tensor[B]:
    """Measure the vectors along `dim` by the `p`-th root of the sum of `p`-th powers.

    >>> from burn.tensor import linalg
    >>> linalg.lp_norm(burn.tensor([1.0, 2.0]), 3.0, dim=0).to_data()
    TensorData([2.0800838], shape=[1], dtype=f32)
    """
    return vector_norm(x, p, dim)


@composite()
def max_abs_norm(x: Tensor[B], dim: int) -> Tensor[B]:
    """Find the largest absolute value along `dim`.

    >>> from burn.tensor import linalg
    >>> linalg.max_abs_norm(burn.tensor([3.0, -4.0]), dim=0).tolist()
    [4.0]
    """
    return vector_norm(x, math.inf, dim)


@composite()
def min_abs_norm(x: Tensor[B], dim: int) -> Tensor[B]:
    """Find the smallest absolute value along `dim`.

    >>> from burn.tensor import linalg
    >>> linalg.min_abs_norm(burn.tensor([3.0, -4.0]), dim=0).tolist()
    [3.0]
    """
    return vector_norm(x, -math.inf, dim)


def _normalize_rule(op: Op, x: Any, p: Any, dim: Any, eps: Any) -> Any:
    return x.shape, x.dtype, (_order(op, p), axis(op.name, dim, len(x.shape)), number(op, "eps", eps))


@composite(rule=_normalize_rule, prepare=prepared(floating))
def vector_normalize(x: Tensor[B], p: Any = 2.0, dim: int = -1, eps: float = 1e-12) -> Tensor[B]:
    """Divide the vectors along `dim` by their norm, or by `eps` where the norm is smaller.

    Arguments:
        p: a number or a `Norm`.

    >>> from burn.tensor import linalg
    >>> linalg.vector_normalize(burn.tensor([3.0, 4.0])).to_data()
    TensorData([0.6, 0.8], shape=[2], dtype=f32)
    """
    return x / vector_norm(x, p, dim).clamp_min(eps)


def _similarity_rule(op: Op, x1: Any, x2: Any, dim: Any, eps: Any) -> Any:
    shape = broadcast(op.name, x1.shape, x2.shape)
    found = axis(op.name, dim, len(shape))
    floor = x1.dtype.finfo().min_positive if eps is None else number(op, "eps", eps)
    return shape.with_dim(found, 1), x1.dtype, (found - len(shape), floor)


@composite(rule=_similarity_rule, prepare=prepared(floating, "x1", "x2"))
def cosine_similarity(x1: Tensor[B], x2: Tensor[Any], dim: int, eps: float | None = None) -> Tensor[B]:
    """Compute the cosine of the angle between the vectors of `x1` and `x2` along `dim`, which is kept with size 1.

    Arguments:
        eps: what a smaller norm counts as; the smallest normal number of the dtype if None.

    >>> from burn.tensor import linalg
    >>> linalg.cosine_similarity(burn.tensor([[1.0, 0.0]]), burn.tensor([[3.0, 4.0]]), dim=1).to_data()
    TensorData([[0.6]], shape=[1, 1], dtype=f32)
    """
    floor = 0.0 if eps is None else eps
    lengths: Any = vector_norm(x1, 2.0, dim).clamp_min(floor) * vector_norm(x2, 2.0, dim).clamp_min(floor)
    return (x1 * x2).sum_dim(dim) / lengths  # type: ignore[no-any-return]
