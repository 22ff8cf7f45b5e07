"""Another spelling of `burn.data.dataloader`, which some texts use."""

from __future__ import annotations

from burn.data.data_loader import batcher
from burn.data.dataloader import (
    BatchDataLoader,
    Batcher,
    BatchStrategy,
    DataLoader,
    DataLoaderBuilder,
    DataLoaderIterator,
    FixBatchStrategy,
    LoadingError,
    Progress,
    SizedBatchStrategy,
    split_dataloader,
)

__all__ = [
    "BatchDataLoader", "BatchStrategy", "Batcher", "DataLoader", "DataLoaderBuilder", "DataLoaderIterator",
    "FixBatchStrategy", "LoadingError", "Progress", "SizedBatchStrategy", "batcher", "split_dataloader",
]  # fmt: skip
