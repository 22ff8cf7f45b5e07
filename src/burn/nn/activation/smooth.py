"""Activations with settings that squash, round off or shrink."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burn.config import Config
from burn.device import Device
from burn.module import Module
from burn.nn.checks import refuse
from burn.ops import activation
from burn.tensor import Tensor


class HardSigmoidConfig(Config):
    """Settings of `HardSigmoid`; `init(device=None)` makes it.

    Arguments:
        alpha: the slope, 0.2.
        beta: the value at zero, 0.5.

    >>> nn.HardSigmoidConfig().init()
    HardSigmoid {alpha: 0.2, beta: 0.5}
    """

    alpha: float = 0.2
    beta: float = 0.5

    def init(self, device: Device | None = None) -> HardSigmoid:
        """The module."""
        return HardSigmoid._from_fields(self.alpha, self.beta)


class HardSigmoid(Module, config=HardSigmoidConfig):
    """Computes `alpha * x + beta`, cut off at 0 and 1.

    `torch.nn.Hardsigmoid`. Any shape to the same.

    Arguments:
        alpha: the slope, 0.2.
        beta: the value at zero, 0.5.

    >>> print(nn.HardSigmoid()(burn.tensor([-2.0, 0.0, 3.0])).numpy().round(4))
    [0.1 0.5 1. ]
    """

    alpha: float = 0.2
    beta: float = 0.5

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, alpha: float = 0.2, beta: float = 0.5, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return activation.hard_sigmoid(x, self.alpha, self.beta)


class SoftplusConfig(Config):
    """Settings of `Softplus`; `init(device=None)` makes it.

    Arguments:
        beta: how sharp the corner is, 1.

    >>> nn.SoftplusConfig(2.0).init()
    Softplus {beta: 2}
    """

    beta: float = 1.0

    def init(self, device: Device | None = None) -> Softplus:
        """The module."""
        if self.beta == 0.0:
            refuse(self, ["beta must not be 0"])
        return Softplus._from_fields(self.beta)


class Softplus(Module, config=SoftplusConfig):
    """Rounds off the corner of a rectifier: `log(1 + exp(beta * x)) / beta`.

    `torch.nn.Softplus`. Any shape to the same.

    Arguments:
        beta: how sharp the corner is, 1.

    >>> print(nn.Softplus(2.0)(burn.tensor([-2.0, 0.0, 3.0])).numpy().round(4))
    [0.0091 0.3466 3.0012]
    """

    beta: float = 1.0

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, beta: float = 1.0, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return activation.softplus(x, self.beta)


class ShrinkConfig(Config):
    """Settings of `Shrink`; `init(device=None)` makes it.

    Arguments:
        lambd: the end of the range that becomes 0, 0.5.
        bias: how far the rest moves, 0.5.

    >>> nn.ShrinkConfig(1.0, 0.5).init()
    Shrink {lambd: 1, bias: 0.5}
    """

    lambd: float = 0.5
    bias: float = 0.5

    def init(self, device: Device | None = None) -> Shrink:
        """The module."""
        _check(self, self.lambd)
        return Shrink._from_fields(self.lambd, self.bias)


class Shrink(Module, config=ShrinkConfig):
    """Gives 0 between `-lambd` and `lambd`, and moves what is outside towards zero by `bias`.

    Any shape to the same.

    Arguments:
        lambd: the end of the range that becomes 0, 0.5.
        bias: how far the rest moves, 0.5.

    >>> print(nn.Shrink(1.0, 0.5)(burn.tensor([-2.0, 0.0, 3.0])).numpy().round(4))
    [-1.5  0.   2.5]
    """

    lambd: float = 0.5
    bias: float = 0.5

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, lambd: float = 0.5, bias: float = 0.5, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return activation.shrink(x, self.lambd, self.bias)


class HardShrinkConfig(Config):
    """Settings of `HardShrink`; `init(device=None)` makes it.

    Arguments:
        lambd: the end of the range that becomes 0, 0.5.

    >>> nn.HardShrinkConfig(2.5).init()
    HardShrink {lambd: 2.5}
    """

    lambd: float = 0.5

    def init(self, device: Device | None = None) -> HardShrink:
        """The module."""
        _check(self, self.lambd)
        return HardShrink._from_fields(self.lambd)


class HardShrink(Module, config=HardShrinkConfig):
    """Gives 0 between `-lambd` and `lambd`, and keeps what is outside.

    `torch.nn.Hardshrink`. Any shape to the same.

    Arguments:
        lambd: the end of the range that becomes 0, 0.5.

    >>> print(nn.HardShrink(2.5)(burn.tensor([-2.0, 0.0, 3.0])).numpy().round(4))
    [0. 0. 3.]
    """

    lambd: float = 0.5

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, lambd: float = 0.5, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return activation.hard_shrink(x, self.lambd)


class SoftShrinkConfig(Config):
    """Settings of `SoftShrink`; `init(device=None)` makes it.

    Arguments:
        lambd: the end of the range that becomes 0, 0.5.

    >>> nn.SoftShrinkConfig(0.5).init()
    SoftShrink {lambd: 0.5}
    """

    lambd: float = 0.5

    def init(self, device: Device | None = None) -> SoftShrink:
        """The module."""
        _check(self, self.lambd)
        return SoftShrink._from_fields(self.lambd)


class SoftShrink(Module, config=SoftShrinkConfig):
    """Gives 0 between `-lambd` and `lambd`, and moves what is outside towards zero by `lambd`.

    `torch.nn.Softshrink`. Any shape to the same.

    Arguments:
        lambd: the end of the range that becomes 0, 0.5.

    >>> print(nn.SoftShrink(0.5)(burn.tensor([-2.0, 0.0, 3.0])).numpy().round(4))
    [-1.5  0.   2.5]
    """

    lambd: float = 0.5

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, lambd: float = 0.5, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return activation.soft_shrink(x, self.lambd)


def _check(config: Config, lambd: float) -> None:
    if lambd < 0.0:
        refuse(config, [f"lambd must be 0 or more, got {lambd}"])
