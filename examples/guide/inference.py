"""The guide's inference: the model of an artifact folder reads one digit."""

from __future__ import annotations

from pathlib import Path

from burn.data.dataset.vision import MnistItem
from burn.prelude import Device
from burn.record import CompactRecorder
from examples.guide.data import MnistBatcher
from examples.guide.training import TrainingConfig


def infer(artifact_dir: str | Path, device: Device, item: MnistItem) -> int:
    """Load the model of a training, and print what it takes the item for."""
    folder = Path(artifact_dir)
    config = TrainingConfig.load(folder / "config.json")
    record = CompactRecorder().load(folder / "model", device)
    model = config.model.init(device).load_record(record)

    batch = MnistBatcher().batch([item], device)
    output = model.forward(batch.images)
    predicted = int(output.argmax(1).flatten(0, 1).item())

    print(f"Predicted {predicted} Expected {item.label}")
    return predicted
