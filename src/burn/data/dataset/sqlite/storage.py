"""Where an SQLite dataset lies: a name in the cache folder, or a file."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path
from typing import Any, Generic, TypeVar

from burn.data.dataset.cache_folder import cache_folder
from burn.data.dataset.errors import OnError
from burn.data.dataset.sqlite.dataset import SqliteDataset
from burn.data.dataset.sqlite.writer import SqliteDatasetWriter
from burn.errors import ArgumentError

I = TypeVar("I")  # noqa: E741


class SqliteDatasetStorage(Generic[I]):
    """The SQLite file of a dataset, which need not exist yet: `from_name` (in the cache folder) or `from_file`.

    The file of a `name` is `<cache folder>/<name>.db`.

    >>> from burn.data.dataset import SqliteDatasetStorage
    >>> storage = SqliteDatasetStorage.from_file("numbers.db")
    >>> storage.exists()
    False
    >>> with storage.writer(flat=True) as writer:
    ...     _ = writer.write("train", {"value": 7})
    >>> storage.reader("train")[0]
    {'value': 7}
    """

    def __init__(self, *, name: str | None = None, file: str | PathLike[str] | None = None) -> None:
        if (name is None) == (file is None):
            raise ArgumentError("SqliteDatasetStorage: write from_name(name) or from_file(path)")
        self._name = name
        self._file = None if file is None else Path(file)
        self._base: Path | None = None

    @classmethod
    def from_name(cls, name: str) -> SqliteDatasetStorage[Any]:
        """`<cache folder>/<name>.db`, the name freed of what a file name cannot have."""
        return cls(name=name)

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> SqliteDatasetStorage[Any]:
        """This file."""
        return cls(file=path)

    def with_base_dir(self, folder: str | PathLike[str]) -> SqliteDatasetStorage[I]:
        """The same name in another folder."""
        other = type(self)(name=self._name, file=self._file)
        other._base = Path(folder)
        return other

    def db_file(self) -> Path:
        """The path of the file."""
        if self._file is not None:
            return self._file if self._base is None else self._base / self._file
        assert self._name is not None
        return (self._base or cache_folder()) / f"{sanitized(self._name)}.db"

    def exists(self) -> bool:
        """Whether the file is there."""
        return self.db_file().is_file()

    def reader(self, split: str, item: type[I] | None = None, *, on_error: OnError = "raise") -> SqliteDataset[I]:
        """The items of a `split`; `item` and `on_error` are those of `SqliteDataset`."""
        return SqliteDataset(self.db_file(), split, item, on_error=on_error)

    def writer(self, overwrite: bool = False, *, flat: bool = False) -> SqliteDatasetWriter[I]:
        """Write the file, in place of one that is there with `overwrite`.

        `flat` gives each field a column, for other programs to read.
        """
        return SqliteDatasetWriter(self.db_file(), overwrite, flat=flat)


def sanitized(name: str) -> str:
    """A name with `_` for everything that is not safe in the name of a file."""
    safe = re.sub(r"[^\w.-]+", "_", name, flags=re.ASCII).lstrip(".")
    if not safe:
        raise ArgumentError(f"SqliteDatasetStorage: {name!r} cannot be the name of a file")
    return safe
