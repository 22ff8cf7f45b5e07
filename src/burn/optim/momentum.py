"""Momentum: a running sum of gradients that an optimizer follows instead of the latest one."""

from __future__ import annotations

from typing import Any, NamedTuple

from burn.config import Config
from burn.errors import raise_faults
from burn.tensor import Tensor


class MomentumConfig(Config):
    """How much of the past is kept (`momentum`) and how much of the present is left out (`dampening`).

    `nesterov` looks ahead along the velocity. PyTorch's dampening is 0, here it is 0.1.

    >>> from burn.optim import MomentumConfig, SgdConfig
    >>> optim = SgdConfig(momentum=MomentumConfig(momentum=0.9, dampening=0.0, nesterov=True)).init()
    """

    momentum: float = 0.9
    dampening: float = 0.1
    nesterov: bool = False

    def init(self) -> Momentum:
        """The momentum."""
        return Momentum(self)


class MomentumState(NamedTuple):
    """The running sum."""

    velocity: Any


class Momentum:
    """Turns gradients into velocities. The first velocity is the gradient.

    >>> import burn
    >>> from burn.optim import MomentumConfig
    >>> momentum = MomentumConfig(momentum=0.5, dampening=0.0).init()
    >>> followed, velocity = momentum.transform(burn.tensor([1.0]), None)
    >>> followed, velocity = momentum.transform(burn.tensor([1.0]), velocity)
    >>> print(velocity.to_data())
    [1.5]
    """

    def __init__(self, config: MomentumConfig) -> None:
        faults = []
        if not config.momentum >= 0:
            faults.append(f"momentum is a number from 0 up, got {config.momentum}")
        if not config.dampening <= 1:
            faults.append(f"dampening is at most 1, got {config.dampening}")
        raise_faults("MomentumConfig", faults)
        self.momentum, self.nesterov = config.momentum, config.nesterov
        self.share = 1.0 - config.dampening

    def transform(self, gradient: Tensor, velocity: Any) -> tuple[Tensor, Tensor]:
        """What to follow, and the new velocity. The first velocity is the gradient."""
        if velocity is None:
            velocity = gradient
        elif self.share == 1.0:
            velocity = velocity * self.momentum + gradient
        else:
            velocity = velocity * self.momentum + gradient * self.share
        return velocity * self.momentum + gradient if self.nesterov else velocity, velocity
