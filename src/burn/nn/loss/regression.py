"""Losses of numbers against numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from burn.config import Config
from burn.device import Device
from burn.errors import ArgumentError, ShapeError
from burn.module import Module
from burn.nn.loss.reduction import Reduction, reduced
from burn.tensor import Tensor


def same_shape(loss: str, predictions: Tensor[Any], targets: Tensor[Any]) -> None:
    """Refuse tensors that would broadcast: a loss of every pair is never meant."""
    if predictions.shape != targets.shape:
        raise ShapeError(
            f"{loss}: predictions and targets differ: {tuple(predictions.shape)} and {tuple(targets.shape)}"
        )


class MseLoss(Module):
    """The square of the difference."""

    def forward(self, logits: Tensor[Any], targets: Tensor[Any], reduction: Reduction = Reduction.Auto) -> Tensor[Any]:
        """The loss, of shape [1]."""
        return reduced(self.forward_no_reduction(logits, targets), reduction)

    def forward_no_reduction(self, logits: Tensor[Any], targets: Tensor[Any]) -> Tensor[Any]:
        """The loss of each element."""
        same_shape("MseLoss", logits, targets)
        difference = logits - targets
        return difference * difference


class HuberLossConfig(Config):
    """Settings: where the loss turns from a square into a line."""

    delta: float

    def init(self, device: Device | None = None) -> HuberLoss:
        """The loss; it has no parameters."""
        if not self.delta > 0:
            raise ArgumentError(f"HuberLossConfig: delta must be above 0, got {self.delta}")
        return HuberLoss._from_fields(self.delta)


class HuberLoss(Module, config=HuberLossConfig):
    """A square near zero, a line of slope `delta` beyond: outliers pull less."""

    delta: float

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, delta: float, *, device: Device | None = None) -> None: ...

    def forward(
        self, predictions: Tensor[Any], targets: Tensor[Any], reduction: Reduction = Reduction.Auto
    ) -> Tensor[Any]:
        """The loss, of shape [1]."""
        return reduced(self.forward_no_reduction(predictions, targets), reduction)

    def forward_no_reduction(self, predictions: Tensor[Any], targets: Tensor[Any]) -> Tensor[Any]:
        """The loss of each element."""
        same_shape("HuberLoss", predictions, targets)
        return self.forward_residuals(targets - predictions)

    def forward_residuals(self, residuals: Tensor[Any]) -> Tensor[Any]:
        """The loss of each difference."""
        size = residuals.abs()
        bounded = size.clamp_max(self.delta)
        return bounded * (size - bounded * 0.5)


class SmoothL1LossConfig(Config):
    """Settings: where the loss turns from a square into a line of slope 1."""

    beta: float = 1.0

    def init(self, device: Device | None = None) -> SmoothL1Loss:
        """The loss; it has no parameters."""
        if not self.beta > 0:
            raise ArgumentError(f"SmoothL1LossConfig: beta must be above 0, got {self.beta}; write LpLoss.l1() for 0")
        return SmoothL1Loss._from_fields(self.beta)


class SmoothL1Loss(Module, config=SmoothL1LossConfig):
    """The Huber loss divided by `beta`: a line of slope 1 beyond it."""

    beta: float = 1.0

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, beta: float = 1.0, *, device: Device | None = None) -> None: ...

    def forward(
        self, predictions: Tensor[Any], targets: Tensor[Any], reduction: Reduction = Reduction.Auto
    ) -> Tensor[Any]:
        """The loss, of shape [1]."""
        return reduced(self.forward_no_reduction(predictions, targets), reduction)

    def forward_no_reduction(self, predictions: Tensor[Any], targets: Tensor[Any]) -> Tensor[Any]:
        """The loss of each element."""
        same_shape("SmoothL1Loss", predictions, targets)
        return HuberLoss._from_fields(self.beta).forward_residuals(targets - predictions) * (1.0 / self.beta)


class LpLoss(Module):
    """The difference to a power: `LpLoss.l1()`, `LpLoss.l2()`, `LpLoss(3.0)`."""

    p: float

    @classmethod
    def l1(cls) -> LpLoss:
        """The absolute difference."""
        return cls(1.0)

    @classmethod
    def l2(cls) -> LpLoss:
        """The square of the difference."""
        return cls(2.0)

    def forward(
        self, predictions: Tensor[Any], targets: Tensor[Any], reduction: Reduction = Reduction.Auto
    ) -> Tensor[Any]:
        """The loss, of shape [1]."""
        return reduced(self.forward_no_reduction(predictions, targets), reduction)

    def forward_no_reduction(self, predictions: Tensor[Any], targets: Tensor[Any]) -> Tensor[Any]:
        """The loss of each element."""
        same_shape("LpLoss", predictions, targets)
        difference = (predictions - targets).abs()
        if self.p == 1.0:
            return difference
        return difference * difference if self.p == 2.0 else difference.powf_scalar(self.p)


class PoissonNllLossConfig(Config):
    """Settings: whether predictions are logarithms, and whether Stirling's term is added."""

    log_input: bool = True
    full: bool = False
    eps: float = 1e-8

    def init(self, device: Device | None = None) -> PoissonNllLoss:
        """The loss; it has no parameters."""
        if not self.eps > 0:
            raise ArgumentError(f"PoissonNllLossConfig: eps must be above 0, got {self.eps}")
        return PoissonNllLoss._from_fields(self.log_input, self.full, self.eps)


class PoissonNllLoss(Module, config=PoissonNllLossConfig):
    """How unlikely counts are under predicted Poisson rates."""

    log_input: bool = True
    full: bool = False
    eps: float = 1e-8

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(
            self, log_input: bool = True, full: bool = False, eps: float = 1e-08, *, device: Device | None = None
        ) -> None: ...

    def forward(
        self, predictions: Tensor[Any], targets: Tensor[Any], reduction: Reduction = Reduction.Auto
    ) -> Tensor[Any]:
        """The loss, of shape [1]."""
        return reduced(self.forward_no_reduction(predictions, targets), reduction)

    def forward_no_reduction(self, predictions: Tensor[Any], targets: Tensor[Any]) -> Tensor[Any]:
        """The loss of each element."""
        same_shape("PoissonNllLoss", predictions, targets)
        targets = targets.cast(predictions.dtype)
        if self.log_input:
            losses = predictions.exp() - targets * predictions
        else:
            losses = predictions - targets * (predictions + self.eps).log()
        if not self.full:
            return losses
        large = targets.greater(1.0)
        safe = targets.clamp_min(1.0)
        stirling = safe * safe.log() - safe + (safe * (2.0 * math.pi)).log() * 0.5
        return losses + stirling * large.cast(losses.dtype)


class GaussianNLLLossConfig(Config):
    """Settings: whether the constant term is added, and the smallest variance."""

    full: bool = False
    eps: float = 1e-6

    def init(self, device: Device | None = None) -> GaussianNLLLoss:
        """The loss; it has no parameters."""
        if not self.eps > 0:
            raise ArgumentError(f"GaussianNLLLossConfig: eps must be above 0, got {self.eps}")
        return GaussianNLLLoss._from_fields(self.full, self.eps)


class GaussianNLLLoss(Module, config=GaussianNLLLossConfig):
    """How unlikely targets are under predicted means and variances."""

    full: bool = False
    eps: float = 1e-6

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, full: bool = False, eps: float = 1e-06, *, device: Device | None = None) -> None: ...

    def forward(
        self,
        predictions: Tensor[Any],
        targets: Tensor[Any],
        variances: Tensor[Any],
        reduction: Reduction = Reduction.Auto,
    ) -> Tensor[Any]:
        """The loss, of shape [1]."""
        return reduced(self.forward_no_reduction(predictions, targets, variances), reduction)

    def forward_no_reduction(
        self, predictions: Tensor[Any], targets: Tensor[Any], variances: Tensor[Any]
    ) -> Tensor[Any]:
        """The loss of each element. The floor of the variance takes no part in gradients."""
        same_shape("GaussianNLLLoss", predictions, targets)
        variances = variances + (variances.detach().clamp_min(self.eps) - variances.detach())
        difference = predictions - targets
        losses = (variances.log() + difference * difference / variances) * 0.5
        return losses + 0.5 * math.log(2.0 * math.pi) if self.full else losses
