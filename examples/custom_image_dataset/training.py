"""Training on a folder of images."""

from __future__ import annotations

from pathlib import Path

from burn.config import Config
from burn.data.dataloader import DataLoaderBuilder
from burn.optim import AdamConfig
from burn.prelude import Device
from burn.record import CompactRecorder
from burn.train import LearnerBuilder
from burn.train.metric import AccuracyMetric, ConfusionMatrixMetric, LossMetric
from examples.artifact_folder import begun
from examples.custom_image_dataset.dataset import ClassificationBatcher, load
from examples.custom_image_dataset.model import Cnn, new_model


class TrainingConfig(Config):
    """Settings of a training."""

    optimizer: AdamConfig
    num_epochs: int = 5
    batch_size: int = 64
    num_workers: int = 2
    seed: int = 42
    lr: float = 2e-3


def train(device: Device, root: Path, config: TrainingConfig, artifact_dir: str | Path) -> Cnn:
    """Train on `root/train`, validate on `root/test`, and say which classes are taken for which."""
    folder = begun(artifact_dir)
    config.save(folder / "config.json")
    device.seed(config.seed)
    dataset_train, dataset_test = load(root, "train"), load(root, "test")
    train_count, test_count, classes = len(dataset_train), len(dataset_test), len(dataset_train.classes)
    print(f"{train_count} images to train with and {test_count} to test, of {classes} classes")

    def loader() -> DataLoaderBuilder:
        return DataLoaderBuilder(ClassificationBatcher()).batch_size(config.batch_size).num_workers(config.num_workers)

    confusion = ConfusionMatrixMetric(dataset_train.classes)
    learner = (
        LearnerBuilder(folder)
        .metric_train_numeric(AccuracyMetric())
        .metric_valid_numeric(AccuracyMetric())
        .metric_train_numeric(LossMetric())
        .metric_valid_numeric(LossMetric())
        .metric_valid(confusion)
        .with_file_checkpointer(CompactRecorder())
        .devices([device])
        .num_epochs(config.num_epochs)
        .summary()
        .build(new_model(classes, device), config.optimizer.init(), config.lr)
    )
    model: Cnn = learner.fit(loader().shuffle(config.seed).build(dataset_train), loader().build(dataset_test))
    model.save_file(folder / "model", CompactRecorder())
    print(f"right classes (rows) and what they were taken for (columns):\n{confusion.table()}")
    return model
