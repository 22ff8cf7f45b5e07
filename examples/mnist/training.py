"""The training: metrics of all kinds, checkpoints by loss, an early stop, and a run that can be resumed."""

from __future__ import annotations

from pathlib import Path

from burn.data.dataloader import DataLoaderBuilder
from burn.data.dataset import Dataset
from burn.data.dataset.vision import MnistItem
from burn.lr_scheduler import CosineAnnealingLrSchedulerConfig
from burn.optim import AdamWConfig
from burn.prelude import Config, Device
from burn.record import DefaultRecorder
from burn.train import (
    Aggregate,
    Direction,
    LearnerBuilder,
    MetricEarlyStoppingStrategy,
    NoImprovementSince,
    Split,
)
from burn.train.metric import (
    AccuracyMetric,
    CpuUse,
    IterationSpeedMetric,
    LearningRateMetric,
    LossMetric,
    TopKAccuracyMetric,
)
from examples.guide.data import MnistBatcher
from examples.mnist.model import Mlp, MlpConfig


class MnistTrainingConfig(Config):
    """Settings of the training."""

    model: MlpConfig
    optimizer: AdamWConfig
    num_epochs: int = 6
    batch_size: int = 64
    num_workers: int = 2
    seed: int = 42
    learning_rate: float = 2e-3
    patience: int = 2


def train(
    artifact_dir: str | Path,
    config: MnistTrainingConfig,
    device: Device,
    dataset_train: Dataset[MnistItem],
    dataset_test: Dataset[MnistItem],
    resume: bool = False,
) -> Mlp:
    """Train, or go on with the training that is in `artifact_dir`."""
    folder = Path(artifact_dir)
    folder.mkdir(parents=True, exist_ok=True)
    config.save(folder / "config.json")
    device.seed(config.seed)

    def loader(dataset: Dataset[MnistItem]) -> DataLoaderBuilder:
        return DataLoaderBuilder(MnistBatcher()).batch_size(config.batch_size).num_workers(config.num_workers)

    loader_train = loader(dataset_train).shuffle(config.seed).build(dataset_train)
    loader_test = loader(dataset_test).build(dataset_test)
    steps = max(1, config.num_epochs * -(-len(dataset_train) // config.batch_size))
    stopping = MetricEarlyStoppingStrategy(
        LossMetric(), Aggregate.Mean, Direction.Lowest, Split.Valid, NoImprovementSince(config.patience)
    )
    builder = (
        LearnerBuilder(folder)
        .metrics([AccuracyMetric(), TopKAccuracyMetric(2), LossMetric()])
        .metric_train_numeric(LearningRateMetric())
        .metric_train_numeric(IterationSpeedMetric())
        .metric_train_numeric(CpuUse())
        .with_file_checkpointer(DefaultRecorder())
        .early_stopping(stopping)
        .devices([device])
        .num_epochs(config.num_epochs)
        .summary()
    )
    if resume:
        builder = builder.resume()
    scheduler = CosineAnnealingLrSchedulerConfig(config.learning_rate, steps).init()
    learner = builder.build(config.model.init(device), config.optimizer.init(), scheduler)
    model: Mlp = learner.fit(loader_train, loader_test)
    model.save_file(folder / "model", DefaultRecorder())
    return model
