"""Writing items into an SQLite file that appears, whole, when it is complete.

Rows go into a file of a name of its own beside the final one. `set_completed` makes it durable and renames it, so
a reader sees no file or a whole one, and a writer that dies leaves nothing behind under the final name.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import threading
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, TypeVar

from burn.data.dataset.sqlite.layout import ITEM, ROW_ID, SQL_TYPES, columns_of, pack, quoted
from burn.errors import ArgumentError, DataError

I = TypeVar("I")  # noqa: E741


class SqliteDatasetWriter(Generic[I]):
    """Adds items to splits. As a context manager it completes the file, or drops it after an error.

    `overwrite` replaces a file that is there. `flat` gives each field a column, which other programs can read.

    >>> from burn.data.dataset import SqliteDataset, SqliteDatasetWriter
    >>> with SqliteDatasetWriter("words.db", flat=True) as writer:
    ...     for word in ("one", "two"):
    ...         _ = writer.write("train", {"word": word, "length": len(word)})
    >>> list(SqliteDataset("words.db", "train"))
    [{'word': 'one', 'length': 3}, {'word': 'two', 'length': 3}]
    """

    def __init__(self, path: str | PathLike[str], overwrite: bool = False, *, flat: bool = False) -> None:
        self.path, self.overwrite, self.flat = Path(path), overwrite, flat
        self._refuse_existing()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.with_name(f"{self.path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
        self._lock = threading.Lock()
        self._tables: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._counts: dict[str, int] = {}
        self._connection: sqlite3.Connection | None = sqlite3.connect(
            self._file, check_same_thread=False, isolation_level=None
        )
        # Nobody else sees the file before it is complete, so a journal would protect nothing.
        self._connection.execute("PRAGMA journal_mode = OFF")
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.execute("BEGIN")

    def _refuse_existing(self) -> None:
        if self.path.exists() and not self.overwrite:
            raise ArgumentError(f"SqliteDatasetWriter: {self.path} is there already; write writer(overwrite=True)")

    def add_split(self, split: str) -> None:
        """Make the table of a split that may stay empty (serialised tables only)."""
        with self._lock:
            if split not in self._tables and not self.flat:
                self._create(split, {ITEM: b""})

    def _create(self, split: str, values: dict[str, Any]) -> None:
        if split.startswith("sqlite_") or not split:
            raise ArgumentError(f"write: {split!r} cannot be the name of a split")
        if ROW_ID in values:
            raise ArgumentError(f"write: a field cannot be called {ROW_ID}")
        if self.flat:
            if [*values] == [ITEM] and isinstance(values[ITEM], bytes):
                raise ArgumentError(
                    f"write: a flat table whose only field is {ITEM!r}, of bytes, reads as a serialised one"
                )
            columns = ", ".join(f"{quoted(name)} {SQL_TYPES[type(value)]}" for name, value in values.items())
        else:
            columns = f"{ITEM} BLOB NOT NULL"
        connection = self._open()
        connection.execute(
            f"CREATE TABLE {quoted(split)} ({ROW_ID} INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, {columns})"
        )
        names = ", ".join(quoted(name) for name in values)
        marks = ", ".join("?" * len(values))
        self._tables[split] = (f"INSERT INTO {quoted(split)} ({names}) VALUES ({marks})", tuple(values))
        self._counts[split] = 0

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise ArgumentError(f"SqliteDatasetWriter: {self.path} is complete or was dropped; make a new writer")
        return self._connection

    def write(self, split: str, item: I) -> int:
        """Add an item to a `split`, and give its number. May be called from several threads."""
        values = columns_of(item) if self.flat else {ITEM: pack(item)}
        with self._lock:
            connection = self._open()
            if split not in self._tables:
                self._create(split, values)
            statement, names = self._tables[split]
            if tuple(values) != names:
                raise DataError(
                    f"write: {split!r} has the columns {', '.join(names)}, and this item {', '.join(values)}"
                )
            connection.execute(statement, tuple(values.values()))
            self._counts[split] += 1
            return self._counts[split] - 1

    def set_completed(self) -> None:
        """Give the file its name. Nothing can be written afterwards."""
        with self._lock:
            connection = self._open()
            try:
                connection.execute("COMMIT")
                connection.close()
                self._connection = None
                with open(self._file, "rb+") as file:
                    os.fsync(file.fileno())
                self._publish()
            except BaseException:
                self._drop()
                raise

    def _publish(self) -> None:
        if self.overwrite:
            os.replace(self._file, self.path)
            return
        try:
            os.link(self._file, self.path)  # unlike a rename, refuses a file that came in the meantime
        except FileExistsError:
            raise ArgumentError(
                f"SqliteDatasetWriter: {self.path} was written by somebody else in the meantime"
            ) from None
        except OSError:  # a file system without links
            self._refuse_existing()
            os.replace(self._file, self.path)
            return
        os.unlink(self._file)

    def discard(self) -> None:
        """Drop what was written."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._file)

    def __enter__(self) -> SqliteDatasetWriter[I]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._connection is None:
            return
        if kind is None:
            self.set_completed()
        else:
            self.discard()

    def __del__(self) -> None:
        if getattr(self, "_connection", None) is not None:
            self._drop()
