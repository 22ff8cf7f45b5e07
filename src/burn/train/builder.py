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
    >>> model = Line(nn.LinearConfig(1, 1).init(x.device))
    >>> builder = LearnerBuilder("artifacts").metrics([LossMetric()]).renderer(NoRenderer()).num_epochs(2)
    >>> learner = builder.build(model, SgdConfig().init(), 0.1)
    >>> model = learner.fit([(x, 2 * x)] * 20, [(x, 2 * x)])
    >>> learner.store.mean("Loss", 2, Split.Valid) < learner.store.mean("Loss", 1, Split.Valid)
    True
    """

    def __init__(self, directory: str | PathLike[str]) -> None:
        self._settings = LearnerSettings(Path(directory))

    # Metrics

    def metric_train(self, metric: Metric[Any]) -> Self:
        """Follow a metric over the training batches, as text."""
        self._settings.metrics[Split.Train].append((metric, False))
        return self

    def metric_valid(self, metric: Metric[Any]) -> Self:
        """Follow a metric over the validation batches, as text."""
        self._settings.metrics[Split.Valid].append((metric, False))
        return self

    def metric_train_numeric(self, metric: Metric[Any]) -> Self:
        """Follow a numeric metric over the training batches: it is plotted too, summarised, and steers strategies."""
        self._settings.metrics[Split.Train].append((metric, True))
        return self

    def metric_valid_numeric(self, metric: Metric[Any]) -> Self:
        """Follow a numeric metric over the validation batches: it is plotted too, summarised, and steers strategies."""
        self._settings.metrics[Split.Valid].append((metric, True))
        return self

    def metrics(self, metrics: Sequence[Metric[Any]]) -> Self:
        """Follow numeric metrics over both, each split with a copy of its own."""
        for metric in _several(metrics, Metric):
            self.metric_train_numeric(metric).metric_valid_numeric(copy.deepcopy(metric))
        return self

    def metrics_device(self, device: Device) -> Self:
        """Where metrics are computed: the event thread moves items there. Without it they stay where they are."""
        self._settings.metrics_device = device
        return self

    # Where things are kept and shown

    def metric_loggers(self, train: MetricLogger, valid: MetricLogger) -> Self:
        """Loggers in the place of the files `<dir>/train` and `<dir>/valid`."""
        self._settings.metric_loggers = (train, valid)
        return self

    def loggers(self, loggers: Sequence[RunLogger]) -> Self:
        """More loggers for the numbers of both splits: TensorBoard, a table, a service."""
        self._settings.run_loggers += _several(loggers, RunLogger)
        return self

    def renderer(self, renderer: MetricsRenderer) -> Self:
        """Another renderer than the dashboard on a terminal and lines elsewhere."""
        self._settings.renderer = renderer
        return self

    def with_application_logger(self, logger: ApplicationLogger | None) -> Self:
        """Where messages go in the place of `<dir>/experiment.log`; None keeps no log."""
        self._settings.application_logger = logger
        return self

    def summary(self) -> Self:
        """Show a table of the best and worst epochs of every metric at the end."""
        self._settings.summary = True
        return self

    # The training

    def num_epochs(self, num_epochs: int) -> Self:
        """How often the training data is gone through; once without this."""
        self._settings.num_epochs = num_epochs
        return self

    def devices(self, devices: Sequence[Device], reduction: str = "mean") -> Self:
        """Where to train; with several devices each has a batch of its own in every step.

        Gradients are averaged by the number of items, as one device does with the batch of all of them;
        `reduction="sum"` adds them, for losses that are sums.
        """
        self._settings.devices, self._settings.reduction = _several(devices, Device), reduction
        return self

    def grads_accumulation(self, accumulation: int) -> Self:
        """Sum the gradients of this many batches before each step; what is left at an epoch's end gets a step too."""
        self._settings.accumulation = accumulation
        return self

    def grad_clipping(self, clipping: GradientClippingConfig | float) -> Self:
        """Clip gradients: by a `GradientClippingConfig`, or by a number that their common norm may have."""
        self._settings.clipping = clipping
        return self

    def mixed_precision(self, precision: str) -> Self:
        """Compute steps in `"bf16"` or `"f16"`; the parameters stay in full precision. In f16 the loss is scaled."""
        self._settings.precision = precision
        return self

    def ema(self, decay: float = 0.999) -> Self:
        """Average the weights over the steps; the average is what is validated and returned."""
        self._settings.ema = decay
        return self

    def with_training_strategy(self, make: Callable[..., TrainingStrategy]) -> Self:
        """Another way to train: `make(model, optim, devices)` gives the strategy that owns the steps."""
        self._settings.make_strategy = make
        return self

    def compile(self, capture: bool = True) -> Self:
        """Whether steps are captured with `burn.compile`; they are without this."""
        self._settings.capture = capture
        return self

    def deterministic(self, seed: int | None = None) -> Self:
        """Make runs repeatable: seed the devices, `random` and NumPy if a seed is given, and run replicas in turns."""
        self._settings.deterministic, self._settings.seed = True, seed
        return self

    # Checkpoints

    def with_file_checkpointer(self, recorder: FileRecorder[Any]) -> Self:
        """Keep model, optimizer and scheduler of each epoch in `<dir>/checkpoint`, as this recorder writes them."""
        self._settings.recorder = recorder
        return self

    with_file_checkpoint = with_file_checkpointer

    def with_checkpointing_strategy(self, strategy: CheckpointingStrategy) -> Self:
        """Which checkpoints are kept; without this the last two and the one with the lowest validation loss."""
        self._settings.checkpointing = strategy
        return self

    def checkpoint(self, epoch: int | str) -> Self:
        """Go on after an epoch of an earlier run, or with `"last"` after the last one that is whole."""
        self._settings.resume = epoch
        return self

    def resume(self) -> Self:
        """Go on after the last whole checkpoint, or begin if there is none: what a restarted job wants."""
        return self.checkpoint("last")

    # Ending

    def early_stopping(self, strategy: EarlyStoppingStrategy) -> Self:
        """End the training when a strategy says so."""
        self._settings.early_stopping = strategy
        return self

    def interrupter(self) -> Interrupter:
        """The handle that stops the training from elsewhere."""
        return self._settings.interrupter

    def with_interrupter(self, interrupter: Interrupter) -> Self:
        """Use a handle of your own."""
        self._settings.interrupter = interrupter
        return self

    # Looking closer

    def callbacks(self, callbacks: Sequence[Callback]) -> Self:
        """Code of yours at the turning points of the training."""
        self._settings.callbacks += _several(callbacks, Callback)
        return self

    def profile_epoch(self, epoch: int = 2) -> Self:
        """Measure where the time of an epoch goes, in `<dir>/profile.txt`. Each batch is waited for in that epoch."""
        self._settings.profile_epoch = epoch
        return self

    def fast_dev_run(self, batches: int = 1) -> Self:
        """Try everything out: one epoch of a few batches, and nothing is written."""
        self._settings.dev_batches = batches
        return self

    def build(self, model: M, optim: Optimizer, lr_scheduler: float | LrScheduler | LrSchedulerConfig) -> Learner[M]:
        """The learner of a model with `train_step` and `valid_step`, an optimizer, and a learning rate.

        The rate is a number, a scheduler, or its config. Everything that cannot be as it was asked for is reported at
        once, before anything is written.
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
