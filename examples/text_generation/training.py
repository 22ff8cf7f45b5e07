"""Training on windows of text, validated on the end of it."""

from __future__ import annotations

from pathlib import Path

from burn.config import Config
from burn.data.dataloader import DataLoaderBuilder
from burn.lr_scheduler import CosineAnnealingLrSchedulerConfig
from burn.nn.transformer import TransformerEncoderConfig
from burn.optim import AdamConfig
from burn.prelude import Device
from burn.record import CompactRecorder
from burn.train import LearnerBuilder
from burn.train.metric import AccuracyMetric, LearningRateMetric, LossMetric, PerplexityMetric
from examples.artifact_folder import begun
from examples.text_generation.data import TextGenerationBatcher, TextWindows, tokens_of
from examples.text_generation.model import TextGenerationModel, TextGenerationModelConfig
from examples.text_generation.tokenizer import BytePairTokenizer


class ExperimentConfig(Config):
    """Settings of a training."""

    transformer: TransformerEncoderConfig
    optimizer: AdamConfig
    max_seq_length: int = 64
    vocab_size: int = 512
    batch_size: int = 16
    num_epochs: int = 4
    lr: float = 3e-3
    seed: int = 42


def train(device: Device, texts: list[str], config: ExperimentConfig, artifact_dir: str | Path) -> TextGenerationModel:
    """Train a model, and write it with its tokens and settings to `artifact_dir`."""
    folder = begun(artifact_dir)
    tokenizer = BytePairTokenizer.train(texts, config.vocab_size)
    model_config = TextGenerationModelConfig(config.transformer, tokenizer.vocab_size, config.max_seq_length)
    tokenizer.save(folder / "tokens.json")
    model_config.save(folder / "model.json")
    config.save(folder / "config.json")

    device.seed(config.seed)
    tokens = tokens_of(texts, tokenizer)
    border = len(tokens) * 9 // 10
    windows = TextWindows(tokens[:border], config.max_seq_length)
    loader = DataLoaderBuilder(TextGenerationBatcher()).batch_size(config.batch_size)
    loader_valid = loader.build(TextWindows(tokens[border:], config.max_seq_length))
    loader_train = loader.shuffle(config.seed).build(windows)
    steps = max(1, config.num_epochs * -(-len(windows) // config.batch_size))
    learner = (
        LearnerBuilder(folder)
        .metric_train_numeric(LossMetric())
        .metric_valid_numeric(LossMetric())
        .metric_train_numeric(PerplexityMetric())
        .metric_valid_numeric(PerplexityMetric())
        .metric_valid_numeric(AccuracyMetric())
        .metric_train_numeric(LearningRateMetric())
        .with_file_checkpointer(CompactRecorder())
        .devices([device])
        .num_epochs(config.num_epochs)
        .grad_clipping(1.0)
        .summary()
        .build(
            model_config.init(device),
            config.optimizer.init(),
            CosineAnnealingLrSchedulerConfig(config.lr, steps).init(),
        )
    )
    model: TextGenerationModel = learner.fit(loader_train, loader_valid)
    model.save_file(folder / "model", CompactRecorder())
    return model
