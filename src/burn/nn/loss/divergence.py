"""Losses between distributions and between sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burn.config import Config
from burn.device import Device
from burn.module import Module
from burn.nn.loss.reduction import Reduction, reduced
from burn.nn.loss.regression import same_shape
from burn.ops.ctc import ctc_loss
from burn.tensor import Tensor


class KLDivLossConfig(Config):
    """Settings of `KLDivLoss`; `init(device=None)` makes it.

    Arguments:
        log_target: whether targets are logarithms too; False.

    >>> nn.KLDivLossConfig().init()
    KLDivLoss {log_target: false}
    """

    log_target: bool = False

    def init(self, device: Device | None = None) -> KLDivLoss:
        """The loss; it has no parameters."""
        return KLDivLoss._from_fields(self.log_target)


class KLDivLoss(Module, config=KLDivLossConfig):
    """How much a predicted distribution (given by its logarithms) differs from a target distribution.

    `torch.nn.KLDivLoss`. `predictions` and `targets` of one shape. `reduction` is a `Reduction`; `BatchMean`, the
    divergence by its definition, if nothing is said.

    Arguments:
        log_target: whether targets are logarithms too; False.

    >>> predictions = burn.tensor([[0.5, 0.5]]).log()
    >>> print(nn.KLDivLoss()(predictions, burn.tensor([[0.9, 0.1]])).numpy().round(4))
    [0.3681]
    """

    log_target: bool = False

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, log_target: bool = False, *, device: Device | None = None) -> None: ...

    def forward(self, predictions: Tensor, targets: Tensor, reduction: Reduction = Reduction.Auto) -> Tensor:
        """The loss, of shape [1]. `Auto` is `BatchMean`, the divergence by its definition."""
        return reduced(self.forward_no_reduction(predictions, targets), reduction, auto=Reduction.BatchMean)

    def forward_no_reduction(self, predictions: Tensor, targets: Tensor) -> Tensor:
        """The divergence of each element; 0 where the target is 0."""
        same_shape("KLDivLoss", predictions, targets)
        if self.log_target:
            return targets.exp() * (targets - predictions)
        present = targets.greater(0.0)
        safe = targets.mask_fill(present.bool_not(), 1.0)
        return (safe * (safe.log() - predictions)).mask_fill(present.bool_not(), 0.0)


class CTCLossConfig(Config):
    """Settings of `CTCLoss`; `init(device=None)` makes it.

    Arguments:
        blank: the class of the blank, 0.
        zero_infinity: whether impossible alignments count as 0; False.

    >>> nn.CTCLossConfig().init()
    CTCLoss {blank: 0, zero_infinity: false}
    """

    blank: int = 0
    zero_infinity: bool = False

    def init(self, device: Device | None = None) -> CTCLoss:
        """The loss; it has no parameters."""
        return CTCLoss._from_fields(self.blank, self.zero_infinity)


class CTCLoss(Module, config=CTCLossConfig):
    """How unlikely a text is, over all the ways it may lie along a recording.

    `torch.nn.CTCLoss`. `log_probs` (time, batch, classes) and `targets` (batch, length), with `input_lengths` and
    `target_lengths` (batch,). The mean divides each loss by the length of its text first. `reduction` is a
    `Reduction`; the mean, if nothing is said.

    Arguments:
        blank: the class of the blank, 0.
        zero_infinity: whether impossible alignments count as 0; False.

    >>> log_probs = Tensor.zeros([4, 1, 3]).log_softmax(2)
    >>> lengths = burn.tensor([4]), burn.tensor([2])
    >>> print(nn.CTCLoss()(log_probs, burn.tensor([[1, 2]]), *lengths).numpy().round(4))
    [0.8432]
    """

    blank: int = 0
    zero_infinity: bool = False

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, blank: int = 0, zero_infinity: bool = False, *, device: Device | None = None) -> None: ...

    def forward(
        self,
        log_probs: Tensor,
        targets: Tensor,
        input_lengths: Tensor,
        target_lengths: Tensor,
        reduction: Reduction = Reduction.Auto,
    ) -> Tensor:
        """The loss, of shape [1]: log probabilities (time, batch, classes) and texts (batch, length).

        The mean divides each loss by the length of its text first.
        """
        losses = self.forward_no_reduction(log_probs, targets, input_lengths, target_lengths)
        if reduction in (Reduction.Mean, Reduction.Auto):
            losses = losses / target_lengths.cast(losses.dtype).clamp_min(1.0)
        return reduced(losses, reduction)

    def forward_no_reduction(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor
    ) -> Tensor:
        """The loss of each text of the batch."""
        losses = ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank)
        if not self.zero_infinity:
            return losses
        return losses.mask_fill(losses.is_inf(), 0.0)
