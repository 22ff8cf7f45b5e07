"""Draw digits: `python -m examples.wgan`, then look at the pictures it names."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from burn.data.dataset.transform import PartialDataset
from burn.data.dataset.vision import MnistDataset
from burn.optim import RmsPropConfig
from examples.artifact_folder import add_artifact_option
from examples.device_option import add_device_option, chosen_device
from examples.wgan.model import ModelConfig
from examples.wgan.training import TrainingConfig, train


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, train, and say where the pictures are."""
    parser = argparse.ArgumentParser(prog="examples.wgan", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="a folder of the MNIST files; else the 3000 bundled digits are used")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-4, help="the learning rate of both networks")
    parser.add_argument("--max-items", type=int, help="use so many digits only")
    add_artifact_option(parser, "wgan")
    add_device_option(parser)
    options = parser.parse_args(arguments)
    digits = MnistDataset.train(options.data) if options.data else MnistDataset.bundled("train")
    dataset = PartialDataset(digits, 0, min(options.max_items or len(digits), len(digits)))
    config = TrainingConfig(
        ModelConfig(),
        RmsPropConfig(momentum=0.0, epsilon=1e-8),
        num_epochs=options.epochs,
        batch_size=options.batch_size,
        lr=options.lr,
    )
    train(chosen_device(options), dataset, config, options.artifact_dir)
    print(f"drawings after each epoch are in {Path(options.artifact_dir).resolve()}")


if __name__ == "__main__":
    main()
