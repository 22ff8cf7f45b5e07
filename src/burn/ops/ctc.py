"""Connectionist temporal classification: the likelihood of a text, however it lies along a recording.

A path says one class at each time; dropping repetitions and then blanks gives a text. `ctc_loss` sums
the probability of all paths that give the target, by the forward recursion over the target with
blanks between its letters; the gradient needs the same recursion backward.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from burn.errors import ArgumentError, IndexingError, ShapeError
from burn.ops.declare import hosted, integral, only_floats
from burn.ops.movement import whole
from burn.ops.op import Op
from burn.shape import Shape

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor

Array = np.ndarray[Any, Any]


def _prepare(op: Op, operands: list[Any]) -> list[Any]:
    floats = [i for i, name in enumerate(op.operands) if name in ("log_probs", "gradient")]
    return [(only_floats if i in floats else integral).coerce(op, each) for i, each in enumerate(operands)]


def _check(op: Op, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: Any) -> int:
    if len(log_probs.shape) != 3:
        raise ShapeError(
            f"{op.name}: log_probs must have the shape (time, batch, classes), got {tuple(log_probs.shape)}"
        )
    _, batch, classes = log_probs.shape
    if len(targets.shape) != 2 or targets.shape[0] != batch:
        raise ShapeError(
            f"{op.name}: targets must have the shape ({batch}, length) for log_probs {tuple(log_probs.shape)}, "
            f"got {tuple(targets.shape)}"
        )
    for name, each in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if tuple(each.shape) != (batch,):
            raise ShapeError(f"{op.name}: {name} must have the shape ({batch},), got {tuple(each.shape)}")
    index = whole(op.name, "blank", blank)
    if not 0 <= index < classes:
        raise ArgumentError(f"{op.name}: blank must be between 0 and {classes - 1}, got {blank}")
    return index


def _rule(op: Op, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: Any) -> Any:
    index = _check(op, log_probs, targets, input_lengths, target_lengths, blank)
    return Shape((log_probs.shape[1],)), log_probs.dtype, (index,)


def _backward_rule(
    op: Op, gradient: Any, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: Any
) -> Any:
    index = _check(op, log_probs, targets, input_lengths, target_lengths, blank)
    if tuple(gradient.shape) != (log_probs.shape[1],):
        raise ShapeError(
            f"{op.name}: the gradient must have the shape ({log_probs.shape[1]},), got {tuple(gradient.shape)}"
        )
    return log_probs.shape, log_probs.dtype, (index,)


class _Lattice:
    """The target with blanks around every letter, and the log-probability of each state at each time."""

    def __init__(self, log_probs: Array, targets: Array, inputs: Array, lengths: Array, blank: int) -> None:
        self.time, self.batch, self.classes = log_probs.shape
        _check_range("input_lengths", inputs, 0, self.time)
        _check_range("target_lengths", lengths, 0, targets.shape[1])
        used = np.arange(targets.shape[1]) < lengths[:, None]
        _check_range("targets", targets[used], 0, self.classes - 1)
        self.states = np.full((self.batch, 2 * targets.shape[1] + 1), blank, np.int64)
        self.states[:, 1::2] = np.where(used, targets, blank)
        self.inputs, self.lengths = inputs, lengths
        self.exists = np.arange(self.states.shape[1]) <= 2 * lengths[:, None]
        wide = log_probs.astype(np.float64)
        shape = (self.time, *self.states.shape)
        self.emitted = np.take_along_axis(wide, np.broadcast_to(self.states, shape), axis=2)
        self.skips = np.zeros(self.states.shape, bool)  # a letter may follow another letter without a blank
        self.skips[:, 2:] = (self.states[:, 2:] != blank) & (self.states[:, 2:] != self.states[:, :-2])

    def forward(self) -> Array:
        """For each time and state, the log-probability of all beginnings that end there."""
        found = np.full(self.emitted.shape, -np.inf)
        if not self.time:
            return found
        found[0, :, :2] = np.where(self.exists, self.emitted[0], -np.inf)[:, :2]
        for t in range(1, self.time):
            before = found[t - 1]
            total = np.logaddexp(before, _moved(before, 1))
            total = np.logaddexp(total, np.where(self.skips, _moved(before, 2), -np.inf))
            found[t] = np.where(self.exists, total + self.emitted[t], -np.inf)
        return found

    def backward(self) -> Array:
        """For each time and state, the log-probability of all endings that begin there."""
        found = np.full(self.emitted.shape, -np.inf)
        place = np.arange(self.states.shape[1])
        last = (place == 2 * self.lengths[:, None]) | (place == 2 * self.lengths[:, None] - 1)
        skips = np.roll(self.skips, -2, axis=1)
        for t in reversed(range(self.time)):
            if t + 1 < self.time:
                after = found[t + 1]
                total = np.logaddexp(after, _moved(after, -1))
                total = np.logaddexp(total, np.where(skips, _moved(after, -2), -np.inf))
                found[t] = total + self.emitted[t]
            ends = (self.inputs == t + 1)[:, None]
            found[t] = np.where(ends, np.where(last, self.emitted[t], -np.inf), found[t])
            found[t] = np.where((self.inputs > t)[:, None] & self.exists, found[t], -np.inf)
        return found

    def loss(self, forward: Array) -> Array:
        """Minus the log-probability of the whole target."""
        rows = np.arange(self.batch)
        if not self.time:
            return np.where(self.lengths == 0, 0.0, np.inf)
        final = forward[np.maximum(self.inputs - 1, 0), rows]
        blank = final[rows, 2 * self.lengths]
        letter = np.where(self.lengths > 0, final[rows, np.maximum(2 * self.lengths - 1, 0)], -np.inf)
        total: Array = -np.logaddexp(blank, letter)
        return np.where(self.inputs > 0, total, np.where(self.lengths == 0, 0.0, np.inf))


def _check_range(name: str, values: Array, low: int, high: int) -> None:
    wrong = values[(values < low) | (values > high)]
    if wrong.size:
        raise IndexingError(f"ctc_loss: {name} must be between {low} and {high}, got {int(wrong[0])}")


def _moved(values: Array, count: int) -> Array:
    """The values of the state `count` places before (after, where negative); impossible where there is none."""
    result = np.full_like(values, -np.inf)
    if count > 0:
        result[:, count:] = values[:, :-count]
    else:
        result[:, :count] = values[:, -count:]
    return result


def _ctc_loss(log_probs: Array, targets: Array, inputs: Array, lengths: Array, blank: int) -> Array:
    lattice = _Lattice(log_probs, targets, inputs, lengths, blank)
    return lattice.loss(lattice.forward()).astype(log_probs.dtype)


def _ctc_loss_backward(
    gradient: Array, log_probs: Array, targets: Array, inputs: Array, lengths: Array, blank: int
) -> Array:
    lattice = _Lattice(log_probs, targets, inputs, lengths, blank)
    forward = lattice.forward()
    loss = lattice.loss(forward)
    both = forward + lattice.backward()
    possible = np.isfinite(both) & np.isfinite(loss)[:, None]
    shares = np.where(possible, np.exp(np.where(possible, both - lattice.emitted + loss[:, None], 0.0)), 0.0)
    result = np.zeros(log_probs.shape)
    times, rows = np.ogrid[: lattice.time, : lattice.batch]
    np.subtract.at(result, (times[..., None], rows[..., None], lattice.states), shares)
    return (result * gradient.astype(np.float64)[:, None]).astype(log_probs.dtype)


@hosted(rule=_backward_rule, reference=_ctc_loss_backward, prepare=_prepare)
def ctc_loss_backward(
    gradient: Tensor[B],
    log_probs: Tensor[Any],
    targets: Tensor[Any],
    input_lengths: Tensor[Any],
    target_lengths: Tensor[Any],
    blank: int = 0,
) -> Tensor[B]:
    """Carry the gradient of `ctc_loss` back to the log-probabilities; an impossible target gives zeros."""
    ...


@hosted(
    rule=_rule,
    reference=_ctc_loss,
    prepare=_prepare,
    vjp=dict(
        log_probs=lambda g, log_probs, targets, input_lengths, target_lengths, blank: ctc_loss_backward(
            g, log_probs, targets, input_lengths, target_lengths, blank
        )
    ),
)
def ctc_loss(
    log_probs: Tensor[B],
    targets: Tensor[Any],
    input_lengths: Tensor[Any],
    target_lengths: Tensor[Any],
    blank: int = 0,
) -> Tensor[B]:
    """Give minus the log-likelihood of each target (batch, length) under `log_probs` (time, batch, classes).

    The result has the shape (batch,); it is infinite where a target does not fit into its recording.

    Arguments:
        targets: class numbers, of which the first `target_lengths` of each row count.
        input_lengths: how many steps of each recording count.
        blank: the class that stands for nothing.

    >>> from burn.tensor.module import ctc_loss
    >>> log_probs = Tensor.zeros([2, 1, 3]).log_softmax(2)
    >>> ctc_loss(log_probs, burn.tensor([[1]]), burn.tensor([2]), burn.tensor([1])).to_data()
    TensorData([1.0986123], shape=[1], dtype=f32)
    """
    ...
