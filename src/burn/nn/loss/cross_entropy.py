"""Cross entropy: how surprised a prediction is by the true class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Never, overload

from burn.config import Config
from burn.config.faults import instead
from burn.device import Device
from burn.errors import ArgumentError, ShapeError
from burn.guesses import spelled
from burn.module import Module
from burn.module.display import Content
from burn.nn.loss.reduction import Reduction, reduced
from burn.ops.losses import cross_entropy
from burn.tensor import Tensor

SMALLEST = 1e-7
"""Shares below this are taken as this before the logarithm."""


class CrossEntropyLossConfig(Config):
    """Settings of `CrossEntropyLoss`; `init(device=None)` makes it.

    Arguments:
        pad_tokens: classes whose rows are passed over.
        pad_index: one of them, in the layer alone.
        weights: one for each class; None is 1.
        smoothing: how much of each target goes to all classes; None.
        logits: whether predictions are logits, not probabilities; True.

    >>> nn.CrossEntropyLossConfig().init()
    CrossEntropyLoss {pad_tokens: None, weights: None, smoothing: None, logits: true}
    """

    pad_tokens: list[int] | None = None
    weights: list[float] | None = None
    smoothing: float | None = None
    logits: bool = True

    def init(self, device: Device | None = None) -> CrossEntropyLoss:
        """The loss on a device."""
        return CrossEntropyLoss(
            device=device,
            pad_tokens=self.pad_tokens,
            weights=self.weights,
            smoothing=self.smoothing,
            logits=self.logits,
        )


def _spelled(others: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that go by other names elsewhere."""
    known = ("pad_index", "device", "pad_tokens", "weights", "smoothing", "logits")
    found = {}
    for name, value in others.items():
        meant = spelled(name, known)
        if meant is None:
            raise ArgumentError(f"CrossEntropyLoss: there is no {name}{instead(name, known)}")
        found[meant] = value.tolist() if hasattr(value, "tolist") else value
    return found


class CrossEntropyLoss(Module):
    """The mean cross entropy between rows of logits and class numbers; rows of padding do not count.

    `torch.nn.CrossEntropyLoss`. `logits` (rows, classes) against `targets` (rows,), class numbers.

    Arguments:
        pad_tokens: classes whose rows are passed over.
        pad_index: one of them, in the layer alone.
        weights: one for each class; None is 1.
        smoothing: how much of each target goes to all classes; None.
        logits: whether predictions are logits, not probabilities; True.

    What goes by other names elsewhere (`others`, such as `weight`) is told what to write.

    >>> loss = nn.CrossEntropyLoss()
    >>> print(loss(burn.tensor([[2.0, 0.0], [0.0, 1.0]]), burn.tensor([0, 1])).numpy().round(4))
    [0.2201]
    """

    pad_tokens: tuple[int, ...] | None
    weights: Tensor | None  # (classes,)
    smoothing: float | None
    logits: bool

    def __init__(
        self,
        pad_index: Any = None,
        device: Device | None = None,
        *,
        pad_tokens: Sequence[int] | None = None,
        weights: Sequence[float] | None = None,
        smoothing: float | None = None,
        logits: bool = True,
        **others: Never,
    ) -> None:
        if others:
            found = _spelled(others)
            pad_index, weights = found.get("pad_index", pad_index), found.get("weights", weights)
            smoothing = found.get("smoothing", smoothing)
        faults = []
        if not isinstance(pad_index, int | None):
            faults.append(f"pad_index is the number of a class to pass over, got {type(pad_index).__name__}")
        if weights is not None and (not weights or min(weights) <= 0):
            faults.append(f"weights must all be above 0, got {list(weights)}")
        if smoothing is not None and not 0 <= smoothing <= 1:
            faults.append(f"smoothing must be between 0 and 1, got {smoothing}")
        if faults:
            raise ArgumentError(f"CrossEntropyLoss: {'; '.join(faults)}")
        tokens = [*([] if pad_index is None else [pad_index]), *(pad_tokens or [])]
        self.pad_tokens = tuple(tokens) or None
        self.weights = None if weights is None else Tensor.from_data(list(weights), device)
        self.smoothing = smoothing
        self.logits = logits

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """The loss, of shape [1]: logits (rows, classes) against class numbers (rows,)."""
        losses, shares = self._losses(logits, targets)
        if shares is None:
            return losses.mean()
        return losses.sum() / shares.sum()

    def forward_no_reduction(self, logits: Tensor, targets: Tensor) -> Tensor:
        """The loss of each row, weighted; 0 for padding."""
        return self._losses(logits, targets)[0]

    def _losses(self, logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor | None]:
        """The loss of each row, and what each row counts in the mean; None where all count alike."""
        if len(logits.shape) != 2 or tuple(targets.shape) != (logits.shape[0],):
            raise ShapeError(
                f"CrossEntropyLoss: needs logits (rows, classes) and targets (rows,), got {tuple(logits.shape)} and "
                f"{tuple(targets.shape)}; reshape both"
            )
        classes = logits.shape[1]
        padding = self._padding(targets)
        if padding is not None:
            targets = targets.mask_fill(padding, 0)
        if self.weights is None and not self.smoothing and self.logits:
            losses = cross_entropy(logits, targets)
            shares = None
        else:
            losses, shares = self._general(logits, targets, classes)
        if padding is None:
            return losses, shares
        shares = losses.ones_like() if shares is None else shares
        return losses.mask_fill(padding, 0.0), shares.mask_fill(padding, 0.0)

    def _general(self, logits: Tensor, targets: Tensor, classes: int) -> tuple[Tensor, Tensor | None]:
        shares = logits.log_softmax(1) if self.logits else logits.clamp_min(SMALLEST).log()
        chosen = targets.unsqueeze_dim(1)
        weight = None if self.weights is None else self.weights.select(0, targets).cast(shares.dtype)
        losses = shares.gather(1, chosen).squeeze_dim(1).neg()
        if weight is not None:
            losses = losses * weight
        if self.smoothing:
            spread = shares if self.weights is None else shares * self.weights.cast(shares.dtype)
            losses = losses * (1.0 - self.smoothing) - spread.sum_dim(1).squeeze_dim(1) * (self.smoothing / classes)
        return losses, weight

    def _padding(self, targets: Tensor) -> Tensor | None:
        padding = None
        for token in self.pad_tokens or ():
            found = targets.equal_elem(token)
            padding = found if padding is None else padding.bool_or(found)
        return padding

    def custom_content(self, content: Content) -> Content:
        """The settings."""
        return (
            content.add("pad_tokens", self.pad_tokens)
            .add("weights", None if self.weights is None else self.weights.tolist())
            .add("smoothing", self.smoothing)
            .add("logits", self.logits)
        )


class BinaryCrossEntropyLossConfig(Config):
    """Settings of `BinaryCrossEntropyLoss`; `init(device=None)` makes it.

    Arguments:
        weights: one for each class; None is 1.
        smoothing: how far targets move towards a half; None.
        logits: whether predictions are logits, not probabilities; False.

    >>> nn.BinaryCrossEntropyLossConfig().init()
    BinaryCrossEntropyLoss {weights: None, smoothing: None, logits: false}
    """

    weights: list[float] | None = None
    smoothing: float | None = None
    logits: bool = False

    def init(self, device: Device | None = None) -> BinaryCrossEntropyLoss:
        """The loss on a device."""
        faults = []
        if self.weights is not None and (not self.weights or min(self.weights) <= 0):
            faults.append(f"weights must all be above 0, got {self.weights}")
        if self.smoothing is not None and not 0 <= self.smoothing <= 1:
            faults.append(f"smoothing must be between 0 and 1, got {self.smoothing}")
        if faults:
            raise ArgumentError(f"BinaryCrossEntropyLossConfig: {'; '.join(faults)}")
        weights = None if self.weights is None else Tensor.from_data(self.weights, device)
        return BinaryCrossEntropyLoss._from_fields(weights, self.smoothing, self.logits)


class BinaryCrossEntropyLoss(Module, config=BinaryCrossEntropyLossConfig):
    """The mean cross entropy between yes-or-no predictions and targets of the same shape.

    `torch.nn.BCELoss`. `targets` are 0 and 1; with `logits=True` it is `torch.nn.BCEWithLogitsLoss`.

    Arguments:
        weights: one for each class; None is 1.
        smoothing: how far targets move towards a half; None.
        logits: whether predictions are logits, not probabilities; False.

    >>> loss = nn.BinaryCrossEntropyLoss(logits=True)
    >>> print(loss(burn.tensor([2.0, -1.0]), burn.tensor([1, 0])).numpy().round(4))
    [0.2201]
    """

    weights: Tensor | None = None  # (classes,), or one for each label where there is one dim
    smoothing: float | None = None
    logits: bool = False

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        @overload
        def __init__(
            self,
            weights: list[float] | None = None,
            smoothing: float | None = None,
            logits: bool = False,
            *,
            device: Device | None = None,
        ) -> None: ...

        @overload
        def __init__(
            self, weights: Tensor | None = None, smoothing: float | None = None, logits: bool = False
        ) -> None: ...

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """The loss, of shape [1]."""
        return reduced(self.forward_no_reduction(logits, targets), Reduction.Mean)

    def forward_no_reduction(self, logits: Tensor, targets: Tensor) -> Tensor:
        """The loss of each element."""
        if logits.shape != targets.shape:
            raise ShapeError(
                f"BinaryCrossEntropyLoss: predictions and targets differ: {tuple(logits.shape)} and "
                f"{tuple(targets.shape)}"
            )
        labels = targets
        wanted = targets.cast(logits.dtype)
        if self.smoothing:
            classes = logits.shape[-1] if len(logits.shape) > 1 else 2
            wanted = wanted * (1.0 - self.smoothing) + self.smoothing / classes
        if self.logits:
            losses = (wanted.neg() + 1.0) * logits - logits.log_sigmoid()
        else:
            certain, doubt = logits.log().clamp_min(-100.0), (logits.neg() + 1.0).log().clamp_min(-100.0)
            losses = (wanted * certain + (wanted.neg() + 1.0) * doubt).neg()
        if self.weights is None:
            return losses
        if len(logits.shape) > 1:
            return losses * self.weights.cast(losses.dtype)
        return losses * self.weights.select(0, labels.int()).cast(losses.dtype)
