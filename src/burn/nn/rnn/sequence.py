"""Running through time: what the recurrent layers have in common.

A layer computes the input side of all its gates for all times in one product, as nothing there waits
for anything. Only the hidden side goes step by step: one product for all gates, then one elementwise
kernel. For that the matrices of the gates are laid side by side, which pays from a few steps on; a
shorter sequence asks each gate for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from burn.errors import ShapeError
from burn.nn.checks import refuse, too_small
from burn.nn.rnn.gate_controller import GateController
from burn.ops.joining import cut
from burn.ops.layers import linear
from burn.tensor import Tensor

JOINED_FROM = 2
"""The number of steps from which copying the matrices of the gates side by side costs less than it saves."""

Products = Callable[[int, Tensor], Sequence[Tensor]]
"""From a time and the hidden state to one value per gate, before its activation."""


def check_config(config: Any) -> None:
    """Refuse sizes below 1 and a clip that is not positive, all at once."""
    faults = too_small(1, d_input=config.d_input, d_hidden=config.d_hidden)
    if config.clip is not None and not config.clip > 0:
        faults.append(f"clip must be positive, got {config.clip}")
    refuse(config, faults)


def batch_and_length(layer: str, x: Tensor, batch_first: bool) -> tuple[int, int]:
    """The sizes of a sequence (batch, length, d_input), or (length, batch, d_input)."""
    if len(x.shape) != 3:
        order = "(batch, length, d_input)" if batch_first else "(length, batch, d_input)"
        raise ShapeError(f"{layer}: the input must have the shape {order}, got {tuple(x.shape)}")
    first, second = x.shape[0], x.shape[1]
    if not (second if batch_first else first):
        raise ShapeError(f"{layer}: the sequence must have 1 or more steps, got the shape {tuple(x.shape)}")
    return (first, second) if batch_first else (second, first)


def check_state(layer: str, state: Tensor, *shape: int) -> Tensor:
    """A given initial state, if its shape is right."""
    if tuple(state.shape) != shape:
        raise ShapeError(f"{layer}: the initial state must have the shape {shape}, got {tuple(state.shape)}")
    return state


def steps(x: Tensor, length: int, time: int) -> list[Tensor]:
    """The values of each time, without the dim of time."""
    shape = (*x.shape[:time], *x.shape[time + 1 :])
    return [each.reshape(shape) for each in cut(x, (1,) * length, time)]


def order(length: int, reverse: bool) -> Sequence[int]:
    """The times in the order in which they are computed."""
    return range(length - 1, -1, -1) if reverse else range(length)


def joined(gates: Sequence[GateController]) -> tuple[Tensor, Tensor | None, Tensor, Tensor | None]:
    """The gates side by side: weight and bias of the input, weight and bias of the hidden state."""
    inputs, hiddens = [gate.input_transform for gate in gates], [gate.hidden_transform for gate in gates]

    def bias(layers: Sequence[Any]) -> Tensor | None:
        return None if layers[0].bias is None else Tensor.cat([layer.bias for layer in layers], 0)

    def weight(layers: Sequence[Any]) -> Tensor:
        return Tensor.cat([layer.weight for layer in layers], 1)

    return weight(inputs), bias(inputs), weight(hiddens), bias(hiddens)


def summed_products(gates: Sequence[GateController], x: Tensor, length: int, time: int) -> Products:
    """For gates that only add their two sides: their values at a time and a hidden state."""
    if length < JOINED_FROM:
        inputs = steps(x, length, time)
        return lambda t, hidden: [gate.gate_product(inputs[t], hidden) for gate in gates]
    weight, bias, hidden_weight, hidden_bias = joined(gates)
    if hidden_bias is not None:
        bias = hidden_bias if bias is None else bias + hidden_bias
    projected = steps(linear(x, weight, bias), length, time)
    if len(gates) == 1:
        return lambda t, hidden: [projected[t] + hidden.matmul(hidden_weight)]
    sizes = (hidden_weight.shape[0],) * len(gates)
    return lambda t, hidden: cut(projected[t] + hidden.matmul(hidden_weight), sizes, 1)


def clipped(x: Tensor, clip: float | None) -> Tensor:
    """`x` held between -clip and clip."""
    return x if clip is None else x.clamp(-clip, clip)
