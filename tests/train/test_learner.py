"""The learner does what a loop written by hand does, and says what it cannot do before it begins."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burn import Cpu, Fusion, NdArray
from burn.errors import ArgumentError
from burn.grad_clipping import GradientClippingConfig
from burn.lr_scheduler import CosineAnnealingLrSchedulerConfig
from burn.optim import AdamConfig, GradientsAccumulator, LbfgsConfig, SgdConfig
from burn.record import DefaultRecorder
from burn.tensor import Tensor
from burn.train import (
    AccuracyMetric,
    Aggregate,
    Callback,
    Direction,
    EvaluatorBuilder,
    InMemoryMetricLogger,
    JsonLinesLogger,
    KeepLastNCheckpoints,
    LearnerBuilder,
    LossMetric,
    MetricCheckpointingStrategy,
    MetricEarlyStoppingStrategy,
    NoRenderer,
    SingleDevice,
    Split,
    StoppingCondition,
    TensorBoardLogger,
    TrainOutput,
    find_lr,
)
from tests.train.small import Batch, Network, Plain, assert_same, loaders, network, plain, values

ROOT = Path(__file__).resolve().parents[2]


def builder(folder: Path) -> LearnerBuilder:
    return LearnerBuilder(folder).metrics([LossMetric(), AccuracyMetric()]).renderer(NoRenderer())


class Listening(NoRenderer):
    """A renderer that remembers what it was told."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.progress: list[Any] = []
        self.ended = 0

    def on_log(self, message: str) -> None:
        self.lines.append(message)

    def render_train(self, progress: Any) -> None:
        self.progress.append(progress)

    def on_train_end(self, summary: Any = None) -> None:
        self.ended += 1


@pytest.mark.parametrize("device", [NdArray(), Cpu()], ids=repr)
def test_a_training_equals_the_loop_written_by_hand_bit_for_bit(device: Any, tmp_path: Path) -> None:
    device.seed(3)
    model = network(device.autodiff())
    values(model)  # draws the parameters
    device.seed(5)
    train, valid = loaders()
    learner = builder(tmp_path).num_epochs(3).build(model, AdamConfig().init(), 1e-2)
    trained = learner.fit(train, valid)

    device.seed(5)
    expected, optim = model.clone(), AdamConfig().init()
    train = loaders()[0].to_device(device.autodiff())
    for _ in range(3):
        for batch in train:
            output = expected.train_step(batch)
            expected = optim.step(1e-2, expected, output.grads)
    assert_same(trained, expected)


def test_the_step_is_captured_also_for_the_short_last_batch_which_is_said_once(tmp_path: Path) -> None:
    renderer = Listening()
    learner = builder(tmp_path).renderer(renderer).num_epochs(4).build(network(Cpu()), AdamConfig().init(), 1e-2)
    learner.fit(*loaders())
    assert renderer.lines == [
        "the training step is captured: replayed from step 4 on",
        "the validation step is captured: replayed from step 4 on",
    ]
    assert renderer.ended == 1
    assert [each.iteration for each in renderer.progress] == [*range(1, 8)] * 4
    last = renderer.progress[-1]
    assert (last.progress.items_processed, last.progress.items_total, last.epoch) == (100, 100, 4)


def test_a_step_that_is_not_captured_is_named_with_its_reason(tmp_path: Path) -> None:
    renderer = Listening()
    builder(tmp_path).renderer(renderer).build(plain(NdArray()), SgdConfig().init(), 0.1).fit(*loaders())
    assert any("training step runs without capture: no argument lives on a fused device" in x for x in renderer.lines)
    renderer = Listening()
    learner = builder(tmp_path).renderer(renderer).compile(False).build(plain(NdArray()), SgdConfig().init(), 0.1)
    learner.fit(*loaders())
    assert renderer.lines == []


def test_artifacts_lie_where_the_book_says(tmp_path: Path) -> None:
    learner = builder(tmp_path).with_file_checkpoint(DefaultRecorder()).num_epochs(2).summary()
    learner.build(plain(NdArray()), AdamConfig().init(), 1e-2).fit(*loaders())
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    logs = {f"{s}/epoch-{e}/{m}.log" for s in ("train", "valid") for e in (1, 2) for m in ("Loss", "Accuracy")}
    files = {f"checkpoint/{n}-{e}.mpk" for n in ("model", "optim", "scheduler") for e in (1, 2)}
    assert found == {"experiment.log", *logs, *files, "checkpoint/state-1.json", "checkpoint/state-2.json"}
    lines = (tmp_path / "train/epoch-2/Accuracy.log").read_text().splitlines()
    assert [line.partition(",")[2] for line in lines] == ["16"] * 6 + ["4"]
    assert "epoch 2: train Loss" in (tmp_path / "experiment.log").read_text()


def test_metrics_of_the_store_are_the_means_of_the_log(tmp_path: Path) -> None:
    train, valid = InMemoryMetricLogger(), InMemoryMetricLogger()
    learner = builder(tmp_path).metric_loggers(train, valid).metrics_device(NdArray()).num_epochs(2)
    made = learner.build(plain(Cpu()), AdamConfig().init(), 1e-2)
    made.fit(*loaders())
    entries = train.read_numeric("Accuracy", 2)
    mean = sum(each.value * (each.count or 1) for each in entries) / sum(each.count or 1 for each in entries)
    assert made.store.find_metric("Accuracy", 2, Aggregate.Mean, Split.Train) == pytest.approx(mean)
    assert made.store.find_epoch("Loss", Aggregate.Mean, Direction.Lowest, Split.Valid) in (1, 2)
    assert made.store.find_metric("Loss", 3, Aggregate.Mean, Split.Valid) is None
    assert not (tmp_path / "train").exists()


@pytest.mark.parametrize("accumulation", [3, 100])
def test_gradients_are_summed_over_batches_and_a_rest_gets_a_step(accumulation: int, tmp_path: Path) -> None:
    device = Cpu()
    model = plain(device.autodiff())
    values(model)
    learner = builder(tmp_path).grads_accumulation(accumulation).num_epochs(2).build(model, SgdConfig().init(), 0.05)
    trained = learner.fit(*loaders())
    optim, expected = SgdConfig().init(), model
    train = loaders()[0].to_device(device.autodiff())
    for _ in range(2):
        sums = GradientsAccumulator()
        for number, batch in enumerate(train, 1):
            sums.accumulate(expected, expected.train_step(batch).grads)
            if number % accumulation == 0 or number == 7:
                expected = optim.step(0.05, expected, sums.grads())
    assert_same(trained, expected)


def test_several_devices_equal_one_with_the_large_batch(tmp_path: Path) -> None:
    model = plain(Cpu())
    values(model)
    large = builder(tmp_path).num_epochs(3).build(model, AdamConfig().init(), 1e-2).fit(*loaders(batch=32))
    for devices in ([Cpu(), NdArray()], [Cpu(), Fusion(NdArray())], [Cpu(), Cpu()]):
        shared = builder(tmp_path).devices(devices).num_epochs(3).build(model, AdamConfig().init(), 1e-2)
        found = values(shared.fit(*loaders(batch=16)))
        for path, array in values(large).items():
            np.testing.assert_allclose(found[path], array, rtol=2e-4, atol=2e-5, err_msg=f"{devices} {path}")


def test_replicas_share_their_running_statistics(tmp_path: Path) -> None:
    model = network(Cpu())
    before = values(model)
    after = values(
        builder(tmp_path).devices([Cpu(), NdArray()]).build(model, AdamConfig().init(), 1e-3).fit(*loaders())
    )
    changed = [path for path in before if "running" in path and not np.array_equal(before[path], after[path])]
    assert len(changed) == 2
    assert np.isfinite(after[changed[0]]).all()


def test_a_model_may_optimize_itself(tmp_path: Path) -> None:
    class Halved(Plain):
        def optimize(self, optim: Any, lr: float, grads: Any) -> Any:
            return optim.step(lr * 0.5, self, grads)

    model = plain(Cpu())
    values(model)
    own = Halved(first=model.first, last=model.last)
    half = builder(tmp_path).build(own, SgdConfig().init(), 0.2).fit(*loaders())
    assert_same(half, builder(tmp_path).build(model, SgdConfig().init(), 0.1).fit(*loaders()))


def test_clipping_is_that_of_the_optimizer(tmp_path: Path) -> None:
    model = plain(Cpu())
    values(model)
    clipping = GradientClippingConfig.GlobalNorm(0.01)
    one = builder(tmp_path).grad_clipping(0.01).build(model, SgdConfig().init(), 0.5).fit(*loaders())
    optim = SgdConfig().init().with_grad_clipping(clipping)
    assert_same(one, builder(tmp_path).build(model, optim, 0.5).fit(*loaders()))


def test_the_average_of_the_weights_is_validated_and_returned(tmp_path: Path) -> None:
    class Weights(Callback):
        def __init__(self) -> None:
            self.seen: list[Any] = []

        def on_batch_end(self, context: Any) -> None:
            self.seen.append(values(context.model)["last.weight"])

    model, weights = plain(Cpu()), Weights()
    average = values(model)["last.weight"].astype(np.float64)
    learner = builder(tmp_path).ema(0.9).callbacks([weights]).build(model, SgdConfig().init(), 0.5)
    found = values(learner.fit(*loaders()))["last.weight"]
    for each in weights.seen:
        average = 0.9 * average + 0.1 * each
    np.testing.assert_allclose(found, average, rtol=1e-5)
    assert not np.array_equal(values(learner.model)["last.weight"], found)


@pytest.mark.parametrize("precision", ["bf16", "f16"])
def test_low_precision_trains_with_full_parameters(precision: str, tmp_path: Path) -> None:
    class Scaled(Network):
        def train_step(self, batch: Batch) -> Any:
            item = self.classify(batch)
            return TrainOutput(self, item.loss, item)

    model = network(Cpu())
    model = Scaled(**model.__dict__)
    values(model)
    renderer = Listening()
    made = builder(tmp_path).renderer(renderer).mixed_precision(precision).num_epochs(6)
    learner = made.build(model, AdamConfig().init(), 2e-2)
    trained = learner.fit(*loaders())
    assert {param.dtype.name for param in trained.parameters()} == {"f32"}
    first, last = (learner.store.mean("Loss", epoch, Split.Train) for epoch in (1, 6))
    assert first is not None
    assert last is not None
    assert last < first
    assert not [line for line in renderer.lines if "without capture" in line]


def test_an_overflow_in_f16_leaves_the_step_out_and_halves_the_scale(tmp_path: Path) -> None:
    class Large(Plain):
        def train_step(self, batch: Batch) -> Any:
            item = self.classify(batch)
            return TrainOutput(self, item.loss * 30000.0, item)

    model = plain(Cpu())
    model = Large(first=model.first, last=model.last)
    learner = builder(tmp_path).mixed_precision("f16").with_file_checkpointer(DefaultRecorder())
    learner.build(model, SgdConfig().init(), 1e-6).fit(*loaders())
    scale, _, skipped = json.loads((tmp_path / "checkpoint/state-1.json").read_text())["strategy"]["loss_scale"]
    assert skipped == 7
    assert scale == 2.0**9


def test_all_faults_of_a_build_come_at_once(tmp_path: Path) -> None:
    class Step(Plain.__bases__[0]):  # type: ignore[misc]
        def step(self, batch: Any) -> Any: ...

    (tmp_path / "file").write_text("")
    wrong = LearnerBuilder(tmp_path / "file").num_epochs(0).devices([]).ema(2.0).mixed_precision("f8")
    wrong = wrong.metric_valid_numeric(LossMetric()).metric_valid_numeric(LossMetric())
    wrong = wrong.with_checkpointing_strategy(
        MetricCheckpointingStrategy("Acuracy", Aggregate.Mean, Direction.Highest, Split.Valid)
    ).checkpoint(3)
    with pytest.raises(ArgumentError, match="faults") as caught:
        wrong.build(Step(), AdamConfig(), "fast")
    text = str(caught.value)
    for part in (
        "lr_scheduler: needs a number", "Step has no train_step", "`step` is written as two methods", "no valid_step",
        "write .init()", "num_epochs", "devices: the list is empty", "ema", "mixed_precision", "two metrics for valid",
        "no numeric metric 'Acuracy' is registered for valid (there: 'Loss')", "with_file_checkpointer",
        "cannot be written to",
    ):  # fmt: skip
        assert part in text
    with pytest.raises(ArgumentError, match="computes the loss several times"):
        LearnerBuilder(tmp_path).build(plain(NdArray()), LbfgsConfig().init(), 1.0)


def test_an_error_in_a_step_names_its_place_and_leaves_things_in_order(tmp_path: Path) -> None:
    class Breaks(Plain):
        def valid_step(self, batch: Batch) -> Any:
            raise ZeroDivisionError("no luck")

    model = plain(NdArray())
    renderer = Listening()
    learner = builder(tmp_path).renderer(renderer).build(Breaks(**model.__dict__), AdamConfig().init(), 1e-2)
    threads = threading.active_count()
    with pytest.raises(ZeroDivisionError) as caught:
        learner.fit(*loaders())
    assert "in epoch 1 of 1, iteration 1 of the validation" in caught.value.__notes__[0]
    assert renderer.ended == 1
    assert threading.active_count() == threads
    assert "ZeroDivisionError: no luck" in (tmp_path / "experiment.log").read_text()


@pytest.mark.parametrize("capture", [True, False])
@pytest.mark.parametrize("device", [Cpu(), NdArray()], ids=repr)
def test_an_error_names_the_iteration_whose_batch_failed(device: Any, capture: bool, tmp_path: Path) -> None:
    class Looks(Plain):
        def classify(self, batch: Batch) -> Any:
            table = Tensor.ones([2, 1], batch.points.device)
            rows = table.select(0, batch.classes)  # class 7 is not in the table
            return super().classify(Batch(batch.points * rows, batch.classes.clamp(0, 1)))

    def batch(number: int) -> Batch:
        classes = np.full(4, 7 if number == 5 else number % 2)
        return Batch(Tensor.ones([4, 2], device), Tensor.from_ints(classes, device))

    learner = LearnerBuilder(tmp_path).renderer(NoRenderer()).compile(capture)
    made = learner.build(Looks(**plain(device).__dict__), SgdConfig().init(), 0.1)
    with pytest.raises(IndexError) as caught:
        made.fit([batch(number) for number in range(1, 9)])
    assert "in epoch 1 of 1, iteration 5 of the training" in caught.value.__notes__[0]


@pytest.mark.parametrize("where", ["callback", "loader"])
def test_errors_beside_the_step_name_their_iteration_too(where: str, tmp_path: Path) -> None:
    class Breaks(Callback):
        def on_batch_end(self, context: Any) -> None:
            if where == "callback" and context.iteration == 3:
                raise KeyError("three")

    class Loader:
        def __iter__(self) -> Any:
            for number, batch in enumerate(loaders()[0].to_device(NdArray()), 1):
                if where == "loader" and number == 3:
                    raise KeyError("three")
                yield batch

    learner = builder(tmp_path).callbacks([Breaks()]).build(plain(NdArray()), SgdConfig().init(), 0.1)
    with pytest.raises(KeyError) as caught:
        learner.fit(Loader())
    assert "iteration 3 of the training" in caught.value.__notes__[0]


def test_a_closed_pipe_ends_the_display_and_not_the_training(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "from burn import NdArray\n"
        "from burn.optim import SgdConfig\n"
        "from burn.train import LearnerBuilder, LossMetric\n"
        "from tests.train.small import loaders, plain\n"
        "made = LearnerBuilder(sys.argv[1]).metrics([LossMetric()]).num_epochs(40)\n"
        "made.build(plain(NdArray()), SgdConfig().init(), 0.1).fit(*loaders())\n"
        "print('all done')\n"
        "open(sys.argv[1] + '/done', 'w').close()\n"
    )
    line = f"{sys.executable} {script} {tmp_path}/run 2> {tmp_path}/errors | head -1"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    found = subprocess.run(line, shell=True, capture_output=True, text=True, env=environment, check=True)
    assert found.stdout.startswith("training: 40 epochs")
    assert (tmp_path / "errors").read_text() == ""
    assert (tmp_path / "run/done").exists()
    assert (tmp_path / "run/valid/epoch-40").exists()
    assert "is not shown any more, and goes on: BrokenPipeError" in (tmp_path / "run/experiment.log").read_text()


def test_an_error_in_a_metric_reaches_the_caller(tmp_path: Path) -> None:
    class Odd(LossMetric):
        def update(self, item: Any, metadata: Any) -> Any:
            raise KeyError("odd")

    learner = LearnerBuilder(tmp_path).renderer(NoRenderer()).metric_train(Odd())
    with pytest.raises(RuntimeError, match="metric 'Loss' in epoch 1, iteration 1 failed: KeyError"):
        learner.build(plain(NdArray()), AdamConfig().init(), 1e-2).fit(*loaders())


def test_the_schedule_steps_once_an_iteration(tmp_path: Path) -> None:
    class Rates(Callback):
        def __init__(self) -> None:
            self.rates: list[float] = []

        def on_batch_end(self, context: Any) -> None:
            self.rates.append(context.lr)

    rates, config = Rates(), CosineAnnealingLrSchedulerConfig(0.1, 14)
    builder(tmp_path).callbacks([rates]).num_epochs(2).build(plain(NdArray()), SgdConfig().init(), config).fit(
        *loaders()
    )
    scheduler = config.init()
    assert rates.rates == [scheduler.step() for _ in range(14)]


def test_early_stopping_ends_when_nothing_improves(tmp_path: Path) -> None:
    condition = StoppingCondition.NoImprovementSince(2)
    strategy = MetricEarlyStoppingStrategy("Loss", Aggregate.Mean, Direction.Lowest, Split.Valid, condition)
    renderer = Listening()
    learner = builder(tmp_path).renderer(renderer).num_epochs(10).early_stopping(strategy)
    made = learner.build(plain(NdArray()), SgdConfig().init(), 0.0)
    made.fit(*loaders())
    assert made.store.epochs("Loss", Split.Valid) == [1, 2, 3]
    assert "has not improved since epoch 1" in renderer.lines[-1]
    later = strategy.with_warmup_epochs(5)
    assert later.should_stop(3, made.store) is None


def test_an_interrupter_ends_the_epoch_after_the_batch(tmp_path: Path) -> None:
    class Stop(Callback):
        def on_batch_end(self, context: Any) -> None:
            if context.epoch == 2 and context.iteration == 3:
                context.stop("enough")

    made = builder(tmp_path).callbacks([Stop()]).num_epochs(5).with_checkpointing_strategy(KeepLastNCheckpoints(1))
    learner = made.with_file_checkpointer(DefaultRecorder()).build(plain(NdArray()), AdamConfig().init(), 1e-2)
    learner.fit(*loaders())
    assert made.interrupter().reason == "enough"
    assert len((tmp_path / "train/epoch-2/Loss.log").read_text().splitlines()) == 3
    assert not (tmp_path / "valid/epoch-2").exists()
    assert (tmp_path / "checkpoint/state-2.json").exists()


def test_the_first_ctrl_c_finishes_the_batch_and_the_second_aborts(tmp_path: Path) -> None:
    class Press(Callback):
        def __init__(self, times: int) -> None:
            self.times = times

        def on_batch_end(self, context: Any) -> None:
            for _ in range(self.times):
                os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    learner = builder(tmp_path).callbacks([Press(1)]).num_epochs(5).build(plain(NdArray()), AdamConfig().init(), 1e-2)
    assert isinstance(learner.fit(*loaders()), Plain)
    assert learner.interrupter().reason == "Ctrl-C"
    learner = builder(tmp_path).callbacks([Press(2)]).build(plain(NdArray()), AdamConfig().init(), 1e-2)
    with pytest.raises(KeyboardInterrupt):
        learner.fit(*loaders())
    assert signal.getsignal(signal.SIGINT) is before


def test_a_fast_run_tries_everything_and_writes_nothing(tmp_path: Path) -> None:
    renderer = Listening()
    made = builder(tmp_path / "new").renderer(renderer).num_epochs(9).with_file_checkpointer(DefaultRecorder())
    made.fast_dev_run(2).summary().build(plain(NdArray()), AdamConfig().init(), 1e-2).fit(*loaders())
    assert len(renderer.progress) == 2
    assert not (tmp_path / "new").exists()


def test_the_profile_says_where_the_time_went(tmp_path: Path) -> None:
    builder(tmp_path).profile_epoch(1).build(plain(NdArray()), AdamConfig().init(), 1e-2).fit(*loaders())
    text = (tmp_path / "profile.txt").read_text()
    assert "training step" in text
    assert "data" in text


def test_any_iterable_serves_as_a_loader_and_validation_may_be_left_out(tmp_path: Path) -> None:
    train, _ = loaders()
    batches = list(train.to_device(NdArray()))
    model = plain(NdArray())
    values(model)
    one = LearnerBuilder(tmp_path).renderer(NoRenderer()).build(model, SgdConfig().init(), 0.1).fit(batches)
    assert_same(one, builder(tmp_path).build(model, SgdConfig().init(), 0.1).fit(*loaders()))
    with pytest.raises(ArgumentError, match="only once"):
        builder(tmp_path).build(model, SgdConfig().init(), 0.1).fit(iter(batches))
    with pytest.raises(ArgumentError, match="has no batch"):
        builder(tmp_path).build(model, SgdConfig().init(), 0.1).fit([])


def test_a_seed_makes_runs_repeatable(tmp_path: Path) -> None:
    model = network(Cpu())
    values(model)
    runs = [builder(tmp_path).deterministic(9).build(model, AdamConfig().init(), 1e-2).fit(*loaders(workers=2))
            for _ in range(2)]  # fmt: skip
    assert_same(*runs)


def test_a_rate_is_found_and_drawn_and_nothing_is_changed(tmp_path: Path) -> None:
    Cpu().seed(4)
    model, optim = plain(Cpu()), SgdConfig().init()
    before, state = values(model), Cpu().generator().state()
    curve = find_lr(model, optim, loaders(batch=100)[0], lowest=1e-4, highest=100.0, batches=60)
    assert 1e-3 < curve.suggestion < 100.0
    assert len(curve.rates) == len(curve.losses) == len(curve.smooth) <= 60
    assert "<polyline" in curve.plot(tmp_path / "rates.svg").read_text()
    for path, array in values(model).items():
        np.testing.assert_array_equal(array, before[path])
    assert Cpu().generator().state() == state
    with pytest.raises(ArgumentError, match="2 faults"):
        find_lr(model, optim, loaders()[0], lowest=1.0, highest=0.1, batches=3)


def test_an_evaluator_gives_the_metrics_of_other_data(tmp_path: Path) -> None:
    model = plain(Cpu())
    _, valid = loaders()
    evaluator = EvaluatorBuilder(tmp_path).metrics([LossMetric(), AccuracyMetric()]).build(model)
    found = evaluator.eval("other points", valid)
    batches = list(valid.to_device(Cpu()))
    right = sum(int((model.valid()(each.points).numpy().argmax(1) == each.classes.numpy()).sum()) for each in batches)
    assert found["Accuracy"] == pytest.approx(100 * right / 40)
    assert (tmp_path / "test/other_points/epoch-1/Accuracy.log").exists()


def test_a_strategy_of_ones_own_takes_the_steps(tmp_path: Path) -> None:
    class Twice(SingleDevice):
        def train(self, batches: Any, counts: Any, lr: Any) -> Any:
            super().train(batches, counts, lr)
            return super().train(batches, counts, lr)

    model = plain(Cpu())
    values(model)
    own = builder(tmp_path).with_training_strategy(lambda model, optim, devices: Twice(model, optim, devices[0]))
    twice = own.build(model, SgdConfig().init(), 0.1).fit(*loaders(batch=100))
    usual = builder(tmp_path).num_epochs(2).build(model, SgdConfig().init(), 0.1)
    for path, array in values(usual.fit(*loaders(batch=100))).items():
        np.testing.assert_allclose(values(twice)[path], array, rtol=1e-5)


def odd(**options: Any) -> Any:
    """A learner with an option that cannot be."""
    made = LearnerBuilder(options.pop("folder")).metrics([LossMetric()]).renderer(NoRenderer())
    for name, value in options.items():
        made = getattr(made, name)(*(value if isinstance(value, tuple) else (value,)))
    return made.build(plain(NdArray()), SgdConfig().init(), 0.1)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("metric_loggers", ("a", "b"), "metric_loggers: needs two MetricLoggers"),
        ("with_application_logger", "log.txt", "needs an object with install and uninstall"),
        ("deterministic", 1.5, "the seed is an int, got 1.5"),
        ("num_epochs", 0, "num_epochs is an int of 1 or more, got 0"),
        ("grads_accumulation", 0, "grads_accumulation is an int of 1 or more"),
        ("fast_dev_run", 0, "fast_dev_run is an int of 1 or more"),
        ("profile_epoch", 0, "profile_epoch is an int of 1 or more"),
        ("ema", 1.0, "the decay lies between 0 and 1"),
        ("grad_clipping", 0.0, "the norm is above 0"),
        ("callbacks", ["x"], "callbacks: 'x' is no Callback"),
        ("loggers", ["x"], "loggers: 'x' is no RunLogger"),
    ],
)
def test_odd_options_are_refused_before_the_training(option: str, value: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=message):
        odd(folder=tmp_path, **{option: value})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TensorBoardLogger("x", every=0), "TensorBoardLogger: every is an int of 1 or more"),
        (lambda: MetricEarlyStoppingStrategy("Loss", "mean", "low", "valid", 3), "4 faults"),  # type: ignore[arg-type]
        (lambda: MetricCheckpointingStrategy("Loss", Aggregate.Mean, "low", Split.Valid), "direction is one of"),  # type: ignore[arg-type]
        (lambda: builder(Path("x")).build(None, None, float("nan")), "the learning rate is a finite number"),
    ],
)
def test_odd_parts_are_refused_where_they_are_made(
    make: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArgumentError, match=message):
        make()


def test_one_thing_stands_for_a_list_of_it(tmp_path: Path) -> None:
    made = LearnerBuilder(tmp_path).metrics(LossMetric()).renderer(NoRenderer()).callbacks(Callback())  # type: ignore[arg-type]
    made = made.devices(NdArray()).loggers(JsonLinesLogger(tmp_path / "run.jsonl"))  # type: ignore[arg-type]
    made.build(plain(NdArray()), SgdConfig().init(), 0.1).fit(*loaders())
    assert (tmp_path / "run.jsonl").exists()


def test_what_a_callback_raises_in_the_checkpoint_thread_ends_the_training(tmp_path: Path) -> None:
    class Breaks(Callback):
        def on_checkpoint(self, context: Any, epoch: int, folder: Path) -> None:
            raise KeyError("mine")

    learner = builder(tmp_path).callbacks([Breaks()]).with_file_checkpointer(DefaultRecorder()).num_epochs(3)
    with pytest.raises(KeyError, match="mine"):
        learner.build(plain(NdArray()), SgdConfig().init(), 0.1).fit(*loaders())


@pytest.mark.parametrize("kind", [np.float32, lambda x: Tensor.from_floats([x], NdArray())], ids=["numpy", "tensor"])
def test_values_of_metrics_may_be_numbers_of_other_kinds(kind: Any, tmp_path: Path) -> None:
    class Odd(LossMetric):
        def value(self) -> Any:
            return kind(1.5)

    made = LearnerBuilder(tmp_path).metrics([Odd()]).renderer(NoRenderer()).with_file_checkpointer(DefaultRecorder())
    made = made.loggers([JsonLinesLogger(tmp_path / "run.jsonl")])
    made.build(plain(NdArray()), SgdConfig().init(), 0.1).fit(*loaders())
    assert '"value": 1.5' in (tmp_path / "run.jsonl").read_text()
    assert (tmp_path / "checkpoint/state-1.json").exists()
