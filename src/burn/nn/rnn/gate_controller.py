"""The gate: two linear layers whose sum decides what a recurrent layer takes in, keeps or gives out."""

from __future__ import annotations

from burn.device import Device
from burn.module import Module
from burn.nn.initializer import Initializer
from burn.nn.linear import Linear, LinearConfig
from burn.tensor import Tensor


class GateController(Module):
    """One gate of a recurrent layer: an affine map of the `input` plus an affine map of the `hidden` state.

    Made by the recurrent layers.

    >>> gate = nn.Rnn(3, 4).gate
    >>> gate.gate_product(Tensor.ones([2, 3]), Tensor.zeros([2, 4])).shape
    Shape([2, 4])
    """

    input_transform: Linear  # d_input to d_output
    hidden_transform: Linear  # d_output to d_output

    def __init__(
        self, d_input: int, d_output: int, bias: bool, initializer: Initializer, device: Device | None
    ) -> None:
        self.input_transform = LinearConfig(d_input, d_output, bias, initializer).init(device)
        self.hidden_transform = LinearConfig(d_output, d_output, bias, initializer).init(device)

    def gate_product(self, input: Tensor, hidden: Tensor) -> Tensor:
        """`x Wx + bx + h Wh + bh`: (batch, d_input) and (batch, d_output) to (batch, d_output)."""
        return self.input_transform.forward(input) + self.hidden_transform.forward(hidden)
