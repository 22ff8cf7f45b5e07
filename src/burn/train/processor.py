"""The event processor: a thread that turns the items of a training into metrics, logs and pictures.

The training thread hands over lists of events and goes on. An item is handed over only when its values are there, so
that nothing of the training is ever computed here. The queue is bounded: where metrics are slower than the training,
the training waits, and memory does not grow.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from burn.device import Device
from burn.errors import ArgumentError, BurnError
from burn.record.attributes import plain, unplain
from burn.tensor import Tensor
from burn.train.logger import MetricLogger, RunLogger
from burn.train.metric.adaptor import adapt, check_adaptors
from burn.train.metric.protocol import Metric, MetricEntry, MetricMetadata, Numeric
from burn.train.metric.state import NumericEntry
from burn.train.progress import Progress, TrainingProgress
from burn.train.renderer.protocol import MetricsRenderer, MetricState
from burn.train.store import EventStore, Split
from burn.tree import flatten, unflatten

MOST_LISTS = 8
FLUSH_SECONDS = 1.0


class MetricError(BurnError, RuntimeError):
    """A metric, a logger or a renderer that failed. `__cause__` is the error itself.

    >>> from burn.train import MetricError
    >>> issubclass(MetricError, RuntimeError)
    True
    """


@dataclass(frozen=True, slots=True)
class BatchEvent:
    """The items of one iteration."""

    split: Split
    items: Sequence[Any]
    progress: Progress
    epoch: int
    epoch_total: int
    iteration: int
    step: int
    lr: float | None


@dataclass(frozen=True, slots=True)
class StartEvent:
    """An epoch of a split begins; with `append` it goes on where it was cut off."""

    split: Split
    epoch: int
    append: bool = False
    state: dict[str, Any] | None = None
    device: Device | None = None


@dataclass(frozen=True, slots=True)
class EndEvent:
    """An epoch of a split is over, or was cut off."""

    split: Split
    epoch: int
    step: int
    whole: bool = True


@dataclass(frozen=True, slots=True)
class LogEvent:
    """A line for people."""

    message: str


@dataclass(slots=True)
class Registered:
    """The metrics of a split with what is known of each."""

    metrics: list[tuple[Metric[Any], bool]]
    checked: bool = False

    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(metric.name() for metric, _ in self.metrics)


class EventProcessor:
    """Takes events in order. Errors come back to the training thread with its next call."""

    def __init__(
        self,
        metrics: dict[Split, Registered],
        store: EventStore,
        loggers: Mapping[Split, Sequence[MetricLogger]],
        run_loggers: Sequence[RunLogger],
        renderer: MetricsRenderer,
        device: Device | None,
    ) -> None:
        self.metrics, self.store, self.loggers, self.run_loggers = metrics, store, loggers, run_loggers
        self.renderer, self.device = renderer, device
        self.error: BaseException | None = None
        self.entries: dict[Split, dict[str, int]] = {split: {} for split in metrics}
        """How many entries each metric has logged in the epoch that runs."""
        self._queue: queue.Queue[Any] = queue.Queue(MOST_LISTS)
        self._flushed = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="burn-events", daemon=True)
        self._thread.start()

    # The training thread

    def submit(self, events: list[Any]) -> None:
        """Hand events over."""
        self._raise()
        self._queue.put(events)

    def tell(self, event: LogEvent) -> None:
        """Hand a line over, from any thread."""
        self._queue.put([event])

    def wait(self) -> None:
        """Wait until everything handed over was taken in."""
        done = threading.Event()
        self._queue.put(done)
        done.wait()
        self._raise()

    def close(self) -> None:
        """Take in what is left and end. No error is raised: the caller may be on its way out with one."""
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()
        ends = [each.close for each in self.run_loggers]
        ends += [each.flush for group in self.loggers.values() for each in group]
        for end in ends:
            try:
                end()
            except Exception as error:
                self.error = self.error or _failed(end.__qualname__, error)

    def _raise(self) -> None:
        if self.error is not None:
            raise self.error

    # The event thread

    def _run(self) -> None:
        while (events := self._queue.get()) is not None:
            if isinstance(events, threading.Event):
                events.set()
                continue
            if self.error is not None:
                continue
            try:
                for event in events:
                    self._take(event)
                if time.monotonic() - self._flushed > FLUSH_SECONDS:
                    self._flush()
            except BaseException as error:
                self.error = error

    def _flush(self) -> None:
        for group in self.loggers.values():
            for logger in group:
                logger.flush()
        for run_logger in self.run_loggers:
            run_logger.flush()
        self._flushed = time.monotonic()

    def _take(self, event: Any) -> None:
        kind = event.__class__
        if kind is BatchEvent:
            self._batch(event)
        elif kind is StartEvent:
            self._start(event)
        elif kind is EndEvent:
            self._end(event)
        else:
            self.renderer.on_log(event.message)

    def state(self, split: Split, notice: Callable[[str], None]) -> dict[str, Any]:
        """What the metrics of a split know of the epoch that runs. Ask when nothing waits to be taken in."""
        saved = {}
        for metric, _ in self.metrics[split].metrics:
            try:
                saved[metric.name()] = plain(metric.epoch_state())
            except ArgumentError as error:
                notice(
                    f"metric {metric.name()!r} is not kept: it counts only what comes when the epoch goes on: {error}; "
                    "write epoch_state(self) and load_epoch_state(self, state, device)"
                )
        return {"entries": dict(self.entries[split]), "metrics": saved}

    def _start(self, event: StartEvent) -> None:
        split, state = event.split, event.state
        for metric, _ in self.metrics[split].metrics:
            metric.clear()
            saved = None if state is None else state["metrics"].get(metric.name())
            if saved is not None:
                device = self.device or event.device
                metric.load_epoch_state(unplain(saved, device), device)
        self.entries[split] = {} if state is None else dict(state["entries"])
        if not event.append:
            self.store.begin(split, event.epoch)
        for logger in self.loggers[event.split]:
            logger.start_epoch(event.epoch, event.append)

    def _batch(self, event: BatchEvent) -> None:
        split, epoch = event.split, event.epoch
        registered, renderer, loggers = self.metrics[split], self.renderer, self.loggers[split]
        update = renderer.update_train if split is Split.Train else renderer.update_valid
        entries = self.entries[split]
        metadata = MetricMetadata(event.progress, epoch, event.epoch_total, event.iteration, event.lr)
        values: dict[str, float] = {}
        for item in event.items:
            if self.device is not None:
                item = moved(item, self.device)
            if not registered.checked:
                check_adaptors(item, [metric for metric, _ in registered.metrics])
                registered.checked = True
            for metric, numeric in registered.metrics:
                try:
                    entry = metric.update(adapt(item, metric), metadata)
                    value = float(metric.value()) if numeric and isinstance(metric, Numeric) else None
                    running = float(metric.running_value()) if value is not None else None  # type: ignore[attr-defined]
                    count = _count(entry) if value is not None else 0.0
                except Exception as error:
                    raise _failed(f"metric {metric.name()!r} in epoch {epoch}, iteration {event.iteration}", error) \
                        from error  # fmt: skip
                for logger in loggers:
                    logger.log(entry)
                entries[entry.name] = entries.get(entry.name, 0) + 1
                if value is not None:
                    values[entry.name] = value
                    self.store.add(split, epoch, entry.name, value, count)
                update(MetricState(entry, value, running))
        if values:
            for run_logger in self.run_loggers:
                run_logger.log_batch(split, epoch, event.step, values)
        progress = TrainingProgress(event.progress, epoch, event.epoch_total, event.iteration)
        (renderer.render_train if split is Split.Train else renderer.render_valid)(progress)

    def _end(self, event: EndEvent) -> None:
        values: dict[str, float] = {}
        for metric, numeric in self.metrics[event.split].metrics:
            if numeric and isinstance(metric, Numeric):
                name = metric.name()
                if self.store.epochs(name, event.split)[-1:] == [event.epoch]:
                    self._finish(metric, name, event)
                    found = self.store.mean(name, event.epoch, event.split)
                    if found is not None:
                        values[name] = found
        for logger in self.loggers[event.split]:
            logger.end_epoch(event.epoch)
        if values and event.whole:
            for run_logger in self.run_loggers:
                run_logger.log_epoch(event.split, event.epoch, event.step, values)
        self._flush()

    def _finish(self, metric: Any, name: str, event: EndEvent) -> None:
        """The value of the epoch as the metric knows it; logged where it is not the mean of the batches."""
        if type(metric).running_value is Numeric.running_value:
            return
        mean, final = self.store.mean(name, event.epoch, event.split), float(metric.running_value())
        self.store.finish(event.split, event.epoch, name, final)
        if mean is None or not math.isclose(mean, final, rel_tol=1e-9, abs_tol=1e-12):
            for logger in self.loggers[event.split]:
                logger.log(MetricEntry(name, "", f"{final!r},final"))
            if event.whole:  # where it is not, a run that goes on has to take the line away
                entries = self.entries[event.split]
                entries[name] = entries.get(name, 0) + 1


def moved(item: Any, device: Device) -> Any:
    """An item with its tensors on another device."""
    leaves, structure = flatten(item)
    return unflatten(structure, [leaf.to_device(device) if isinstance(leaf, Tensor) else leaf for leaf in leaves])


def _count(entry: MetricEntry) -> float:
    """How many things the value of an entry stands for; a batch of none counts for nothing."""
    text = entry.serialize
    count = NumericEntry.deserialize(text).count if "," in text else None
    return 1.0 if count is None else float(count)


def _failed(what: str, error: BaseException) -> MetricError:
    made = MetricError(f"{what} failed: {type(error).__name__}: {error}")
    made.__cause__ = error
    return made
