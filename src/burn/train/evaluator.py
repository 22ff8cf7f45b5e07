"""The evaluator: metrics of a trained model on data that it was not trained with.

evaluator = EvaluatorBuilder("artifacts").metrics([AccuracyMetric()]).build(model)
evaluator.eval("night", loader)            # {"Accuracy": 97.1}, logged in artifacts/test/night
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Self

from burn.device import Device
from burn.errors import raise_faults
from burn.train.loading import make_feed
from burn.train.logger import FileMetricLogger, MetricLogger
from burn.train.logger.file import log_name
from burn.train.metric.protocol import Metric, Numeric
from burn.train.processor import BatchEvent, EndEvent, EventProcessor, LogEvent, Registered, StartEvent
from burn.train.renderer.protocol import MetricsRenderer, TrainingPlan
from burn.train.settings import unwritable
from burn.train.step import Loader, missing_steps
from burn.train.store import EventStore, Split
from burn.train.strategy.captured import captured
from burn.train.strategy.single import validate

EVENTS = 64


class EvaluatorBuilder:
    """Makes an evaluator: metrics of a trained model on data that it was not trained with.

    Logs go to `directory`/test. Without other wishes nothing is shown and the step is captured.

    >>> import burn
    >>> from burn import nn
    >>> from burn.train import EvaluatorBuilder, MeanAbsoluteErrorMetric, RegressionOutput
    >>> class Line(burn.Module):
    ...     layer: nn.Linear
    ...     def valid_step(self, batch):
    ...         output = self.layer(batch[0])
    ...         return RegressionOutput((output - batch[1]).abs().mean(), output, batch[1])
    >>> model = Line(nn.Linear(weight=burn.tensor([[2.0]]), bias=burn.tensor([0.5])))
    >>> x = burn.tensor([[0.0], [1.0], [2.0]])
    >>> evaluator = EvaluatorBuilder("artifacts").metrics([MeanAbsoluteErrorMetric()]).build(model)
    >>> evaluator.eval("night", [(x, 2 * x)])
    {'Mean Absolute Error': 0.5}
    """

    def __init__(self, directory: str | PathLike[str]) -> None:
        self._directory = Path(directory)
        self._metrics: list[tuple[Metric[Any], bool]] = []
        self._renderer: MetricsRenderer | None = None
        self._device: Device | None = None
        self._capture = True

    def metrics(self, metrics: Sequence[Metric[Any]]) -> Self:
        """Follow numeric metrics."""
        self._metrics += [(each, isinstance(each, Numeric)) for each in metrics]
        return self

    def metrics_text(self, metrics: Sequence[Metric[Any]]) -> Self:
        """Follow metrics as text."""
        self._metrics += [(each, False) for each in metrics]
        return self

    def metrics_device(self, device: Device) -> Self:
        """Where metrics are computed."""
        self._device = device
        return self

    def renderer(self, renderer: MetricsRenderer) -> Self:
        """How it is shown (a `renderer`); not at all without this."""
        self._renderer = renderer
        return self

    def compile(self, capture: bool = True) -> Self:
        """Whether the step is captured (`capture`); it is without this."""
        self._capture = capture
        return self

    def build(self, model: Any) -> Evaluator:
        """The evaluator of a model."""
        faults = missing_steps(model, train=False)
        names = [metric.name() for metric, _ in self._metrics]
        faults += [f"two metrics have the name {name!r}" for name in dict.fromkeys(names) if names.count(name) > 1]
        fault = unwritable(self._directory)
        raise_faults("evaluator", [*faults, fault] if fault else faults)
        return Evaluator(self._directory, model.valid(), self._metrics, self._renderer, self._device, self._capture)


class Evaluator:
    """Evaluates a model in inference mode. `EvaluatorBuilder` makes one, and shows how.

    >>> from burn.train import EvaluatorBuilder, LossMetric, RegressionOutput
    >>> class Constant(burn.Module):
    ...     weight: burn.Param
    ...     def valid_step(self, batch):
    ...         return RegressionOutput((self.weight - batch).abs().mean(), self.weight, batch)
    >>> evaluator = EvaluatorBuilder("artifacts").metrics([LossMetric()]).build(Constant(burn.Param.from_data([1.0])))
    >>> evaluator.eval_all({"day": [burn.tensor([1.5])], "night": [burn.tensor([3.0])]})
    {'day': {'Loss': 0.5}, 'night': {'Loss': 2.0}}
    """

    def __init__(
        self,
        directory: Path,
        model: Any,
        metrics: list[tuple[Metric[Any], bool]],
        renderer: MetricsRenderer | None,
        metrics_device: Device | None,
        capture: bool,
    ) -> None:
        self.directory, self.model, self.metrics = directory, model, metrics
        self.renderer, self.metrics_device = renderer, metrics_device
        self.notices: list[str] = []
        self._valid = captured(validate, "evaluation step", capture, self.notices.append)

    def eval(self, name: str, loader: Loader) -> dict[str, float]:
        """Evaluate on the batches of a loader; gives the numeric metrics, and logs them in `<dir>/test/<name>`."""
        from burn.train.renderer.guarded import Guarded
        from burn.train.renderer.silent import NoRenderer

        device = self.model.devices()[0]
        feed = make_feed(loader, [device])
        renderer = Guarded(self.renderer or NoRenderer())
        store = EventStore()
        folder = self.directory / Split.Test.value / log_name(name).removesuffix(".log")
        loggers: dict[Split, list[MetricLogger]] = {Split.Test: [FileMetricLogger(folder)]}
        names = tuple(metric.name() for metric, _ in self.metrics)
        renderer.on_train_start(TrainingPlan(1, 1, 0, feed.items(), (), names))
        processor = EventProcessor({Split.Test: Registered(self.metrics)}, store, loggers, [], renderer,
                                   self.metrics_device)  # fmt: skip
        try:
            pending: list[Any] = [StartEvent(Split.Test, 1)]
            for iteration, turn in enumerate(feed.turns(), 1):
                item = self._valid(self.model, turn.batches[0])
                if len(pending) >= EVENTS:
                    processor.submit(pending)
                    pending = []
                pending.append(BatchEvent(Split.Test, [item], turn.progress, 1, 1, iteration, iteration, None))
            device.sync()
            processor.submit([*pending, *map(LogEvent, self.notices), EndEvent(Split.Test, 1, 0)])
            self.notices.clear()
            processor.wait()
        finally:
            processor.close()
            renderer.on_train_end()
        found = {each: store.mean(each, 1, Split.Test) for each in store.names(Split.Test)}
        return {each: value for each, value in found.items() if value is not None}

    def eval_all(self, loaders: Mapping[str, Loader]) -> dict[str, dict[str, float]]:
        """`eval` with several loaders by name."""
        return {name: self.eval(name, loader) for name, loader in loaders.items()}
