"""Loaders: batches of a dataset in a seeded order, read and built by workers.

loader = DataLoaderBuilder(batcher).batch_size(64).shuffle(42).num_workers(2).build(dataset)
for batch in loader:
    ...
"""

from __future__ import annotations

from burn.data.dataloader import batcher
from burn.data.dataloader.batcher import Batcher
from burn.data.dataloader.builder import DataLoaderBuilder
from burn.data.dataloader.dataloader import BatchDataLoader, DataLoader
from burn.data.dataloader.epoch import DataLoaderIterator
from burn.data.dataloader.errors import LoadingError
from burn.data.dataloader.progress import Progress
from burn.data.dataloader.split import split_dataloader
from burn.data.dataloader.strategy import BatchStrategy, FixBatchStrategy, SizedBatchStrategy
from burn.data.dataset.items import column

__all__ = [
    "BatchDataLoader", "BatchStrategy", "Batcher", "DataLoader", "DataLoaderBuilder", "DataLoaderIterator",
    "FixBatchStrategy", "LoadingError", "Progress", "SizedBatchStrategy", "batcher", "column", "split_dataloader",
]  # fmt: skip
