"""A training without a model, told to a renderer: `python scripted.py dashboard 3 0.02` shows it on a terminal."""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator

from burn.train.interrupter import Interrupter
from burn.train.metric.protocol import MetricEntry
from burn.train.progress import Progress, TrainingProgress
from burn.train.renderer.protocol import MetricsRenderer, MetricState, TrainingPlan

BATCH = 64


def state(name: str, value: float, running: float, unit: str = "") -> MetricState:
    entry = MetricEntry(name, f"epoch {running:.3f}{unit} - batch {value:.3f}{unit}", f"{value},{BATCH}")
    return MetricState(entry, value, running)


def plan(epochs: int = 3, batches: int = 40) -> TrainingPlan:
    names = ("Loss", "Accuracy", "Learning Rate")
    return TrainingPlan(epochs, 1, batches * BATCH, batches // 4 * BATCH, (*names, "Note"), ("Loss", "Accuracy"))


def batches_of(whole: TrainingPlan) -> Iterator[tuple[str, list[MetricState], TrainingProgress]]:
    """Split, metrics and place of every batch; the same each time."""
    iteration = 0
    for epoch in range(1, whole.epoch_total + 1):
        for split, items in (("train", whole.train_items), ("valid", whole.valid_items)):
            total = 0.0
            for batch in range(1, items // BATCH + 1):
                iteration += split == "train"
                loss = 2 * math.exp(-iteration / 40) + 0.2 + 0.05 * math.sin(batch * 1.7) + 0.1 * (split == "valid")
                total += loss
                states = [state("Loss", loss, total / batch)]
                states.append(state("Accuracy", 100 - 40 * loss, 100 - 40 * total / batch, " %"))
                if split == "train":
                    states.append(state("Learning Rate", 0.5 * 0.99**iteration, 0.5 * 0.99**iteration))
                    states.append(MetricState(MetricEntry("Note", f"all is well {epoch}", "")))
                place = TrainingProgress(Progress(batch * BATCH, items), epoch, whole.epoch_total, iteration)
                yield split, states, place


def train(renderer: MetricsRenderer, whole: TrainingPlan, between: Callable[[str, TrainingProgress], None]) -> str:
    """Tell a renderer a training; why it was stopped, if it was."""
    interrupter = renderer.interrupter = Interrupter()
    renderer.on_train_start(whole)
    try:
        for split, states, place in batches_of(whole):
            for each in states:
                (renderer.update_train if split == "train" else renderer.update_valid)(each)
            (renderer.render_train if split == "train" else renderer.render_valid)(place)
            between(split, place)
            if interrupter.should_stop():
                renderer.on_log("checkpoint written")
                break
    finally:
        renderer.on_train_end("==== the summary ====")
    return interrupter.reason


def main() -> None:
    from burn.train.renderer.default import renderer_named

    renderer = renderer_named(sys.argv[1])
    if "persist" in sys.argv:
        renderer.persist = True  # type: ignore[attr-defined]

    def between(split: str, place: TrainingProgress) -> None:
        time.sleep(float(sys.argv[3]))
        if split == "train" and place.iteration == 10:
            print("a stray print")
            warnings.warn("a stray warning", stacklevel=1)
        if "fail" in sys.argv and place.iteration == 200:
            raise RuntimeError("the batch was bad")

    reason = train(renderer, plan(int(sys.argv[2])), between)
    print(f"after the training, reason: {reason}")


if __name__ == "__main__":
    main()
