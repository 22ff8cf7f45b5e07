"""Activations with settings that squash, round off or shrink."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.config import Config
from burn.device import Device
from burn.module import Module
from burn.nn.checks import refuse
from burn.ops import activation
from burn.tensor import Tensor


class HardSigmoidConfig(Config):
    """Settings of a sigmoid made of straight lines: its slope and its value at zero."""

    alpha: float = 0.2
    beta: float = 0.5

    def init(self, device: Device | None = None) -> HardSigmoid:
        """The module."""
        return HardSigmoid._from_fields(self.alpha, self.beta)


class HardSigmoid(Module, config=HardSigmoidConfig):
    """Computes `alpha * x + beta`, cut off at 0 and 1."""

    alpha: float = 0.2
    beta: float = 0.5

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, alpha: float = 0.2, beta: float = 0.5, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """The same shape."""
        return activation.hard_sigmoid(x, self.alpha, self.beta)


class SoftplusConfig(Config):
    """Settings of a rounded rectifier: how sharp its corner is."""

    beta: float = 1.0

    def init(self, device: Device | None = None) -> Softplus:
        """The module."""
        if self.beta == 0.0:
            refuse(self, ["beta must not be 0"])
        return Softplus._from_fields(self.beta)


class Softplus(Module, config=SoftplusConfig):
    """Rounds off the corner of a rectifier: `log(1 + exp(beta * x)) / beta`."""

    beta: float = 1.0

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, beta: float = 1.0, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """The same shape."""
        return activation.softplus(x, self.beta)


class ShrinkConfig(Config):
    """Settings of a shrinkage: the range that becomes 0, and how far the rest moves towards it.

    The field `lambda` is a word of Python: give it as `lambd`, or by position.
    """

    lambd: float = 0.5
    bias: float = 0.5

    def init(self, device: Device | None = None) -> Shrink:
        """The module."""
        _check(self, self.lambd)
        return Shrink._from_fields(self.lambd, self.bias)


class Shrink(Module, config=ShrinkConfig):
    """Gives 0 between `-lambd` and `lambd`, and moves what is outside towards zero by `bias`."""

    lambd: float = 0.5
    bias: float = 0.5

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, lambd: float = 0.5, bias: float = 0.5, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """The same shape."""
        return activation.shrink(x, self.lambd, self.bias)


class HardShrinkConfig(Config):
    """Settings of a hard shrinkage: the range that becomes 0."""

    lambd: float = 0.5

    def init(self, device: Device | None = None) -> HardShrink:
        """The module."""
        _check(self, self.lambd)
        return HardShrink._from_fields(self.lambd)


class HardShrink(Module, config=HardShrinkConfig):
    """Gives 0 between `-lambd` and `lambd`, and keeps what is outside."""

    lambd: float = 0.5

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, lambd: float = 0.5, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """The same shape."""
        return activation.hard_shrink(x, self.lambd)


class SoftShrinkConfig(Config):
    """Settings of a soft shrinkage: the range that becomes 0, by which the rest moves towards it."""

    lambd: float = 0.5

    def init(self, device: Device | None = None) -> SoftShrink:
        """The module."""
        _check(self, self.lambd)
        return SoftShrink._from_fields(self.lambd)


class SoftShrink(Module, config=SoftShrinkConfig):
    """Gives 0 between `-lambd` and `lambd`, and moves what is outside towards zero by `lambd`."""

    lambd: float = 0.5

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, lambd: float = 0.5, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """The same shape."""
        return activation.soft_shrink(x, self.lambd)


def _check(config: Config, lambd: float) -> None:
    if lambd < 0.0:
        refuse(config, [f"lambd must be 0 or more, got {lambd}"])
