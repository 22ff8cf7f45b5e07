"""The GRU: one hidden state, an update gate that keeps it and a reset gate that forgets it.

    z, r = sigmoid(gates of x and h)         n = tanh(x Wn + bn + r * (h Un + cn))
    h = (1 - z) * n + z * h

With `reset_after=False` the reset gate acts on `h` before the product: `tanh(x Wn + bn + (r * h) Un + cn)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from burn.config import Config
from burn.device import Device
from burn.module import Module
from burn.module.display import Content
from burn.nn.activation import ActivationConfig
from burn.nn.initializer import Initializer
from burn.nn.rnn.bidirectional import Bidirectional, sizes_of
from burn.nn.rnn.gate_controller import GateController
from burn.nn.rnn.sequence import (
    JOINED_FROM,
    batch_and_length,
    check_config,
    check_state,
    clipped,
    joined,
    order,
    steps,
    summed_products,
)
from burn.ops.joining import cut
from burn.ops.layers import linear
from burn.tensor import Tensor

Candidate = Callable[[int, Tensor], tuple[Tensor, Tensor]]
"""From a time and the hidden state to the update gate and the new state, activated."""


class GruConfig(Config):
    """Settings of `Gru`; `init(device=None)` makes it.

    Arguments:
        d_input: how many features come in.
        d_hidden: the size of the state.
        bias: whether gates have one; True.
        initializer: how parameters begin; Xavier's normal distribution.
        reset_after: whether the reset gate acts after the product with the state, as in PyTorch; True.
        gate_activation: of the gates; Sigmoid.
        hidden_activation: of the state; Tanh.
        clip: holds the state between -clip and clip; None.

    >>> nn.GruConfig(3, 4).init()
    Gru {d_input: 3, d_hidden: 4, bias: true, reset_after: true, params: 108}
    """

    d_input: int
    d_hidden: int
    bias: bool = True
    reset_after: bool = True
    initializer: Initializer = Initializer.XavierNormal(1.0)
    gate_activation: ActivationConfig = ActivationConfig.Sigmoid
    hidden_activation: ActivationConfig = ActivationConfig.Tanh
    clip: float | None = None

    def init(self, device: Device | None = None) -> Gru:
        """A layer whose parameters are drawn when they are first used."""
        check_config(self)
        return Gru._configured(self, device)


class Gru(Module, config=GruConfig):
    """Reads a sequence step by step, mixing its state with a new one at each step.

    `torch.nn.GRU`. (batch, length, d_input) to (batch, length, d_hidden); it begins with `state`, or with zeros.

    Arguments:
        d_input: how many features come in.
        d_hidden: the size of the state.
        bias: whether gates have one; True.
        initializer: how parameters begin; Xavier's normal distribution.
        reset_after: whether the reset gate acts after the product with the state, as in PyTorch; True.
        gate_activation: of the gates; Sigmoid.
        hidden_activation: of the state; Tanh.
        clip: holds the state between -clip and clip; None.

    >>> nn.Gru(3, 4)(Tensor.ones([2, 5, 3])).shape
    Shape([2, 5, 4])
    """

    update_gate: GateController
    reset_gate: GateController
    new_gate: GateController
    d_hidden: int
    reset_after: bool

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        @overload
        def __init__(
            self,
            d_input: int,
            d_hidden: int,
            bias: bool = True,
            reset_after: bool = True,
            initializer: Initializer | str = ...,
            gate_activation: ActivationConfig | str = ...,
            hidden_activation: ActivationConfig | str = ...,
            clip: float | None = None,
            *,
            device: Device | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            update_gate: GateController,
            reset_gate: GateController,
            new_gate: GateController,
            d_hidden: int,
            reset_after: bool,
        ) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def _configure(self, config: GruConfig, device: Device | None) -> None:
        def gate() -> GateController:
            return GateController(config.d_input, config.d_hidden, config.bias, config.initializer, device)

        self.update_gate, self.reset_gate, self.new_gate = gate(), gate(), gate()
        self.d_hidden, self.reset_after = config.d_hidden, config.reset_after
        self._clip = config.clip
        self._gate_activation: Any = config.gate_activation.init(device).value
        self._hidden_activation: Any = config.hidden_activation.init(device).value

    def forward(self, input: Tensor, state: Tensor | None = None) -> Tensor:
        """All hidden states: (batch, length, d_input) to (batch, length, d_hidden), beginning with `state`."""
        return self.run(input, state)[0]

    def run(
        self, input: Tensor, state: Tensor | None, batch_first: bool = True, reverse: bool = False
    ) -> tuple[Tensor, Tensor]:
        """All hidden states and the last one, in a direction (`reverse`) and a layout (`batch_first`) of choice.

        `input` and `state` are those of `forward`.
        """
        batch, length = batch_and_length("Gru", input, batch_first)
        time = 1 if batch_first else 0
        if state is None:
            hidden = Tensor.zeros((batch, self.d_hidden), input.device, input.dtype)
        else:
            hidden = check_state("Gru", state, batch, self.d_hidden)
        candidate = (self._reset_after if self.reset_after else self._reset_before)(input, length, time)
        outputs: list[Any] = [None] * length
        for t in order(length, reverse):
            keep, new = candidate(t, hidden)
            hidden = clipped((1.0 - keep) * new + keep * hidden, self._clip)
            outputs[t] = hidden
        return Tensor.stack(outputs, time), hidden

    def _reset_after(self, input: Tensor, length: int, time: int) -> Candidate:
        gates = [self.update_gate, self.reset_gate, self.new_gate]
        sigma, squash = self._gate_activation.forward, self._hidden_activation.forward
        if length < JOINED_FROM:
            inputs = steps(input, length, time)

            def sides(t: int, hidden: Tensor) -> Any:
                return (
                    [gate.input_transform.forward(inputs[t]) for gate in gates],
                    [gate.hidden_transform.forward(hidden) for gate in gates],
                )
        else:
            weight, bias, hidden_weight, hidden_bias = joined(gates)
            projected = steps(linear(input, weight, bias), length, time)
            sizes = (self.d_hidden,) * 3

            def sides(t: int, hidden: Tensor) -> Any:
                return cut(projected[t], sizes, 1), cut(linear(hidden, hidden_weight, hidden_bias), sizes, 1)

        def candidate(t: int, hidden: Tensor) -> tuple[Tensor, Tensor]:
            (update_x, reset_x, new_x), (update_h, reset_h, new_h) = sides(t, hidden)
            reset = sigma(reset_x + reset_h)
            return sigma(update_x + update_h), squash(new_x + reset * new_h)

        return candidate

    def _reset_before(self, input: Tensor, length: int, time: int) -> Candidate:
        products = summed_products([self.update_gate, self.reset_gate], input, length, time)
        new_inputs = steps(self.new_gate.input_transform.forward(input), length, time)
        sigma, squash = self._gate_activation.forward, self._hidden_activation.forward

        def candidate(t: int, hidden: Tensor) -> tuple[Tensor, Tensor]:
            update, reset = products(t, hidden)
            new = new_inputs[t] + self.new_gate.hidden_transform.forward(sigma(reset) * hidden)
            return sigma(update), squash(new)

        return candidate

    def custom_content(self, content: Content) -> Content:
        """The sizes, whether there is a bias, and where the reset gate acts."""
        return sizes_of(content, self.update_gate).add("reset_after", self.reset_after)


class BiGruConfig(Config):
    """Settings of `BiGru`; `init(device=None)` makes it.

    Arguments:
        d_input: how many features come in.
        d_hidden: the size of the state.
        bias: whether gates have one; True.
        initializer: how parameters begin; Xavier's normal distribution.
        batch_first: whether the first dim is the batch, not time; True.
        reset_after: whether the reset gate acts after the product with the state, as in PyTorch; True.
        gate_activation: of the gates; Sigmoid.
        hidden_activation: of the state; Tanh.
        clip: holds the state between -clip and clip; None.

    >>> nn.BiGruConfig(3, 4).init()
    BiGru {d_input: 3, d_hidden: 4, bias: true, params: 216}
    """

    d_input: int
    d_hidden: int
    bias: bool = True
    reset_after: bool = True
    initializer: Initializer = Initializer.XavierNormal(1.0)
    batch_first: bool = True
    gate_activation: ActivationConfig = ActivationConfig.Sigmoid
    hidden_activation: ActivationConfig = ActivationConfig.Tanh
    clip: float | None = None

    def init(self, device: Device | None = None) -> BiGru:
        """Two layers whose parameters are drawn when they are first used."""
        check_config(self)
        one = GruConfig(
            self.d_input, self.d_hidden, self.bias, self.reset_after, self.initializer, self.gate_activation,
            self.hidden_activation, self.clip,
        )  # fmt: skip
        return BiGru._configured(one.init(device), one.init(device), self.d_hidden, self.batch_first)


class BiGru(Bidirectional[Gru], config=BiGruConfig):
    """A GRU over a sequence and one over its reverse.

    `torch.nn.GRU`. (batch, length, d_input) to (batch, length, 2 * d_hidden), the forward direction first, and the
    last state; `state` is (2, batch, d_hidden).

    Arguments:
        d_input: how many features come in.
        d_hidden: the size of the state.
        bias: whether gates have one; True.
        initializer: how parameters begin; Xavier's normal distribution.
        batch_first: whether the first dim is the batch, not time; True.
        reset_after: whether the reset gate acts after the product with the state, as in PyTorch; True.
        gate_activation: of the gates; Sigmoid.
        hidden_activation: of the state; Tanh.
        clip: holds the state between -clip and clip; None.

    >>> output, state = nn.BiGru(3, 4)(Tensor.ones([2, 5, 3]))
    >>> output.shape, state.shape
    (Shape([2, 5, 8]), Shape([2, 2, 4]))
    """

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(
            self,
            d_input: int,
            d_hidden: int,
            bias: bool = True,
            reset_after: bool = True,
            initializer: Initializer | str = ...,
            batch_first: bool = True,
            gate_activation: ActivationConfig | str = ...,
            hidden_activation: ActivationConfig | str = ...,
            clip: float | None = None,
            *,
            device: Device | None = None,
        ) -> None: ...

    def _run(self, input: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        results = [
            layer.run(input, half, self._batch_first, back)
            for layer, half, back in zip(self.directions, self._halves(input, state), (False, True), strict=True)
        ]
        return Tensor.cat([output for output, _ in results], 2), Tensor.stack([last for _, last in results], 0)

    if TYPE_CHECKING:
        forward = _run

    def _gate(self) -> GateController:
        return self.directions[0].update_gate
