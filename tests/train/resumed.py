"""A training in a process of its own, to be killed: `python -m tests.train.resumed FOLDER INITIAL EPOCHS DEVICE`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from burn import Cpu, NdArray
from burn.lr_scheduler import CosineAnnealingLrSchedulerConfig
from burn.optim import AdamConfig
from burn.record import DefaultRecorder
from burn.train import AccuracyMetric, Callback, LearnerBuilder, LossMetric, NoRenderer
from tests.train.small import loaders, network


class Slow(Callback):
    """Gives the killer time to strike inside of epochs."""

    def on_batch_end(self, context: Any) -> None:
        time.sleep(0.004)


def train(folder: Path, initial: Path, epochs: int, device: Any, slow: bool = False, **options: Any) -> Any:
    """The training: it goes on where an earlier one ended."""
    device.seed(11)
    model = network(device, options.pop("hidden", 8)).load_file(initial, DefaultRecorder())
    builder = LearnerBuilder(folder).metrics([LossMetric(), AccuracyMetric()]).renderer(NoRenderer())
    builder.with_file_checkpointer(DefaultRecorder()).num_epochs(epochs).resume()
    if slow:
        builder.callbacks([Slow()])
    for name, value in options.items():
        getattr(builder, name)(value)
    scheduler = CosineAnnealingLrSchedulerConfig(0.02, 7 * epochs)
    learner = builder.build(model, AdamConfig().init(), scheduler)
    model = learner.fit(*loaders(workers=2))
    recorder = DefaultRecorder()
    recorder.record(model.into_record(), folder / "final-model")
    recorder.record(learner.optim.to_record(), folder / "final-optim")
    recorder.record(learner.scheduler.to_record(), folder / "final-scheduler")
    return learner


if __name__ == "__main__":
    device = {"cpu": Cpu, "ndarray": NdArray}[sys.argv[4]]()
    print("ready", flush=True)
    train(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), device, slow=True)
