"""Loggers: where metrics and messages of a training are kept."""

from burn.train.logger.application import ApplicationLogger, FileApplicationLogger
from burn.train.logger.file import FileMetricLogger
from burn.train.logger.in_memory import InMemoryMetricLogger
from burn.train.logger.protocol import MetricLogger, RunLogger
from burn.train.logger.tables import CsvLogger, JsonLinesLogger
from burn.train.logger.tensorboard import TensorBoardLogger
from burn.train.logger.wandb import WandbLogger

__all__ = [
    "ApplicationLogger", "CsvLogger", "FileApplicationLogger", "FileMetricLogger", "InMemoryMetricLogger",
    "JsonLinesLogger", "MetricLogger", "RunLogger", "TensorBoardLogger", "WandbLogger",
]  # fmt: skip
