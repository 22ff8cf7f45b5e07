"""Datasets: items by number, where they are stored, where they come from, and lazy views on them.

from burn.data.dataset import InMemDataset
from burn.data.dataset.transform import MapperDataset, ShuffledDataset

numbers = ShuffledDataset.with_seed(InMemDataset(range(100)), 42)
squares = MapperDataset(numbers, lambda number: number * number)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from burn.data.dataset.cache_folder import cache_folder
from burn.data.dataset.dataset import Dataset, as_dataset
from burn.data.dataset.errors import CorruptItem, SkippedItem
from burn.data.dataset.fake import FakeDataset
from burn.data.dataset.in_memory import InMemDataset
from burn.data.dataset.items import Items, column

if TYPE_CHECKING:
    from burn.data.dataset import source, text, transform, vision
    from burn.data.dataset.dataframe import DataframeDataset
    from burn.data.dataset.source import HuggingfaceDatasetLoader
    from burn.data.dataset.sqlite import SqliteDataset, SqliteDatasetStorage, SqliteDatasetWriter

__all__ = [
    "CorruptItem", "DataframeDataset", "Dataset", "FakeDataset", "HuggingfaceDatasetLoader", "InMemDataset",
    "Items", "SkippedItem", "SqliteDataset", "SqliteDatasetStorage", "SqliteDatasetWriter", "as_dataset",
    "cache_folder", "column", "source", "text", "transform", "vision",
]  # fmt: skip

_LATER = {
    "DataframeDataset": "burn.data.dataset.dataframe",
    "HuggingfaceDatasetLoader": "burn.data.dataset.source",
    "SqliteDataset": "burn.data.dataset.sqlite",
    "SqliteDatasetStorage": "burn.data.dataset.sqlite",
    "SqliteDatasetWriter": "burn.data.dataset.sqlite",
}
_PACKAGES = {"source", "text", "transform", "vision"}

if not TYPE_CHECKING:  # checkers know the names, and find those that are not there

    def __getattr__(name: str) -> Any:
        """SQLite, sources and images are loaded when somebody asks for them."""
        if name in _LATER:
            return getattr(importlib.import_module(_LATER[name]), name)
        if name in _PACKAGES:
            return importlib.import_module(f"burn.data.dataset.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
