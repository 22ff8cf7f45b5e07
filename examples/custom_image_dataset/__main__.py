"""Train on a folder of images: `python -m examples.custom_image_dataset [FOLDER]`."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from burn.optim import AdamConfig
from examples.artifact_folder import add_artifact_option
from examples.custom_image_dataset.dataset import make_digits
from examples.custom_image_dataset.training import TrainingConfig, train
from examples.device_option import add_device_option, chosen_device


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, make images where none are given, train."""
    parser = argparse.ArgumentParser(prog="examples.custom_image_dataset", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", help="train/<class>/*.png and test/<class>/*.png, 32 x 32 in colour")
    parser.add_argument("--images", type=int, default=3000, help="how many images to make where no folder is given")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=2e-3, help="the learning rate")
    add_artifact_option(parser, "custom-image-dataset")
    add_device_option(parser)
    options = parser.parse_args(arguments)
    config = TrainingConfig(AdamConfig(), num_epochs=options.epochs, batch_size=options.batch_size, lr=options.lr)
    with tempfile.TemporaryDirectory() as made:
        root = Path(options.folder or made)
        if not options.folder:
            make_digits(root, options.images, max(1, options.images // 5))
        train(chosen_device(options), root, config, options.artifact_dir)


if __name__ == "__main__":
    main()
