"""The guide: train a network that reads digits, then let it read one.

python -m examples.guide
python -m examples.guide --epochs 2 --data path/to/mnist --device libtorch
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from burn.data.dataset.vision import MnistDataset
from burn.optim import AdamConfig
from examples.device_option import add_device_option, chosen_device
from examples.guide.inference import infer
from examples.guide.model import ModelConfig
from examples.guide.training import TrainingConfig, train


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, train, infer."""
    parser = argparse.ArgumentParser(prog="examples.guide", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10, help="how often the data is gone through (default: 10)")
    parser.add_argument("--batch-size", type=int, default=64, help="default: 64")
    parser.add_argument("--lr", type=float, default=1e-4, help="the learning rate (default: 0.0001)")
    parser.add_argument("--workers", type=int, default=4, help="threads that read data (default: 4)")
    parser.add_argument("--data", type=Path, help="a folder with the MNIST files; else they are fetched, or bundled")
    parser.add_argument(
        "--artifact-dir", type=Path, default=Path(tempfile.gettempdir()) / "guide", help="default: %(default)s"
    )
    parser.add_argument("--infer-only", action="store_true", help="use the model of the last training")
    add_device_option(parser)
    options = parser.parse_args(arguments)
    device = chosen_device(options)
    dataset_test = MnistDataset.test(options.data)

    if not options.infer_only:
        config = TrainingConfig(
            ModelConfig(10, 512),
            AdamConfig(),
            num_epochs=options.epochs,
            batch_size=options.batch_size,
            learning_rate=options.lr,
            num_workers=options.workers,
        )
        print(config.model.init(device))
        train(options.artifact_dir, config, device, MnistDataset.train(options.data), dataset_test)
    infer(options.artifact_dir, device, dataset_test[42])


if __name__ == "__main__":
    main()
