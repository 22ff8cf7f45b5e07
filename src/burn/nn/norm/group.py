"""Norms of the channels of each item: in groups, or each channel for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from burn.config import Config
from burn.device import Device
from burn.module import Module, Param
from burn.module.display import Content
from burn.nn.checks import refuse, too_small
from burn.nn.initializer import Initializer
from burn.ops.normalization import group_norm, instance_norm
from burn.tensor import Tensor


class GroupNormConfig(Config):
    """Settings of `GroupNorm`; `init(device=None)` makes it.

    Arguments:
        num_groups: how many groups there are.
        num_channels: how many channels, a multiple of it.
        epsilon: added to the variance, 1e-5.
        affine: whether channels are scaled and shifted; True.

    >>> nn.GroupNormConfig(2, 8).init()
    GroupNorm {num_groups: 2, num_channels: 8, epsilon: 0.00001, affine: true, params: 16}
    """

    num_groups: int
    num_channels: int
    epsilon: float = 1e-5
    affine: bool = True

    def init(self, device: Device | None = None) -> GroupNorm:
        """A layer that scales by 1 and shifts by 0."""
        faults = too_small(1, num_groups=self.num_groups, num_channels=self.num_channels)
        if not faults and self.num_channels % self.num_groups:
            faults.append(f"num_groups={self.num_groups} must divide num_channels={self.num_channels}")
        if self.epsilon < 0.0:
            faults.append(f"epsilon must be 0 or more, got {self.epsilon}")
        refuse(self, faults)
        gamma, beta = _scale_and_shift(self.num_channels, self.affine, device)
        return GroupNorm._from_fields(gamma, beta, self.num_groups, self.num_channels, self.epsilon, self.affine)


class GroupNorm(Module, config=GroupNormConfig):
    """Brings groups of channels of each item to mean 0 and variance 1, then scales and shifts each channel.

    `torch.nn.GroupNorm`. (batch, num_channels, ...) to the same shape.

    Arguments:
        num_groups: how many groups there are.
        num_channels: how many channels, a multiple of it.
        epsilon: added to the variance, 1e-5.
        affine: whether channels are scaled and shifted; True.

    >>> nn.GroupNorm(2, 8)(Tensor.ones([3, 8, 5])).shape
    Shape([3, 8, 5])
    """

    gamma: Param | None  # (num_channels,)
    beta: Param | None  # (num_channels,)
    num_groups: int
    num_channels: int
    epsilon: float
    affine: bool

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        @overload
        def __init__(
            self,
            num_groups: int,
            num_channels: int,
            epsilon: float = 1e-05,
            affine: bool = True,
            *,
            device: Device | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self,
            gamma: Tensor | None = None,
            beta: Tensor | None = None,
            *,
            num_groups: int,
            num_channels: int,
            epsilon: float,
            affine: bool,
        ) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """(batch, num_channels, ...) to the same shape."""
        return group_norm(x, self.num_groups, self.gamma, self.beta, self.epsilon)

    def custom_content(self, content: Content) -> Content:
        """The settings, without the parameters."""
        content.add("num_groups", self.num_groups).add("num_channels", self.num_channels)
        return content.add("epsilon", self.epsilon).add("affine", self.affine)


class InstanceNormConfig(Config):
    """Settings of `InstanceNorm`; `init(device=None)` makes it.

    Arguments:
        num_channels: how many channels there are.
        epsilon: added to the variance, 1e-5.
        affine: whether channels are scaled and shifted; True.

    >>> nn.InstanceNormConfig(8).init()
    InstanceNorm {num_channels: 8, epsilon: 0.00001, affine: true, params: 16}
    """

    num_channels: int
    epsilon: float = 1e-5
    affine: bool = True

    def init(self, device: Device | None = None) -> InstanceNorm:
        """A layer that scales by 1 and shifts by 0."""
        faults = too_small(1, num_channels=self.num_channels)
        if self.epsilon < 0.0:
            faults.append(f"epsilon must be 0 or more, got {self.epsilon}")
        refuse(self, faults)
        gamma, beta = _scale_and_shift(self.num_channels, self.affine, device)
        return InstanceNorm._from_fields(gamma, beta, self.num_channels, self.epsilon, self.affine)


class InstanceNorm(Module, config=InstanceNormConfig):
    """Brings each channel of each item to mean 0 and variance 1, then scales and shifts it.

    `torch.nn.InstanceNorm2d`. (batch, num_channels, ...) to the same shape. PyTorch neither scales nor shifts, if
    nothing is said.

    Arguments:
        num_channels: how many channels there are.
        epsilon: added to the variance, 1e-5.
        affine: whether channels are scaled and shifted; True.

    >>> nn.InstanceNorm(8)(Tensor.ones([3, 8, 5])).shape
    Shape([3, 8, 5])
    """

    gamma: Param | None  # (num_channels,)
    beta: Param | None  # (num_channels,)
    num_channels: int
    epsilon: float
    affine: bool

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        @overload
        def __init__(
            self, num_channels: int, epsilon: float = 1e-05, affine: bool = True, *, device: Device | None = None
        ) -> None: ...

        @overload
        def __init__(
            self,
            gamma: Tensor | None = None,
            beta: Tensor | None = None,
            *,
            num_channels: int,
            epsilon: float,
            affine: bool,
        ) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """(batch, num_channels, ...) to the same shape."""
        return instance_norm(x, self.gamma, self.beta, self.epsilon)

    def custom_content(self, content: Content) -> Content:
        """The settings, without the parameters."""
        content.add("num_channels", self.num_channels)
        return content.add("epsilon", self.epsilon).add("affine", self.affine)


def _scale_and_shift(channels: int, affine: bool, device: Device | None) -> tuple[Param | None, Param | None]:
    if not affine:
        return None, None
    return Initializer.Ones.init((channels,), device), Initializer.Zeros.init((channels,), device)
