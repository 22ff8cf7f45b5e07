"""Activations that are the identity on one side of a corner and bend or cut on the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.config import Config
from burn.device import Device
from burn.module import Module
from burn.nn.checks import refuse
from burn.ops import activation
from burn.tensor import Distribution, Tensor


class LeakyReluConfig(Config):
    """Settings of a leaky rectifier: the slope of the negative side."""

    negative_slope: float = 0.01

    def init(self, device: Device | None = None) -> LeakyRelu:
        """The module."""
        return LeakyRelu._from_fields(self.negative_slope)


class LeakyRelu(Module, config=LeakyReluConfig):
    """Multiplies negative elements by `negative_slope`."""

    negative_slope: float = 0.01

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, negative_slope: float = 0.01, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """The same shape."""
        return activation.leaky_relu(x, self.negative_slope)


class RReluConfig(Config):
    """Settings of a randomized rectifier: the range its slopes are drawn from."""

    lower: float = 1.0 / 8.0
    upper: float = 1.0 / 3.0

    def init(self, device: Device | None = None) -> RRelu:
        """The module."""
        if self.lower > self.upper:
            refuse(self, [f"lower must not be above upper, got {self.lower} and {self.upper}"])
        return RRelu._from_fields(self.lower, self.upper)


class RRelu(Module, config=RReluConfig):
    """Multiplies negative elements by slopes drawn between two numbers; outside training by the slope between them."""

    lower: float = 1.0 / 8.0
    upper: float = 1.0 / 3.0

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(
            self, lower: float = 0.125, upper: float = 0.3333333333333333, *, device: Device | None = None
        ) -> None: ...

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """The same shape; in training every element has a slope of its own."""
        if not self.is_training(x.device):
            return activation.leaky_relu(x, (self.lower + self.upper) / 2.0)
        return x.mask_where(x < 0.0, x * x.random_like(Distribution.Uniform(self.lower, self.upper)))


class EluConfig(Config):
    """Settings of an exponential unit: where the negative side ends."""

    alpha: float = 1.0

    def init(self, device: Device | None = None) -> Elu:
        """The module."""
        return Elu._from_fields(self.alpha)


class Elu(Module, config=EluConfig):
    """Bends negative elements towards `-alpha`: `alpha * (exp(x) - 1)`."""

    alpha: float = 1.0

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, alpha: float = 1.0, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """The same shape."""
        return activation.elu(x, self.alpha)


class CeluConfig(Config):
    """Settings of an exponential unit with slope 1 at zero: where the negative side ends."""

    alpha: float = 1.0

    def init(self, device: Device | None = None) -> Celu:
        """The module."""
        if self.alpha == 0.0:
            refuse(self, ["alpha must not be 0"])
        return Celu._from_fields(self.alpha)


class Celu(Module, config=CeluConfig):
    """Bends negative elements towards `-alpha` with slope 1 at zero: `alpha * (exp(x / alpha) - 1)`."""

    alpha: float = 1.0

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, alpha: float = 1.0, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """The same shape."""
        return activation.celu(x, self.alpha)


class HardtanhConfig(Config):
    """Settings of a cut: the range that is kept."""

    min_val: float = -1.0
    max_val: float = 1.0

    def init(self, device: Device | None = None) -> Hardtanh:
        """The module."""
        if self.min_val > self.max_val:
            refuse(self, [f"min_val must not be above max_val, got {self.min_val} and {self.max_val}"])
        return Hardtanh._from_fields(self.min_val, self.max_val)


class Hardtanh(Module, config=HardtanhConfig):
    """Cuts off what is below `min_val` or above `max_val`."""

    min_val: float = -1.0
    max_val: float = 1.0

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, min_val: float = -1.0, max_val: float = 1.0, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """The same shape."""
        return activation.hardtanh(x, self.min_val, self.max_val)


class ThresholdConfig(Config):
    """Settings of a threshold, and of what stands for elements that are not above it."""

    threshold: float
    value: float

    def init(self, device: Device | None = None) -> Threshold:
        """The module."""
        return Threshold._from_fields(self.threshold, self.value)


class Threshold(Module, config=ThresholdConfig):
    """Replaces what is not above `threshold` by `value`."""

    threshold: float
    value: float

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, threshold: float, value: float, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """The same shape."""
        return activation.threshold(x, self.threshold, self.value)


class ThresholdedReluConfig(Config):
    """Settings of a rectifier that begins at `alpha`."""

    alpha: float = 1.0

    def init(self, device: Device | None = None) -> ThresholdedRelu:
        """The module."""
        return ThresholdedRelu._from_fields(self.alpha)


class ThresholdedRelu(Module, config=ThresholdedReluConfig):
    """Replaces what is not above `alpha` by 0."""

    alpha: float = 1.0

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, alpha: float = 1.0, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """The same shape."""
        return activation.thresholded_relu(x, self.alpha)
