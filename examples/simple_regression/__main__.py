"""Learn what houses in California are worth.

python -m examples.simple_regression [--data housing.csv] [--epochs 60] [--device cpu]
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from burn.data.dataloader import DataLoaderBuilder
from burn.optim import AdamConfig
from burn.prelude import Device
from burn.record import CompactRecorder
from burn.train import LearnerBuilder
from burn.train.metric import LossMetric, R2ScoreMetric
from examples.device_option import add_device_option, chosen_device
from examples.simple_regression.dataset import BUNDLED, VALUE, HousingBatcher, load
from examples.simple_regression.model import RegressionModel, RegressionModelConfig


def train(folder: Path, data: Path, device: Device, epochs: int, lr: float, seed: int = 42) -> RegressionModel:
    """Train on a file, and print a few districts of the test set beside what they are worth."""
    shutil.rmtree(folder, ignore_errors=True)
    device.seed(seed)
    districts, others = load(data, seed)
    batcher = HousingBatcher.fitted(districts)
    loader_train = DataLoaderBuilder(batcher).batch_size(64).shuffle(seed).build(districts)
    loader_test = DataLoaderBuilder(batcher).batch_size(256).build(others)
    learner = (
        LearnerBuilder(folder)
        .metrics([LossMetric(), R2ScoreMetric()])
        .with_file_checkpointer(CompactRecorder())
        .devices([device])
        .num_epochs(epochs)
        .summary()
        .build(RegressionModelConfig().init(device), AdamConfig().init(), lr)
    )
    model: RegressionModel = learner.fit(loader_train, loader_test)

    few = [others[index] for index in range(min(5, len(others)))]
    found = np.asarray(model.valid().forward(batcher.batch(few, device).inputs))
    for district, value in zip(few, found[:, 0], strict=True):
        place = f"{district.latitude:6.2f} N {-district.longitude:7.2f} W"
        print(f"{place}  predicted ${value * VALUE:>9,.0f}  in the census ${district.median_house_value:>9,.0f}")
    return model


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(prog="examples.simple_regression", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=BUNDLED, help="a CSV file with the columns of the bundled one")
    parser.add_argument("--epochs", type=int, default=60, help="default: 60")
    parser.add_argument("--lr", type=float, default=5e-3, help="the learning rate (default: 0.005)")
    parser.add_argument(
        "--artifact-dir",
        type=Path,
        default=Path(tempfile.gettempdir()) / "simple-regression",
        help="default: %(default)s",
    )
    add_device_option(parser)
    options = parser.parse_args(arguments)
    train(options.artifact_dir, options.data, chosen_device(options), options.epochs, options.lr)


if __name__ == "__main__":
    main()
