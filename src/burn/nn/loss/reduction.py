"""How the losses of single elements become one number."""

from __future__ import annotations

import enum

from burn.errors import ArgumentError
from burn.tensor import Tensor


class Reduction(enum.Enum):
    """How the losses of items become one: their mean or sum. `BatchMean` divides the sum by the size of the first dim.

    `Auto` is the mean, except where a loss says otherwise.

    >>> from burn.nn.loss import MseLoss, Reduction
    >>> print(MseLoss()(burn.tensor([1.0, 2.0]), burn.tensor([2.0, 4.0]), Reduction.Sum).numpy())
    [5.]
    """

    Mean = "Mean"
    Sum = "Sum"
    Auto = "Auto"
    BatchMean = "BatchMean"

    def __repr__(self) -> str:
        return f"Reduction.{self.name}"


def reduced(losses: Tensor, reduction: Reduction | str, auto: Reduction = Reduction.Mean) -> Tensor:
    """One number, of shape [1]; `BatchMean` divides the sum by the size of the first dim."""
    if not isinstance(reduction, Reduction):
        text = str(reduction).replace("_", "").lower()
        found = next((each for each in Reduction if each.name.lower() == text), None)
        if found is None:
            raise ArgumentError(
                f"loss: reduction must be Reduction.Mean, Sum, BatchMean or Auto, got {reduction!r}; "
                "write loss.forward_no_reduction(...) for none"
            )
        reduction = found
    chosen = auto if reduction is Reduction.Auto else reduction
    if chosen is Reduction.Mean:
        return losses.mean()
    total = losses.sum()
    return total if chosen is Reduction.Sum else total / float(losses.shape[0])
