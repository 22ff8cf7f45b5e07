"""Activations that are the identity on one side of a corner and bend or cut on the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burn.config import Config
from burn.device import Device
from burn.module import Module
from burn.nn.checks import refuse
from burn.ops import activation
from burn.tensor import Distribution, Tensor


class LeakyReluConfig(Config):
    """Settings of `LeakyRelu`; `init(device=None)` makes it.

    Arguments:
        negative_slope: 0.01.

    >>> nn.LeakyReluConfig(0.1).init()
    LeakyRelu {negative_slope: 0.1}
    """

    negative_slope: float = 0.01

    def init(self, device: Device | None = None) -> LeakyRelu:
        """The module."""
        return LeakyRelu._from_fields(self.negative_slope)


class LeakyRelu(Module, config=LeakyReluConfig):
    """Multiplies negative elements by `negative_slope`.

    `torch.nn.LeakyReLU`. Any shape to the same.

    Arguments:
        negative_slope: 0.01.

    >>> print(nn.LeakyRelu(0.1)(burn.tensor([-2.0, 0.0, 3.0])).numpy().round(4))
    [-0.2  0.   3. ]
    """

    negative_slope: float = 0.01

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, negative_slope: float = 0.01, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return activation.leaky_relu(x, self.negative_slope)


class RReluConfig(Config):
    """Settings of `RRelu`; `init(device=None)` makes it.

    Arguments:
        lower: the smallest slope, 1/8.
        upper: the largest slope, 1/3.

    >>> nn.RReluConfig(0.1, 0.3).init()
    RRelu {lower: 0.1, upper: 0.3}
    """

    lower: float = 1.0 / 8.0
    upper: float = 1.0 / 3.0

    def init(self, device: Device | None = None) -> RRelu:
        """The module."""
        if self.lower > self.upper:
            refuse(self, [f"lower must not be above upper, got {self.lower} and {self.upper}"])
        return RRelu._from_fields(self.lower, self.upper)


class RRelu(Module, config=RReluConfig):
    """Multiplies negative elements by slopes drawn between two numbers; outside of training by their mean.

    `torch.nn.RReLU`. Any shape to the same.

    Arguments:
        lower: the smallest slope, 1/8.
        upper: the largest slope, 1/3.

    >>> print(nn.RRelu(0.1, 0.3)(burn.tensor([-2.0, 0.0, 3.0])).numpy().round(4))
    [-0.4  0.   3. ]
    """

    lower: float = 1.0 / 8.0
    upper: float = 1.0 / 3.0

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(
            self, lower: float = 0.125, upper: float = 0.3333333333333333, *, device: Device | None = None
        ) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """The same shape; in training every element has a slope of its own."""
        if not self.is_training(x.device):
            return activation.leaky_relu(x, (self.lower + self.upper) / 2.0)
        return x.mask_where(x < 0.0, x * x.random_like(Distribution.Uniform(self.lower, self.upper)))


class EluConfig(Config):
    """Settings of `Elu`; `init(device=None)` makes it.

    Arguments:
        alpha: where the negative side ends, 1.

    >>> nn.EluConfig(1.0).init()
    Elu {alpha: 1}
    """

    alpha: float = 1.0

    def init(self, device: Device | None = None) -> Elu:
        """The module."""
        return Elu._from_fields(self.alpha)


class Elu(Module, config=EluConfig):
    """Bends negative elements towards `-alpha`: `alpha * (exp(x) - 1)`.

    `torch.nn.ELU`. Any shape to the same.

    Arguments:
        alpha: where the negative side ends, 1.

    >>> print(nn.Elu(1.0)(burn.tensor([-2.0, 0.0, 3.0])).numpy().round(4))
    [-0.8647  0.      3.    ]
    """

    alpha: float = 1.0

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, alpha: float = 1.0, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return activation.elu(x, self.alpha)


class CeluConfig(Config):
    """Settings of `Celu`; `init(device=None)` makes it.

    Arguments:
        alpha: where the negative side ends, 1.

    >>> nn.CeluConfig(2.0).init()
    Celu {alpha: 2}
    """

    alpha: float = 1.0

    def init(self, device: Device | None = None) -> Celu:
        """The module."""
        if self.alpha == 0.0:
            refuse(self, ["alpha must not be 0"])
        return Celu._from_fields(self.alpha)


class Celu(Module, config=CeluConfig):
    """Bends negative elements towards `-alpha` with slope 1 at zero: `alpha * (exp(x / alpha) - 1)`.

    `torch.nn.CELU`. Any shape to the same.

    Arguments:
        alpha: where the negative side ends, 1.

    >>> print(nn.Celu(2.0)(burn.tensor([-2.0, 0.0, 3.0])).numpy().round(4))
    [-1.2642  0.      3.    ]
    """

    alpha: float = 1.0

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, alpha: float = 1.0, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return activation.celu(x, self.alpha)


class HardtanhConfig(Config):
    """Settings of `Hardtanh`; `init(device=None)` makes it.

    Arguments:
        min_val: -1.
        max_val: 1.

    >>> nn.HardtanhConfig(-1.0, 2.0).init()
    Hardtanh {min_val: -1, max_val: 2}
    """

    min_val: float = -1.0
    max_val: float = 1.0

    def init(self, device: Device | None = None) -> Hardtanh:
        """The module."""
        if self.min_val > self.max_val:
            refuse(self, [f"min_val must not be above max_val, got {self.min_val} and {self.max_val}"])
        return Hardtanh._from_fields(self.min_val, self.max_val)


class Hardtanh(Module, config=HardtanhConfig):
    """Cuts off what is below `min_val` or above `max_val`.

    `torch.nn.Hardtanh`. Any shape to the same.

    Arguments:
        min_val: -1.
        max_val: 1.

    >>> print(nn.Hardtanh(-1.0, 2.0)(burn.tensor([-2.0, 0.0, 3.0])).numpy().round(4))
    [-1.  0.  2.]
    """

    min_val: float = -1.0
    max_val: float = 1.0

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, min_val: float = -1.0, max_val: float = 1.0, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return activation.hardtanh(x, self.min_val, self.max_val)


class ThresholdConfig(Config):
    """Settings of `Threshold`; `init(device=None)` makes it.

    Arguments:
        threshold: the largest element that is replaced.
        value: what stands for it.

    >>> nn.ThresholdConfig(1.0, 0.5).init()
    Threshold {threshold: 1, value: 0.5}
    """

    threshold: float
    value: float

    def init(self, device: Device | None = None) -> Threshold:
        """The module."""
        return Threshold._from_fields(self.threshold, self.value)


class Threshold(Module, config=ThresholdConfig):
    """Replaces what is not above `threshold` by `value`.

    `torch.nn.Threshold`. Any shape to the same.

    Arguments:
        threshold: the largest element that is replaced.
        value: what stands for it.

    >>> print(nn.Threshold(1.0, 0.5)(burn.tensor([-2.0, 0.0, 3.0])).numpy().round(4))
    [0.5 0.5 3. ]
    """

    threshold: float
    value: float

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, threshold: float, value: float, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return activation.threshold(x, self.threshold, self.value)


class ThresholdedReluConfig(Config):
    """Settings of `ThresholdedRelu`; `init(device=None)` makes it.

    Arguments:
        alpha: the largest element that is replaced, 1.

    >>> nn.ThresholdedReluConfig(1.0).init()
    ThresholdedRelu {alpha: 1}
    """

    alpha: float = 1.0

    def init(self, device: Device | None = None) -> ThresholdedRelu:
        """The module."""
        return ThresholdedRelu._from_fields(self.alpha)


class ThresholdedRelu(Module, config=ThresholdedReluConfig):
    """Replaces what is not above `alpha` by 0.

    Any shape to the same.

    Arguments:
        alpha: the largest element that is replaced, 1.

    >>> print(nn.ThresholdedRelu(1.0)(burn.tensor([-2.0, 0.0, 3.0])).numpy().round(4))
    [0. 0. 3.]
    """

    alpha: float = 1.0

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, alpha: float = 1.0, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return activation.thresholded_relu(x, self.alpha)
