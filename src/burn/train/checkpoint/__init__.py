"""Checkpoints: what is kept of a training while it runs, so that it can go on after anything."""

from burn.train.checkpoint.checkpointer import Checkpointer
from burn.train.checkpoint.folder import CheckpointError, CheckpointFolder
from burn.train.checkpoint.strategy import (
    CheckpointingStrategy,
    ComposedCheckpointingStrategy,
    Delete,
    KeepLastNCheckpoints,
    MetricCheckpointingStrategy,
    Save,
    default_strategy,
)

__all__ = [
    "CheckpointError", "CheckpointFolder", "Checkpointer", "CheckpointingStrategy", "ComposedCheckpointingStrategy",
    "Delete", "KeepLastNCheckpoints", "MetricCheckpointingStrategy", "Save", "default_strategy",
]  # fmt: skip
