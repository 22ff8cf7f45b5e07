"""Losses of class indices as exchange formats define them: classes along dim 1, weights, a class to ignore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.errors import ArgumentError, DTypeError, ShapeError
from burn.ops.declare import composite, only_floats
from burn.ops.dispatch import cast_to
from burn.ops.movement import whole
from burn.ops.op import Op
from burn.ops.softmax import log_softmax
from burn.shape import Shape

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor

REDUCTIONS = ("none", "mean", "sum")


def _prepare(op: Op, operands: list[Any]) -> list[Any]:
    x, targets, weight = operands
    if not targets.dtype.is_int:
        raise DTypeError(f"{op.name}: targets must be an int tensor, got {targets.dtype}; convert it with .int()")
    x = only_floats.coerce(op, x)
    return [x, targets, None if weight is None else cast_to(only_floats.coerce(op, weight), x.dtype)]


def _loss_shape(op: Op, x: Any, targets: Any, weight: Any, ignore_index: Any, reduction: Any) -> tuple[Shape, Any]:
    if len(x.shape) < 2 or tuple(targets.shape) != (x.shape[0], *x.shape[2:]):
        raise ShapeError(
            f"{op.name}: x must be (batch, classes, ...) and targets (batch, ...), "
            f"got {tuple(x.shape)} and {tuple(targets.shape)}"
        )
    if weight is not None and tuple(weight.shape) != (x.shape[1],):
        raise ShapeError(
            f"{op.name}: weight must have the shape ({x.shape[1]},) for x {tuple(x.shape)}, got {tuple(weight.shape)}"
        )
    if reduction not in REDUCTIONS:
        raise ArgumentError(f"{op.name}: reduction must be one of {', '.join(REDUCTIONS)}, got {reduction!r}")
    index = None if ignore_index is None else whole(op.name, "ignore_index", ignore_index)
    return (Shape(targets.shape) if reduction == "none" else Shape(())), (index, reduction)


def _rule(op: Op, x: Any, targets: Any, weight: Any, ignore_index: Any, reduction: Any) -> Any:
    shape, settings = _loss_shape(op, x, targets, weight, ignore_index, reduction)
    return shape, x.dtype, settings


def _entropy_rule(op: Op, x: Any, targets: Any, weight: Any, ignore_index: Any, reduction: Any) -> Any:
    shape, settings = _loss_shape(op, x, targets, weight, ignore_index, reduction)
    return [shape, x.shape], [x.dtype, x.dtype], settings


def _likelihood(x: Any, targets: Any, weight: Any, ignore_index: int | None, reduction: str) -> Any:
    ignored = None if ignore_index is None else targets == ignore_index
    chosen = targets if ignored is None else targets.mask_fill(ignored, 0)
    loss = x.gather(1, chosen.unsqueeze_dim(1)).squeeze_dim(1).neg()
    shares: Any = None
    if weight is not None:
        shares = weight.select(0, chosen.reshape((-1,))).reshape(chosen.shape)
        loss = loss * shares
    if ignored is not None:
        shares = loss.ones_like() if shares is None else shares
        shares, loss = shares.mask_fill(ignored, 0.0), loss.mask_fill(ignored, 0.0)
    if reduction == "none":
        return loss
    if reduction == "sum":
        return loss.sum().reshape(())
    return (loss.mean() if shares is None else loss.sum() / shares.sum()).reshape(())


@composite(rule=_rule, prepare=_prepare)
def negative_log_likelihood(
    x: Tensor[B],
    targets: Tensor[Any],
    weight: Tensor[Any] | None = None,
    ignore_index: int | None = None,
    reduction: str = "mean",
) -> Tensor[B]:
    """Take minus the logarithm that `x` (batch, classes, ...) holds for each of the `targets` (batch, ...).

    Arguments:
        weight: one for each class, which also counts in the mean.
        ignore_index: the target that counts nothing.
        reduction: "mean", "sum" or "none".

    >>> from burn.tensor import loss
    >>> x = burn.tensor([[0.0, 2.0], [2.0, 0.0]]).log_softmax(1)
    >>> loss.negative_log_likelihood(x, burn.tensor([1, 1]), reduction="none").to_data()
    TensorData([0.12692805, 2.126928], shape=[2], dtype=f32)
    """
    return _likelihood(x, targets, weight, ignore_index, reduction)  # type: ignore[no-any-return]


@composite(rule=_entropy_rule, prepare=_prepare, outputs=2)
def softmax_cross_entropy(
    x: Tensor[B],
    targets: Tensor[Any],
    weight: Tensor[Any] | None = None,
    ignore_index: int | None = None,
    reduction: str = "mean",
) -> tuple[Tensor[B], Tensor[B]]:
    """Compute `negative_log_likelihood` of the log-softmax of `x` along dim 1, which is given back too.

    Arguments:
        targets, weight, ignore_index, reduction: those of `negative_log_likelihood`.

    >>> from burn.tensor import loss
    >>> value, logarithms = loss.softmax_cross_entropy(burn.tensor([[0.0, 2.0]]), burn.tensor([1]))
    >>> value.to_data()
    TensorData(0.12692805, shape=[], dtype=f32)
    """
    logarithms = log_softmax(x, 1)
    return _likelihood(logarithms, targets, weight, ignore_index, reduction), logarithms
