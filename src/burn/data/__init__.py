"""Data: collections of items, and the loaders that make batches of them.

`burn.data.dataset` has the collections (in memory, SQLite, dataframes, images, digits) and the lazy views
on them; `burn.data.dataloader` turns a dataset and a batcher into batches, in a seeded order, with workers.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from burn.guesses import missing_name

if TYPE_CHECKING:
    from burn.data import dataloader, dataset

__all__ = ["dataloader", "dataset"]

if not TYPE_CHECKING:  # checkers know the names, and find those that are not there

    def __getattr__(name: str) -> Any:
        if name in __all__:
            return importlib.import_module(f"burn.data.{name}")
        raise missing_name(__name__, name, __all__)
