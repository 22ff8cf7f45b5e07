"""A training that was ended at any moment goes on, and leaves the same bits as one that was not.

The instrument is `tests.train.killing`: `python -m tests.train.killing --kills 50` ends trainings that often, and says
what differed. Here is a sample of it.
"""

from __future__ import annotations

import json
import math
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burn import Cpu, NdArray
from burn.errors import ArgumentError
from burn.lr_scheduler import (
    CosineAnnealingLrSchedulerConfig,
    ExponentialLrSchedulerConfig,
    LinearLrSchedulerConfig,
    LrScheduler,
    WarmupLrSchedulerConfig,
)
from burn.optim import AdamConfig, SgdConfig
from burn.record import BinFileRecorder, DefaultRecorder
from burn.train import (
    Aggregate,
    Callback,
    CsvLogger,
    Direction,
    EarlyStoppingStrategy,
    LearnerBuilder,
    LossMetric,
    MetricCheckpointingStrategy,
    MetricEarlyStoppingStrategy,
    NoRenderer,
    Split,
    StoppingCondition,
)
from tests.train.killing import differences, killed
from tests.train.resumed import train
from tests.train.small import assert_same, loaders, network, plain


@pytest.fixture
def initial(tmp_path: Path) -> Path:
    """A file with the first parameters and their ids, which are random otherwise."""
    NdArray().seed(1)
    network(NdArray()).save_file(tmp_path / "initial", DefaultRecorder())
    return tmp_path / "initial"


class StopAt(Callback):
    """Asks for a stop at a step, in training or in the validation after it."""

    def __init__(self, *steps: int, valid: bool = False) -> None:
        self.steps, self.valid = steps, valid

    def on_batch_end(self, context: Any) -> None:
        if context.step in self.steps and not self.valid:
            context.stop("for lunch")

    def on_valid_batch_end(self, context: Any) -> None:
        if context.step in self.steps and context.iteration == 2 and self.valid:
            context.stop("for lunch")


class Die(Callback):
    """Fails at a step."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_batch_end(self, context: Any) -> None:
        if context.step == self.step:
            raise RuntimeError("power cut")


@pytest.mark.parametrize("device", [NdArray(), Cpu()], ids=repr)
def test_a_run_that_failed_goes_on_after_its_last_checkpoint(device: Any, initial: Path, tmp_path: Path) -> None:
    train(tmp_path / "whole", initial, 4, device)
    with pytest.raises(RuntimeError, match="power cut"):
        train(tmp_path / "parts", initial, 4, device, callbacks=[Die(17)])
    train(tmp_path / "parts", initial, 4, device)
    assert differences(tmp_path / "whole", tmp_path / "parts") == []


@pytest.mark.parametrize("options", [{}, {"ema": 0.8}, {"mixed_precision": "bf16"}, {"grads_accumulation": 3}], ids=str)
def test_a_run_that_was_stopped_inside_of_epochs_leaves_what_a_whole_one_does(
    options: Any, initial: Path, tmp_path: Path
) -> None:
    train(tmp_path / "whole", initial, 4, Cpu(), **options)
    for stop in (
        StopAt(3),
        StopAt(7, valid=True),
        StopAt(7, valid=True),
        StopAt(12),
        StopAt(14),
        StopAt(17),
        StopAt(28, valid=True),
    ):
        learner = train(tmp_path / "parts", initial, 4, Cpu(), callbacks=[stop], **options)
        assert learner.interrupter().served
    train(tmp_path / "parts", initial, 4, Cpu(), **options)
    assert differences(tmp_path / "whole", tmp_path / "parts") == []


def test_a_stopped_epoch_counts_all_its_batches_in_the_store_the_state_and_the_summary(
    initial: Path, tmp_path: Path
) -> None:
    whole = train(tmp_path / "whole", initial, 2)
    train(tmp_path / "parts", initial, 2, callbacks=[StopAt(11)])
    state = json.loads((tmp_path / "parts/checkpoint/state-2.json").read_text())
    assert state["metrics"]["train"]["Loss"]["2"][1] == 4.0
    assert state["inside"]["entries"]["Loss"] == 4
    parts = train(tmp_path / "parts", initial, 2)
    for name in ("Loss", "Accuracy", "AUROC [Macro]", "Own"):
        assert parts.store.mean(name, 2, Split.Train) == whole.store.mean(name, 2, Split.Train)


def test_a_kill_in_the_middle_of_an_epoch_that_had_gone_on_falls_back_to_where_it_did(
    initial: Path, tmp_path: Path
) -> None:
    train(tmp_path / "whole", initial, 3)
    train(tmp_path / "parts", initial, 3, callbacks=[StopAt(10)])
    with pytest.raises(RuntimeError):
        train(tmp_path / "parts", initial, 3, callbacks=[Die(13)])
    train(tmp_path / "parts", initial, 3)
    assert differences(tmp_path / "whole", tmp_path / "parts") == []


def test_a_sample_of_kills_leaves_what_an_undisturbed_run_does(initial: Path, tmp_path: Path) -> None:
    train(tmp_path / "whole", initial, 3)
    done = killed(5, initial, tmp_path / "parts", {"epochs": 3, "pause": 0.02}, random.Random(1), ("kill", "int"))
    assert sum(done.values()) >= 1
    assert differences(tmp_path / "whole", tmp_path / "parts") == []


def test_q_in_the_dashboard_leaves_what_an_undisturbed_run_does(initial: Path, tmp_path: Path) -> None:
    pytest.importorskip("textual")
    train(tmp_path / "whole", initial, 3)
    killed(1, initial, tmp_path / "parts", {"epochs": 3, "pause": 0.1}, random.Random(1), ("q",))
    assert differences(tmp_path / "whole", tmp_path / "parts") == []


def builder(folder: Path, epochs: int = 3) -> LearnerBuilder:
    made = LearnerBuilder(folder).metrics([LossMetric()]).renderer(NoRenderer()).num_epochs(epochs)
    return made.with_file_checkpointer(DefaultRecorder()).resume()


def test_a_first_checkpoint_that_was_cut_off_before_its_state_is_none(tmp_path: Path) -> None:
    builder(tmp_path, 1).build(plain(NdArray()), AdamConfig().init(), 1e-2).fit(*loaders())
    (tmp_path / "checkpoint/state-1.json").unlink()
    (tmp_path / "checkpoint/.saving-1").touch()
    learner = builder(tmp_path, 1).build(plain(NdArray()), AdamConfig().init(), 1e-2)
    assert learner.position.epoch == 0
    assert "checkpoint 1 is passed over: its write was cut off" in learner.notices[0]
    learner.fit(*loaders())
    assert not list((tmp_path / "checkpoint").glob(".*"))


class Halving(LrScheduler):
    """Has only `step`."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def step(self) -> float:
        self.rate /= 2
        return self.rate


class Stuck(LrScheduler):
    """Remembers what no file can hold."""

    def __init__(self) -> None:
        self.rates = iter([0.1, 0.2])

    def step(self) -> float:
        return next(self.rates)


@pytest.mark.parametrize("recorder", [DefaultRecorder(), BinFileRecorder()], ids=["mpk", "bin"])
def test_a_scheduler_that_has_only_step_goes_on(recorder: Any, tmp_path: Path) -> None:
    def run(epochs: int) -> Any:
        made = LearnerBuilder(tmp_path).metrics([LossMetric()]).renderer(NoRenderer()).num_epochs(epochs).resume()
        learner = made.with_file_checkpointer(recorder).build(plain(NdArray()), SgdConfig().init(), Halving(1.0))
        learner.fit(*loaders())
        return learner

    assert run(1).scheduler.rate == 0.5**7
    assert run(2).scheduler.rate == 0.5**14
    with pytest.raises(ArgumentError, match=r"`rates`, a list_iterator; write `def item\(self\)`"):
        builder(tmp_path).build(plain(NdArray()), SgdConfig().init(), Stuck())


def test_the_memory_of_another_scheduler_is_not_taken_for_its_own(tmp_path: Path) -> None:
    """A linear one keeps how many steps remain, an exponential one its last rate: 13 steps were a rate of 13."""

    class Own(LrScheduler):
        def __init__(self) -> None:
            self.rate = 1e-2

        def step(self) -> float:
            return self.rate

    def run(epochs: int, scheduler: Any) -> Any:
        builder = LearnerBuilder(tmp_path).renderer(NoRenderer()).with_file_checkpointer(DefaultRecorder())
        learner = builder.num_epochs(epochs).resume().build(plain(NdArray()), AdamConfig().init(), scheduler)
        notices = [each for each in learner.notices if "begin anew" in each]
        learner.fit(*loaders())
        return notices, learner.scheduler

    linear, exponential = LinearLrSchedulerConfig(1e-2, 1e-3, 20), ExponentialLrSchedulerConfig(1e-2, 0.5)
    assert run(1, linear)[0] == []
    [notice], scheduler = run(2, exponential)
    assert notice == ("checkpoint 1 was written with LinearLrScheduler: the rates of ExponentialLrScheduler begin anew")
    assert scheduler.previous == pytest.approx(1e-2 * 0.5**6)
    assert run(3, exponential)[0] == []
    [notice], _ = run(4, WarmupLrSchedulerConfig(3, linear))
    assert "the rates of WarmupLrScheduler(LinearLrScheduler) begin anew" in notice
    [notice], _ = run(5, WarmupLrSchedulerConfig(3, exponential))
    assert "written with WarmupLrScheduler(LinearLrScheduler)" in notice
    [notice], _ = run(6, Own())
    assert "the rates of Own begin anew" in notice
    assert run(7, Own())[0] == []


def test_resuming_says_nothing_but_that_steps_are_captured(tmp_path: Path) -> None:
    builder(tmp_path, 1).build(plain(Cpu()), AdamConfig().init(), 1e-2).fit(*loaders())

    lines: list[str] = []

    class Listening(NoRenderer):
        def on_log(self, message: str) -> None:
            lines.append(message)

    learner = builder(tmp_path, 3).renderer(Listening()).build(plain(Cpu()), AdamConfig().init(), 1e-2)
    learner.fit(*loaders())
    assert lines[0] == "the training goes on after epoch 1"
    assert [line.partition(" is captured: replayed from step ")[0] for line in lines[1:]] == [
        "the training step",
        "the validation step",
    ]


def stopping(patience: int) -> MetricEarlyStoppingStrategy:
    condition = StoppingCondition.NoImprovementSince(patience)
    return MetricEarlyStoppingStrategy("Loss", Aggregate.Mean, Direction.Lowest, Split.Valid, condition)


def test_a_training_that_ended_early_stays_ended(tmp_path: Path) -> None:
    def run(patience: int) -> Any:
        learner = builder(tmp_path, 9).early_stopping(stopping(patience))
        made = learner.build(plain(NdArray()), SgdConfig().init(), 0.0)
        made.fit(*loaders())
        return made

    assert run(2).position.epoch == 3
    assert run(2).position.epoch == 3
    assert run(4).position.epoch == 5


def test_an_early_stopping_of_ones_own_goes_on_counting(tmp_path: Path) -> None:
    class Patient(EarlyStoppingStrategy):
        def __init__(self) -> None:
            self.epochs = 0

        def should_stop(self, epoch: int, store: Any) -> str | None:
            self.epochs += 1
            return "three are enough" if self.epochs == 3 else None

    def run(epochs: int) -> Any:
        learner = builder(tmp_path, epochs).early_stopping(Patient())
        made = learner.build(plain(NdArray()), SgdConfig().init(), 0.0)
        made.fit(*loaders())
        return made

    run(2)
    assert run(9).position.epoch == 3


def test_following_a_split_that_is_not_there_is_said_before_the_training(tmp_path: Path) -> None:
    train_loader, _ = loaders()
    learner = builder(tmp_path).early_stopping(stopping(1)).build(plain(NdArray()), SgdConfig().init(), 0.1)
    with pytest.raises(ArgumentError, match="early stopping follows 'Loss' of valid, and there is no validation"):
        learner.fit(train_loader)
    with pytest.raises(ArgumentError, match="follows 'Loss' of valid, and the validation loader has no batch"):
        learner.fit(train_loader, [])
    best = MetricCheckpointingStrategy("Loss", Aggregate.Mean, Direction.Lowest, Split.Valid)
    learner = builder(tmp_path).with_checkpointing_strategy(best).build(plain(NdArray()), SgdConfig().init(), 0.1)
    with pytest.raises(ArgumentError, match="checkpointing strategy follows 'Loss' of valid"):
        learner.fit(train_loader)
    assert not (tmp_path / "train").exists()


def test_a_table_of_another_training_is_set_aside(tmp_path: Path) -> None:
    for _ in range(3):
        made = LearnerBuilder(tmp_path).metrics([LossMetric()]).renderer(NoRenderer())
        made = made.loggers([CsvLogger(tmp_path / "run.csv")])
        made.build(plain(NdArray()), SgdConfig().init(), 0.1).fit(*loaders())
    assert sorted(path.name for path in tmp_path.glob("*.csv")) == ["run-1.csv", "run-2.csv", "run.csv"]
    assert (tmp_path / "run-1.csv").read_text().count("\n") == (tmp_path / "run.csv").read_text().count("\n")


def test_a_checkpoint_in_mid_epoch_goes_when_a_later_one_is_whole(tmp_path: Path) -> None:
    best = MetricCheckpointingStrategy("Loss", Aggregate.Mean, Direction.Lowest, Split.Valid)

    def run(*callbacks: Callback) -> None:
        made = builder(tmp_path, 4).with_checkpointing_strategy(best).callbacks(callbacks)
        made.build(plain(NdArray()), SgdConfig().init(), 0.0).fit(*loaders())

    run(StopAt(17))
    assert {path.name for path in (tmp_path / "checkpoint").glob("state*")} == {"state-1.json", "state-3.json"}
    run()
    assert {path.name for path in (tmp_path / "checkpoint").glob("state*")} == {"state-1.json"}


def test_fit_again_goes_on_where_a_stop_ended_it(tmp_path: Path) -> None:
    NdArray().seed(5)
    model = plain(NdArray())

    def learner(folder: str, *callbacks: Callback) -> Any:
        made = LearnerBuilder(tmp_path / folder).metrics([LossMetric()]).renderer(NoRenderer()).num_epochs(2)
        schedule = CosineAnnealingLrSchedulerConfig(0.1, 14)
        return made.callbacks(callbacks).ema(0.9).build(model, AdamConfig().init(), schedule)

    expected = learner("whole")
    whole = expected.fit(*loaders())
    stopped = learner("parts", StopAt(4), StopAt(9))
    data = loaders()
    for place in ((1, 4), (2, 2)):
        stopped.fit(*data)
        assert (stopped.position.epoch, stopped.position.iteration) == place
    assert_same(stopped.fit(*data), whole)
    assert stopped.store.state(2) == expected.store.state(2)


def test_a_stop_at_the_border_of_epochs_begins_no_other(tmp_path: Path) -> None:
    class Enough(Callback):
        def on_epoch_end(self, context: Any) -> None:
            context.stop("good enough")

    learner = builder(tmp_path, 5).callbacks([Enough()]).build(plain(NdArray()), SgdConfig().init(), 0.1)
    learner.fit(*loaders())
    assert (learner.position.epoch, learner.position.iteration, learner.position.step) == (1, 0, 7)
    assert not (tmp_path / "train/epoch-2").exists()


def test_other_data_than_the_checkpoint_saw_is_refused(tmp_path: Path) -> None:
    builder(tmp_path).callbacks([StopAt(5)]).build(plain(NdArray()), SgdConfig().init(), 0.1).fit(*loaders())
    learner = builder(tmp_path).build(plain(NdArray()), SgdConfig().init(), 0.1)
    with pytest.raises(ArgumentError, match="after 5 batches of epoch 1, and the loader gives 3"):
        learner.fit(*loaders(count=40))


def test_a_copy_of_an_artefact_folder_goes_on_too(initial: Path, tmp_path: Path) -> None:
    train(tmp_path / "whole", initial, 3)
    train(tmp_path / "first", initial, 3, callbacks=[StopAt(10)])
    shutil.copytree(tmp_path / "first", tmp_path / "second")
    train(tmp_path / "second", initial, 3)
    assert differences(tmp_path / "whole", tmp_path / "second") == []


@pytest.mark.parametrize("device", [NdArray(), Cpu()], ids=repr)
def test_a_scheduler_that_goes_astray_is_stopped_before_the_model_is(device: Any, tmp_path: Path) -> None:
    """The step is replayed by then, and a replay does not look at its numbers."""

    class Astray(LrScheduler):
        def __init__(self) -> None:
            self.steps = 0

        def step(self) -> float:
            self.steps += 1
            return 1e-3 if self.steps < 6 else math.nan

    learner = LearnerBuilder(tmp_path).renderer(NoRenderer()).build(plain(device), SgdConfig().init(), Astray())
    with pytest.raises(ArgumentError, match="fit: Astray gives a learning rate of nan"):
        learner.fit(*loaders())
    assert all(np.isfinite(each.val().numpy()).all() for _, each in learner.model.leaves())
