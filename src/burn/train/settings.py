"""Everything a learner was told, and whether it can be so."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from burn.device import Device
from burn.errors import ArgumentError
from burn.grad_clipping import GradientClippingConfig
from burn.grad_clipping.clipping import GradientClipping
from burn.lr_scheduler.base import scheduler_record
from burn.optim import Optimizer
from burn.record import FileRecorder
from burn.train.callback import Callback
from burn.train.checkpoint import CheckpointingStrategy
from burn.train.early_stopping import EarlyStoppingStrategy
from burn.train.interrupter import Interrupter
from burn.train.logger import MetricLogger, RunLogger
from burn.train.metric.protocol import Metric, Numeric
from burn.train.renderer.protocol import MetricsRenderer
from burn.train.step import missing_steps
from burn.train.store import Split
from burn.train.strategy.precision import PRECISIONS
from burn.train.strategy.protocol import TrainingStrategy

USUAL: Any = ...
"""Stands for an option that nobody set."""


@dataclass(slots=True)
class LearnerSettings:
    """The options of a learner, with their defaults; `LearnerBuilder` fills them in.

    They have the names of its options: `directory`, `metrics`, `metric_loggers`, `run_loggers` (its `loggers`),
    `renderer`, `accumulation`, `recorder`, `checkpointing`, `num_epochs`, `devices`, `reduction`, `resume`,
    `early_stopping`, `interrupter`, `application_logger`, `summary`, `metrics_device`, `capture`, `precision`,
    `ema`, `clipping`, `deterministic`, `seed`, `profile_epoch`, `dev_batches`, `callbacks`, `make_strategy`;
    `faults` checks them with a model, an optimizer and a scheduler.

    >>> from pathlib import Path
    >>> from burn.train import LearnerSettings
    >>> settings = LearnerSettings(Path("artifacts"))
    >>> settings.num_epochs, settings.accumulation, settings.capture
    (1, 1, True)
    """

    directory: Path
    metrics: dict[Split, list[tuple[Metric[Any], bool]]] = field(
        default_factory=lambda: {Split.Train: [], Split.Valid: []}
    )
    metric_loggers: tuple[MetricLogger, MetricLogger] | None = None
    run_loggers: list[RunLogger] = field(default_factory=list)
    renderer: MetricsRenderer | None = None
    accumulation: int = 1
    recorder: FileRecorder[Any] | None = None
    checkpointing: CheckpointingStrategy | None = None
    num_epochs: int = 1
    devices: list[Device] | None = None
    reduction: str = "mean"
    resume: int | str | None = None
    early_stopping: EarlyStoppingStrategy | None = None
    interrupter: Interrupter = field(default_factory=Interrupter)
    application_logger: Any = USUAL
    summary: bool = False
    metrics_device: Device | None = None
    capture: bool = True
    precision: str | None = None
    ema: float | None = None
    clipping: Any = None
    deterministic: bool = False
    seed: int | None = None
    profile_epoch: int | None = None
    dev_batches: int | None = None
    callbacks: list[Callback] = field(default_factory=list)
    make_strategy: Callable[..., TrainingStrategy] | None = None

    def copied(self) -> LearnerSettings:
        """The same options, whose lists may grow by themselves."""
        metrics = {split: list(found) for split, found in self.metrics.items()}
        return replace(self, metrics=metrics, run_loggers=list(self.run_loggers), callbacks=list(self.callbacks))

    def faults(self, model: Any, optim: Any, scheduler: Any) -> list[str]:
        """Everything that cannot be as it was asked for."""
        found = missing_steps(model)
        if not hasattr(model, "into_record"):
            found.append(f"the model is a Module, got {type(model).__name__}")
        found += self._faults_of_optimizer(model, optim, scheduler)
        found += self._faults_of_metrics()
        found += self._faults_of_numbers()
        found += self._faults_of_kinds()
        if self.dev_batches is None:
            fault = unwritable(self.directory)
            if fault:
                found.append(fault)
        return found

    def _faults_of_optimizer(self, model: Any, optim: Any, scheduler: Any) -> list[str]:
        found = []
        if not isinstance(optim, Optimizer) and not hasattr(type(model), "optimize"):
            name = type(optim).__name__
            hint = "; write .init() after its config" if name.endswith("Config") else ""
            if name == "Lbfgs":
                hint = "; it computes the loss several times in a step: write a loop of your own for it"
            found.append(f"the optimizer is one with step(lr, model, grads), got {name}{hint}")
        if self.recorder is not None:
            if not hasattr(optim, "to_record") or not hasattr(optim, "load_record"):
                found.append(f"a checkpoint needs to_record and load_record of the optimizer {type(optim).__name__}")
            try:
                scheduler_record(scheduler)
            except ArgumentError as error:
                found.append(f"scheduler {error}")
        return found

    def _faults_of_metrics(self) -> list[str]:
        found: list[str] = []
        names: dict[Split, dict[str, bool]] = {}
        registered: dict[Split, list[tuple[Any, bool]]] = dict(self.metrics)
        for split, metrics in registered.items():
            known = names[split] = {}
            for metric, numeric in metrics:
                if not isinstance(metric, Metric):
                    found.append(f"a metric for {split.value} is no Metric: {metric!r}")
                    continue
                name = metric.name()
                if name in known:
                    found.append(f"two metrics for {split.value} have the name {name!r}; give one another name")
                if numeric and not isinstance(metric, Numeric):
                    found.append(
                        f"{name!r} is not numeric and cannot be plotted; register it with metric_{split.value}"
                    )
                known[name] = known.get(name, False) or numeric
        for what, (name, split) in self.followed():
            if split not in names:
                found.append(f"{what}: follows {name!r} of {split.value}, and a training has train and valid")
            elif not names[split].get(name):
                there = ", ".join(repr(each) for each, numeric in names.get(split, {}).items() if numeric) or "none"
                found.append(
                    f"{what}: no numeric metric {name!r} is registered for {split.value} (there: {there}); "
                    f"add metric_{split.value}_numeric(...)"
                )
        return found

    def followed(self) -> list[tuple[str, tuple[str, Split]]]:
        """The metrics that strategies follow, with the strategy in words."""
        found: list[tuple[str, tuple[str, Split]]] = []
        if isinstance(self.checkpointing, CheckpointingStrategy):
            found += [("checkpointing strategy", each) for each in self.checkpointing.metric_names()]
        own = self.early_stopping.metric_name() if isinstance(self.early_stopping, EarlyStoppingStrategy) else None
        return found if own is None else [*found, ("early stopping", own)]

    def _faults_of_numbers(self) -> list[str]:
        found = []
        for what, value in (
            ("num_epochs", self.num_epochs),
            ("grads_accumulation", self.accumulation),
            ("profile_epoch", self.profile_epoch),
            ("fast_dev_run", self.dev_batches),
        ):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                found.append(f"{what} is an int of 1 or more, got {value!r}")
        if self.ema is not None and not (isinstance(self.ema, float) and 0.0 < self.ema < 1.0):
            found.append(f"ema: the decay lies between 0 and 1, such as 0.999, got {self.ema!r}")
        resume = self.resume
        if resume is not None and resume != "last" and (isinstance(resume, bool) or not isinstance(resume, int)):
            found.append(f'checkpoint: an epoch or "last", got {resume!r}')
        if resume is not None and self.recorder is None:
            found.append("checkpoint: nothing says how checkpoints are read; add with_file_checkpointer(recorder)")
        return found

    def _faults_of_kinds(self) -> list[str]:
        given: Any = self  # what was said may be anything
        found: list[str] = []
        if given.devices is not None and not given.devices:
            found.append("devices: the list is empty; leave it out to train where the model is")
        for each in given.devices or ():
            if not isinstance(each, Device):
                found.append(f"devices: {each!r} is no device; write Cpu() or the like")
        if given.reduction not in ("mean", "sum"):
            found.append(f'devices: the reduction is "mean" or "sum", got {given.reduction!r}')
        if given.metrics_device is not None and not isinstance(given.metrics_device, Device):
            found.append(f"metrics_device: needs a device such as NdArray(), got {given.metrics_device!r}")
        if given.recorder is not None and not isinstance(given.recorder, FileRecorder):
            found.append(
                f"with_file_checkpointer: needs a file recorder, got {given.recorder!r}; write DefaultRecorder()"
            )
        if given.checkpointing is not None and not isinstance(given.checkpointing, CheckpointingStrategy):
            found.append(f"with_checkpointing_strategy: needs a strategy, got {given.checkpointing!r}")
        if given.early_stopping is not None and not isinstance(given.early_stopping, EarlyStoppingStrategy):
            found.append(f"early_stopping: needs a strategy, got {given.early_stopping!r}")
        if given.renderer is not None and not isinstance(given.renderer, MetricsRenderer):
            found.append(f"renderer: needs a MetricsRenderer, got {given.renderer!r}")
        for each in given.metric_loggers or ():
            if not isinstance(each, MetricLogger):
                found.append(f"metric_loggers: needs two MetricLoggers, for train and valid, got {each!r}")
        logger = given.application_logger
        if (
            logger is not USUAL
            and logger is not None
            and not (hasattr(logger, "install") and hasattr(logger, "uninstall"))
        ):
            found.append(
                f"with_application_logger: needs an object with install and uninstall, or None, got {logger!r}"
            )
        if given.seed is not None and (isinstance(given.seed, bool) or not isinstance(given.seed, int)):
            found.append(f"deterministic: the seed is an int, got {given.seed!r}")
        found += [f"callbacks: {each!r} is no Callback" for each in given.callbacks if not isinstance(each, Callback)]
        found += [f"loggers: {each!r} is no RunLogger" for each in given.run_loggers if not isinstance(each, RunLogger)]
        if given.precision is not None and given.precision not in PRECISIONS:
            found.append(f'mixed_precision: "bf16" or "f16", got {given.precision!r}')
        elif given.precision is not None:
            if given.accumulation != 1:
                found.append("mixed_precision does not go together with grads_accumulation yet")
            if given.devices is not None and len(given.devices) > 1:
                found.append("mixed_precision does not go together with several devices yet")
        clipping = given.clipping
        if isinstance(clipping, int | float) and not isinstance(clipping, bool):
            if not (clipping > 0 and math.isfinite(clipping)):
                found.append(f"grad_clipping: the norm is above 0, got {clipping!r}")
        elif clipping is not None and not isinstance(clipping, GradientClipping | GradientClippingConfig):
            found.append(f"grad_clipping: needs a number or GradientClippingConfig.Norm(1.0), got {clipping!r}")
        return found


def unwritable(directory: Path) -> str | None:
    """Why nothing can be written to a folder; None if it can. It is made if it is not there."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        return f"the artifact directory {os.fspath(directory)!r} cannot be written to: {error.strerror or error}"
    return None
