"""Train the guide's model on digits with a renderer of one's own.

python -m examples.custom_renderer [--epochs 3] [--stop-below 0.2] [--data FOLDER]
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from burn.data.dataset.transform import PartialDataset
from burn.data.dataset.vision import MnistDataset
from burn.optim import AdamConfig
from examples.custom_renderer.renderer import BarRenderer
from examples.device_option import add_device_option, chosen_device
from examples.guide.model import ModelConfig
from examples.guide.training import TrainingConfig, train


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(prog="examples.custom_renderer", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--epochs", type=int, default=3, help="default: 3")
    parser.add_argument("--items", type=int, default=5000, help="images to train on (default: 5000)")
    parser.add_argument("--stop-below", type=float, default=0.0, help="a validation loss that is small enough")
    parser.add_argument("--data", type=Path, help="a folder with the MNIST files; else they are fetched, or bundled")
    add_device_option(parser)
    options = parser.parse_args(arguments)
    whole, test = MnistDataset.train(options.data), MnistDataset.test(options.data)
    parts = (
        PartialDataset(whole, 0, min(options.items, len(whole))),
        PartialDataset(test, 0, min(options.items // 5, len(test))),
    )
    config = TrainingConfig(
        ModelConfig(10, 128), AdamConfig(), num_epochs=options.epochs, num_workers=1, learning_rate=1e-3
    )
    with tempfile.TemporaryDirectory() as folder:
        train(Path(folder) / "run", config, chosen_device(options), *parts, renderer=BarRenderer(options.stop_below))


if __name__ == "__main__":
    main()
