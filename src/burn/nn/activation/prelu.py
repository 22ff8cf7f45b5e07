"""The rectifier whose negative slope is learnt."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from burn.config import Config
from burn.device import Device
from burn.module import Module, Param
from burn.module.display import Content
from burn.nn.checks import refuse, too_small
from burn.nn.initializer import Initializer
from burn.ops.activation import prelu
from burn.tensor import Tensor


class PReluConfig(Config):
    """Settings of `PRelu`; `init(device=None)` makes it.

    Arguments:
        num_parameters: 1, or as many as there are channels.
        alpha: the value that slopes begin with, 0.25.

    >>> nn.PReluConfig().init()
    PRelu {num_parameters: 1, alpha_value: 0.25, params: 1}
    """

    num_parameters: int = 1
    alpha: float = 0.25

    def init(self, device: Device | None = None) -> PRelu:
        """A layer whose slopes are all `alpha`."""
        refuse(self, too_small(1, num_parameters=self.num_parameters))
        return PRelu._from_fields(Initializer.Constant(self.alpha).init((self.num_parameters,), device), self.alpha)


class PRelu(Module, config=PReluConfig):
    """Multiplies negative elements by a learnt slope: one for all, or one for each channel (dim 1).

    `torch.nn.PReLU`. Any shape to the same.

    Arguments:
        num_parameters: 1, or as many as there are channels.
        alpha: the value that slopes begin with, 0.25.

    >>> print(nn.PRelu()(burn.tensor([-2.0, 3.0])).numpy())
    [-0.5  3. ]
    """

    alpha: Param  # (num_parameters,)
    alpha_value: float

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        @overload
        def __init__(self, num_parameters: int = 1, alpha: float = 0.25, *, device: Device | None = None) -> None: ...

        @overload
        def __init__(self, alpha: Tensor, alpha_value: float) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return prelu(x, self.alpha)

    def custom_content(self, content: Content) -> Content:
        """The number of slopes and what they began with."""
        return content.add("num_parameters", self.alpha.shape[0]).add("alpha_value", self.alpha_value)
