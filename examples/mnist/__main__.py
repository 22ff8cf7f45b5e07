"""Train a multilayer perceptron on MNIST.

python -m examples.mnist [--epochs 6] [--device cpu] [--data FOLDER] [--resume]
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from burn.data.dataset.vision import MnistDataset
from burn.optim import AdamWConfig
from examples.device_option import add_device_option, chosen_device
from examples.mnist.model import MlpConfig
from examples.mnist.training import MnistTrainingConfig, train


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(prog="examples.mnist", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--epochs", type=int, default=6, help="default: 6")
    parser.add_argument("--hidden-size", type=int, default=256, help="default: 256")
    parser.add_argument("--data", type=Path, help="a folder with the MNIST files; else they are fetched, or bundled")
    parser.add_argument("--resume", action="store_true", help="go on after the last checkpoint")
    parser.add_argument(
        "--artifact-dir", type=Path, default=Path(tempfile.gettempdir()) / "mnist", help="default: %(default)s"
    )
    add_device_option(parser)
    options = parser.parse_args(arguments)
    if not options.resume:
        shutil.rmtree(options.artifact_dir, ignore_errors=True)  # old logs would be counted in the summary
    config = MnistTrainingConfig(MlpConfig(hidden_size=options.hidden_size), AdamWConfig(), num_epochs=options.epochs)
    sets = MnistDataset.train(options.data), MnistDataset.test(options.data)
    train(options.artifact_dir, config, chosen_device(options), *sets, resume=options.resume)
    print(f"curves: burn-train plot {options.artifact_dir}")


if __name__ == "__main__":
    main()
