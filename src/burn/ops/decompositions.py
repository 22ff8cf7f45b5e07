"""Matrices taken apart: determinants, inverses, LU and QR, over the last two dims.

NumPy does the work on every device whose backend has no kernel of its own. Half precision is
computed in f32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.dtype import HALVES, from_numpy
from burn.errors import ArgumentError, AutodiffError, ShapeError
from burn.ops.declare import composite, floating, hosted, prepared
from burn.ops.joining import cat
from burn.ops.linalg import check_matrices, matmul
from burn.ops.op import Op
from burn.shape import Shape, broadcast

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor


def _in_f32(function: Callable[..., Any]) -> Callable[..., Any]:
    """A NumPy function whose halves go through f32."""

    def run(x: Any, *rest: Any) -> Any:
        if from_numpy(x.dtype) not in HALVES:
            return function(x, *rest)
        arrays = [each.astype(np.float32) if isinstance(each, np.ndarray) else each for each in rest]
        out = function(x.astype(np.float32), *arrays)
        return tuple(each.astype(x.dtype) for each in out) if isinstance(out, tuple) else out.astype(x.dtype)

    return run


def singular(name: str) -> ArgumentError:
    """The error for a matrix without an inverse."""
    return ArgumentError(f"{name}: a matrix is singular: it has no inverse")


def _check_square(op: Op, x: Any) -> None:
    check_matrices(op, x)
    if x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{op.name}: needs square matrices in the last two dims, got shape {tuple(x.shape)}")


def _square_rule(op: Op, x: Any) -> Any:
    _check_square(op, x)
    return x.shape, x.dtype, ()


# Determinants


def _det_rule(op: Op, x: Any) -> Any:
    _check_square(op, x)
    return Shape(x.shape[:-2]), x.dtype, ()


def _det_gradient(g: Any, x: Any) -> Any:
    return cofactor(x) * g.reshape((*g.shape, 1, 1))


@hosted(rule=_det_rule, reference=_in_f32(np.linalg.det), prepare=prepared(floating), vjp=dict(x=_det_gradient))
def det(x: Tensor[B]) -> Tensor[B]:
    """Compute the determinant of each matrix in the last two dims, which are dropped.

    >>> from burn.tensor import linalg
    >>> linalg.det(burn.tensor([[1.0, 2.0], [3.0, 4.0]])).to_data()
    TensorData(-2.0, shape=[], dtype=f32)
    """
    ...


def _cofactor(x: Any) -> Any:
    """From the singular values, without dividing by them: singular matrices have cofactors too."""
    left, values, right = np.linalg.svd(x)
    ones = np.ones_like(values[..., :1])
    before = np.cumprod(np.concatenate([ones, values[..., :-1]], axis=-1), axis=-1)
    after = np.cumprod(np.concatenate([ones, values[..., :0:-1]], axis=-1), axis=-1)[..., ::-1]
    sign = np.linalg.det(left) * np.linalg.det(right)
    return np.matmul(left * (before * after * sign[..., None])[..., None, :], right).astype(x.dtype, copy=False)


def _cofactor_gradient(g: Any, x: Any, out: Any) -> Any:
    inner = (g * out).sum_dims([-2, -1])
    change = out * inner - matmul(matmul(out, g.transpose()), out)
    return change / det(x).reshape(inner.shape)


@hosted(rule=_square_rule, reference=_in_f32(_cofactor), prepare=prepared(floating), vjp=dict(x=_cofactor_gradient))
def cofactor(x: Tensor[B]) -> Tensor[B]:
    """Compute the cofactors of each matrix: how its determinant changes with each element.

    >>> from burn.tensor import linalg
    >>> linalg.cofactor(burn.tensor([[2.0, 1.0], [0.0, 4.0]])).to_data()
    TensorData([[4.0, -3.5129695e-9], [-1.0000001, 2.0]], shape=[2, 2], dtype=f32)
    """
    ...


# Linear equations


def _inverse(x: Any) -> Any:
    try:
        return np.linalg.inv(x)
    except np.linalg.LinAlgError:
        raise singular("inverse") from None


def _inverse_gradient(g: Any, out: Any) -> Any:
    turned = out.transpose()
    return matmul(matmul(turned, g), turned).neg()


@hosted(rule=_square_rule, reference=_in_f32(_inverse), prepare=prepared(floating), vjp=dict(x=_inverse_gradient))
def inverse(x: Tensor[B]) -> Tensor[B]:
    """Invert each matrix in the last two dims; a singular one is an error.

    >>> from burn.tensor import linalg
    >>> linalg.inverse(burn.tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    ...


def _solve_rule(op: Op, matrix: Any, values: Any) -> Any:
    _check_square(op, matrix)
    check_matrices(op, values)
    left, right = matrix.shape, values.shape
    if left[-1] != right[-2]:
        raise ShapeError(
            f"{op.name}: {tuple(left)} and {tuple(right)} have different numbers of rows: {left[-2]} != {right[-2]}"
        )
    batch = broadcast(op.name, Shape(left[:-2]), Shape(right[:-2]))
    return Shape((*batch, *right[-2:])), matrix.dtype, ()


def _solve(matrix: Any, values: Any) -> Any:
    try:
        return np.linalg.solve(matrix, values)
    except np.linalg.LinAlgError:
        raise singular("solve") from None


def _values_gradient(g: Any, matrix: Any) -> Any:
    return solve(matrix.transpose(), g)


def _matrix_gradient(g: Any, matrix: Any, out: Any) -> Any:
    return matmul(_values_gradient(g, matrix), out.transpose()).neg()


@hosted(
    rule=_solve_rule,
    reference=_in_f32(_solve),
    prepare=prepared(floating, "matrix", "values"),
    vjp=dict(matrix=_matrix_gradient, values=_values_gradient),
)
def solve(matrix: Tensor[B], values: Tensor[Any]) -> Tensor[B]:
    """Solve `matrix @ x = values` for `x`, over the last two dims; a singular matrix is an error.

    >>> from burn.tensor import linalg
    >>> linalg.solve(burn.tensor([[2.0, 0.0], [0.0, 4.0]]), burn.tensor([[2.0], [2.0]])).tolist()
    [[1.0], [0.5]]
    """
    ...


# LU


def _lu_rule(op: Op, x: Any) -> Any:
    check_matrices(op, x)
    *batch, rows, columns = x.shape
    least = min(rows, columns)
    shapes = [Shape((*batch, rows, rows)), Shape((*batch, rows, least)), Shape((*batch, least, columns))]
    return shapes, [x.dtype] * 3, ()


def _lu(x: Any) -> Any:
    """Elimination with partial pivoting, all matrices of the batch at once."""
    *batch, rows, columns = x.shape
    least = min(rows, columns)
    work = np.array(x).reshape(int(np.prod(batch)), rows, columns)
    order = np.tile(np.arange(rows), (len(work), 1))
    every = np.arange(len(work))
    for k in range(least):
        pivot = np.argmax(np.abs(work[:, k:, k]), axis=1) + k
        for array in (work, order):
            array[every, k], array[every, pivot] = array[every, pivot].copy(), array[every, k].copy()
        scale = work[:, k, k, None]
        work[:, k + 1 :, k] /= np.where(scale == 0, np.ones_like(scale), scale)
        work[:, k + 1 :, k + 1 :] -= work[:, k + 1 :, k, None] * work[:, k, None, k + 1 :]
    permutation = np.zeros((len(work), rows, rows), x.dtype)
    permutation[every[:, None], order, np.arange(rows)] = 1
    lower = np.tril(work[:, :, :least], -1) + np.eye(rows, least, dtype=x.dtype)
    upper = np.triu(work[:, :least])
    return tuple(each.reshape(*batch, *each.shape[1:]) for each in (permutation, lower, upper))


def _lu_gradient(g: Any, x_shape: Any, out: Any) -> Any:
    _, g_lower, g_upper = g
    permutation, lower, upper = out
    rows, columns = x_shape[-2:]
    least = min(rows, columns)
    g_lower = lower.zeros_like() if g_lower is None else g_lower.tril(-1)
    g_upper = upper.zeros_like() if g_upper is None else g_upper.triu()
    square_lower, square_upper = lower.narrow(-2, 0, least), upper.narrow(-1, 0, least)
    below = matmul(square_lower.transpose(), g_lower.narrow(-2, 0, least))
    above = matmul(g_upper.narrow(-1, 0, least), square_upper.transpose())
    if columns > rows:
        rest, g_rest = upper.narrow(-1, rows, columns - rows), g_upper.narrow(-1, rows, columns - rows)
        below = below - matmul(g_rest, rest.transpose())
    if rows > columns:
        rest, g_rest = lower.narrow(-2, columns, rows - columns), g_lower.narrow(-2, columns, rows - columns)
        above = above - matmul(rest.transpose(), g_rest)
    middle = below.tril(-1) + above.triu()
    head = solve(square_lower.transpose(), solve(square_upper, middle.transpose()).transpose())
    if columns > rows:
        head = cat([head, solve(square_lower.transpose(), g_rest)], -1)
    if rows > columns:
        head = cat([head, solve(square_upper, g_rest.transpose()).transpose()], -2)
    return matmul(permutation, head)


@hosted(rule=_lu_rule, reference=_in_f32(_lu), prepare=prepared(floating), vjp=dict(x=_lu_gradient), outputs=3)
def lu(x: Tensor[B]) -> tuple[Tensor[B], Tensor[B], Tensor[B]]:
    """Split each matrix into a permutation, a lower triangle with ones and an upper triangle: `x = P @ L @ U`.

    >>> from burn.tensor import linalg
    >>> [each.tolist() for each in linalg.lu(burn.tensor([[1.0, 2.0], [4.0, 4.0]]))]
    [[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.25, 1.0]], [[4.0, 4.0], [0.0, 1.0]]]
    """
    ...


def _compact_rule(op: Op, x: Any) -> Any:
    _check_square(op, x)
    return [x.shape, Shape(x.shape[:-1])], [x.dtype, x.device.int_dtype], ()


@composite(rule=_compact_rule, prepare=prepared(floating), outputs=2)
def lu_decomposition(x: Tensor[B]) -> tuple[Tensor[B], Tensor[B]]:
    """Split square matrices as `lu` does, into both triangles in one matrix and the order of the rows.

    Row `i` of the product of the triangles is row `order[i]` of `x`.

    >>> from burn.tensor import linalg
    >>> triangles, order = linalg.lu_decomposition(burn.tensor([[1.0, 2.0], [4.0, 4.0]]))
    >>> triangles.tolist(), order.tolist()
    ([[4.0, 4.0], [0.25, 1.0]], [1, 0])
    """
    permutation, lower, upper = lu(x)
    return lower.tril(-1) + upper, permutation.argmax(-2).reshape(x.shape[:-1])


# QR


def _qr_rule(op: Op, x: Any, reduced: Any) -> Any:
    check_matrices(op, x)
    if not isinstance(reduced, bool):
        raise ArgumentError(f"{op.name}: reduced must be True or False, got {reduced!r}")
    *batch, rows, columns = x.shape
    kept = min(rows, columns) if reduced else rows
    return [Shape((*batch, rows, kept)), Shape((*batch, kept, columns))], [x.dtype] * 2, (reduced,)


def _qr(x: Any, reduced: bool) -> Any:
    return tuple(np.linalg.qr(x, "reduced" if reduced else "complete"))


def _qr_gradient(g: Any, x: Any, out: Any) -> Any:
    rows, columns = x.shape[-2:]
    q, r = out
    g_q, g_r = (like.zeros_like() if each is None else each for each, like in zip(g, out))
    if q.shape[-1] > columns:
        raise AutodiffError(
            f"qr: a matrix of {rows} rows and {columns} columns has a gradient only with qr(x, reduced=True)"
        )
    if columns <= rows:
        return _square_gradient(g_q, g_r, q, r)
    g_rest = g_r.narrow(-1, rows, columns - rows)
    g_q = g_q + matmul(x.narrow(-1, rows, columns - rows), g_rest.transpose())
    head = _square_gradient(g_q, g_r.narrow(-1, 0, rows), q, r.narrow(-1, 0, rows))
    return cat([head, matmul(q, g_rest)], -1)


def _square_gradient(g_q: Any, g_r: Any, q: Any, r: Any) -> Any:
    """The gradient where R is square: `(gQ + Q C) R⁻ᵀ`, C the lower half of `R gRᵀ - gQᵀ Q` mirrored."""
    half = matmul(r, g_r.transpose()) - matmul(g_q.transpose(), q)
    mirrored = half.tril() + half.tril(-1).transpose()
    return solve(r, (g_q + matmul(q, mirrored)).transpose()).transpose()


@hosted(rule=_qr_rule, reference=_in_f32(_qr), prepare=prepared(floating), vjp=dict(x=_qr_gradient), outputs=2)
def qr(x: Tensor[B], reduced: bool = True) -> tuple[Tensor[B], Tensor[B]]:
    """Split each matrix into one with orthonormal columns and an upper triangle: `x = Q @ R`.

    Arguments:
        reduced: whether Q has no more columns than `x`; otherwise it is square.

    >>> from burn.tensor import linalg
    >>> q, r = linalg.qr(burn.tensor([[3.0, 1.0], [4.0, 2.0], [0.0, 0.0]]))
    >>> q.shape, r.shape
    (Shape([3, 2]), Shape([2, 2]))
    """
    ...
