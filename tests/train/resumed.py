"""A training that goes on where an earlier one ended, with everything that a training can keep.

    python -m tests.train.resumed FOLDER INITIAL '{"epochs": 6, "device": "cpu", "end": ["kill", "train", 3]}'

In a process of its own it can be told to end itself at an exact moment: see `tests.train.killing`.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from burn import Cpu, NdArray
from burn.optim import AdamConfig
from burn.record import DefaultRecorder
from burn.train import (
    AccuracyMetric,
    AurocMetric,
    Callback,
    ConfusionMatrixMetric,
    CsvLogger,
    FBetaScoreMetric,
    InMemoryMetricLogger,
    JsonLinesLogger,
    LearnerBuilder,
    LearnerSummary,
    LearningRateMetric,
    LossMetric,
    NoRenderer,
    RunLogger,
    TensorBoardLogger,
)
from burn.train.metric import LossInput, MetricEntry, NumericMetric
from tests.train.small import loaders, network

FINAL = ("final-model.mpk", "final-optim.mpk", "final-scheduler.mpk")


class OwnScheduler:
    """A scheduler as people write one: it has `step` and nothing else."""

    def __init__(self, rate: float) -> None:
        self.rate, self.best, self.history = rate, None, [rate]

    def step(self) -> float:
        self.best = min(self.history)
        self.history.append(self.history[-1] * 0.97 + 1e-4)
        return self.history[-1]


class Seen:
    """What the metric below has seen, in an object of its own."""

    def __init__(self) -> None:
        self.signs: Counter[int] = Counter()
        self.squares = np.zeros(2)


class OwnMetric(NumericMetric[LossInput]):
    """A metric as people write one: it says nothing about how it is kept."""

    input_type = LossInput

    def __init__(self) -> None:
        self.clear()

    def name(self) -> str:
        return "Own"

    def update(self, item: LossInput, metadata: Any) -> MetricEntry:
        self.last = float(np.asarray(item.tensor).reshape(-1)[0])
        self.seen.signs[int(self.last > 0.5)] += 1
        self.seen.squares += [self.last**2, 1.0]
        return MetricEntry("Own", f"{self.last}", f"{self.last!r}")

    def clear(self) -> None:
        self.seen, self.last = Seen(), 0.0

    def value(self) -> float:
        return self.last

    def running_value(self) -> float:
        return float(self.seen.squares[0] / self.seen.squares[1]) + self.seen.signs[1]


class Draws(Callback):
    """Draws from the generators that everybody shares, and remembers the sum."""

    def __init__(self, pause: float = 0.0) -> None:
        self.total, self.pause = 0.0, pause

    def on_batch_end(self, context: Any) -> None:
        self.total += random.random() + float(np.random.rand())  # noqa: NPY002
        time.sleep(self.pause)

    def state(self) -> Any:
        return {"total": np.float64(self.total)}

    def load_state(self, state: Any) -> None:
        self.total = float(state["total"])


class OwnLogger(RunLogger):
    """A logger as people write one."""

    def __init__(self) -> None:
        self.epochs: list[tuple[str, int]] = []

    def log_batch(self, split: Any, epoch: int, step: int, values: Any) -> None:
        assert step > 0

    def log_epoch(self, split: Any, epoch: int, step: int, values: Any) -> None:
        self.epochs.append((split.value, epoch))


def metrics() -> list[Any]:
    return [
        LossMetric(), AccuracyMetric(), LearningRateMetric(), OwnMetric(), AurocMetric.multiclass(),
        FBetaScoreMetric.multiclass(1.0),
    ]  # fmt: skip


def train(folder: Path, initial: Path, epochs: int = 6, device: Any = None, **options: Any) -> Any:
    """Train, and go on where an earlier training ended; what it gives lies in files beside its artefacts."""
    device = device or NdArray()
    device.seed(11)
    random.seed(3)
    np.random.seed(4)  # noqa: NPY002
    model = network(device, options.pop("hidden", 8)).load_file(initial, DefaultRecorder())
    draws = Draws(options.pop("pause", 0.0))
    builder = LearnerBuilder(folder).metrics(metrics()).metric_train(ConfusionMatrixMetric())
    builder = builder.renderer(options.pop("renderer", NoRenderer())).summary()
    builder = builder.loggers([CsvLogger(folder / "run.csv"), JsonLinesLogger(folder / "run.jsonl"), OwnLogger()])
    builder = builder.loggers([TensorBoardLogger(folder / "board", every=2)])
    builder = builder.with_file_checkpointer(DefaultRecorder()).num_epochs(epochs).resume()
    builder = builder.callbacks([draws, *options.pop("callbacks", [])])
    for name, value in options.items():
        builder = getattr(builder, name)(value)
    learner = builder.build(model, AdamConfig().init(), OwnScheduler(0.02))
    model = learner.fit(*loaders(workers=2))
    if learner.interrupter().should_stop():
        return learner
    recorder = DefaultRecorder()
    recorder.record(model.into_record(), folder / "final-model")
    recorder.record(learner.optim.to_record(), folder / "final-optim")
    (folder / "final.json").write_text(
        json.dumps(
            {
                "store": learner.store.state(epochs),
                "draws": draws.total,
                "rates": learner.scheduler.history,
                "summary": LearnerSummary(folder).to_dict()["metrics"],
                "table": str(LearnerSummary(folder)),
            }
        )
    )
    return learner


__all__ = ["FINAL", "InMemoryMetricLogger", "train"]

if __name__ == "__main__":
    from tests.train.killing import end_oneself

    given = json.loads(sys.argv[3])
    given["device"] = {"cpu": Cpu, "ndarray": NdArray}[given.get("device", "ndarray")]()
    end = given.pop("end", None)
    if given.pop("dashboard", False):
        from burn.train.renderer import default_renderer

        given["renderer"] = default_renderer()
    if end is not None:
        given["callbacks"] = end_oneself(*end)
    print("ready", flush=True)
    train(Path(sys.argv[1]), Path(sys.argv[2]), **given)
