"""The learner's builder: everything a training can be told, in one chain.

learner = (
    LearnerBuilder("artifacts")
    .metric_train_numeric(LossMetric())
    .metric_valid_numeric(LossMetric())
    .with_file_checkpointer(CompactRecorder())
    .devices([device])
    .num_epochs(10)
    .summary()
    .build(model, AdamConfig().init(), 1e-4)
)
model = learner.fit(train_loader, valid_loader)
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Self

from burn.config.options import on_a_copy, with_options
from burn.device import Device
from burn.errors import ArgumentError, raise_faults
from burn.grad_clipping import GradientClippingConfig
from burn.lr_scheduler.base import LrScheduler, LrSchedulerConfig, as_scheduler
from burn.optim import Optimizer
from burn.record import FileRecorder
from burn.train.callback import Callback
from burn.train.checkpoint import CheckpointingStrategy
from burn.train.early_stopping import EarlyStoppingStrategy
from burn.train.interrupter import Interrupter
from burn.train.learner import Learner
from burn.train.logger import ApplicationLogger, MetricLogger, RunLogger
from burn.train.metric.protocol import Metric
from burn.train.renderer.protocol import MetricsRenderer
from burn.train.settings import LearnerSettings
from burn.train.step import M
from burn.train.store import Split
from burn.train.strategy.protocol import TrainingStrategy


class LearnerBuilder:
    """Makes a learner: everything a training can be told, in one chain. `build` checks all of it at once.

    Each call gives a new builder, so a common part can be kept and used twice; `options` are calls too, as keywords:
    `LearnerBuilder("artifacts", num_epochs=3, summary=True)`.

    `directory` is where logs, checkpoints and the summary go. Without other wishes: one epoch, where the model is, no
    metrics, no checkpoints, steps captured by `burn.compile`.

    >>> import burn
    >>> from burn import nn
    >>> from burn.nn.loss import MseLoss
    >>> from burn.optim import SgdConfig
    >>> from burn.train import LearnerBuilder, LossMetric, NoRenderer, RegressionOutput, Split, TrainOutput
    >>> class Line(burn.Module):
    ...     layer: nn.Linear
    ...     def valid_step(self, batch):
    ...         output = self.layer(batch[0])
    ...         return RegressionOutput(MseLoss()(output, batch[1]), output, batch[1])
    ...     def train_step(self, batch):
    ...         item = self.valid_step(batch)
    ...         return TrainOutput(self, item.loss.backward(), item)
    >>> x = burn.tensor([[0.0], [1.0], [2.0]])
    >>> model = Line(nn.Linear(1, 1))
    >>> builder = LearnerBuilder("artifacts").metrics([LossMetric()]).renderer(NoRenderer()).num_epochs(2)
    >>> learner = builder.build(model, SgdConfig().init(), 0.1)
    >>> model = learner.fit([(x, 2 * x)] * 20, [(x, 2 * x)])
    >>> learner.store.mean("Loss", 2, Split.Valid) < learner.store.mean("Loss", 1, Split.Valid)
    True
    """

    def __init__(self, directory: str | PathLike[str], **options: Any) -> None:
        self._settings = LearnerSettings(Path(directory))
        if options:
            self._settings = with_options(self, options)._settings

    def __copy__(self) -> Self:
        other = object.__new__(type(self))
        other._settings = self._settings.copied()
        return other

    # Metrics

    @on_a_copy
    def metric_train(self, metric: Metric[Any]) -> Self:
        """Follow a metric over the training batches, as text.

        >>> from burn.train import ConfusionMatrixMetric, LearnerBuilder
        >>> builder = LearnerBuilder("artifacts").metric_train(ConfusionMatrixMetric())
        """
        self._settings.metrics[Split.Train].append((metric, False))
        return self

    @on_a_copy
    def metric_valid(self, metric: Metric[Any]) -> Self:
        """Follow a metric over the validation batches, as text.

        >>> from burn.train import ConfusionMatrixMetric, LearnerBuilder
        >>> builder = LearnerBuilder("artifacts").metric_valid(ConfusionMatrixMetric())
        """
        self._settings.metrics[Split.Valid].append((metric, False))
        return self

    @on_a_copy
    def metric_train_numeric(self, metric: Metric[Any]) -> Self:
        """Follow a numeric metric over the training batches: it is plotted too, summarised, and steers strategies.

        >>> from burn.train import AccuracyMetric, LearnerBuilder
        >>> builder = LearnerBuilder("artifacts").metric_train_numeric(AccuracyMetric())
        """
        self._settings.metrics[Split.Train].append((metric, True))
        return self

    @on_a_copy
    def metric_valid_numeric(self, metric: Metric[Any]) -> Self:
        """Follow a numeric metric over the validation batches: it is plotted too, summarised, and steers strategies.

        >>> from burn.train import AccuracyMetric, LearnerBuilder
        >>> builder = LearnerBuilder("artifacts").metric_valid_numeric(AccuracyMetric())
        """
        self._settings.metrics[Split.Valid].append((metric, True))
        return self

    @on_a_copy
    def metrics(self, metrics: Sequence[Metric[Any]]) -> Self:
        """Follow numeric metrics over both, each split with a copy of its own."""
        for metric in _several(metrics, Metric):
            self._settings.metrics[Split.Train].append((metric, True))
            self._settings.metrics[Split.Valid].append((copy.deepcopy(metric), True))
        return self

    @on_a_copy
    def metrics_device(self, device: Device) -> Self:
        """Where metrics are computed: the event thread moves items there. Without it they stay where they are.

        >>> from burn.train import LearnerBuilder
        >>> builder = LearnerBuilder("artifacts").metrics_device(burn.NdArray())
        """
        self._settings.metrics_device = device
        return self

    # Where things are kept and shown

    @on_a_copy
    def metric_loggers(self, train: MetricLogger, valid: MetricLogger) -> Self:
        """Loggers in the place of the files `<dir>/train` and `<dir>/valid`.

        >>> from burn.train import InMemoryMetricLogger, LearnerBuilder
        >>> train, valid = InMemoryMetricLogger(), InMemoryMetricLogger()
        >>> builder = LearnerBuilder("artifacts").metric_loggers(train, valid)
        """
        self._settings.metric_loggers = (train, valid)
        return self

    @on_a_copy
    def loggers(self, loggers: Sequence[RunLogger]) -> Self:
        """More loggers for the numbers of both splits: TensorBoard, a table, a service.

        >>> from burn.train import CsvLogger, LearnerBuilder, TensorBoardLogger
        >>> builder = LearnerBuilder("artifacts").loggers([CsvLogger("run.csv"), TensorBoardLogger("runs")])
        """
        self._settings.run_loggers += _several(loggers, RunLogger)
        return self

    @on_a_copy
    def renderer(self, renderer: MetricsRenderer) -> Self:
        """Another renderer than the dashboard on a terminal and lines elsewhere."""
        self._settings.renderer = renderer
        return self

    @on_a_copy
    def with_application_logger(self, logger: ApplicationLogger | None) -> Self:
        """Where messages go in the place of `<dir>/experiment.log` (a `logger`); None keeps no log.

        >>> from burn.train import LearnerBuilder
        >>> builder = LearnerBuilder("artifacts").with_application_logger(None)
        """
        self._settings.application_logger = logger
        return self

    @on_a_copy
    def summary(self) -> Self:
        """Show a table of the best and worst epochs of every metric at the end.

        >>> from burn.train import LearnerBuilder, LossMetric
        >>> builder = LearnerBuilder("artifacts").metrics([LossMetric()]).summary()
        """
        self._settings.summary = True
        return self

    # The training

    @on_a_copy
    def num_epochs(self, num_epochs: int) -> Self:
        """How often the training data is gone through (`num_epochs`); once without this."""
        self._settings.num_epochs = num_epochs
        return self

    @on_a_copy
    def devices(self, devices: Sequence[Device], reduction: str = "mean") -> Self:
        """Where to train; with several devices each has a batch of its own in every step.

        Gradients are averaged by the number of items, as one device does with the batch of all of them;
        `reduction="sum"` adds them, for losses that are sums.

        >>> from burn.train import LearnerBuilder
        >>> builder = LearnerBuilder("artifacts").devices([burn.NdArray()])
        """
        self._settings.devices, self._settings.reduction = _several(devices, Device), reduction
        return self

    @on_a_copy
    def grads_accumulation(self, accumulation: int) -> Self:
        """Sum the gradients of `accumulation` batches before each step; what is left at an epoch's end gets a step too.

        >>> from burn.train import LearnerBuilder
        >>> builder = LearnerBuilder("artifacts").grads_accumulation(4)
        """
        self._settings.accumulation = accumulation
        return self

    @on_a_copy
    def grad_clipping(self, clipping: GradientClippingConfig | float) -> Self:
        """Clip gradients: `clipping` is a `GradientClippingConfig`, or a number that their common norm may have.

        >>> from burn.train import LearnerBuilder
        >>> builder = LearnerBuilder("artifacts").grad_clipping(1.0)
        """
        self._settings.clipping = clipping
        return self

    @on_a_copy
    def mixed_precision(self, precision: str) -> Self:
        """Compute steps in `"bf16"` or `"f16"`; the parameters stay in full precision. In f16 the loss is scaled.

        The `precision` is that of the step alone.

        >>> from burn.train import LearnerBuilder
        >>> builder = LearnerBuilder("artifacts").mixed_precision("bf16")
        """
        self._settings.precision = precision
        return self

    @on_a_copy
    def ema(self, decay: float = 0.999) -> Self:
        """Average the weights over the steps; the average is what is validated and returned.

        Each step keeps `decay` of it.

        >>> from burn.train import LearnerBuilder
        >>> builder = LearnerBuilder("artifacts").ema(0.999)
        """
        self._settings.ema = decay
        return self

    @on_a_copy
    def with_training_strategy(self, make: Callable[..., TrainingStrategy]) -> Self:
        """Another way to train: `make(model, optim, devices)` gives the strategy that owns the steps.

        >>> from burn.train import LearnerBuilder, SingleDevice
        >>> def make(model, optim, devices):
        ...     return SingleDevice(model, optim, devices[0], capture=False)
        >>> builder = LearnerBuilder("artifacts").with_training_strategy(make)
        """
        self._settings.make_strategy = make
        return self

    @on_a_copy
    def compile(self, capture: bool = True) -> Self:
        """Whether steps are captured with `burn.compile` (`capture`); they are without this.

        >>> from burn.train import LearnerBuilder
        >>> builder = LearnerBuilder("artifacts").compile(False)
        """
        self._settings.capture = capture
        return self

    @on_a_copy
    def deterministic(self, seed: int | None = None) -> Self:
        """Make runs repeatable: seed the devices, `random` and NumPy if a seed is given, and run replicas in turns.

        >>> from burn.train import LearnerBuilder
        >>> builder = LearnerBuilder("artifacts").deterministic(seed=42)
        """
        self._settings.deterministic, self._settings.seed = True, seed
        return self

    # Checkpoints

    @on_a_copy
    def with_file_checkpointer(self, recorder: FileRecorder[Any]) -> Self:
        """Keep model, optimizer and scheduler of each epoch in `<dir>/checkpoint`, as this recorder writes them.

        >>> from burn.record import DefaultRecorder
        >>> from burn.train import LearnerBuilder
        >>> builder = LearnerBuilder("artifacts").with_file_checkpointer(DefaultRecorder())
        """
        self._settings.recorder = recorder
        return self

    with_file_checkpoint = with_file_checkpointer

    @on_a_copy
    def with_checkpointing_strategy(self, strategy: CheckpointingStrategy) -> Self:
        """Which checkpoints are kept (a `strategy`); without this the last two and that of the lowest validation loss.

        >>> from burn.train import KeepLastNCheckpoints, LearnerBuilder
        >>> builder = LearnerBuilder("artifacts").with_checkpointing_strategy(KeepLastNCheckpoints(5))
        """
        self._settings.checkpointing = strategy
        return self

    @on_a_copy
    def checkpoint(self, epoch: int | str) -> Self:
        """Go on after an epoch of an earlier run, or with `"last"` after the last one that is whole.

        >>> from burn.record import DefaultRecorder
        >>> from burn.train import LearnerBuilder
        >>> builder = LearnerBuilder("artifacts").with_file_checkpointer(DefaultRecorder()).checkpoint(3)
        """
        self._settings.resume = epoch
        return self

    @on_a_copy
    def resume(self) -> Self:
        """Go on after the last whole checkpoint, or begin if there is none: what a restarted job wants.

        >>> from burn.record import DefaultRecorder
        >>> from burn.train import LearnerBuilder
        >>> builder = LearnerBuilder("artifacts").with_file_checkpointer(DefaultRecorder()).resume()
        """
        return self.checkpoint("last")

    # Ending

    @on_a_copy
    def early_stopping(self, strategy: EarlyStoppingStrategy) -> Self:
        """End the training when a strategy says so.

        >>> from burn.train import Aggregate, Direction, LearnerBuilder, LossMetric, MetricEarlyStoppingStrategy
        >>> from burn.train import NoImprovementSince, Split
        >>> patience = NoImprovementSince(3)
        >>> strategy = MetricEarlyStoppingStrategy("Loss", Aggregate.Mean, Direction.Lowest, Split.Valid, patience)
        >>> builder = LearnerBuilder("artifacts").metrics([LossMetric()]).early_stopping(strategy)
        """
        self._settings.early_stopping = strategy
        return self

    def interrupter(self) -> Interrupter:
        """The handle that stops the training from elsewhere.

        >>> from burn.train import LearnerBuilder
        >>> interrupter = LearnerBuilder("artifacts").interrupter()
        >>> interrupter.stop("enough")
        """
        return self._settings.interrupter

    @on_a_copy
    def with_interrupter(self, interrupter: Interrupter) -> Self:
        """Use a handle (`interrupter`) of your own.

        >>> from burn.train import Interrupter, LearnerBuilder
        >>> builder = LearnerBuilder("artifacts").with_interrupter(Interrupter())
        """
        self._settings.interrupter = interrupter
        return self

    # Looking closer

    @on_a_copy
    def callbacks(self, callbacks: Sequence[Callback]) -> Self:
        """Code of yours at the turning points of the training: `callbacks` are called in their order.

        >>> from burn.train import Callback, LearnerBuilder
        >>> class Hello(Callback):
        ...     def on_train_start(self, context): print("here we go")
        >>> builder = LearnerBuilder("artifacts").callbacks([Hello()])
        """
        self._settings.callbacks += _several(callbacks, Callback)
        return self

    @on_a_copy
    def profile_epoch(self, epoch: int = 2) -> Self:
        """Measure where the time of an epoch goes, in `<dir>/profile.txt`. Each batch is waited for in that epoch.

        >>> from burn.train import LearnerBuilder
        >>> builder = LearnerBuilder("artifacts").num_epochs(3).profile_epoch(2)
        """
        self._settings.profile_epoch = epoch
        return self

    @on_a_copy
    def fast_dev_run(self, batches: int = 1) -> Self:
        """Try everything out: one epoch of a few batches, and nothing is written.

        >>> from burn.train import LearnerBuilder
        >>> builder = LearnerBuilder("artifacts").fast_dev_run(2)
        """
        self._settings.dev_batches = batches
        return self

    def build(self, model: M, optim: Optimizer, lr_scheduler: float | LrScheduler | LrSchedulerConfig) -> Learner[M]:
        """The learner of a model with `train_step` and `valid_step`, an optimizer, and a learning rate.

        `lr_scheduler` is a number, a scheduler, or its config. Everything that cannot be as it was asked for is
        reported at once, before anything is written.
        """
        faults: list[str] = []
        try:
            scheduler: Any = as_scheduler(lr_scheduler)
        except ArgumentError as error:
            faults.append(str(error))
            scheduler = as_scheduler(0.0)
        faults += self._settings.faults(model, optim, scheduler)
        raise_faults("learner", faults)
        return Learner(copy.copy(self._settings), model, optim, scheduler)


def _several(given: Any, kind: type) -> list[Any]:
    """What was given as a list; one thing of the kind is a list of it."""
    return [given] if isinstance(given, kind) else list(given)
