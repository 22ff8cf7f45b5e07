"""One training: epochs of training and validation, from the first batch to the last checkpoint.

    for each epoch:
        train: schedule, step, event          the training thread does nothing else
        valid: step, event
        wait for the metrics, then checkpoint, early stopping, callbacks

An item is handed to the event thread one iteration late, when the step after it has been started and its own values
are there.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.errors import ArgumentError
from burn.tensor import Tensor
from burn.train.callback import TrainingContext, overriding
from burn.train.checkpoint import Delete, Save
from burn.train.loading import Turn, make_feed
from burn.train.logger import FileApplicationLogger, FileMetricLogger, MetricLogger
from burn.train.logger.application import LOG
from burn.train.processor import BatchEvent, EndEvent, EventProcessor, LogEvent, Registered, StartEvent
from burn.train.profile import EpochProfile
from burn.train.renderer.protocol import MetricsRenderer, TrainingPlan
from burn.train.settings import USUAL
from burn.train.signals import StopOnInterrupt
from burn.train.store import Split
from burn.tree import flatten

if TYPE_CHECKING:
    from burn.train.learner import Learner

SECONDS = 0.1
MOST_EVENTS = 128
MOST_BYTES = 1 << 24


@dataclass(frozen=True)
class Position:
    """Where an earlier run ended: after an epoch, or with `iteration` inside of it."""

    epoch: int = 0
    iteration: int = 0
    step: int = 0
    state: dict[str, Any] = field(default_factory=dict)

    @property
    def first_epoch(self) -> int:
        """The epoch to run next."""
        return max(self.epoch, 1) if self.iteration else self.epoch + 1


class Training:
    """The work of one `fit`."""

    def __init__(self, learner: Learner, train_loader: Any, valid_loader: Any) -> None:
        self.learner, self.settings, self.store = learner, learner.settings, learner.store
        settings, self.position = self.settings, learner.position
        self.interrupter = settings.interrupter
        self.epochs = settings.num_epochs if settings.dev_batches is None else 1
        self.processor: EventProcessor | None = None
        self.strategy = learner._strategy(self.notice)
        self.strategy.load_state(self.position.state.get("strategy", {}))
        devices = learner.devices
        self.train_feed = make_feed(train_loader, [each.autodiff() for each in devices], settings.dev_batches)
        self.valid_feed = None if valid_loader is None else make_feed(valid_loader, devices[:1], settings.dev_batches)
        self.scheduler = learner.scheduler
        self.renderer = self._renderer()
        self.context = context = TrainingContext(settings.directory, self.interrupter, self.store)
        context.strategy, context.epoch_total, context.step = self.strategy, self.epochs, self.position.step
        self.iteration = 0
        self.pending: list[Any] = []
        self.sent = 0.0
        self.most = 0
        self.profile: EpochProfile | None = None
        self.on = {name: overriding(settings.callbacks, name) for name in (
            "on_train_start", "on_epoch_start", "on_batch_end", "on_valid_start", "on_valid_batch_end", "on_epoch_end",
            "on_checkpoint", "on_interrupt", "on_exception", "on_train_end",
        )}  # fmt: skip

    def _renderer(self) -> MetricsRenderer:
        if self.settings.renderer is not None:
            return self.settings.renderer
        from burn.train.renderer import default_renderer

        return default_renderer()

    def notice(self, message: str) -> None:
        """Say something to people: in the log, and where the training is shown."""
        LOG.info(message)
        if self.processor is not None:
            self.processor.tell(LogEvent(message))

    # From beginning to end

    def run(self) -> Any:
        """Train; gives the model."""
        settings, learner = self.settings, self.learner
        application = self._application_logger()
        if application is not None:
            application.install()
        try:
            if self.epochs < self.position.first_epoch:
                LOG.info("all %d epochs were run before: there is nothing to do", self.epochs)
                return self.strategy.final_model()
            checkpointer = learner.checkpointer
            if checkpointer is not None:
                checkpointer.folder.sweep()
                checkpointer.notice = self.notice
                checkpointer.on_saved = self._saved
            self.renderer.interrupter = self.interrupter
            self.renderer.on_train_start(self._plan())
            self.processor = EventProcessor(
                {split: Registered(list(metrics)) for split, metrics in settings.metrics.items()},
                self.store,
                self._loggers(),
                settings.run_loggers if settings.dev_batches is None else [],
                self.renderer,
                settings.metrics_device,
            )
            with StopOnInterrupt(self.interrupter, self.notice):
                return self._guarded()
        finally:
            if application is not None:
                application.uninstall()

    def _guarded(self) -> Any:
        assert self.processor is not None
        failed: BaseException | None = None
        try:
            self._begin()
            self._epochs()
            self._call("on_train_end")
        except BaseException as error:
            failed = error
            self._explain(error)
            for each in self.on["on_exception"]:
                each(self.context, error)
            raise
        finally:
            self._close(failed)
        return self.strategy.final_model()

    def _explain(self, error: BaseException) -> None:
        context = self.context
        place = f"epoch {context.epoch} of {self.epochs}, iteration {self.iteration + 1} of the "
        place += "training" if context.split is Split.Train else "validation"
        if context.epoch:
            error.add_note(f"in {place}; log: {self.settings.directory / 'experiment.log'}")
        LOG.error("the training failed in %s", place, exc_info=error)

    def _close(self, failed: BaseException | None) -> None:
        """End threads, files and the terminal, in this order, whatever happened."""
        assert self.processor is not None
        learner = self.learner
        learner.model = self.strategy.model
        self.train_feed.finish()
        if self.valid_feed is not None:
            self.valid_feed.finish()
        try:
            if learner.checkpointer is not None:
                learner.checkpointer.close()
        finally:
            processor, self.processor = self.processor, None
            processor.close()
            self.renderer.on_train_end(self._summary() if failed is None else None)
        if failed is None:
            position = self.position
            learner.position = Position(self.context.epoch, self.cut, self.context.step, position.state)
            if processor.error is not None:
                raise processor.error

    cut = 0
    """The iteration at which the last epoch was cut off; 0 if it was whole."""

    def _begin(self) -> None:
        settings, position = self.settings, self.position
        for notice in self.learner.notices:
            self.notice(notice)
        self.learner.notices.clear()
        LOG.info("training of %s: epochs %d to %d on %s", type(self.strategy.model).__name__, position.first_epoch,
                 self.epochs, ", ".join(map(repr, self.learner.devices)))  # fmt: skip
        if settings.deterministic and settings.seed is not None and not position.state:
            random.seed(settings.seed)
            np.random.seed(settings.seed % (1 << 32))  # noqa: NPY002 - the generator that transforms of others use
            for device in self.learner.devices:
                device.seed(settings.seed)
        self._restore(position.state)
        self._call("on_train_start")

    def _restore(self, state: dict[str, Any]) -> None:
        """What a checkpoint keeps beside the records."""
        for device in self.learner.devices:
            saved = state.get("generators", {}).get(repr(device.base))
            if saved is not None:
                device.generator().restore((saved[0], saved[1]))
        loaders = state.get("loaders", {})
        self.train_feed.set_epoch(loaders.get("train"))
        if self.valid_feed is not None:
            self.valid_feed.set_epoch(loaders.get("valid"))
        for callback, saved in zip(self.settings.callbacks, state.get("callbacks", []), strict=False):
            if saved is not None:
                callback.load_state(saved)

    # Epochs

    def _epochs(self) -> None:
        settings, context, learner = self.settings, self.context, self.learner
        assert self.processor is not None
        skip = self.position.iteration
        for epoch in range(self.position.first_epoch, self.epochs + 1):
            context.epoch = epoch
            self._call("on_epoch_start")
            if settings.profile_epoch == epoch:
                self.profile = EpochProfile(epoch)
            done = self._train(epoch, skip)
            skip = 0
            whole = not self.interrupter.should_stop() and self._valid(epoch)
            if self.profile is not None:
                self.notice(self.profile.finish(settings.directory if settings.dev_batches is None else None))
                self.profile = None
            self.processor.wait()
            if not whole:
                self._interrupted(epoch, done)
                return
            self._call("on_epoch_end")
            if learner.checkpointing is not None:
                actions = learner.checkpointing.checkpointing(epoch, self.store)
                self._checkpoint(epoch, 0, actions)
            LOG.info("epoch %d: %s", epoch, self._values(epoch))
            reason = settings.early_stopping.should_stop(epoch, self.store) if settings.early_stopping else None
            if reason is not None:
                self.notice(reason)
                return

    def _values(self, epoch: int) -> str:
        found = []
        for split in (Split.Train, Split.Valid):
            for name in self.store.names(split):
                value = self.store.mean(name, epoch, split)
                if value is not None:
                    found.append(f"{split.value} {name} {value:.6g}")
        return ", ".join(found) or "no numeric metrics"

    def _interrupted(self, epoch: int, done: int) -> None:
        reason = self.interrupter.reason or "a stop was asked for"
        self.notice(f"the training ends in epoch {epoch} after {done} iterations: {reason}")
        self.cut = done
        for each in self.on["on_interrupt"]:
            each(self.context, reason)
        if self.learner.checkpointer is not None:
            self._checkpoint(epoch, done, [Save()])

    def _train(self, epoch: int, skip: int) -> int:
        """An epoch of training; gives the iterations of it that were done."""
        settings, context, strategy, feed = self.settings, self.context, self.strategy, self.train_feed
        scheduler, interrupter, profile = self.scheduler, self.interrupter, self.profile
        batch_end = self.on["on_batch_end"]
        context.split, context.iteration, self.iteration = Split.Train, skip, 0
        self.pending.append(StartEvent(Split.Train, epoch, append=skip > 0))
        turns = feed.turns()
        try:
            for turn in turns:
                if self.iteration < skip:
                    self.iteration += 1
                    continue
                lr = scheduler.step()
                if profile is not None:
                    profile.lap("data")
                items = strategy.train(turn.batches, turn.counts, lr)
                if profile is not None:
                    strategy.sync()
                    profile.lap("training step")
                self.iteration += 1
                context.step += 1
                context.lr = rate = lr if lr.__class__ is float else _rate(lr)
                self._event(Split.Train, items, turn, rate)
                if batch_end:
                    context.iteration, context.items = self.iteration, items
                    for each in batch_end:
                        each(context)
                if profile is not None:
                    profile.lap("events and callbacks")
                if interrupter.should_stop() and not strategy.pending:
                    break
        finally:
            turns.close()
        if not self.iteration and settings.dev_batches is None:
            raise ArgumentError("fit: the training loader gave no batch")
        strategy.end_epoch()
        self._end(EndEvent(Split.Train, epoch, context.step))
        return self.iteration

    def _valid(self, epoch: int) -> bool:
        """An epoch of validation; gives whether it was whole."""
        feed = self.valid_feed
        if feed is None:
            return True
        context, strategy, interrupter, profile = self.context, self.strategy, self.interrupter, self.profile
        batch_end = self.on["on_valid_batch_end"]
        context.split, self.iteration = Split.Valid, 0
        self._call("on_valid_start")
        self.pending.append(StartEvent(Split.Valid, epoch))
        model = strategy.valid_model()
        turns = feed.turns()
        try:
            for turn in turns:
                if profile is not None:
                    profile.lap("data")
                items = [strategy.valid(model, batch) for batch in turn.batches]
                if profile is not None:
                    strategy.sync()
                    profile.lap("validation step")
                self.iteration += 1
                self._event(Split.Valid, items, turn, None)
                if batch_end:
                    context.iteration, context.items = self.iteration, items
                    for each in batch_end:
                        each(context)
                if profile is not None:
                    profile.lap("events and callbacks")
                if interrupter.should_stop():
                    break
        finally:
            turns.close()
        self._end(EndEvent(Split.Valid, epoch, context.step))
        context.split = Split.Train
        return not interrupter.should_stop()

    # Events

    def _event(self, split: Split, items: list[Any], turn: Turn, lr: float | None) -> None:
        pending, now = self.pending, time.monotonic()
        if len(pending) > 1 and (now - self.sent > SECONDS or len(pending) >= self.most):
            # All of them were computed when the step of this item was started.
            assert self.processor is not None
            self.processor.submit(pending)
            self.pending = pending = []
            self.sent = now
        if not self.most:
            self.most = max(2, min(MOST_EVENTS, MOST_BYTES // max(1, _bytes(items))))
        context = self.context
        pending.append(
            BatchEvent(split, items, turn.progress, context.epoch, self.epochs, self.iteration, context.step, lr)
        )

    def _end(self, event: EndEvent) -> None:
        """Hand everything over: a split's epoch is done."""
        assert self.processor is not None
        self.strategy.sync()
        self.processor.submit([*self.pending, event])
        self.pending = []
        self.most = 0

    # Checkpoints

    def _checkpoint(self, epoch: int, iteration: int, actions: list[Any]) -> None:
        checkpointer, strategy = self.learner.checkpointer, self.strategy
        assert checkpointer is not None
        gone = tuple(each.epoch for each in actions if isinstance(each, Delete))
        if not any(isinstance(each, Save) for each in actions):
            if gone:
                checkpointer.delete(*gone)
            return
        records = {
            "model": strategy.model.into_record(),
            "optim": strategy.optim.to_record(),
            "scheduler": self.scheduler.to_record(),
            **strategy.records(),
        }
        checkpointer.save(epoch, records, self._state(epoch, iteration), gone)

    def _state(self, epoch: int, iteration: int) -> dict[str, Any]:
        feeds = {"train": self.train_feed.epoch, "valid": self.valid_feed.epoch if self.valid_feed else None}
        if iteration and feeds["train"] is not None:
            feeds["train"] -= 1  # the epoch that was cut off is gone through again
        return {
            "written": time.time(),
            "iteration": iteration,
            "step": self.context.step,
            "generators": {repr(each.base): list(each.generator().state()) for each in self.learner.devices},
            "loaders": feeds,
            "metrics": self.store.state(epoch if not iteration else epoch - 1),
            "strategy": self.strategy.state(),
            "callbacks": [each.state() for each in self.settings.callbacks],
        }

    def _saved(self, epoch: int, folder: Any) -> None:
        LOG.info("checkpoint %d is written to %s", epoch, folder)
        for each in self.on["on_checkpoint"]:
            each(self.context, epoch, folder)

    # Around it

    def _call(self, name: str) -> None:
        for each in self.on[name]:
            each(self.context)

    def _application_logger(self) -> Any:
        settings = self.settings
        if settings.application_logger is not USUAL:
            return settings.application_logger
        return (
            None if settings.dev_batches is not None else FileApplicationLogger(settings.directory / "experiment.log")
        )

    def _loggers(self) -> dict[Split, list[MetricLogger]]:
        settings = self.settings
        if settings.metric_loggers is not None:
            train, valid = settings.metric_loggers
        elif settings.dev_batches is not None:
            return {Split.Train: [], Split.Valid: []}
        else:
            train, valid = (FileMetricLogger(settings.directory / each.value) for each in (Split.Train, Split.Valid))
        return {Split.Train: [train], Split.Valid: [valid]}

    def _plan(self) -> TrainingPlan:
        names = {
            split: tuple(metric.name() for metric, _ in metrics) for split, metrics in self.settings.metrics.items()
        }
        return TrainingPlan(
            self.epochs,
            self.position.first_epoch,
            self.train_feed.items(),
            self.valid_feed.items() if self.valid_feed is not None else 0,
            names[Split.Train],
            names[Split.Valid],
        )

    def _summary(self) -> Any:
        if not self.settings.summary or self.settings.dev_batches is not None:
            return None
        from burn.train.summary import LearnerSummary

        names = {metric.name() for metrics in self.settings.metrics.values() for metric, numeric in metrics if numeric}
        if not names or self.settings.metric_loggers is not None:
            self.notice("there is no summary, because no numeric metric has a log file")
            return None
        return LearnerSummary(self.settings.directory, sorted(names), str(self.strategy.model))


def _rate(lr: Any) -> float:
    """One number for a learning rate: the highest, where groups have their own."""
    return max(map(float, lr.values())) if isinstance(lr, Mapping) else float(lr)


def _bytes(items: list[Any]) -> int:
    leaves = [leaf for leaf in flatten(items)[0] if isinstance(leaf, Tensor)]
    return sum(leaf.shape.num_elements() * leaf.dtype.size for leaf in leaves)


__all__ = ["Position", "Training"]
