"""The learner: a model, an optimizer, a schedule, and everything that `LearnerBuilder` was told."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Generic

from burn.device import Device
from burn.errors import ArgumentError
from burn.grad_clipping import GradientClippingConfig
from burn.lr_scheduler.base import LrScheduler, kind_of, load_scheduler
from burn.optim import Optimizer
from burn.record import HalfPrecisionSettings
from burn.train.checkpoint import (
    Checkpointer,
    CheckpointError,
    CheckpointingStrategy,
    KeepLastNCheckpoints,
    default_strategy,
)
from burn.train.interrupter import Interrupter
from burn.train.position import Position
from burn.train.settings import LearnerSettings
from burn.train.step import Loader, M
from burn.train.store import EventStore, Split
from burn.train.strategy import MixedPrecision, MultiDevice, SingleDevice, TrainingStrategy, WeightAverage
from burn.train.training import Training


class Learner(Generic[M]):
    """Trains a model with `fit`. `LearnerBuilder` makes one, and shows how.

    `learner.store` has the metrics of all epochs, `learner.interrupter()` stops a training from elsewhere.

    >>> import burn
    >>> from burn.optim import SgdConfig
    >>> from burn.train import LearnerBuilder, NoRenderer, TrainOutput
    >>> class Constant(burn.Module):
    ...     weight: burn.Param
    ...     def valid_step(self, batch):
    ...         return ((self.weight - batch) ** 2).sum()
    ...     def train_step(self, batch):
    ...         return TrainOutput(self, self.valid_step(batch).backward(), item=None)
    >>> builder = LearnerBuilder("artifacts").renderer(NoRenderer())
    >>> learner = builder.build(Constant(burn.Param.from_data([0.0])), SgdConfig().init(), 0.25)
    >>> learner.fit([burn.tensor([4.0])] * 3).weight.tolist()
    [3.5]
    """

    def __init__(self, settings: LearnerSettings, model: M, optim: Optimizer, scheduler: LrScheduler) -> None:
        self.settings = settings
        self.notices: list[str] = []
        """What is to be said when the training begins."""
        self.store = EventStore()
        self.devices = self._devices(model)
        device = self.devices[0].autodiff()
        # A copy: steps write to the state cells of the tree they are given, and the caller's stays as it is.
        given: Any = model
        self.model: Any = given.clone() if given.devices() == [device] else given.to_device(device)
        self.optim = self._clipped(optim)
        self.scheduler = scheduler
        self.checkpointer: Checkpointer | None = None
        self.checkpointing: CheckpointingStrategy | None = None
        self.position = Position()
        self._average: Any = None
        if settings.recorder is not None and settings.dev_batches is None:
            self.checkpointer = Checkpointer(settings.directory / "checkpoint", settings.recorder, self.notices.append)
            self.checkpointing = self._checkpointing_strategy()
            if settings.resume is not None:
                self._resume(settings.resume)

    def _repr_html_(self) -> str:
        """What a notebook shows: what is trained, how, and where its files go."""
        from burn import html

        settings = self.settings
        rows = [
            ("optimizer", repr(self.optim).strip("<>").removeprefix("Optimizer ")),
            ("learning rate", str(self.scheduler)),
            ("epochs", str(settings.num_epochs)),
            ("devices", ", ".join(map(repr, self.devices))),
            ("folder", str(settings.directory)),
        ]
        return html.box("Learner", "", html.table(("setting", "value"), rows), self.model._repr_html_())

    # What was not said

    def _devices(self, model: Any) -> list[Device]:
        given = self.settings.devices or model.devices()[:1]
        if not given:
            raise ArgumentError("learner: the model has no tensors; say where to train with devices([...])")
        return [_without_autodiff(each) for each in given]

    def _clipped(self, optim: Any) -> Any:
        clipping = self.settings.clipping
        if clipping is None:
            return optim
        if isinstance(clipping, int | float):
            clipping = GradientClippingConfig.GlobalNorm(float(clipping))
        return optim.with_grad_clipping(clipping)

    def _checkpointing_strategy(self) -> CheckpointingStrategy:
        settings = self.settings
        if settings.recorder is not None and settings.recorder.precision == HalfPrecisionSettings:
            self.notices.append(
                "checkpoints are written in half precision: a run that goes on from one differs a little from a run "
                "without interruption; DefaultRecorder() keeps every bit"
            )
        if settings.checkpointing is not None:
            return settings.checkpointing
        if any(numeric and metric.name() == "Loss" for metric, numeric in settings.metrics[Split.Valid]):
            return default_strategy()
        self.notices.append(
            "no numeric validation metric is named Loss, so the best epoch is unknown: the last 2 checkpoints are kept"
        )
        return KeepLastNCheckpoints(2)

    def _strategy(self, notice: Any) -> TrainingStrategy:
        settings, first = self.settings, self.devices[0]
        made: TrainingStrategy
        if settings.make_strategy is not None:
            made = settings.make_strategy(self.model, self.optim, self.devices)
        elif settings.precision is not None:
            made = MixedPrecision(self.model, self.optim, first, settings.precision, settings.capture, notice)
        elif len(self.devices) > 1:
            made = MultiDevice(
                self.model,
                self.optim,
                self.devices,
                settings.reduction,
                settings.accumulation,
                settings.capture,
                not settings.deterministic,
                notice,
            )
        else:
            made = SingleDevice(self.model, self.optim, first, settings.accumulation, settings.capture, notice)
        if settings.ema is not None:
            average = WeightAverage(made, settings.ema, settings.capture, notice)
            if self._average is not None:
                average.load_average(self._average)
            return average
        return made

    # Going on

    def _resume(self, wanted: int | str) -> None:
        checkpointer = self.checkpointer
        assert checkpointer is not None
        if wanted == "last":
            epoch = checkpointer.last()
            if epoch is None:
                self.notices.append(f"there is no checkpoint in {checkpointer.folder.path}: the training begins")
                return
        else:
            epoch = int(wanted)
            fault = checkpointer.check(epoch)
            if fault is not None:
                raise CheckpointError(fault)
        device = self.model.devices()[0]
        self.model = self.model.load_record(checkpointer.load("model", epoch, device))
        self.optim.load_record(checkpointer.load("optim", epoch, device), device, self.model)
        state = checkpointer.folder.read_state(epoch)
        mine = kind_of(self.scheduler)
        theirs = mine if state is None else state.get("scheduler", mine)
        if theirs == mine:
            load_scheduler(self.scheduler, checkpointer.load("scheduler", epoch))
        else:
            self.notices.append(f"checkpoint {epoch} was written with {theirs}: the rates of {mine} begin anew")
        if self.settings.ema is not None:
            if checkpointer.has("ema", epoch):
                self._average = self.model.load_record(checkpointer.load("ema", epoch, device))
            else:
                self.notices.append(f"checkpoint {epoch} has no average of the weights: it begins anew")
        if state is None:
            self.notices.append(
                f"checkpoint {epoch} has no state-{epoch}.json: random generators, the order of the data and the "
                "metrics so far are not those of the earlier run"
            )
            self.position = Position(epoch)
            return
        self.position = Position.of(epoch, state)
        self.store.load_state(state.get("metrics", {}))
        if self.checkpointing is not None:
            self.checkpointing.replay(self.position.last_whole, self.store)
        where = f"after epoch {epoch}"
        if self.position.iteration:
            where = f"in epoch {epoch}, after iteration {self.position.iteration}"
            saved = (state.get("inside") or {}).get("metrics", {})
            new = [metric.name() for metric, _ in self.settings.metrics[Split.Train] if metric.name() not in saved]
            if new:
                self.notices.append(
                    f"the checkpoint knows nothing of {', '.join(new)}: the values of epoch {epoch} count only its rest"
                )
        self.notices.append(f"the training goes on {where}")

    def keep_average(self, strategy: TrainingStrategy) -> None:
        """Remember the average of the weights, if `strategy` has one: another `fit` goes on with it."""
        if isinstance(strategy, WeightAverage):
            self._average = strategy.final_model()

    # Training

    def interrupter(self) -> Interrupter:
        """The handle that stops the training from elsewhere."""
        return self.settings.interrupter

    @property
    def directory(self) -> Path:
        """Where everything is kept."""
        return self.settings.directory

    def fit(self, train_loader: Loader, valid_loader: Loader | None = None) -> M:
        """Train, and give the trained model. Without a `valid_loader` nothing is validated.

        A loader, `train_loader` too, is one of `DataLoaderBuilder`, or anything that can be iterated over once an
        epoch. Ctrl-C ends the training after the batch that runs: the checkpoint is written and the model returned. A
        second one aborts.
        """
        training = Training(self, train_loader, valid_loader)
        return training.run()  # type: ignore[no-any-return]


def _without_autodiff(device: Device) -> Device:
    while device.is_autodiff:
        device = device.inner()
    return device
