"""The LSTM: a memory cell that gates fill, empty and read.

i, f, o = sigmoid(gates of x and h)      g = tanh(cell gate of x and h)
c = f * c + i * g                        h = o * tanh(c)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from burn.config import Config
from burn.device import Device
from burn.module import Module
from burn.module.display import Content
from burn.nn.activation import ActivationConfig
from burn.nn.initializer import Initializer
from burn.nn.rnn.bidirectional import Bidirectional, sizes_of
from burn.nn.rnn.gate_controller import GateController
from burn.nn.rnn.sequence import batch_and_length, check_config, check_state, clipped, order, summed_products
from burn.nn.rnn.state import LstmState
from burn.tensor import Tensor


class LstmConfig(Config):
    """Settings of `Lstm`; `init(device=None)` makes it.

    Arguments:
        d_input: how many features come in.
        d_hidden: the size of the state.
        bias: whether gates have one; True.
        initializer: how parameters begin; Xavier's normal distribution.
        batch_first: whether the first dim is the batch, not time; True.
        reverse: read the sequence from its end; False.
        clip: holds the cell between -clip and clip; None.
        input_forget: whether the forget gate is one less the input gate; False.
        gate_activation: of the gates; Sigmoid.
        cell_activation: of what enters the cell; Tanh.
        hidden_activation: of the state; Tanh.

    >>> nn.LstmConfig(3, 4).init()
    Lstm {d_input: 3, d_hidden: 4, bias: true, params: 144}
    """

    d_input: int
    d_hidden: int
    bias: bool = True
    initializer: Initializer = Initializer.XavierNormal(1.0)
    batch_first: bool = True
    reverse: bool = False
    clip: float | None = None
    input_forget: bool = False
    gate_activation: ActivationConfig = ActivationConfig.Sigmoid
    cell_activation: ActivationConfig = ActivationConfig.Tanh
    hidden_activation: ActivationConfig = ActivationConfig.Tanh

    def init(self, device: Device | None = None) -> Lstm:
        """A layer whose parameters are drawn when they are first used."""
        check_config(self)
        return Lstm._configured(self, device)


class Lstm(Module, config=LstmConfig):
    """Reads a sequence step by step, keeping a memory cell and giving out a hidden state at each step.

    `torch.nn.LSTM`. (batch, length, d_input) to (batch, length, d_hidden), and the last state; it begins with
    `state`, or with zeros.

    Arguments:
        d_input: how many features come in.
        d_hidden: the size of the state.
        bias: whether gates have one; True.
        initializer: how parameters begin; Xavier's normal distribution.
        batch_first: whether the first dim is the batch, not time; True.
        reverse: read the sequence from its end; False.
        clip: holds the cell between -clip and clip; None.
        input_forget: whether the forget gate is one less the input gate; False.
        gate_activation: of the gates; Sigmoid.
        cell_activation: of what enters the cell; Tanh.
        hidden_activation: of the state; Tanh.

    >>> output, state = nn.Lstm(3, 4)(Tensor.ones([2, 5, 3]))
    >>> output.shape, state.cell.shape
    (Shape([2, 5, 4]), Shape([2, 4]))
    """

    input_gate: GateController
    forget_gate: GateController
    output_gate: GateController
    cell_gate: GateController
    d_hidden: int

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
            input_forget: bool = False,
            gate_activation: ActivationConfig | str = ...,
            cell_activation: ActivationConfig | str = ...,
            hidden_activation: ActivationConfig | str = ...,
            *,
            device: Device | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            input_gate: GateController,
            forget_gate: GateController,
            output_gate: GateController,
            cell_gate: GateController,
            d_hidden: int,
        ) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def _configure(self, config: LstmConfig, device: Device | None) -> None:
        def gate() -> GateController:
            return GateController(config.d_input, config.d_hidden, config.bias, config.initializer, device)

        self.input_gate, self.forget_gate, self.output_gate, self.cell_gate = gate(), gate(), gate(), gate()
        self.d_hidden = config.d_hidden
        self._batch_first, self._reverse = config.batch_first, config.reverse
        self._clip, self._input_forget = config.clip, config.input_forget
        self._gate_activation: Any = config.gate_activation.init(device).value
        self._cell_activation: Any = config.cell_activation.init(device).value
        self._hidden_activation: Any = config.hidden_activation.init(device).value

    def forward(self, input: Tensor, state: LstmState | None = None) -> tuple[Tensor, LstmState]:
        """All hidden states and the last state: (batch, length, d_input) to (batch, length, d_hidden)."""
        return self.run(input, state, self._batch_first, self._reverse)

    def run(self, input: Tensor, state: LstmState | None, batch_first: bool, reverse: bool) -> tuple[Tensor, LstmState]:
        """`forward` in a direction (`reverse`) and a layout (`batch_first`) of the caller's choice.

        `input` and `state` are those of `forward`.
        """
        batch, length = batch_and_length("Lstm", input, batch_first)
        if state is None:
            cell = hidden = Tensor.zeros((batch, self.d_hidden), input.device, input.dtype)
        else:
            cell = check_state("Lstm", state.cell, batch, self.d_hidden)
            hidden = check_state("Lstm", state.hidden, batch, self.d_hidden)
        coupled = self._input_forget
        gates = [self.input_gate, self.output_gate, self.cell_gate]
        if not coupled:
            gates.insert(1, self.forget_gate)
        time = 1 if batch_first else 0
        products = summed_products(gates, input, length, time)
        sigma, squash = self._gate_activation.forward, self._cell_activation.forward
        outputs: list[Any] = [None] * length
        for t in order(length, reverse):
            taken, *kept, given, new = products(t, hidden)
            taken = sigma(taken)
            kept_share = 1.0 - taken if coupled else sigma(kept[0])
            cell = clipped(kept_share * cell + taken * squash(new), self._clip)
            hidden = sigma(given) * self._hidden_activation.forward(cell)
            outputs[t] = hidden
        return Tensor.stack(outputs, time), LstmState(cell, hidden)

    def custom_content(self, content: Content) -> Content:
        """The sizes, and whether there is a bias."""
        return sizes_of(content, self.input_gate)


class BiLstmConfig(Config):
    """Settings of `BiLstm`; `init(device=None)` makes it.

    Arguments:
        d_input: how many features come in.
        d_hidden: the size of the state.
        bias: whether gates have one; True.
        initializer: how parameters begin; Xavier's normal distribution.
        batch_first: whether the first dim is the batch, not time; True.
        clip: holds the cell between -clip and clip; None.
        input_forget: whether the forget gate is one less the input gate; False.
        gate_activation: of the gates; Sigmoid.
        cell_activation: of what enters the cell; Tanh.
        hidden_activation: of the state; Tanh.

    >>> nn.BiLstmConfig(3, 4).init()
    BiLstm {d_input: 3, d_hidden: 4, bias: true, params: 288}
    """

    d_input: int
    d_hidden: int
    bias: bool = True
    initializer: Initializer = Initializer.XavierNormal(1.0)
    batch_first: bool = True
    clip: float | None = None
    input_forget: bool = False
    gate_activation: ActivationConfig = ActivationConfig.Sigmoid
    cell_activation: ActivationConfig = ActivationConfig.Tanh
    hidden_activation: ActivationConfig = ActivationConfig.Tanh

    def init(self, device: Device | None = None) -> BiLstm:
        """Two layers whose parameters are drawn when they are first used."""
        check_config(self)
        one = LstmConfig(
            self.d_input, self.d_hidden, self.bias, self.initializer, clip=self.clip, input_forget=self.input_forget,
            gate_activation=self.gate_activation, cell_activation=self.cell_activation,
            hidden_activation=self.hidden_activation,
        )  # fmt: skip
        return BiLstm._configured(one.init(device), one.init(device), self.d_hidden, self.batch_first)


class BiLstm(Bidirectional[Lstm], config=BiLstmConfig):
    """An LSTM over a sequence and one over its reverse.

    `torch.nn.LSTM`. (batch, length, d_input) to (batch, length, 2 * d_hidden), the forward direction first, and the
    last state; `state` is (2, batch, d_hidden).

    Arguments:
        d_input: how many features come in.
        d_hidden: the size of the state.
        bias: whether gates have one; True.
        initializer: how parameters begin; Xavier's normal distribution.
        batch_first: whether the first dim is the batch, not time; True.
        clip: holds the cell between -clip and clip; None.
        input_forget: whether the forget gate is one less the input gate; False.
        gate_activation: of the gates; Sigmoid.
        cell_activation: of what enters the cell; Tanh.
        hidden_activation: of the state; Tanh.

    >>> output, state = nn.BiLstm(3, 4)(Tensor.ones([2, 5, 3]))
    >>> output.shape, state.cell.shape
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
            input_forget: bool = False,
            gate_activation: ActivationConfig | str = ...,
            cell_activation: ActivationConfig | str = ...,
            hidden_activation: ActivationConfig | str = ...,
            *,
            device: Device | None = None,
        ) -> None: ...

    def _run(self, input: Tensor, state: LstmState | None = None) -> tuple[Tensor, LstmState]:
        cells = self._halves(input, None if state is None else state.cell)
        hiddens = self._halves(input, None if state is None else state.hidden)
        states = [
            None if cell is None or hidden is None else LstmState(cell, hidden)
            for cell, hidden in zip(cells, hiddens, strict=True)
        ]
        results = [
            layer.run(input, start, self._batch_first, back)
            for layer, start, back in zip(self.directions, states, (False, True), strict=True)
        ]
        return Tensor.cat([output for output, _ in results], 2), LstmState.stack([last for _, last in results])

    if TYPE_CHECKING:
        forward = _run

    def _gate(self) -> GateController:
        return self.directions[0].input_gate
