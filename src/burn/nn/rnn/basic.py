"""The plain recurrent layer: the hidden state is an activation of one gate, `h = tanh(x Wx + bx + h Wh + bh)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from burn.config import Config
from burn.device import Device
from burn.module import Module
from burn.module.display import Content
from burn.nn.activation import Activation, ActivationConfig
from burn.nn.initializer import Initializer
from burn.nn.rnn.bidirectional import Bidirectional, sizes_of
from burn.nn.rnn.gate_controller import GateController
from burn.nn.rnn.sequence import batch_and_length, check_config, check_state, clipped, order, summed_products
from burn.nn.rnn.state import RnnState
from burn.tensor import Tensor


class RnnConfig(Config):
    """Settings of `Rnn`; `init(device=None)` makes it.

    Arguments:
        d_input: how many features come in.
        d_hidden: the size of the state.
        bias: whether gates have one; True.
        initializer: how parameters begin; Xavier's normal distribution.
        batch_first: whether the first dim is the batch, not time; True.
        reverse: read the sequence from its end; False.
        clip: holds the state between -clip and clip; None.
        hidden_activation: of the state; Tanh.

    >>> nn.RnnConfig(3, 4).init()
    Rnn {d_input: 3, d_hidden: 4, bias: true, params: 36}
    """

    d_input: int
    d_hidden: int
    bias: bool = True
    initializer: Initializer = Initializer.XavierNormal(1.0)
    batch_first: bool = True
    reverse: bool = False
    clip: float | None = None
    hidden_activation: ActivationConfig = ActivationConfig.Tanh

    def init(self, device: Device | None = None) -> Rnn:
        """A layer whose parameters are drawn when they are first used."""
        check_config(self)
        gate = GateController(self.d_input, self.d_hidden, self.bias, self.initializer, device)
        activation = self.hidden_activation.init(device)
        return Rnn._from_fields(gate, self.d_hidden, self.batch_first, self.reverse, self.clip, activation)


class Rnn(Module, config=RnnConfig):
    """Reads a sequence step by step; its state is what it gave out last.

    `torch.nn.RNN`. (batch, length, d_input) to (batch, length, d_hidden), and the last state; it begins with
    `state`, or with zeros.

    Arguments:
        d_input: how many features come in.
        d_hidden: the size of the state.
        bias: whether gates have one; True.
        initializer: how parameters begin; Xavier's normal distribution.
        batch_first: whether the first dim is the batch, not time; True.
        reverse: read the sequence from its end; False.
        clip: holds the state between -clip and clip; None.
        hidden_activation: of the state; Tanh.

    >>> output, state = nn.Rnn(3, 4)(Tensor.ones([2, 5, 3]))
    >>> output.shape, state.hidden.shape
    (Shape([2, 5, 4]), Shape([2, 4]))
    """

    gate: GateController
    d_hidden: int
    batch_first: bool
    reverse: bool
    clip: float | None
    hidden_activation: Activation

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        @overload
        def __init__(
            self,
            d_input: int,
            d_hidden: int,
            bias: bool = True,
            initializer: Initializer | str = ...,
            batch_first: bool = True,
            reverse: bool = False,
            clip: float | None = None,
            hidden_activation: ActivationConfig | str = ...,
            *,
            device: Device | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            gate: GateController,
            d_hidden: int,
            batch_first: bool,
            reverse: bool,
            clip: float | None = None,
            *,
            hidden_activation: Activation,
        ) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def forward(self, input: Tensor, state: RnnState | None = None) -> tuple[Tensor, RnnState]:
        """All hidden states and the last one: (batch, length, d_input) to (batch, length, d_hidden)."""
        return self.run(input, state, self.batch_first, self.reverse)

    def run(self, input: Tensor, state: RnnState | None, batch_first: bool, reverse: bool) -> tuple[Tensor, RnnState]:
        """`forward` in a direction (`reverse`) and a layout (`batch_first`) of the caller's choice.

        `input` and `state` are those of `forward`.
        """
        batch, length = batch_and_length("Rnn", input, batch_first)
        time = 1 if batch_first else 0
        if state is None:
            hidden = Tensor.zeros((batch, self.d_hidden), input.device, input.dtype)
        else:
            hidden = check_state("Rnn", state.hidden, batch, self.d_hidden)
        products = summed_products([self.gate], input, length, time)
        squash = self.hidden_activation.value.forward
        outputs: list[Any] = [None] * length
        for t in order(length, reverse):
            (value,) = products(t, hidden)
            hidden = clipped(squash(value), self.clip)
            outputs[t] = hidden
        return Tensor.stack(outputs, time), RnnState(hidden)

    def custom_content(self, content: Content) -> Content:
        """The sizes, and whether there is a bias."""
        return sizes_of(content, self.gate)


class BiRnnConfig(Config):
    """Settings of `BiRnn`; `init(device=None)` makes it.

    Arguments:
        d_input: how many features come in.
        d_hidden: the size of the state.
        bias: whether gates have one; True.
        initializer: how parameters begin; Xavier's normal distribution.
        batch_first: whether the first dim is the batch, not time; True.
        clip: holds the state between -clip and clip; None.
        hidden_activation: of the state; Tanh.

    >>> nn.BiRnnConfig(3, 4).init()
    BiRnn {d_input: 3, d_hidden: 4, bias: true, params: 72}
    """

    d_input: int
    d_hidden: int
    bias: bool = True
    initializer: Initializer = Initializer.XavierNormal(1.0)
    batch_first: bool = True
    clip: float | None = None
    hidden_activation: ActivationConfig = ActivationConfig.Tanh

    def init(self, device: Device | None = None) -> BiRnn:
        """Two layers whose parameters are drawn when they are first used."""
        check_config(self)
        one = RnnConfig(
            self.d_input, self.d_hidden, self.bias, self.initializer, clip=self.clip,
            hidden_activation=self.hidden_activation,
        )  # fmt: skip
        return BiRnn._configured(one.init(device), one.init(device), self.d_hidden, self.batch_first)


class BiRnn(Bidirectional[Rnn], config=BiRnnConfig):
    """A plain recurrent layer over a sequence and one over its reverse.

    `torch.nn.RNN`. (batch, length, d_input) to (batch, length, 2 * d_hidden), the forward direction first, and the
    last state; `state` is (2, batch, d_hidden).

    Arguments:
        d_input: how many features come in.
        d_hidden: the size of the state.
        bias: whether gates have one; True.
        initializer: how parameters begin; Xavier's normal distribution.
        batch_first: whether the first dim is the batch, not time; True.
        clip: holds the state between -clip and clip; None.
        hidden_activation: of the state; Tanh.

    >>> output, state = nn.BiRnn(3, 4)(Tensor.ones([2, 5, 3]))
    >>> output.shape, state.hidden.shape
    (Shape([2, 5, 8]), Shape([2, 2, 4]))
    """

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(
            self,
            d_input: int,
            d_hidden: int,
            bias: bool = True,
            initializer: Initializer | str = ...,
            batch_first: bool = True,
            clip: float | None = None,
            hidden_activation: ActivationConfig | str = ...,
            *,
            device: Device | None = None,
        ) -> None: ...

    def _run(self, input: Tensor, state: RnnState | None = None) -> tuple[Tensor, RnnState]:
        halves = self._halves(input, None if state is None else state.hidden)
        results = [
            layer.run(input, None if half is None else RnnState(half), self._batch_first, back)
            for layer, half, back in zip(self.directions, halves, (False, True), strict=True)
        ]
        return (
            Tensor.cat([output for output, _ in results], 2),
            RnnState(Tensor.stack([last.hidden for _, last in results], 0)),
        )

    if TYPE_CHECKING:
        forward = _run

    def _gate(self) -> GateController:
        return self.directions[0].gate
