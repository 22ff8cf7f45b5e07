"""Datasets of the Hugging Face hub, through the `datasets` library into an SQLite file.

The library runs once: every split becomes a table with a row for each item, media stay the bytes they are in
their files, nested columns get names of their own (`answer.text` becomes `answer_text`), and lists are kept as
JSON. Afterwards the file is read without the library and without a network.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from burn.data.dataset.sqlite import SqliteDataset, SqliteDatasetStorage, SqliteDatasetWriter
from burn.data.dataset.typed import plain
from burn.errors import DataError, MissingOperation

I = TypeVar("I")  # noqa: E741


class HuggingfaceDatasetLoader:
    """A dataset by its name on the hub, or by a folder that the library `datasets` can read.

    Every split is written into an SQLite file once; later runs need neither library nor network.

    >>> from burn.data.dataset import HuggingfaceDatasetLoader
    >>> loader = HuggingfaceDatasetLoader("dbpedia_14").with_base_dir("data")
    >>> loader.db_file().name
    'dbpedia_14.db'
    >>> train = loader.dataset("train")  # doctest: +SKIP
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._subset: str | None = None
        self._base: Path | None = None
        self._options: dict[str, Any] = {}

    def with_subset(self, subset: str) -> HuggingfaceDatasetLoader:
        """One of the configurations of the dataset, such as a language (`subset`)."""
        self._subset = subset
        return self

    def with_base_dir(self, folder: str | PathLike[str]) -> HuggingfaceDatasetLoader:
        """Where the SQLite file goes, instead of the cache folder."""
        self._base = Path(folder)
        return self

    def with_huggingface_token(self, token: str) -> HuggingfaceDatasetLoader:
        """A token for datasets that ask for one."""
        self._options["token"] = token
        return self

    def with_huggingface_cache_dir(self, folder: str | PathLike[str]) -> HuggingfaceDatasetLoader:
        """The `folder` in which the library keeps its own files."""
        self._options["cache_dir"] = str(folder)
        return self

    def with_huggingface_data_dir(self, folder: str | PathLike[str]) -> HuggingfaceDatasetLoader:
        """The folder of the data, for datasets that need to be told."""
        self._options["data_dir"] = str(folder)
        return self

    def with_trust_remote_code(self, trust: bool) -> HuggingfaceDatasetLoader:
        """Let the dataset run code of its own (`trust`). Versions of the library that cannot any more refuse it."""
        self._options["trust_remote_code"] = trust
        return self

    def with_use_python_venv(self, use: bool) -> HuggingfaceDatasetLoader:
        """Changes nothing, whatever `use` is: the library runs in this very interpreter."""
        return self

    def db_file(self) -> Path:
        """The SQLite file, which need not exist yet."""
        return self._storage().db_file()

    def _storage(self) -> SqliteDatasetStorage[Any]:
        name = self.name if self._subset is None else f"{self.name}-{self._subset}"
        storage = SqliteDatasetStorage.from_name(name)
        return storage if self._base is None else storage.with_base_dir(self._base)

    def dataset(self, split: str, item: type[I] | None = None) -> SqliteDataset[I]:
        """A split, imported first if its file is not there. Items are of the class `item`, or dicts without it."""
        storage = self._storage()
        if not storage.exists():
            self._import(storage)
        return storage.reader(split, item)

    def _import(self, storage: SqliteDatasetStorage[Any]) -> None:
        try:
            library = importlib.import_module("datasets")
        except ModuleNotFoundError as error:
            if error.name != "datasets":
                raise
            raise MissingOperation(
                f"HuggingfaceDatasetLoader: {storage.db_file()} is not there yet, and making it needs the datasets "
                "library; write pip install datasets"
            ) from None
        found = library.load_dataset(self.name, self._subset, **self._options)
        if not isinstance(found, Mapping):
            raise DataError(f"HuggingfaceDatasetLoader: {self.name} gave a {type(found).__name__} without splits")
        with storage.writer(flat=True) as writer:
            for split, rows in found.items():
                _write(writer, str(split), _undecoded(library, rows))


def _undecoded(library: Any, rows: Any) -> Iterable[Any]:
    """The rows with media as bytes."""
    media = tuple(getattr(library, name) for name in ("Image", "Audio", "Video") if hasattr(library, name))
    for name, feature in dict(getattr(rows, "features", None) or {}).items():
        if isinstance(feature, media):
            rows = rows.cast_column(name, type(feature)(decode=False))
    return rows  # type: ignore[no-any-return]


def _write(writer: SqliteDatasetWriter[Any], split: str, rows: Iterable[Any]) -> None:
    for row in rows:
        writer.write(split, flattened(row))


def flattened(row: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """A row without nesting: dicts become columns, lists become JSON."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        column = before + str(name).replace(".", "_")
        if isinstance(value, Mapping):
            found |= flattened(value, f"{column}_")
        elif value is None or isinstance(value, bool | int | float | str | bytes):
            found[column] = value
        elif isinstance(value, list | tuple):
            found[column] = json.dumps(plain(value), ensure_ascii=False)
        elif hasattr(value, "isoformat"):
            found[column] = value.isoformat()
        else:
            found[column] = plain(value)
    return found
