"""One training: epochs of training and validation, from the first batch to the last checkpoint.

    for each epoch:
        train: schedule, step, event          the training thread does nothing else
        valid: step, event
        wait for the metrics, then checkpoint, early stopping, callbacks

An item is handed to the event thread one iteration late, when the step after it has been started and its own values
are there.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from burn.errors import ArgumentError, raise_faults
from burn.lr_scheduler.base import kind_of, scheduler_record
from burn.record.attributes import plain, unplain
from burn.tensor import Tensor
from burn.train.callback import TrainingContext, overriding
from burn.train.checkpoint import Delete, Save
from burn.train.generators import generator_states, restore_generators, seed_generators
from burn.train.loading import Turn, make_feed
from burn.train.logger import FileApplicationLogger, FileMetricLogger, MetricLogger, RunLogger
from burn.train.logger.application import LOG
from burn.train.position import Position
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


class Training:
    """The work of one `fit`."""

    def __init__(self, learner: Learner[Any], train_loader: Any, valid_loader: Any) -> None:
        self.learner, self.settings, self.store = learner, learner.settings, learner.store
        settings, self.position = self.settings, learner.position
        self.interrupter = settings.interrupter
        self.goes_on = settings.resume is not None or self.position.epoch > 0
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
        self.trained = False
        self.generators: dict[str, Any] = {}
        self.inside: dict[str, Any] | None = None
        """What an earlier run knew of this epoch, whose batches it has all trained on."""
        self.left_over = self.position.epoch if self.position.iteration else 0
        self.stopped = False
        self.pending: list[Any] = []
        self.sent = 0.0
        self.most = 0
        self.profile: EpochProfile | None = None
        self.on = {name: overriding(settings.callbacks, name) for name in (
            "on_train_start", "on_epoch_start", "on_batch_end", "on_valid_start", "on_valid_batch_end", "on_epoch_end",
            "on_checkpoint", "on_interrupt", "on_exception", "on_train_end",
        )}  # fmt: skip

    def _renderer(self) -> MetricsRenderer:
        from burn.train.renderer import default_renderer
        from burn.train.renderer.guarded import Guarded

        return Guarded(self.settings.renderer or default_renderer())

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
            reason = self._nothing_to_do()
            if reason is not None:
                LOG.info(reason)
                if settings.renderer is None:
                    print(reason)
                self._restore(self.position.state)
                return self.strategy.final_model()
            self._check()
            self.interrupter.begin()
            checkpointer = learner.checkpointer
            if checkpointer is not None:
                checkpointer.folder.sweep()
                checkpointer.notice = self.notice
                checkpointer.on_saved = self._saved
            self.renderer.interrupter = self.interrupter
            self.renderer.on_train_start(self._plan())
            loggers, run_loggers = self._loggers(), settings.run_loggers if settings.dev_batches is None else []
            self._begin_loggers(loggers, run_loggers)
            self.processor = EventProcessor(
                {split: Registered(list(metrics)) for split, metrics in settings.metrics.items()},
                self.store,
                loggers,
                run_loggers,
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
            self._drop_left_over()
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

    def _nothing_to_do(self) -> str | None:
        """Why the training is over before it begins; None if it is not."""
        position, early_stopping = self.position, self.settings.early_stopping
        if self.epochs < position.first_epoch:
            return f"all {self.epochs} epochs were run before: there is nothing to do"
        if early_stopping is not None and position.state.get("stopped"):
            reason = early_stopping.should_stop(position.epoch, self.store)
            if reason is not None:
                return f"the training was ended before: {reason}"
        return None

    def _check(self) -> None:
        """Find what would go wrong after hours: it is cheap to look before the first batch."""
        settings, faults = self.settings, []
        if self.train_feed.is_empty():
            faults.append("the training loader has no batch")
        for what, (name, split) in settings.followed():
            if split is Split.Valid and (self.valid_feed is None or self.valid_feed.is_empty()):
                there = (
                    "there is no validation loader" if self.valid_feed is None else "the validation loader has no batch"
                )
                faults.append(
                    f"{what} follows {name!r} of valid, and {there}; give fit a second loader, or follow train"
                )
        if self.learner.checkpointer is not None:
            for callback in settings.callbacks:
                with contextlib.suppress(AttributeError):  # set by on_train_start, which comes later
                    try:
                        plain(callback.state())
                    except ArgumentError as error:
                        faults.append(f"the state of {type(callback).__name__} cannot be kept: {error}")
        raise_faults("fit", faults)

    def _begin_loggers(self, loggers: Mapping[Split, list[MetricLogger]], run_loggers: Sequence[RunLogger]) -> None:
        """What an earlier run logged after its checkpoint goes: it is logged again."""
        position = self.position if self.goes_on else None
        for split, group in loggers.items():
            for each in group:
                each.begin(split, position)
        for run_logger in run_loggers:
            run_logger.begin(position)

    def _explain(self, error: BaseException) -> None:
        context, log = self.context, self.settings.directory / "experiment.log"
        if (
            self.processor is not None and error is self.processor.error
        ):  # it names the iteration, which is an earlier one
            error.add_note(f"log: {log}")
            LOG.error("the training failed", exc_info=error)
            return
        # Steps are computed late: what fails now may be the step of an earlier item, which then cannot be read.
        waiting = [each for each in self.pending if isinstance(each, BatchEvent)]
        late = next((each for each in waiting if not _can_be_read(each.items)), None)
        split, iteration = (context.split, self.iteration) if late is None else (late.split, late.iteration)
        place = f"epoch {context.epoch} of {self.epochs}, iteration {iteration} of the "
        place += "training" if split is Split.Train else "validation"
        if context.epoch:
            error.add_note(f"in {place}; log: {log}")
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
            learner.keep_average(self.strategy)
            if learner.checkpointer is not None and learner.checkpointer.error is not None:
                raise learner.checkpointer.error
            if processor.error is not None:
                raise processor.error

    def _begin(self) -> None:
        settings, position = self.settings, self.position
        for notice in self.learner.notices:
            self.notice(notice)
        self.learner.notices.clear()
        if self.valid_feed is not None and self.valid_feed.is_empty():
            self.notice("the validation loader has no batch: nothing is validated")
        LOG.info("training of %s: epochs %d to %d on %s", type(self.strategy.model).__name__, position.first_epoch,
                 self.epochs, ", ".join(map(repr, self.learner.devices)))  # fmt: skip
        if settings.deterministic and settings.seed is not None and not position.state:
            seed_generators(settings.seed, self.learner.devices)
        self._restore(position.state)
        self._call("on_train_start")

    def _restore(self, state: dict[str, Any]) -> None:
        """What a checkpoint keeps beside the records."""
        loaders = state.get("loaders", {})
        self.train_feed.set_epoch(loaders.get("train"))
        if self.valid_feed is not None:
            self.valid_feed.set_epoch(loaders.get("valid"))
        early_stopping, saved = self.settings.early_stopping, state.get("early_stopping")
        if early_stopping is not None and saved is not None:
            early_stopping.load_state(unplain(saved))
        left = [each for each in state.get("callbacks", []) if isinstance(each, list)]  # others had no names once
        for callback in self.settings.callbacks:
            saved = next((each for each in left if each[0] == type(callback).__name__), None)
            if saved is not None:
                left.remove(saved)
                callback.load_state(unplain(saved[1]))
        if left:
            self.notice(f"the checkpoint has the state of callbacks that are not here: {', '.join(x for x, _ in left)}")

    # Epochs

    def _epochs(self) -> None:
        settings, context, learner = self.settings, self.context, self.learner
        assert self.processor is not None
        position = self.position
        context.epoch = position.last_whole
        if not position.iteration:
            self._restore_generators()
        for epoch in range(position.first_epoch, self.epochs + 1):
            if self.interrupter.should_stop():
                self._interrupted(epoch - 1, 0)
                return
            context.epoch = epoch
            self._call("on_epoch_start")
            if settings.profile_epoch == epoch:
                self.profile = EpochProfile(epoch)
            self.inside = position.state.get("inside") if position.trained else None
            if position.trained:
                self.trained, done = True, position.iteration
                self._restore_generators()
            else:
                done = self._train(epoch, position.iteration)
            position = Position(epoch)
            whole = self.trained and self._valid(epoch)
            if self.profile is not None:
                self.notice(self.profile.finish(settings.directory if settings.dev_batches is None else None))
                self.profile = None
            self.processor.wait()
            if not whole:
                self._interrupted(epoch, done)
                return
            self._call("on_epoch_end")
            reason = settings.early_stopping.should_stop(epoch, self.store) if settings.early_stopping else None
            self.stopped = reason is not None
            learner.position = Position.of(epoch, self._state(epoch, 0))
            if learner.checkpointing is not None:
                self._checkpoint(epoch, learner.checkpointing.checkpointing(epoch, self.store))
            LOG.info("epoch %d: %s", epoch, self._values(epoch))
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
        self.interrupter.served = True
        where = f"in epoch {epoch} after {done} iterations" if done else f"after epoch {epoch}"
        self.notice(f"the training ends {where}: {reason}")
        for each in self.on["on_interrupt"]:
            each(self.context, reason)
        if done:
            self.learner.position = Position.of(epoch, self._state(epoch, done))
            if self.learner.checkpointer is not None:
                self._checkpoint(epoch, [Save()])

    def _train(self, epoch: int, skip: int) -> int:
        """An epoch of training; gives the iterations of it that were done."""
        context, strategy, feed = self.context, self.strategy, self.train_feed
        scheduler, interrupter, profile = self.scheduler, self.interrupter, self.profile
        batch_end = self.on["on_batch_end"]
        context.split, context.iteration, self.iteration, self.trained = Split.Train, skip, 0, True
        inside = self.position.state.get("inside") if skip else None
        self.pending.append(StartEvent(Split.Train, epoch, skip > 0, inside, self.learner.devices[0]))
        turns = feed.turns()
        try:
            while (turn := self._next(turns)) is not None:
                if self.iteration <= skip:
                    if self.iteration == skip:
                        self._restore_generators()
                    continue
                lr = scheduler.step()
                rate = lr if lr.__class__ is float else _rate(lr)
                if not -inf < rate < inf:
                    raise ArgumentError(f"fit: {type(scheduler).__name__} gives a learning rate of {rate}")
                if profile is not None:
                    profile.lap("data")
                items = strategy.train(turn.batches, turn.counts, lr)
                if profile is not None:
                    strategy.sync()
                    profile.lap("training step")
                context.step += 1
                context.lr = rate
                self._event(Split.Train, items, turn, rate)
                if batch_end:
                    context.iteration, context.items = self.iteration, items
                    for each in batch_end:
                        each(context)
                if profile is not None:
                    profile.lap("events and callbacks")
                if interrupter.should_stop() and not strategy.pending:
                    self.trained = False
                    break
        finally:
            turns.close()
        if not self.iteration:
            raise ArgumentError("fit: the training loader gave no batch")
        if self.iteration < skip:
            raise ArgumentError(
                f"fit: the checkpoint was written after {skip} batches of epoch {epoch}, and the loader gives "
                f"{self.iteration}; go on with the data of the earlier run, or from another epoch with checkpoint(...)"
            )
        strategy.end_epoch()
        self._end(EndEvent(Split.Train, epoch, context.step, self.trained))
        return self.iteration

    def _next(self, turns: Iterator[Turn]) -> Turn | None:
        """The turn of the next iteration, which counts from here on; None if there is none."""
        self.iteration += 1
        turn = next(turns, None)
        if turn is None:
            self.iteration -= 1
        return turn

    def _restore_generators(self) -> None:
        restore_generators(self.position.state, self.learner.devices)

    def _valid(self, epoch: int) -> bool:
        """An epoch of validation; gives whether it was whole."""
        feed = self.valid_feed
        if feed is None:
            return True
        context, strategy, interrupter, profile = self.context, self.strategy, self.interrupter, self.profile
        batch_end = self.on["on_valid_batch_end"]
        context.split, self.iteration, whole = Split.Valid, 0, True
        self.generators = generator_states(self.learner.devices)  # a validation that is cut off is begun anew
        self._call("on_valid_start")
        self.pending.append(StartEvent(Split.Valid, epoch))
        model = strategy.valid_model()
        turns = feed.turns()
        try:
            while (turn := self._next(turns)) is not None:
                if profile is not None:
                    profile.lap("data")
                items = [strategy.valid(model, batch) for batch in turn.batches]
                if profile is not None:
                    strategy.sync()
                    profile.lap("validation step")
                self._event(Split.Valid, items, turn, None)
                if batch_end:
                    context.iteration, context.items = self.iteration, items
                    for each in batch_end:
                        each(context)
                if profile is not None:
                    profile.lap("events and callbacks")
                if interrupter.should_stop():
                    whole = False
                    break
        finally:
            turns.close()
        self._end(EndEvent(Split.Valid, epoch, context.step, whole))
        context.split = Split.Train
        return whole

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

    def _checkpoint(self, epoch: int, actions: list[Any]) -> None:
        """Write the learner's position, if a strategy wants that, and delete what it gives up."""
        checkpointer, strategy = self.learner.checkpointer, self.strategy
        assert checkpointer is not None
        if checkpointer.error is not None:
            raise checkpointer.error
        gone = {each.epoch for each in actions if isinstance(each, Delete)}
        if not any(isinstance(each, Save) for each in actions):
            if gone:
                checkpointer.delete(*sorted(gone))
            return
        if self.left_over and self.left_over != epoch:  # written in the middle of an epoch that no strategy keeps
            gone.add(self.left_over)
        self.left_over = epoch if self.learner.position.iteration else 0
        records = {
            "model": strategy.model.into_record(),
            "optim": strategy.optim.to_record(),
            "scheduler": scheduler_record(self.scheduler),
            **strategy.records(),
        }
        checkpointer.save(epoch, records, self.learner.position.state, tuple(sorted(gone)))

    def _drop_left_over(self) -> None:
        """At the end of a training: a checkpoint in mid-epoch that no strategy asked for goes, if there is another."""
        checkpointer = self.learner.checkpointer
        if not self.left_over or checkpointer is None or self.interrupter.served:
            return
        if set(checkpointer.folder.complete()) - {self.left_over}:
            checkpointer.delete(self.left_over)

    def _state(self, epoch: int, iteration: int) -> dict[str, Any]:
        """What a checkpoint keeps beside the records, as JSON has it; with an iteration, in the middle of the epoch."""
        settings, inside = self.settings, None
        feeds = {"train": self.train_feed.epoch, "valid": self.valid_feed.epoch if self.valid_feed else None}
        generators = generator_states(self.learner.devices)
        if iteration:
            assert self.processor is not None
            inside = self.inside or {"trained": self.trained, **self.processor.state(Split.Train, self.notice)}
            begun = "valid" if self.trained else "train"
            number = feeds[begun]
            feeds[begun] = None if number is None else number - 1  # what was cut off is gone through again
            if self.trained:
                generators = self.generators
        return {
            "written": time.time(),
            "iteration": iteration,
            "step": self.context.step,
            **generators,
            "loaders": feeds,
            "scheduler": kind_of(self.scheduler),
            "metrics": self.store.state(epoch, bool(iteration), self.trained),
            "inside": inside,
            "stopped": self.stopped,
            "early_stopping": plain(settings.early_stopping.state()) if settings.early_stopping else None,
            "strategy": self.strategy.state(),
            "callbacks": [
                [type(each).__name__, plain(state)]
                for each in settings.callbacks
                if (state := each.state()) is not None
            ],
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
    rates = [*map(float, lr.values())] if isinstance(lr, Mapping) else [float(lr)]
    return max(rates, key=lambda rate: (not isfinite(rate), rate))  # one that is no number is not passed over


def _can_be_read(items: Sequence[Any]) -> bool:
    try:
        for leaf in flatten(list(items))[0]:
            if isinstance(leaf, Tensor):
                leaf.numpy()
    except Exception:
        return False
    return True


def _bytes(items: list[Any]) -> int:
    leaves = [leaf for leaf in flatten(items)[0] if isinstance(leaf, Tensor)]
    return sum(leaf.shape.num_elements() * leaf.dtype.size for leaf in leaves)


__all__ = ["Training"]
