"""Losses of numbers against numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from burn.config import Config
from burn.device import Device
from burn.errors import ArgumentError, ShapeError
from burn.module import Module
from burn.nn.loss.reduction import Reduction, reduced
from burn.tensor import Tensor


def same_shape(loss: str, predictions: Tensor, targets: Tensor) -> None:
    """Refuse tensors that would broadcast: a loss of every pair is never meant."""
    if predictions.shape != targets.shape:
        raise ShapeError(
            f"{loss}: predictions and targets differ: {tuple(predictions.shape)} and {tuple(targets.shape)}"
        )


class MseLoss(Module):
    """The mean of the squared differences.

    `torch.nn.MSELoss`. `logits` (predictions) and `targets` of one shape. `reduction` is a `Reduction`; the mean,
    if nothing is said.

    >>> print(nn.MseLoss()(burn.tensor([1.0, 2.0]), burn.tensor([1.0, 4.0])).numpy())
    [2.]
    """

    def forward(self, logits: Tensor, targets: Tensor, reduction: Reduction = Reduction.Auto) -> Tensor:
        """The loss, of shape [1]."""
        return reduced(self.forward_no_reduction(logits, targets), reduction)

    def forward_no_reduction(self, logits: Tensor, targets: Tensor) -> Tensor:
        """The loss of each element."""
        same_shape("MseLoss", logits, targets)
        difference = logits - targets
        return difference * difference


class HuberLossConfig(Config):
    """Settings of `HuberLoss`; `init(device=None)` makes it.

    Arguments:
        delta: where the square turns into a line.

    >>> nn.HuberLossConfig(1.0).init()
    HuberLoss {delta: 1}
    """

    delta: float

    def init(self, device: Device | None = None) -> HuberLoss:
        """The loss; it has no parameters."""
        if not self.delta > 0:
            raise ArgumentError(f"HuberLossConfig: delta must be above 0, got {self.delta}")
        return HuberLoss._from_fields(self.delta)


class HuberLoss(Module, config=HuberLossConfig):
    """A square near zero, a line of slope `delta` beyond: outliers pull less.

    `torch.nn.HuberLoss`. `predictions` and `targets` of one shape; `forward_residuals` takes their differences
    (`residuals`). `reduction` is a `Reduction`; the mean, if nothing is said.

    Arguments:
        delta: where the square turns into a line.

    >>> print(nn.HuberLoss(1.0)(burn.tensor([1.0, 2.0]), burn.tensor([1.5, 4.0])).numpy())
    [0.8125]
    """

    delta: float

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, delta: float, *, device: Device | None = None) -> None: ...

    def forward(self, predictions: Tensor, targets: Tensor, reduction: Reduction = Reduction.Auto) -> Tensor:
        """The loss, of shape [1]."""
        return reduced(self.forward_no_reduction(predictions, targets), reduction)

    def forward_no_reduction(self, predictions: Tensor, targets: Tensor) -> Tensor:
        """The loss of each element."""
        same_shape("HuberLoss", predictions, targets)
        return self.forward_residuals(targets - predictions)

    def forward_residuals(self, residuals: Tensor) -> Tensor:
        """The loss of each difference."""
        size = residuals.abs()
        bounded = size.clamp_max(self.delta)
        return bounded * (size - bounded * 0.5)


class SmoothL1LossConfig(Config):
    """Settings of `SmoothL1Loss`; `init(device=None)` makes it.

    Arguments:
        beta: where the square turns into a line, 1.

    >>> nn.SmoothL1LossConfig().init()
    SmoothL1Loss {beta: 1}
    """

    beta: float = 1.0

    def init(self, device: Device | None = None) -> SmoothL1Loss:
        """The loss; it has no parameters."""
        if not self.beta > 0:
            raise ArgumentError(f"SmoothL1LossConfig: beta must be above 0, got {self.beta}; write LpLoss.l1() for 0")
        return SmoothL1Loss._from_fields(self.beta)


class SmoothL1Loss(Module, config=SmoothL1LossConfig):
    """The Huber loss divided by `beta`: a line of slope 1 beyond it.

    `torch.nn.SmoothL1Loss`. `predictions` and `targets` of one shape. `reduction` is a `Reduction`; the mean, if
    nothing is said.

    Arguments:
        beta: where the square turns into a line, 1.

    >>> print(nn.SmoothL1Loss()(burn.tensor([1.0, 2.0]), burn.tensor([1.5, 4.0])).numpy())
    [0.8125]
    """

    beta: float = 1.0

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, beta: float = 1.0, *, device: Device | None = None) -> None: ...

    def forward(self, predictions: Tensor, targets: Tensor, reduction: Reduction = Reduction.Auto) -> Tensor:
        """The loss, of shape [1]."""
        return reduced(self.forward_no_reduction(predictions, targets), reduction)

    def forward_no_reduction(self, predictions: Tensor, targets: Tensor) -> Tensor:
        """The loss of each element."""
        same_shape("SmoothL1Loss", predictions, targets)
        return HuberLoss._from_fields(self.beta).forward_residuals(targets - predictions) * (1.0 / self.beta)


class LpLoss(Module):
    """The mean of the differences to the power `p`: `LpLoss.l1()`, `LpLoss.l2()`, `LpLoss(3.0)`.

    `torch.nn.L1Loss`. `predictions` and `targets` of one shape. `reduction` is a `Reduction`; the mean, if nothing
    is said.

    >>> print(nn.LpLoss.l1()(burn.tensor([1.0, 2.0]), burn.tensor([1.5, 4.0])).numpy())
    [1.25]
    """

    p: float

    @classmethod
    def l1(cls) -> LpLoss:
        """The absolute difference."""
        return cls(1.0)

    @classmethod
    def l2(cls) -> LpLoss:
        """The square of the difference."""
        return cls(2.0)

    def forward(self, predictions: Tensor, targets: Tensor, reduction: Reduction = Reduction.Auto) -> Tensor:
        """The loss, of shape [1]."""
        return reduced(self.forward_no_reduction(predictions, targets), reduction)

    def forward_no_reduction(self, predictions: Tensor, targets: Tensor) -> Tensor:
        """The loss of each element."""
        same_shape("LpLoss", predictions, targets)
        difference = (predictions - targets).abs()
        if self.p == 1.0:
            return difference
        return difference * difference if self.p == 2.0 else difference.powf_scalar(self.p)


class PoissonNllLossConfig(Config):
    """Settings of `PoissonNllLoss`; `init(device=None)` makes it.

    Arguments:
        log_input: whether predictions are logarithms of rates; True.
        full: whether Stirling's term is added; False.
        eps: added to rates before their logarithm, 1e-8.

    >>> nn.PoissonNllLossConfig().init()
    PoissonNllLoss {log_input: true, full: false, eps: 0.00000001}
    """

    log_input: bool = True
    full: bool = False
    eps: float = 1e-8

    def init(self, device: Device | None = None) -> PoissonNllLoss:
        """The loss; it has no parameters."""
        if not self.eps > 0:
            raise ArgumentError(f"PoissonNllLossConfig: eps must be above 0, got {self.eps}")
        return PoissonNllLoss._from_fields(self.log_input, self.full, self.eps)


class PoissonNllLoss(Module, config=PoissonNllLossConfig):
    """How unlikely counts are under predicted Poisson rates.

    `torch.nn.PoissonNLLLoss`. `predictions` and `targets` (counts) of one shape. `reduction` is a `Reduction`; the
    mean, if nothing is said.

    Arguments:
        log_input: whether predictions are logarithms of rates; True.
        full: whether Stirling's term is added; False.
        eps: added to rates before their logarithm, 1e-8.

    >>> print(nn.PoissonNllLoss()(burn.tensor([0.0, 1.0]), burn.tensor([1.0, 3.0])).numpy().round(4))
    [0.3591]
    """

    log_input: bool = True
    full: bool = False
    eps: float = 1e-8

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(
            self, log_input: bool = True, full: bool = False, eps: float = 1e-08, *, device: Device | None = None
        ) -> None: ...

    def forward(self, predictions: Tensor, targets: Tensor, reduction: Reduction = Reduction.Auto) -> Tensor:
        """The loss, of shape [1]."""
        return reduced(self.forward_no_reduction(predictions, targets), reduction)

    def forward_no_reduction(self, predictions: Tensor, targets: Tensor) -> Tensor:
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
    """Settings of `GaussianNLLLoss`; `init(device=None)` makes it.

    Arguments:
        full: whether the constant term is added; False.
        eps: the smallest variance, 1e-6.

    >>> nn.GaussianNLLLossConfig().init()
    GaussianNLLLoss {full: false, eps: 0.000001}
    """

    full: bool = False
    eps: float = 1e-6

    def init(self, device: Device | None = None) -> GaussianNLLLoss:
        """The loss; it has no parameters."""
        if not self.eps > 0:
            raise ArgumentError(f"GaussianNLLLossConfig: eps must be above 0, got {self.eps}")
        return GaussianNLLLoss._from_fields(self.full, self.eps)


class GaussianNLLLoss(Module, config=GaussianNLLLossConfig):
    """How unlikely targets are under predicted means and variances.

    `torch.nn.GaussianNLLLoss`. `predictions`, `targets` and `variances` of one shape. `reduction` is a `Reduction`;
    the mean, if nothing is said.

    Arguments:
        full: whether the constant term is added; False.
        eps: the smallest variance, 1e-6.

    >>> loss = nn.GaussianNLLLoss()
    >>> print(loss(burn.tensor([1.0]), burn.tensor([2.0]), burn.tensor([4.0])).numpy().round(4))
    [0.8181]
    """

    full: bool = False
    eps: float = 1e-6

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, full: bool = False, eps: float = 1e-06, *, device: Device | None = None) -> None: ...

    def forward(
        self,
        predictions: Tensor,
        targets: Tensor,
        variances: Tensor,
        reduction: Reduction = Reduction.Auto,
    ) -> Tensor:
        """The loss, of shape [1]."""
        return reduced(self.forward_no_reduction(predictions, targets, variances), reduction)

    def forward_no_reduction(self, predictions: Tensor, targets: Tensor, variances: Tensor) -> Tensor:
        """The loss of each element. The floor of the variance takes no part in gradients."""
        same_shape("GaussianNLLLoss", predictions, targets)
        variances = variances + (variances.detach().clamp_min(self.eps) - variances.detach())
        difference = predictions - targets
        losses = (variances.log() + difference * difference / variances) * 0.5
        return losses + 0.5 * math.log(2.0 * math.pi) if self.full else losses
