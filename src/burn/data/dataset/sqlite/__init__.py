"""Items in an SQLite file: a table for each split, a row for each item."""

from __future__ import annotations

from burn.data.dataset.sqlite.dataset import SqliteDataset
from burn.data.dataset.sqlite.storage import SqliteDatasetStorage
from burn.data.dataset.sqlite.writer import SqliteDatasetWriter

__all__ = ["SqliteDataset", "SqliteDatasetStorage", "SqliteDatasetWriter"]
