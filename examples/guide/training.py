"""The guide's training: loaders, metrics, checkpoints, and the model in a file at the end."""

from __future__ import annotations

import shutil
from pathlib import Path

from burn.data.dataloader import DataLoaderBuilder
from burn.data.dataset import Dataset
from burn.data.dataset.vision import MnistDataset, MnistItem
from burn.optim import AdamConfig
from burn.prelude import Config, Device
from burn.record import CompactRecorder
from burn.train import LearnerBuilder
from burn.train.metric import AccuracyMetric, LossMetric
from burn.train.renderer import MetricsRenderer
from examples.guide.data import MnistBatcher
from examples.guide.model import Model, ModelConfig


class TrainingConfig(Config):
    """Settings of the training."""

    model: ModelConfig
    optimizer: AdamConfig
    num_epochs: int = 10
    batch_size: int = 64
    num_workers: int = 4
    seed: int = 42
    learning_rate: float = 1.0e-4


def create_artifact_dir(artifact_dir: Path) -> None:
    """An empty folder: logs of an earlier training would be counted in the summary."""
    shutil.rmtree(artifact_dir, ignore_errors=True)
    artifact_dir.mkdir(parents=True)


def train(
    artifact_dir: str | Path,
    config: TrainingConfig,
    device: Device,
    dataset_train: Dataset[MnistItem] | None = None,
    dataset_test: Dataset[MnistItem] | None = None,
    renderer: MetricsRenderer | None = None,
) -> Model:
    """Train on MNIST, or on other digits, and leave everything in `artifact_dir`."""
    folder = Path(artifact_dir)
    create_artifact_dir(folder)
    config.save(folder / "config.json")
    device.seed(config.seed)

    batcher = MnistBatcher()
    dataloader_train = (
        DataLoaderBuilder(batcher)
        .batch_size(config.batch_size)
        .shuffle(config.seed)
        .num_workers(config.num_workers)
        .build(dataset_train or MnistDataset.train())
    )
    dataloader_test = (
        DataLoaderBuilder(batcher)
        .batch_size(config.batch_size)
        .shuffle(config.seed)
        .num_workers(config.num_workers)
        .build(dataset_test or MnistDataset.test())
    )

    builder = (
        LearnerBuilder(folder)
        .metric_train_numeric(AccuracyMetric())
        .metric_valid_numeric(AccuracyMetric())
        .metric_train_numeric(LossMetric())
        .metric_valid_numeric(LossMetric())
        .with_file_checkpointer(CompactRecorder())
        .devices([device])
        .num_epochs(config.num_epochs)
        .summary()
    )
    if renderer is not None:
        builder = builder.renderer(renderer)
    learner = builder.build(config.model.init(device), config.optimizer.init(), config.learning_rate)

    model_trained: Model = learner.fit(dataloader_train, dataloader_test)
    model_trained.save_file(folder / "model", CompactRecorder())
    return model_trained
