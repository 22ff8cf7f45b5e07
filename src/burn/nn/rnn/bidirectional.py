"""Both directions: one layer reads the sequence from the front, another from the back.

The two layers are the fields `forward` and `reverse`, the names that records have. As an attribute
`forward` is what it is for every module, the function that computes; `directions` gives the layers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from burn.module import Module
from burn.module.display import Content
from burn.nn.rnn.gate_controller import GateController
from burn.nn.rnn.sequence import batch_and_length, check_state
from burn.ops.joining import cut
from burn.tensor import Tensor

Layer = TypeVar("Layer", bound=Module)


class Bidirectional(Module, Generic[Layer]):
    """Two layers of one kind over the same sequence; their results stand side by side, forward first."""

    def _configure(self, forward: Layer, reverse: Layer, d_hidden: int, batch_first: bool) -> None:
        self.__dict__["forward"] = forward
        self.reverse = reverse
        self.d_hidden = d_hidden
        self._batch_first = batch_first

    @property
    def directions(self) -> tuple[Layer, Layer]:
        """The layer that reads from the front, and the one that reads from the back."""
        return self.__dict__["forward"], self.reverse

    if not TYPE_CHECKING:  # the classes of layers tell checkers what theirs takes

        @property
        def forward(self) -> Callable[..., Any]:
            """The function that computes: `forward(input, state=None)`."""
            return self._run

    def _run(self, input: Tensor, state: Any = None) -> Any:
        raise NotImplementedError

    def _halves(self, input: Tensor, state: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
        """An initial state (2, batch, d_hidden) as one for each direction."""
        batch, _ = batch_and_length(type(self).__name__, input, self._batch_first)
        if state is None:
            return None, None
        check_state(type(self).__name__, state, 2, batch, self.d_hidden)
        first, second = (each.reshape((batch, self.d_hidden)) for each in cut(state, (1, 1), 0))
        return first, second

    def _gate(self) -> GateController:
        """Any gate of the layer, for display."""
        raise NotImplementedError

    def custom_content(self, content: Content) -> Content:
        """The sizes, and whether there is a bias."""
        return sizes_of(content, self._gate())


def sizes_of(content: Content, gate: GateController) -> Content:
    """What every recurrent layer shows of itself."""
    d_input, d_hidden = gate.input_transform.weight.shape
    has_bias = gate.input_transform.bias is not None
    return content.add("d_input", d_input).add("d_hidden", d_hidden).add("bias", has_bias)
