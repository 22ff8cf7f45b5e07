"""Losses that push things apart or together: pairs, triplets and classes with a margin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burn.config import Config
from burn.device import Device
from burn.errors import ArgumentError, ShapeError
from burn.module import Module
from burn.nn.loss.reduction import Reduction, reduced
from burn.nn.loss.regression import same_shape
from burn.tensor import Tensor

TINY = 1e-12


def _norm(x: Tensor, p: float, dim: int) -> Tensor:
    """The length along a dim, without it; smooth enough at zero for gradients."""
    if p == 2.0:
        return (x * x).sum_dim(dim).squeeze_dim(dim).sqrt()
    return x.abs().powf_scalar(p).sum_dim(dim).squeeze_dim(dim).powf_scalar(1.0 / p)


class CosineEmbeddingLossConfig(Config):
    """Settings of `CosineEmbeddingLoss`; `init(device=None)` makes it.

    Arguments:
        margin: how similar different things may be, 0.
        reduction: a `Reduction`; the mean.

    >>> nn.CosineEmbeddingLossConfig().init()
    CosineEmbeddingLoss {margin: 0, reduction: Mean}
    """

    margin: float = 0.0
    reduction: Reduction = Reduction.Mean

    def init(self, device: Device | None = None) -> CosineEmbeddingLoss:
        """The loss; it has no parameters."""
        return CosineEmbeddingLoss._from_fields(self.margin, self.reduction)


class CosineEmbeddingLoss(Module, config=CosineEmbeddingLossConfig):
    """Pairs with target 1 should point the same way, pairs with target -1 should not.

    `torch.nn.CosineEmbeddingLoss`. `input1` and `input2` (rows, features), `target` (rows,) of 1 and -1.

    Arguments:
        margin: how similar different things may be, 0.
        reduction: a `Reduction`; the mean.

    >>> loss = nn.CosineEmbeddingLoss()
    >>> print(loss(burn.tensor([[1.0, 0.0]]), burn.tensor([[0.0, 1.0]]), burn.tensor([1])).numpy())
    [1.]
    """

    margin: float = 0.0
    reduction: Reduction = Reduction.Mean

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(
            self, margin: float = 0.0, reduction: Reduction | str = ..., *, device: Device | None = None
        ) -> None: ...

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """The loss, of shape [1]: two tensors (rows, features) and targets (rows,) of 1 and -1."""
        return reduced(self.forward_no_reduction(input1, input2, target), self.reduction)

    def forward_no_reduction(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """The loss of each pair."""
        same_shape("CosineEmbeddingLoss", input1, input2)
        if len(input1.shape) != 2 or tuple(target.shape) != (input1.shape[0],):
            raise ShapeError(
                f"CosineEmbeddingLoss: needs inputs (rows, features) and targets (rows,), got {tuple(input1.shape)} "
                f"and {tuple(target.shape)}"
            )
        product = (input1 * input2).sum_dim(1)
        squares = ((input1 * input1).sum_dim(1) + TINY) * ((input2 * input2).sum_dim(1) + TINY)
        cosine = (product / squares.sqrt()).squeeze_dim(1)
        apart = (cosine - self.margin).clamp_min(0.0)
        return apart.mask_where(target.equal_elem(1), cosine.neg() + 1.0)


class HingeEmbeddingLossConfig(Config):
    """Settings of `HingeEmbeddingLoss`; `init(device=None)` makes it.

    Arguments:
        margin: how far different things should be apart, 1.

    >>> nn.HingeEmbeddingLossConfig().init()
    HingeEmbeddingLoss {margin: 1}
    """

    margin: float = 1.0

    def init(self, device: Device | None = None) -> HingeEmbeddingLoss:
        """The loss; it has no parameters."""
        return HingeEmbeddingLoss._from_fields(self.margin)


class HingeEmbeddingLoss(Module, config=HingeEmbeddingLossConfig):
    """Distances with target 1 should be small, those with target -1 at least the margin.

    `torch.nn.HingeEmbeddingLoss`. `distances` and `targets` of one shape. `reduction` is a `Reduction`; the mean,
    if nothing is said.

    Arguments:
        margin: how far different things should be apart, 1.

    >>> print(nn.HingeEmbeddingLoss()(burn.tensor([0.5, 0.25]), burn.tensor([1, -1])).numpy())
    [0.625]
    """

    margin: float = 1.0

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, margin: float = 1.0, *, device: Device | None = None) -> None: ...

    def forward(self, distances: Tensor, targets: Tensor, reduction: Reduction = Reduction.Auto) -> Tensor:
        """The loss, of shape [1]."""
        return reduced(self.forward_no_reduction(distances, targets), reduction)

    def forward_no_reduction(self, distances: Tensor, targets: Tensor) -> Tensor:
        """The loss of each distance."""
        same_shape("HingeEmbeddingLoss", distances, targets)
        return (distances.neg() + self.margin).clamp_min(0.0).mask_where(targets.equal_elem(1), distances)


class MarginRankingLossConfig(Config):
    """Settings of `MarginRankingLoss`; `init(device=None)` makes it.

    Arguments:
        margin: by how much the better one should win, 0.

    >>> nn.MarginRankingLossConfig().init()
    MarginRankingLoss {margin: 0}
    """

    margin: float = 0.0

    def init(self, device: Device | None = None) -> MarginRankingLoss:
        """The loss; it has no parameters."""
        return MarginRankingLoss._from_fields(self.margin)


class MarginRankingLoss(Module, config=MarginRankingLossConfig):
    """With target 1 the first should rank above the second, with -1 below.

    `torch.nn.MarginRankingLoss`. `input1`, `input2` and `targets` of one shape. `reduction` is a `Reduction`; the
    mean, if nothing is said.

    Arguments:
        margin: by how much the better one should win, 0.

    >>> loss = nn.MarginRankingLoss()
    >>> print(loss(burn.tensor([1.0, 3.0]), burn.tensor([2.0, 1.0]), burn.tensor([1, 1])).numpy())
    [0.5]
    """

    margin: float = 0.0

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, margin: float = 0.0, *, device: Device | None = None) -> None: ...

    def forward(self, input1: Tensor, input2: Tensor, targets: Tensor, reduction: Reduction = Reduction.Auto) -> Tensor:
        """The loss, of shape [1]."""
        return reduced(self.forward_no_reduction(input1, input2, targets), reduction)

    def forward_no_reduction(self, input1: Tensor, input2: Tensor, targets: Tensor) -> Tensor:
        """The loss of each pair."""
        same_shape("MarginRankingLoss", input1, input2)
        same_shape("MarginRankingLoss", input1, targets)
        return (targets.cast(input1.dtype) * (input2 - input1) + self.margin).clamp_min(0.0)


class MultiMarginLossConfig(Config):
    """Settings of `MultiMarginLoss`; `init(device=None)` makes it.

    Arguments:
        margin: between the right class and the others, 1.
        p: the power, 1 or 2; 1.

    >>> nn.MultiMarginLossConfig().init()
    MultiMarginLoss {margin: 1, p: 1}
    """

    margin: float = 1.0
    p: int = 1

    def init(self, device: Device | None = None) -> MultiMarginLoss:
        """The loss; it has no parameters."""
        if self.p not in (1, 2):
            raise ArgumentError(f"MultiMarginLossConfig: p must be 1 or 2, got {self.p}")
        return MultiMarginLoss._from_fields(self.margin, self.p)


class MultiMarginLoss(Module, config=MultiMarginLossConfig):
    """The score of the right class should lead every other by the margin.

    `torch.nn.MultiMarginLoss`. `scores` (rows, classes) against `targets` (rows,), class numbers. `reduction` is a
    `Reduction`; the mean, if nothing is said.

    Arguments:
        margin: between the right class and the others, 1.
        p: the power, 1 or 2; 1.

    >>> print(nn.MultiMarginLoss()(burn.tensor([[0.5, 1.0]]), burn.tensor([1])).numpy())
    [0.25]
    """

    margin: float = 1.0
    p: int = 1

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, margin: float = 1.0, p: int = 1, *, device: Device | None = None) -> None: ...

    def forward(self, scores: Tensor, targets: Tensor, reduction: Reduction = Reduction.Auto) -> Tensor:
        """The loss, of shape [1]: scores (rows, classes) and class numbers (rows,)."""
        return reduced(self.forward_no_reduction(scores, targets), reduction)

    def forward_no_reduction(self, scores: Tensor, targets: Tensor) -> Tensor:
        """The loss of each row."""
        if len(scores.shape) != 2 or tuple(targets.shape) != (scores.shape[0],):
            raise ShapeError(
                f"MultiMarginLoss: needs scores (rows, classes) and targets (rows,), got {tuple(scores.shape)} and "
                f"{tuple(targets.shape)}"
            )
        classes = scores.shape[1]
        chosen = targets.unsqueeze_dim(1)
        behind = (scores - scores.gather(1, chosen) + self.margin).clamp_min(0.0)
        behind = behind if self.p == 1 else behind * behind
        return behind.mask_fill(targets.one_hot(classes).bool(), 0.0).sum_dim(1).squeeze_dim(1) * (1.0 / classes)


class SoftMarginLoss(Module):
    """The loss `log(1 + exp(-target * prediction))`, with targets 1 and -1.

    `torch.nn.SoftMarginLoss`. `predictions` and `targets` of one shape. `reduction` is a `Reduction`; the mean, if
    nothing is said.

    >>> print(nn.SoftMarginLoss()(burn.tensor([2.0, -1.0]), burn.tensor([1, -1])).numpy().round(4))
    [0.2201]
    """

    def forward(self, predictions: Tensor, targets: Tensor, reduction: Reduction = Reduction.Auto) -> Tensor:
        """The loss, of shape [1]."""
        return reduced(self.forward_no_reduction(predictions, targets), reduction)

    def forward_no_reduction(self, predictions: Tensor, targets: Tensor) -> Tensor:
        """The loss of each element."""
        same_shape("SoftMarginLoss", predictions, targets)
        return (targets.cast(predictions.dtype) * predictions).log_sigmoid().neg()


class TripletMarginLossConfig(Config):
    """Settings of `TripletMarginLoss`; `init(device=None)` makes it.

    Arguments:
        margin: how much farther the negative should be, 1.
        p: the power of the distance, 2.
        eps: added to differences, 1e-6.
        swap: whether the positive may stand for the anchor; False.

    >>> nn.TripletMarginLossConfig().init()
    TripletMarginLoss {margin: 1, p: 2, eps: 0.000001, swap: false}
    """

    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False

    def init(self, device: Device | None = None) -> TripletMarginLoss:
        """The loss; it has no parameters."""
        if not self.p > 0:
            raise ArgumentError(f"TripletMarginLossConfig: p must be above 0, got {self.p}")
        return TripletMarginLoss._from_fields(self.margin, self.p, self.eps, self.swap)


class TripletMarginLoss(Module, config=TripletMarginLossConfig):
    """An anchor should be nearer to its positive than to its negative, by the margin.

    `torch.nn.TripletMarginLoss`. `anchors`, `positives` and `negatives` (rows, features). `reduction` is a
    `Reduction`; the mean, if nothing is said.

    Arguments:
        margin: how much farther the negative should be, 1.
        p: the power of the distance, 2.
        eps: added to differences, 1e-6.
        swap: whether the positive may stand for the anchor; False.

    >>> loss = nn.TripletMarginLoss()
    >>> print(loss(burn.tensor([[0.0]]), burn.tensor([[1.0]]), burn.tensor([[1.5]])).numpy().round(4))
    [0.5]
    """

    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(
            self,
            margin: float = 1.0,
            p: float = 2.0,
            eps: float = 1e-06,
            swap: bool = False,
            *,
            device: Device | None = None,
        ) -> None: ...

    def forward(
        self,
        anchors: Tensor,
        positives: Tensor,
        negatives: Tensor,
        reduction: Reduction = Reduction.Auto,
    ) -> Tensor:
        """The loss, of shape [1]: three tensors (rows, features)."""
        return reduced(self.forward_no_reduction(anchors, positives, negatives), reduction)

    def forward_no_reduction(self, anchors: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        """The loss of each triplet."""
        same_shape("TripletMarginLoss", anchors, positives)
        same_shape("TripletMarginLoss", anchors, negatives)
        near = self._distance(anchors, positives)
        far = self._distance(anchors, negatives)
        if self.swap:
            far = far.min_pair(self._distance(positives, negatives))
        return (near - far + self.margin).clamp_min(0.0)

    def _distance(self, x: Tensor, y: Tensor) -> Tensor:
        return _norm(x - y + self.eps, self.p, len(x.shape) - 1)
