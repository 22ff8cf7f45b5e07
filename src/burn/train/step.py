"""What the learner asks of a model: a step of training and a step of validation.

    class Model(Module):
        def train_step(self, batch):
            item = self.forward_classification(batch)
            return TrainOutput(self, item.loss.backward(), item)

        def valid_step(self, batch):
            return self.forward_classification(batch)

The item is what metrics read. A model may also write `optimize(self, optim, lr, grads)`, which gives the model after
the update, where one call of the optimizer is not enough.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterable, Iterator
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

from burn.backend.autodiff.gradients import Gradients
from burn.data.dataloader import DataLoader
from burn.errors import ArgumentError
from burn.optim import GradientsParams
from burn.tensor import Tensor
from burn.tree import flatten, unflatten

Item = TypeVar("Item")
In = TypeVar("In", contravariant=True)
Out = TypeVar("Out", covariant=True)

Loader: TypeAlias = Iterable[object] | DataLoader[object]
"""Batches: what `DataLoaderBuilder` makes, or anything that can be iterated over once an epoch."""

_scale: contextvars.ContextVar[Any] = contextvars.ContextVar("burn.train.loss_scale", default=None)


class TrainOutput(Generic[Item]):
    """What a step of training gives: the gradients of the model's parameters, and the item for metrics.

    `grads` is the result of `backward()`. It may also be the loss itself: then the learner calls `backward`, and can
    scale the loss where the precision is low (see `LearnerBuilder.mixed_precision`).

    >>> import burn
    >>> from burn import nn
    >>> from burn.train import TrainOutput
    >>> class Line(burn.Module):
    ...     layer: nn.Linear
    ...     def train_step(self, batch):
    ...         loss = ((self.layer(batch[0]) - batch[1]) ** 2).mean()
    ...         return TrainOutput(self, loss.backward(), item=loss)
    >>> device = burn.NdArray().autodiff()
    >>> model = Line(nn.Linear(1, 1, device=device))
    >>> x = burn.tensor([[1.0], [2.0]], device=device)
    >>> len(model.train_step((x, 2 * x)).grads)
    2
    """

    __slots__ = ("grads", "item", "scaled")

    def __init__(self, model: Any, grads: Gradients | GradientsParams | Tensor, item: Item) -> None:
        self.scaled = False
        if isinstance(grads, Tensor):
            scale = _scale.get()
            self.scaled = scale is not None
            grads = (grads if scale is None else grads * scale).backward()
        if isinstance(grads, Gradients):
            grads = GradientsParams.from_grads(grads, model)
        elif not isinstance(grads, GradientsParams):
            raise ArgumentError(
                f"TrainOutput: needs the result of backward(), got {type(grads).__name__}; "
                "write TrainOutput(self, loss.backward(), item)"
            )
        self.grads: GradientsParams = grads
        self.item = item


@runtime_checkable
class TrainStep(Protocol[In, Item]):
    """A model that can be trained: it has `train_step(batch)`, which gives a `TrainOutput`.

    >>> import burn
    >>> from burn.train import TrainOutput, TrainStep
    >>> class Model(burn.Module):
    ...     weight: burn.Param
    ...     def train_step(self, batch):
    ...         loss = ((self.weight - batch) ** 2).mean()
    ...         return TrainOutput(self, loss.backward(), item=loss)
    >>> issubclass(Model, TrainStep)
    True
    """

    def train_step(self, batch: In) -> TrainOutput[Item]:
        """Forward and backward of one batch."""
        ...


class _Trained(Protocol):
    """What `train_step` is to a learner, whatever its batches and items are."""

    def train_step(self, batch: Any, /) -> TrainOutput[Any]: ...


M = TypeVar("M", bound=_Trained)


@runtime_checkable
class ValidStep(Protocol[In, Out]):
    """A model that can be validated: it has `valid_step(batch)`, which gives the item that metrics read.

    >>> import burn
    >>> from burn.train import ValidStep
    >>> class Model(burn.Module):
    ...     weight: burn.Param
    ...     def valid_step(self, batch):
    ...         return ((self.weight - batch) ** 2).mean()
    >>> issubclass(Model, ValidStep)
    True
    """

    def valid_step(self, batch: In) -> Out:
        """Forward of one batch; the model is in inference mode, without autodiff."""
        ...


def missing_steps(model: Any, train: bool = True) -> list[str]:
    """What the class of a model lacks to be trained or evaluated."""
    name, faults = type(model).__name__, []
    both = hasattr(type(model), "step")
    if train and not hasattr(type(model), "train_step"):
        hint = "; `step` is written as two methods here, train_step and valid_step" if both else ""
        faults.append(
            f"{name} has no train_step; write `def train_step(self, batch): ...; "
            f"return TrainOutput(self, loss.backward(), item)`{hint}"
        )
    if not hasattr(type(model), "valid_step"):
        faults.append(f"{name} has no valid_step; write `def valid_step(self, batch): ...; return item`")
    return faults


def checked(output: Any, model: Any) -> TrainOutput[Any]:
    """The output of a step, if it is one."""
    if isinstance(output, TrainOutput):
        return output
    raise ArgumentError(
        f"{type(model).__name__}.train_step: must give a TrainOutput, got {type(output).__name__}; "
        "write `return TrainOutput(self, loss.backward(), item)`"
    )


def optimized(model: Any, optim: Any, lr: Any, grads: GradientsParams) -> Any:
    """The model after the update: by its own `optimize`, or by one step of the optimizer."""
    own = getattr(type(model), "optimize", None)
    return optim.step(lr, model, grads) if own is None else own(model, optim, lr, grads)


def detached(item: Any) -> Any:
    """An item without its graph."""
    leaves, structure = flatten(item)
    return unflatten(structure, [leaf.no_grad() if isinstance(leaf, Tensor) else leaf for leaf in leaves])


@contextlib.contextmanager
def loss_scale(scale: Any) -> Iterator[None]:
    """In this block, a loss given to `TrainOutput` is multiplied by `scale` before `backward`."""
    token = _scale.set(scale)
    try:
        yield
    finally:
        _scale.reset(token)
