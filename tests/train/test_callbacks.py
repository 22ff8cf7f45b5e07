"""Callbacks are called at the turning points of a training, with what they need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from burn import NdArray
from burn.optim import AdamConfig
from burn.record import DefaultRecorder
from burn.train import Callback, LearnerBuilder, LossMetric, NoRenderer, Split, TrainingContext
from tests.train.small import loaders, plain


class Notes(Callback):
    """Writes down what happens."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.batches = 0
        self.losses: list[float] = []

    def on_train_start(self, context: TrainingContext) -> None:
        self.seen.append("start")

    def on_epoch_start(self, context: TrainingContext) -> None:
        self.seen.append(f"epoch {context.epoch}")

    def on_batch_end(self, context: TrainingContext) -> None:
        self.batches += 1
        assert context.split is Split.Train
        assert len(context.items) == 1

    def on_valid_start(self, context: TrainingContext) -> None:
        self.seen.append("valid")

    def on_epoch_end(self, context: TrainingContext) -> None:
        self.seen.append("end")
        loss = context.metric("Loss")
        assert loss is not None
        self.losses.append(loss)

    def on_checkpoint(self, context: TrainingContext, epoch: int, folder: Path) -> None:
        self.seen.append(f"saved {epoch}")
        assert (folder / f"state-{epoch}.json").exists()

    def on_interrupt(self, context: TrainingContext, reason: str) -> None:
        self.seen.append(reason)

    def on_train_end(self, context: TrainingContext) -> None:
        self.seen.append("done")

    def on_exception(self, context: TrainingContext, error: BaseException) -> None:
        self.seen.append(repr(error))

    def state(self) -> Any:
        return {"batches": self.batches}

    def load_state(self, state: Any) -> None:
        self.batches = state["batches"]


def builder(folder: Path, *callbacks: Callback) -> LearnerBuilder:
    return LearnerBuilder(folder).metrics([LossMetric()]).renderer(NoRenderer()).callbacks(callbacks).num_epochs(2)


def test_they_come_in_order(tmp_path: Path) -> None:
    notes = Notes()
    learner = builder(tmp_path, notes).with_file_checkpointer(DefaultRecorder())
    learner.build(plain(NdArray()), AdamConfig().init(), 1e-2).fit(*loaders())
    steps = [each for each in notes.seen if not each.startswith("saved")]
    assert steps == ["start", "epoch 1", "valid", "end", "epoch 2", "valid", "end", "done"]
    assert [each for each in notes.seen if each.startswith("saved")] == ["saved 1", "saved 2"]
    assert notes.batches == 14
    assert len(notes.losses) == 2


def test_they_keep_their_state_over_a_resumption(tmp_path: Path) -> None:
    learner = builder(tmp_path, Notes()).with_file_checkpointer(DefaultRecorder())
    learner.build(plain(NdArray()), AdamConfig().init(), 1e-2).fit(*loaders())
    notes = Notes()
    again = builder(tmp_path, notes).with_file_checkpointer(DefaultRecorder()).resume().num_epochs(3)
    again.build(plain(NdArray()), AdamConfig().init(), 1e-2).fit(*loaders())
    assert notes.batches == 21


def test_what_one_raises_ends_the_training(tmp_path: Path) -> None:
    class Breaks(Callback):
        def on_epoch_end(self, context: TrainingContext) -> None:
            raise KeyError("mine")

    notes = Notes()
    learner = builder(tmp_path, notes, Breaks()).build(plain(NdArray()), AdamConfig().init(), 1e-2)
    with pytest.raises(KeyError, match="mine"):
        learner.fit(*loaders())
    assert notes.seen[-1] == "KeyError('mine')"


def test_a_method_given_to_one_object_is_called(tmp_path: Path) -> None:
    callback, seen = Callback(), []
    callback.on_epoch_end = lambda context: seen.append(context.epoch)  # type: ignore[method-assign]
    learner = LearnerBuilder(tmp_path).renderer(NoRenderer()).callbacks([callback]).num_epochs(2)
    learner.build(plain(NdArray()), AdamConfig().init(), 1e-2).fit(*loaders())
    assert seen == [1, 2]


def test_states_find_their_callbacks_by_name(tmp_path: Path) -> None:
    class Late(Callback):
        """Has nothing to tell before the training begins."""

        def on_train_start(self, context: TrainingContext) -> None:
            self.steps = getattr(self, "steps", 0)

        def on_batch_end(self, context: TrainingContext) -> None:
            self.steps += 1

        def state(self) -> Any:
            return self.steps

        def load_state(self, state: Any) -> None:
            self.steps = state

    def run(epochs: int, *callbacks: Callback) -> None:
        made = builder(tmp_path, *callbacks).with_file_checkpointer(DefaultRecorder()).resume().num_epochs(epochs)
        made.build(plain(NdArray()), AdamConfig().init(), 1e-2).fit(*loaders())

    run(2, Late(), Notes())
    late, notes = Late(), Notes()
    run(3, Callback(), notes, late)
    assert (late.steps, notes.batches) == (21, 21)


def test_a_state_that_cannot_be_kept_is_said_before_the_training(tmp_path: Path) -> None:
    class Holds(Callback):
        def state(self) -> Any:
            return {"lines": iter([1])}

    learner = builder(tmp_path, Holds()).with_file_checkpointer(DefaultRecorder())
    with pytest.raises(ValueError, match="the state of Holds cannot be kept"):
        learner.build(plain(NdArray()), AdamConfig().init(), 1e-2).fit(*loaders())
