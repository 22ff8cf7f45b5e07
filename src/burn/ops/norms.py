"""Lengths of vectors along a dim, which is kept with size 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from burn.errors import ArgumentError
from burn.ops.activation import number, wide
from burn.ops.declare import composite, floating, prepared
from burn.ops.dispatch import cast_to
from burn.ops.op import Op
from burn.shape import axis, broadcast

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor


@dataclass(frozen=True)
class Norm:
    """Which norm: `Norm.L2`, or `Norm.Lp(3.0)`. Where a norm is asked for, the number `p` also serves."""

    p: float

    L0: ClassVar[Norm]
    L1: ClassVar[Norm]
    L2: ClassVar[Norm]
    LInf: ClassVar[Norm]
    LNegInf: ClassVar[Norm]

    @staticmethod
    def Lp(p: float) -> Norm:
        """The p-th root of the sum of p-th powers."""
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
    """Measure the vectors along `dim`: `p` is a number or a `Norm`. L0 counts what is not 0."""
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
    """Count the elements along `dim` that are not 0."""
    return vector_norm(x, 0.0, dim)


@composite()
def l1_norm(x: Tensor[B], dim: int) -> Tensor[B]:
    """Sum the absolute values along `dim`."""
    return vector_norm(x, 1.0, dim)


@composite()
def l2_norm(x: Tensor[B], dim: int) -> Tensor[B]:
    """Measure the vectors along `dim` by the square root of the sum of squares."""
    return vector_norm(x, 2.0, dim)


@composite()
def lp_norm(x: Tensor[B], p: float, dim: int) -> Tensor[B]:
    """Measure the vectors along `dim` by the p-th root of the sum of p-th powers."""
    return vector_norm(x, p, dim)


@composite()
def max_abs_norm(x: Tensor[B], dim: int) -> Tensor[B]:
    """Find the largest absolute value along `dim`."""
    return vector_norm(x, math.inf, dim)


@composite()
def min_abs_norm(x: Tensor[B], dim: int) -> Tensor[B]:
    """Find the smallest absolute value along `dim`."""
    return vector_norm(x, -math.inf, dim)


def _normalize_rule(op: Op, x: Any, p: Any, dim: Any, eps: Any) -> Any:
    return x.shape, x.dtype, (_order(op, p), axis(op.name, dim, len(x.shape)), number(op, "eps", eps))


@composite(rule=_normalize_rule, prepare=prepared(floating))
def vector_normalize(x: Tensor[B], p: Any = 2.0, dim: int = -1, eps: float = 1e-12) -> Tensor[B]:
    """Divide the vectors along `dim` by their norm, or by `eps` where the norm is smaller."""
    return x / vector_norm(x, p, dim).clamp_min(eps)


def _similarity_rule(op: Op, x1: Any, x2: Any, dim: Any, eps: Any) -> Any:
    shape = broadcast(op.name, x1.shape, x2.shape)
    found = axis(op.name, dim, len(shape))
    floor = x1.dtype.finfo().min_positive if eps is None else number(op, "eps", eps)
    return shape.with_dim(found, 1), x1.dtype, (found - len(shape), floor)


@composite(rule=_similarity_rule, prepare=prepared(floating, "x1", "x2"))
def cosine_similarity(x1: Tensor[B], x2: Tensor[Any], dim: int, eps: float | None = None) -> Tensor[B]:
    """Compute the cosine of the angle between vectors along `dim`, which is kept with size 1.

    A norm below `eps` counts as `eps`; without one, the smallest normal number of the dtype.
    """
    floor = 0.0 if eps is None else eps
    lengths: Any = vector_norm(x1, 2.0, dim).clamp_min(floor) * vector_norm(x2, 2.0, dim).clamp_min(floor)
    return (x1 * x2).sum_dim(dim) / lengths  # type: ignore[no-any-return]
