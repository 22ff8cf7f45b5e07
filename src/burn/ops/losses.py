"""Losses that are worth a row: their gradient is simpler than the gradients of their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.errors import IndexingError, ShapeError
from burn.ops.declare import composite, floating, integral
from burn.ops.indexing_references import not_a_class
from burn.ops.movement import positions
from burn.ops.op import Op
from burn.ops.softmax import log_softmax, softmax
from burn.shape import axis

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor


def _prepare(op: Op, operands: list[Any]) -> list[Any]:
    logits, targets = operands
    return [floating.coerce(op, logits), integral.coerce(op, targets)]


def _rule(op: Op, logits: Any, targets: Any) -> Any:
    axis(op.name, -1, len(logits.shape))
    if targets.shape != logits.shape[:-1]:
        raise ShapeError(
            f"{op.name}: targets must have the shape {tuple(logits.shape[:-1])} for logits {tuple(logits.shape)}, "
            f"got {tuple(targets.shape)}"
        )
    return targets.shape, logits.dtype, ()


def _gradient(g: Any, logits: Any, targets: Any) -> Any:
    last = len(logits.shape) - 1
    chosen = positions(logits.shape[-1], logits.device).equal(targets.unsqueeze_dim(last))
    return (softmax(logits, -1) - chosen.cast(logits.dtype)) * g.unsqueeze_dim(last)


@composite(rule=_rule, prepare=_prepare, vjp=dict(logits=_gradient))
def cross_entropy(logits: Tensor[B], targets: Tensor[Any]) -> Tensor[B]:
    """Take the negative logarithm of the softmaxed share that each target class has along the last dim.

    Arguments:
        logits: (..., classes).
        targets: class numbers (...,).

    >>> from burn.tensor import loss
    >>> loss.cross_entropy(burn.tensor([[2.0, 0.0], [0.0, 2.0]]), burn.tensor([0, 1])).to_data()
    TensorData([0.12692805, 0.12692805], shape=[2], dtype=f32)
    """
    last = len(logits.shape) - 1
    try:
        chosen = log_softmax(logits, last).gather(last, targets.unsqueeze_dim(last))
    except IndexingError as error:
        raise not_a_class("cross_entropy", error) from None
    return chosen.squeeze_dim(last).neg()
