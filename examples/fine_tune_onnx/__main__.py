"""An ONNX file becomes Python, gets a new head, and learns other digits from a hundred images.

python -m examples.fine_tune_onnx [--device cpu] [--epochs 30] [--each 20] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import importlib.util
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import burn
from burn import Device, Tensor, nn, optim
from burn.nn.loss import CrossEntropyLoss
from burn.record import NamedMpkFileRecorder
from burn_import.onnx import ModelGen
from examples.device_option import add_device_option, chosen_device
from examples.fine_tune_onnx.data import Array, digits

HERE = Path(__file__).parent
NEW = range(5, 10)


def convert(folder: Path) -> Any:
    """What `burn-import --input digits.onnx --output digits` does; gives the class that it wrote."""
    ModelGen().input(HERE / "digits.onnx").out_dir(folder).run_from_cli()
    spec = importlib.util.spec_from_file_location("digits", folder / "digits.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Model


def with_new_head(model: Any, device: Device) -> Any:
    """The model with a fresh last layer, for as many classes as there are new digits."""
    model.head = nn.LinearConfig(48, len(NEW)).init(device)
    return model


def fine_tune(model: Any, images: Tensor, labels: Tensor, epochs: int) -> Any:
    """Train every layer; batch norms follow the new images."""
    model = model.train()
    optimizer = optim.AdamWConfig(weight_decay=0.01).init()
    loss = CrossEntropyLoss(device=images.device)
    for _ in range(epochs):
        for start in range(0, len(labels), 25):
            part = loss(model(images[start : start + 25]), labels[start : start + 25])
            model = optimizer.step(3e-3, model, part.backward())
    return model


def accuracy(model: Any, images: Array, labels: Array) -> float:
    device = model.devices()[0]
    scores = model(burn.tensor(images, device=device)).numpy()
    return float((scores.argmax(1) == labels).mean())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.fine_tune_onnx", description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=30, help="how often all images are shown (default: 30)")
    parser.add_argument("--each", type=int, default=20, help="images of each new digit (default: 20)")
    parser.add_argument("--out", type=Path, help="where the files go (default: a folder that is removed)")
    add_device_option(parser)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        run(options.out or Path(temporary), chosen_device(options).autodiff(), options.epochs, options.each)
    return 0


def run(folder: Path, device: Device, epochs: int, each: int) -> None:
    cls = convert(folder)
    print(f"digits.onnx became {', '.join(sorted(path.name for path in folder.glob('digits.*')))}")
    seen = digits("test", range(5))
    print(f"imported, digits 0 to 4: {accuracy(cls.from_file(folder / 'digits.mpk', device.inner()), *seen):.1%}")

    images, labels = digits("train", NEW, each)
    order = np.random.default_rng(0).permutation(len(labels))
    batch = burn.tensor(images[order], device=device), burn.tensor(labels[order], device=device)
    device.seed(0)
    tuned = fine_tune(with_new_head(cls.from_file(folder / "digits.mpk", device), device), *batch, epochs)
    fresh = fine_tune(with_new_head(cls(device), device), *batch, epochs)

    unseen = digits("test", NEW)
    print(f"fine-tuned with {len(labels)} images, digits 5 to 9: {accuracy(tuned.valid(), *unseen):.1%}")
    print(f"the same network from random weights: {accuracy(fresh.valid(), *unseen):.1%}")

    tuned.valid().save_file(folder / "tuned", NamedMpkFileRecorder())
    again = with_new_head(cls(device.inner()), device.inner()).load_file(folder / "tuned", NamedMpkFileRecorder())
    same = accuracy(again, *unseen) == accuracy(tuned.valid(), *unseen)
    print(f"saved as tuned.mpk and loaded again: {'the same' if same else 'different'} answers")


if __name__ == "__main__":
    raise SystemExit(main())
