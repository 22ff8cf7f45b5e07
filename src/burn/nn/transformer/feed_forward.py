"""The feed-forward part of a transformer: each position for itself goes up to a wider layer and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from burn.config import Config
from burn.device import Device
from burn.module import Module
from burn.module.display import Content
from burn.nn.activation import ActivationConfig
from burn.nn.checks import refuse, too_small
from burn.nn.dropout import Dropout
from burn.nn.initializer import DEFAULT, Initializer
from burn.nn.linear import Linear, LinearConfig
from burn.tensor import Tensor


class PositionWiseFeedForwardConfig(Config):
    """Settings of `PositionWiseFeedForward`; `init(device=None)` makes it.

    Arguments:
        d_model: the number of features.
        d_ff: features between the two layers.
        dropout: 0.1.
        initializer: how parameters begin; uniform by the number of inputs, as PyTorch has it.
        activation: between them; Gelu.

    >>> nn.PositionWiseFeedForwardConfig(8, 16).init()
    PositionWiseFeedForward {d_model: 8, d_ff: 16, prob: 0.1, params: 280}
    """

    d_model: int
    d_ff: int
    dropout: float = 0.1
    initializer: Initializer = DEFAULT
    activation: ActivationConfig = ActivationConfig.Gelu

    def init(self, device: Device | None = None) -> PositionWiseFeedForward:
        """A module whose parameters are drawn when they are first used."""
        faults = too_small(1, d_model=self.d_model, d_ff=self.d_ff)
        if not 0.0 <= self.dropout <= 1.0:
            faults.append(f"dropout must be between 0 and 1, got {self.dropout}")
        refuse(self, faults)
        return PositionWiseFeedForward._from_fields(
            LinearConfig(self.d_model, self.d_ff, initializer=self.initializer).init(device),
            LinearConfig(self.d_ff, self.d_model, initializer=self.initializer).init(device),
            Dropout(self.dropout),
            self.activation.init(device).value,
        )


class PositionWiseFeedForward(Module, config=PositionWiseFeedForwardConfig):
    """Maps each position by `outer(dropout(activation(inner(x))))`.

    (..., d_model) to the same shape.

    Arguments:
        d_model: the number of features.
        d_ff: features between the two layers.
        dropout: 0.1.
        initializer: how parameters begin; uniform by the number of inputs, as PyTorch has it.
        activation: between them; Gelu.

    >>> nn.PositionWiseFeedForward(8, 16)(Tensor.ones([2, 5, 8])).shape
    Shape([2, 5, 8])
    """

    linear_inner: Linear
    linear_outer: Linear
    dropout: Dropout
    gelu: Module  # the activation, of whatever kind; records know it by this name

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        @overload
        def __init__(
            self,
            d_model: int,
            d_ff: int,
            dropout: float = 0.1,
            initializer: Initializer | str = ...,
            activation: ActivationConfig | str = ...,
            *,
            device: Device | None = None,
        ) -> None: ...

        @overload
        def __init__(self, linear_inner: Linear, linear_outer: Linear, dropout: Dropout, gelu: Module) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    @property
    def activation(self) -> Module:
        """The activation between the two layers."""
        return self.gelu

    def forward(self, input: Tensor) -> Tensor:
        """(..., d_model) to (..., d_model)."""
        wide = self.gelu.forward(self.linear_inner.forward(input))  # type: ignore[attr-defined]
        return self.linear_outer.forward(self.dropout.forward(wide))

    def custom_content(self, content: Content) -> Content:
        """The sizes and the probability of dropout."""
        d_model, d_ff = self.linear_inner.weight.shape
        return content.add("d_model", d_model).add("d_ff", d_ff).add("prob", self.dropout.prob)
