"""Norms of the last dim: layer norm, and the one that only divides by the root of the mean square."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, overload

from burn.config import Config
from burn.device import Device
from burn.module import Module, Param
from burn.module.display import Content
from burn.nn.checks import refuse, too_small
from burn.nn.initializer import Initializer
from burn.ops.normalization import layer_norm, rms_norm
from burn.tensor import Tensor


class LayerNormConfig(Config):
    """Settings of `LayerNorm`; `init(device=None)` makes it.

    Arguments:
        d_model: the size of the last dim.
        epsilon: added to the variance, 1e-5.
        bias: whether there is a shift; True.

    >>> nn.LayerNormConfig(2).init()
    LayerNorm {d_model: 2, epsilon: 0.00001, params: 4}
    """

    _positions: ClassVar = ("d_model", "epsilon", "elementwise_affine")
    d_model: int
    epsilon: float = 1e-5
    bias: bool = True

    def init(self, device: Device | None = None) -> LayerNorm:
        """A layer that scales by 1 and shifts by 0."""
        faults = too_small(1, d_model=self.d_model)
        if self.epsilon < 0.0:
            faults.append(f"epsilon must be 0 or more, got {self.epsilon}")
        refuse(self, faults)
        shape = (self.d_model,)
        beta: Any = Initializer.Zeros.init(shape, device) if self.bias else None
        return LayerNorm._from_fields(Initializer.Ones.init(shape, device), beta, self.epsilon)


class LayerNorm(Module, config=LayerNormConfig):
    """Brings the last dim to mean 0 and variance 1, then scales and shifts it.

    `torch.nn.LayerNorm`. (..., d_model) to the same shape.

    Arguments:
        d_model: the size of the last dim.
        epsilon: added to the variance, 1e-5.
        bias: whether there is a shift; True.

    >>> print(nn.LayerNorm(2)(burn.tensor([[1.0, 3.0]])).numpy().round(3))
    [[-1.  1.]]
    """

    gamma: Param  # (d_model,)
    beta: Param  # (d_model,); None without a bias, which records older than that choice cannot say
    epsilon: float

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        @overload
        def __init__(
            self, d_model: int, epsilon: float = 1e-05, *, bias: bool = True, device: Device | None = None
        ) -> None: ...

        @overload
        def __init__(self, gamma: Tensor, beta: Tensor, epsilon: float) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """(..., d_model) to the same shape."""
        return layer_norm(x, self.gamma, self.beta, self.epsilon)

    def custom_content(self, content: Content) -> Content:
        """The settings, without the parameters."""
        content.add("d_model", self.gamma.shape[0]).add("epsilon", self.epsilon)
        return content if self.beta is not None else content.add("bias", False)


class RmsNormConfig(Config):
    """Settings of `RmsNorm`; `init(device=None)` makes it.

    Arguments:
        d_model: the size of the last dim.
        epsilon: added to the mean square, 1e-5.

    >>> nn.RmsNormConfig(2).init()
    RmsNorm {d_model: 2, epsilon: 0.00001, params: 2}
    """

    d_model: int
    epsilon: float = 1e-5

    def init(self, device: Device | None = None) -> RmsNorm:
        """A layer that scales by 1."""
        faults = too_small(1, d_model=self.d_model)
        if self.epsilon <= 0.0:
            faults.append(f"epsilon must be above 0, got {self.epsilon}")
        refuse(self, faults)
        return RmsNorm._from_fields(Initializer.Ones.init((self.d_model,), device), self.epsilon)


class RmsNorm(Module, config=RmsNormConfig):
    """Divides the last dim by the root of its mean square, then scales it.

    `torch.nn.RMSNorm`. (..., d_model) to the same shape.

    Arguments:
        d_model: the size of the last dim.
        epsilon: added to the mean square, 1e-5.

    >>> print(nn.RmsNorm(2)(burn.tensor([[1.0, 7.0]])).numpy().round(3))
    [[0.2 1.4]]
    """

    gamma: Param  # (d_model,)
    epsilon: float

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        @overload
        def __init__(self, d_model: int, epsilon: float = 1e-05, *, device: Device | None = None) -> None: ...

        @overload
        def __init__(self, gamma: Tensor, epsilon: float) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """(..., d_model) to the same shape."""
        return rms_norm(x, self.gamma, self.epsilon)

    def custom_content(self, content: Content) -> Content:
        """The settings, without the parameters."""
        return content.add("d_model", self.gamma.shape[0]).add("epsilon", self.epsilon)
