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
    """Settings: the size of the last dim, what is added to variances, and whether there is a shift."""

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
    """Brings the last dim to mean 0 and variance 1, then scales and shifts it."""

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

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """(..., d_model) to the same shape."""
        return layer_norm(x, self.gamma, self.beta, self.epsilon)

    def custom_content(self, content: Content) -> Content:
        """The settings, without the parameters."""
        content.add("d_model", self.gamma.shape[0]).add("epsilon", self.epsilon)
        return content if self.beta is not None else content.add("bias", False)


class RmsNormConfig(Config):
    """Settings: the size of the last dim, and what is added to mean squares."""

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
    """Divides the last dim by the root of its mean square, then scales it."""

    gamma: Param  # (d_model,)
    epsilon: float

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        @overload
        def __init__(self, d_model: int, epsilon: float = 1e-05, *, device: Device | None = None) -> None: ...

        @overload
        def __init__(self, gamma: Tensor, epsilon: float) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """(..., d_model) to the same shape."""
        return rms_norm(x, self.gamma, self.epsilon)

    def custom_content(self, content: Content) -> Content:
        """The settings, without the parameters."""
        return content.add("d_model", self.gamma.shape[0]).add("epsilon", self.epsilon)
