"""Recurrent layers over whole sequences, with everything exchange formats allow: `recurrent.lstm(x, w, r, b)`.

Weights have the shapes (directions, gates * hidden, inputs) and (directions, gates * hidden, hidden); a
bias (directions, 2 * gates * hidden) holds that of the inputs, then that of the recurrence. Gates follow
each other as input, output, forget, cell (LSTM) and update, reset, hidden (GRU). Results are the states
of all steps (steps, directions, batch, hidden) and the last ones (directions, batch, hidden); with
`batch_first`, (batch, steps, directions, hidden) and (batch, directions, hidden).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from burn.errors import ArgumentError, ShapeError
from burn.ops import activation, creation, joining

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor.tensor import Tensor

__all__ = ["gru", "lstm", "rnn"]

Function = Callable[[Any], Any]
Step = Callable[[Any, list[Any]], list[Any]]

DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}

# Each activation: what it computes from x, alpha and beta, and its defaults (None: it takes no such number).
_ACTIVATIONS: dict[str, tuple[Callable[[Any, float, float], Any], float | None, float | None]] = {
    "relu": (lambda x, a, b: activation.relu(x), None, None),
    "tanh": (lambda x, a, b: x.tanh(), None, None),
    "sigmoid": (lambda x, a, b: activation.sigmoid(x), None, None),
    "softsign": (lambda x, a, b: activation.softsign(x), None, None),
    "softplus": (lambda x, a, b: activation.softplus(x), None, None),
    "affine": (lambda x, a, b: x * a + b, 1.0, 0.0),
    "leakyrelu": (lambda x, a, b: activation.leaky_relu(x, a), 0.01, None),
    "thresholdedrelu": (lambda x, a, b: activation.thresholded_relu(x, a), 1.0, None),
    "scaledtanh": (lambda x, a, b: (x * b).tanh() * a, 1.0, 1.0),
    "hardsigmoid": (lambda x, a, b: activation.hard_sigmoid(x, a, b), 0.2, 0.5),
    "elu": (lambda x, a, b: activation.elu(x, a), 1.0, None),
}


def _functions(
    operation: str, names: Sequence[str] | None, usual: Sequence[str], directions: int, alphas: Any, betas: Any
) -> list[list[Function]]:
    """The activations of each direction. The lists of numbers serve those that take one, in order."""
    chosen = list(names) if names else list(usual) * directions
    if len(chosen) != len(usual) * directions:
        raise ArgumentError(
            f"{operation}: activations needs {len(usual)} names for each of {directions} directions, got {chosen}"
        )
    unknown = [name for name in chosen if name.lower() not in _ACTIVATIONS]
    if unknown:
        raise ArgumentError(f"{operation}: unknown activations {unknown}; known are {', '.join(_ACTIVATIONS)}")
    first, second = iter(alphas or ()), iter(betas or ())
    found: list[Function] = []
    for name in chosen:
        function, alpha, beta = _ACTIVATIONS[name.lower()]
        a = 0.0 if alpha is None else next(first, alpha)
        b = 0.0 if beta is None else next(second, beta)
        found.append(functools.partial(_applied, function, a, b))
    return [found[i * len(usual) : (i + 1) * len(usual)] for i in range(directions)]


def _applied(function: Callable[[Any, float, float], Any], alpha: float, beta: float, x: Any) -> Any:
    return function(x, alpha, beta)


def _applied_within(function: Function, limit: float, x: Any) -> Any:
    return function(x.clamp(-limit, limit))


def _clipped(functions: list[Function], clip: float | None) -> list[Function]:
    if not clip:
        return functions
    return [functools.partial(_applied_within, function, clip) for function in functions]


def _check(operation: str, x: Any, weight: Any, recurrence: Any, bias: Any, gates: int, direction: str) -> int:
    """All faults of the shapes at once; gives back the size of the hidden state."""
    if direction not in DIRECTIONS:
        raise ArgumentError(f"{operation}: direction must be one of {', '.join(DIRECTIONS)}, got {direction!r}")
    if len(x.shape) != 3:
        raise ShapeError(f"{operation}: x must have the shape (steps, batch, inputs), got {tuple(x.shape)}")
    count = len(DIRECTIONS[direction])
    hidden = recurrence.shape[-1]
    wanted = {
        "weight": (weight, (count, gates * hidden, x.shape[-1])),
        "recurrence": (recurrence, (count, gates * hidden, hidden)),
        "bias": (bias, (count, 2 * gates * hidden)),
    }
    faults = [
        f"{name} must have the shape {shape}, got {tuple(value.shape)}"
        for name, (value, shape) in wanted.items()
        if value is not None and tuple(value.shape) != shape
    ]
    if faults:
        raise ShapeError(f"{operation}: {'; '.join(faults)}")
    return int(hidden)


def _valid(lengths: Any, steps: int) -> Any:
    """For each step, which items of the batch are not over yet, (steps, batch, 1); None where all last."""
    if lengths is None:
        return None
    places = creation.arange(0, steps, 1, lengths.dtype, device=lengths.device)
    batch = lengths.shape[0]
    return (places.reshape((steps, 1)) < lengths.reshape((1, batch))).reshape((steps, batch, 1))


def _scan(inputs: Any, states: list[Any], step: Step, valid: Any, reverse: bool) -> tuple[Any, list[Any]]:
    """Run `step` over the first dim; the first state is the output. Items that are over keep theirs and give 0."""
    count = inputs.shape[0]
    outputs: list[Any] = [None] * count
    for place in reversed(range(count)) if reverse else range(count):
        after = step(inputs.narrow(0, place, 1).squeeze_dim(0), states)
        if valid is None:
            states, outputs[place] = after, after[0]
        else:
            over = valid.narrow(0, place, 1).squeeze_dim(0).bool_not()
            outputs[place] = after[0].mask_fill(over, 0.0)
            states = [new.mask_where(over, old) for new, old in zip(after, states, strict=True)]
    if not count:
        return inputs.narrow(2, 0, states[0].shape[-1]), states
    return joining.cat([each.unsqueeze_dim(0) for each in outputs], 0), states


def _start(state: Any, number: int, like: Any, batch: int, hidden: int) -> Any:
    if state is not None:
        return state.narrow(0, number, 1).squeeze_dim(0)
    return creation.full(0.0, (batch, hidden), like.dtype, device=like.device)


def _sequence_first(batch_first: bool, x: Any, *states: Any) -> list[Any]:
    if not batch_first:
        return [x, *states]
    return [x.swap_dims(0, 1), *(each if each is None else each.swap_dims(0, 1) for each in states)]


def _joined(
    way: Callable[[int], tuple[Any, Step]], direction: str, lengths: Any, states: list[Any], size: int,
    batch_first: bool,
) -> Any:  # fmt: skip
    """Directions side by side. `way` gives the projected inputs and the step of each; they begin with `states`."""
    outputs, finals, valid = [], [], None
    for number, reverse in enumerate(DIRECTIONS[direction]):
        inputs, step = way(number)
        valid = _valid(lengths, inputs.shape[0]) if valid is None else valid
        start = [_start(each, number, inputs, inputs.shape[1], size) for each in states]
        y, last = _scan(inputs, start, step, valid, reverse)
        outputs.append(y)
        finals.append(last)
    y = joining.cat([each.unsqueeze_dim(1) for each in outputs], 1)
    last = [joining.cat([state.unsqueeze_dim(0) for state in states], 0) for states in zip(*finals, strict=True)]
    if batch_first:
        return (y.permute((2, 0, 1, 3)), *(each.swap_dims(0, 1) for each in last))
    return (y, *last)


def _row(value: Any, number: int) -> Any:
    return None if value is None else value.narrow(0, number, 1).squeeze_dim(0)


def _both(bias: Any, number: int, size: int) -> Any:
    """The bias of the inputs and that of the recurrence, of a direction, in one."""
    both = _row(bias, number)
    return None if both is None else both.narrow(0, 0, size) + both.narrow(0, size, size)


def _projection(weight: Any) -> Function:
    """Multiply by a matrix that is stored (outputs, inputs)."""
    turned = weight.transpose()
    return lambda x: x.matmul(turned)


def _projected(x: Any, project: Function, bias: Any) -> Any:
    """The inputs' share of all gates at all steps, in one product."""
    steps, batch, size = x.shape
    gates = project(x.reshape((steps * batch, size)))
    gates = gates if bias is None else gates + bias
    return gates.reshape((steps, batch, gates.shape[-1]))


def rnn(
    x: Tensor[B],
    weight: Tensor[Any],
    recurrence: Tensor[Any],
    bias: Tensor[Any] | None = None,
    lengths: Tensor[Any] | None = None,
    hidden: Tensor[Any] | None = None,
    *,
    direction: str = "forward",
    activations: Sequence[str] | None = None,
    alpha: Sequence[float] | None = None,
    beta: Sequence[float] | None = None,
    clip: float | None = None,
    batch_first: bool = False,
) -> tuple[Tensor[B], Tensor[B]]:
    """Run a plain recurrent layer: `h = f(x W' + h R' + bias)`. Gives all states and the last ones.

    Arguments:
        weight, recurrence: `W` and `R`, (directions, hidden, inputs) and (directions, hidden, hidden).
        bias: (directions, 2 * hidden), that of the inputs, then that of the recurrence.
        lengths: how many steps of each item count.
        hidden: the state to begin with.
        direction: "forward", "reverse" or "bidirectional".
        activations: the names of `f`, one a direction; `alpha` and `beta` are their numbers.
        clip: the bound of what goes into `f`.
        batch_first: whether the batch comes before the steps.

    >>> from burn.tensor import recurrent
    >>> x, weight, recurrence = Tensor.ones([3, 1, 2]), Tensor.ones([1, 4, 2]), Tensor.zeros([1, 4, 4])
    >>> states, last = recurrent.rnn(x, weight, recurrence)
    >>> states.shape, last.shape
    (Shape([3, 1, 1, 4]), Shape([1, 1, 4]))
    """
    size = _check("rnn", x, weight, recurrence, bias, 1, direction)
    sequence, first = _sequence_first(batch_first, x, hidden)
    functions = _functions("rnn", activations, ("tanh",), len(DIRECTIONS[direction]), alpha, beta)

    def way(number: int) -> tuple[Any, Step]:
        (function,) = _clipped(functions[number], clip)
        inputs = _projected(sequence, _projection(_row(weight, number)), _both(bias, number, size))
        recur = _projection(_row(recurrence, number))
        return inputs, functools.partial(_rnn_step, function, recur)

    return _joined(way, direction, lengths, [first], size, batch_first)  # type: ignore[no-any-return]


def _rnn_step(function: Function, recur: Function, given: Any, states: list[Any]) -> list[Any]:
    return [function(given + recur(states[0]))]


def gru(
    x: Tensor[B],
    weight: Tensor[Any],
    recurrence: Tensor[Any],
    bias: Tensor[Any] | None = None,
    lengths: Tensor[Any] | None = None,
    hidden: Tensor[Any] | None = None,
    *,
    direction: str = "forward",
    activations: Sequence[str] | None = None,
    alpha: Sequence[float] | None = None,
    beta: Sequence[float] | None = None,
    clip: float | None = None,
    linear_before_reset: bool = False,
    batch_first: bool = False,
) -> tuple[Tensor[B], Tensor[B]]:
    """Run a gated recurrent layer. Gives all states and the last ones.

    The gates follow each other as update, reset, hidden; `recurrent.rnn` tells about `weight`, `recurrence`, `bias`,
    `lengths`, `hidden`, `direction`, `activations`, `alpha`, `beta`, `clip` and `batch_first`.

    Arguments:
        linear_before_reset: whether the reset gate applies after the recurrent product.

    >>> from burn.tensor import recurrent
    >>> x, weight, recurrence = Tensor.ones([3, 1, 2]), Tensor.ones([1, 12, 2]), Tensor.zeros([1, 12, 4])
    >>> states, last = recurrent.gru(x, weight, recurrence)
    >>> states.shape, last.shape
    (Shape([3, 1, 1, 4]), Shape([1, 1, 4]))
    """
    size = _check("gru", x, weight, recurrence, bias, 3, direction)
    sequence, first = _sequence_first(batch_first, x, hidden)
    functions = _functions("gru", activations, ("sigmoid", "tanh"), len(DIRECTIONS[direction]), alpha, beta)

    def way(number: int) -> tuple[Any, Step]:
        gate, candidate = _clipped(functions[number], clip)
        return _gru_step(
            sequence, _row(weight, number), _row(recurrence, number), _row(bias, number), gate, candidate, size,
            linear_before_reset,
        )  # fmt: skip

    return _joined(way, direction, lengths, [first], size, batch_first)  # type: ignore[no-any-return]


def _gru_step(
    x: Any, weight: Any, recurrence: Any, bias: Any, gate: Function, candidate: Function, size: int, after: bool
) -> tuple[Any, Step]:
    """The inputs of a direction, projected, and its step."""
    both, last = None, None
    if bias is not None:
        inner, outer = bias.narrow(0, 0, 3 * size), bias.narrow(0, 3 * size, 3 * size)
        last = outer.narrow(0, 2 * size, size)
        kept = joining.cat([outer.narrow(0, 0, 2 * size), last.zeros_like() if after else last], 0)
        both = inner + kept
    inputs = _projected(x, _projection(weight), both)
    everything = _projection(recurrence)
    gates_of, hidden_of = (
        _projection(recurrence.narrow(0, 0, 2 * size)), _projection(recurrence.narrow(0, 2 * size, size)),
    )  # fmt: skip

    def step(given: Any, states: list[Any]) -> list[Any]:
        (h,) = states
        if after:
            shares = everything(h)
            gates = gate(given.narrow(1, 0, 2 * size) + shares.narrow(1, 0, 2 * size))
            update, reset = gates.narrow(1, 0, size), gates.narrow(1, size, size)
            inner = shares.narrow(1, 2 * size, size)
            inner = reset * (inner if last is None else inner + last)
        else:
            gates = gate(given.narrow(1, 0, 2 * size) + gates_of(h))
            update, reset = gates.narrow(1, 0, size), gates.narrow(1, size, size)
            inner = hidden_of(reset * h)
        new = candidate(given.narrow(1, 2 * size, size) + inner)
        return [new + update * (h - new)]

    return inputs, step


def lstm(
    x: Tensor[B],
    weight: Tensor[Any],
    recurrence: Tensor[Any],
    bias: Tensor[Any] | None = None,
    lengths: Tensor[Any] | None = None,
    hidden: Tensor[Any] | None = None,
    cell: Tensor[Any] | None = None,
    peepholes: Tensor[Any] | None = None,
    *,
    direction: str = "forward",
    activations: Sequence[str] | None = None,
    alpha: Sequence[float] | None = None,
    beta: Sequence[float] | None = None,
    clip: float | None = None,
    input_forget: bool = False,
    batch_first: bool = False,
) -> tuple[Tensor[B], Tensor[B], Tensor[B]]:
    """Run a long short-term memory layer. Gives all states, the last ones and the last cells.

    The gates follow each other as input, output, forget, cell. `recurrent.rnn` tells about `weight`, `recurrence`,
    `bias`, `lengths`, `hidden`, `direction`, `activations`, `alpha`, `beta`, `clip` and `batch_first`.

    Arguments:
        cell: the cells to begin with.
        peepholes: (directions, 3 * hidden), by which the input, output and forget gates see the cell.
        input_forget: whether the forget gate is one minus the input gate.

    >>> from burn.tensor import recurrent
    >>> x, weight, recurrence = Tensor.ones([3, 1, 2]), Tensor.ones([1, 16, 2]), Tensor.zeros([1, 16, 4])
    >>> states, last, cells = recurrent.lstm(x, weight, recurrence)
    >>> states.shape, last.shape, cells.shape
    (Shape([3, 1, 1, 4]), Shape([1, 1, 4]), Shape([1, 1, 4]))
    """
    size = _check("lstm", x, weight, recurrence, bias, 4, direction)
    projections = [
        (_projection(_row(weight, number)), _projection(_row(recurrence, number)))
        for number in range(len(DIRECTIONS[direction]))
    ]
    return run_lstm(
        x, projections, size, bias, lengths, hidden, cell, peepholes, direction=direction, activations=activations,
        alpha=alpha, beta=beta, clip=clip, input_forget=input_forget, batch_first=batch_first,
    )  # fmt: skip


def run_lstm(
    x: Any, projections: Sequence[tuple[Function, Function]], size: int, bias: Any, lengths: Any, hidden: Any,
    cell: Any, peepholes: Any, *, direction: str, activations: Sequence[str] | None, alpha: Any, beta: Any,
    clip: float | None, input_forget: bool, batch_first: bool,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """A layer whose products are given as functions, for each direction that of the inputs and of the states."""
    sequence, first, first_cell = _sequence_first(batch_first, x, hidden, cell)
    functions = _functions("lstm", activations, ("sigmoid", "tanh", "tanh"), len(DIRECTIONS[direction]), alpha, beta)

    def way(number: int) -> tuple[Any, Step]:
        project, recur = projections[number]
        inputs = _projected(sequence, project, _both(bias, number, 4 * size))
        gates = _clipped(functions[number][:2], clip) + functions[number][2:]  # the cell itself is not clipped
        return inputs, _lstm_step(recur, gates, size, _row(peepholes, number), input_forget)

    return _joined(way, direction, lengths, [first, first_cell], size, batch_first)  # type: ignore[no-any-return]


def _lstm_step(recur: Function, functions: list[Function], size: int, peepholes: Any, input_forget: bool) -> Any:
    gate, candidate, squash = functions
    peeps = None if peepholes is None else [peepholes.narrow(0, i * size, size) for i in range(3)]

    def step(given: Any, states: list[Any]) -> list[Any]:
        h, c = states
        gates = given + recur(h)
        if peeps is None and not input_forget:
            shared = gate(gates.narrow(1, 0, 3 * size))
            write, read, keep = (shared.narrow(1, i * size, size) for i in range(3))
            new = keep * c + write * candidate(gates.narrow(1, 3 * size, size))
            return [read * squash(new), new]
        write, read, keep, value = (gates.narrow(1, i * size, size) for i in range(4))
        if peeps is not None:
            write, keep = write + peeps[0] * c, keep + peeps[2] * c
        write = gate(write)
        keep = 1.0 - write if input_forget else gate(keep)
        new = keep * c + write * candidate(value)
        read = gate(read if peeps is None else read + peeps[1] * new)
        return [read * squash(new), new]

    return step
