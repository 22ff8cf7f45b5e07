"""Callbacks: code of yours at the turning points of a training.

    class SaveSamples(Callback):
        def on_epoch_end(self, context):
            draw(context.model, context.directory / f"epoch-{context.epoch}.png")

    builder.callbacks([SaveSamples()])

They are called by the training thread, in the order given; what they raise ends the training.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from burn.optim import Optimizer
from burn.train.interrupter import Interrupter
from burn.train.store import EventStore, Split


class TrainingContext:
    """Where a training stands: what callbacks are given.

    `model`, `optim`, `epoch`, `iteration` (in the epoch), `step` (since the first), `lr`, `split`, `store`, `directory`
    and the `items` of the last batch. `stop` ends the training.

    >>> from pathlib import Path
    >>> from burn.train import EventStore, Interrupter, Split, TrainingContext
    >>> store, interrupter = EventStore(), Interrupter()
    >>> context = TrainingContext(Path("artifacts"), interrupter, store)  # the learner makes it
    >>> context.epoch = 1
    >>> store.add(Split.Valid, 1, "Loss", 0.25)
    >>> context.metric("Loss")
    0.25
    >>> context.stop("enough")
    >>> interrupter.reason
    'enough'
    """

    def __init__(self, directory: Path, interrupter: Interrupter, store: EventStore) -> None:
        self.directory, self.interrupter, self.store = directory, interrupter, store
        self.epoch = 0
        """The epoch that runs, from 1."""
        self.epoch_total = 0
        self.iteration = 0
        """The iteration in this epoch and split, from 1."""
        self.step = 0
        """The training iterations since the first epoch."""
        self.lr: float | None = None
        self.split = Split.Train
        self.strategy: Any = None
        self.items: list[Any] = []
        """The items of the last batch. Reading their values makes the training wait for them."""

    @property
    def model(self) -> Any:
        """The model that is trained."""
        return self.strategy.model

    @property
    def optim(self) -> Optimizer:
        """The optimizer."""
        return self.strategy.optim  # type: ignore[no-any-return]

    def metric(self, name: str, split: Split = Split.Valid) -> float | None:
        """The value of the metric `name` in this epoch, once the epoch of the split is over."""
        return self.store.mean(name, self.epoch, split)

    def stop(self, reason: str) -> None:
        """Ask the training to end after this batch, for this `reason`."""
        self.interrupter.stop(reason)


class Callback:
    """Does nothing at each turning point of a training; a subclass writes the methods it needs.

    Each is given the `context`, where the training stands. The training thread calls them in the order given; what they
    raise ends the training.

    >>> from burn.train import Callback, LearnerBuilder
    >>> class GoodEnough(Callback):
    ...     def on_epoch_end(self, context):
    ...         if context.metric("Loss") < 0.01:
    ...             context.stop("the loss is small enough")
    >>> builder = LearnerBuilder("artifacts").callbacks([GoodEnough()])
    """

    def on_train_start(self, context: TrainingContext) -> None:
        """The first batch is about to come."""

    def on_epoch_start(self, context: TrainingContext) -> None:
        """An epoch begins."""

    def on_batch_end(self, context: TrainingContext) -> None:
        """A batch of training is done."""

    def on_valid_start(self, context: TrainingContext) -> None:
        """The epoch's validation begins."""

    def on_valid_batch_end(self, context: TrainingContext) -> None:
        """A batch of validation is done."""

    def on_epoch_end(self, context: TrainingContext) -> None:
        """An epoch is over, its metrics are known."""

    def on_checkpoint(self, context: TrainingContext, epoch: int, folder: Path) -> None:
        """The checkpoint of an epoch is on disk, in `folder` (called by the thread that wrote it)."""

    def on_interrupt(self, context: TrainingContext, reason: str) -> None:
        """Somebody asked for a stop, for this `reason`, and the training ends."""

    def on_exception(self, context: TrainingContext, error: BaseException) -> None:
        """The training fails with an error."""

    def on_train_end(self, context: TrainingContext) -> None:
        """The training is over, normally or by a stop."""

    def state(self) -> Any:
        """What a checkpoint keeps of this callback, as JSON has it; None for nothing."""
        return None

    def load_state(self, state: Any) -> None:
        """Go on from where `state` was taken."""


def overriding(callbacks: list[Callback], name: str) -> list[Any]:
    """The methods of the callbacks that write this one, in their class or as an attribute."""
    methods = [getattr(each, name) for each in callbacks]
    return [each for each in methods if getattr(each, "__func__", None) is not getattr(Callback, name)]
