"""Training: everything that inference needs later goes into one folder."""

from __future__ import annotations

import json
from pathlib import Path

from burn.config import Config
from burn.data.dataloader import DataLoaderBuilder
from burn.data.dataset.transform import SamplerDataset
from burn.lr_scheduler import CosineAnnealingLrSchedulerConfig
from burn.nn.transformer import TransformerEncoderConfig
from burn.optim import AdamWConfig
from burn.prelude import Device
from burn.record import CompactRecorder
from burn.train import LearnerBuilder
from burn.train.metric import AccuracyMetric, FBetaScoreMetric, LearningRateMetric, LossMetric
from examples.artifact_folder import begun
from examples.text_classification.batcher import TextClassificationBatcher
from examples.text_classification.dataset import TextClassificationDataset
from examples.text_classification.model import TextClassificationModel, TextClassificationModelConfig
from examples.text_classification.tokenizer import WordTokenizer


class ExperimentConfig(Config):
    """Settings of a training."""

    transformer: TransformerEncoderConfig
    optimizer: AdamWConfig
    max_seq_length: int = 64
    vocab_size: int = 4000
    batch_size: int = 32
    num_epochs: int = 6
    lr: float = 2e-3
    seed: int = 42
    max_items: int = 50_000
    """How many texts an epoch has at most; drawn anew each time where there are more."""


def train(
    device: Device,
    dataset_train: TextClassificationDataset,
    dataset_test: TextClassificationDataset,
    config: ExperimentConfig,
    artifact_dir: str | Path,
) -> TextClassificationModel:
    """Train a model, and write it with its vocabulary, its classes and its settings to `artifact_dir`."""
    folder = begun(artifact_dir)
    known = min(len(dataset_train), config.max_items)
    tokenizer = WordTokenizer.train((dataset_train[index].text for index in range(known)), config.vocab_size)
    model_config = TextClassificationModelConfig(
        config.transformer, len(dataset_train.classes), tokenizer.vocab_size, config.max_seq_length
    )
    model_config.save(folder / "model.json")
    config.save(folder / "config.json")
    tokenizer.save(folder / "vocabulary.json")
    (folder / "classes.json").write_text(json.dumps(dataset_train.classes), encoding="utf-8")

    device.seed(config.seed)
    batcher = TextClassificationBatcher(tokenizer, config.max_seq_length)
    train_items = dataset_train if known == len(dataset_train) else SamplerDataset(dataset_train, known)
    test_items = SamplerDataset(dataset_test, min(len(dataset_test), config.max_items // 5), replacement=False)
    loaders = DataLoaderBuilder(batcher).batch_size(config.batch_size).num_workers(1)
    loader_train = loaders.shuffle(config.seed).build(train_items)
    loader_test = DataLoaderBuilder(batcher).batch_size(config.batch_size).num_workers(1).build(test_items)

    steps = max(1, config.num_epochs * -(-known // config.batch_size))
    learner = (
        LearnerBuilder(folder)
        .metric_train_numeric(AccuracyMetric())
        .metric_valid_numeric(AccuracyMetric())
        .metric_train_numeric(LossMetric())
        .metric_valid_numeric(LossMetric())
        .metric_valid_numeric(FBetaScoreMetric.multiclass())
        .metric_train_numeric(LearningRateMetric())
        .with_file_checkpointer(CompactRecorder())
        .devices([device])
        .num_epochs(config.num_epochs)
        .summary()
        .build(
            model_config.init(device),
            config.optimizer.init(),
            CosineAnnealingLrSchedulerConfig(config.lr, steps).init(),
        )
    )
    model: TextClassificationModel = learner.fit(loader_train, loader_test)
    model.save_file(folder / "model", CompactRecorder())
    return model
