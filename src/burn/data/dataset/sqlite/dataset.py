"""Reading items from an SQLite file, from many threads at once.

The file is opened read-only. Each reading thread borrows a connection and gives it back, so there are as many as
there were readers at the same time, and none is tied to a thread.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.request import pathname2url

from typing_extensions import TypeVar

from burn.data.dataset.dataset import Dataset
from burn.data.dataset.errors import CorruptItem, OnError, check_choice, refuse_or_skip
from burn.data.dataset.sqlite.layout import ROW_ID, Layout, layout_of, quoted, unpack
from burn.data.dataset.typed import fields_of, has_fields, make_item
from burn.errors import DataError

I = TypeVar("I", default=dict[str, Any])  # noqa: E741
MOST_NAMES = 500
"""How many rows one query asks for; SQLite limits the parameters of a statement."""


class Connections:
    """Connections to one file that are lent and given back."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._free: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._process = os.getpid()

    def _open(self) -> sqlite3.Connection:
        address = f"file:{pathname2url(os.path.abspath(self.path))}?mode=ro"
        return sqlite3.connect(address, uri=True, check_same_thread=False)

    @contextlib.contextmanager
    def lent(self) -> Iterator[sqlite3.Connection]:
        """A connection for the time of the block."""
        with self._lock:
            if self._process != os.getpid():  # SQLite connections must not cross a fork
                self._free, self._process = [], os.getpid()
            connection = self._free.pop() if self._free else None
        if connection is None:
            connection = self._open()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._free.append(connection)

    def close(self) -> None:
        """Close those that nobody is using."""
        with self._lock:
            free, self._free = self._free, []
        for connection in free:
            connection.close()


class SqliteDataset(Dataset[I]):
    """The rows of the table `split` of an SQLite file, for datasets that do not fit into memory.

    Items are of the class `item`; without it dicts (flat tables) or lists (serialised ones).

    A row that cannot be read is an error, or with `on_error="skip"` None and a warning.

    >>> from typing import NamedTuple
    >>> from burn.data.dataset import SqliteDataset, SqliteDatasetWriter
    >>> class Person(NamedTuple):
    ...     name: str
    ...     age: int
    >>> with SqliteDatasetWriter("people.db") as writer:
    ...     _ = writer.write("train", Person("Ada", 36))
    >>> SqliteDataset("people.db", "train", Person)[0]
    Person(name='Ada', age=36)
    """

    def __init__(
        self, path: str | PathLike[str], split: str, item: type[I] | None = None, *, on_error: OnError = "raise"
    ) -> None:
        check_choice(on_error)
        self.path, self.split, self.item, self.on_error = Path(path), split, item, on_error
        self._begin()

    @classmethod
    def from_db_file(
        cls, path: str | PathLike[str], split: str, item: type[I] | None = None, *, on_error: OnError = "raise"
    ) -> SqliteDataset[I]:
        """The table `split` of a file."""
        return cls(path, split, item, on_error=on_error)

    def _begin(self) -> None:
        if not self.path.is_file():
            raise DataError(f"SqliteDataset: there is no file {self.path}")
        self._connections = Connections(str(self.path))
        try:
            with self._connections.lent() as connection:
                self.layout = layout_of(connection, self.split, str(self.path))
                last = connection.execute(f"SELECT MAX({ROW_ID}) FROM {quoted(self.split)}").fetchone()[0]
        except sqlite3.DatabaseError as error:
            raise DataError(f"SqliteDataset: {self.path} cannot be read: {error}") from None
        self._length = int(last or 0)
        self._check_columns(self.layout)
        columns = ", ".join(quoted(name) for name in self.layout.columns)
        self._query = f"SELECT {ROW_ID}, {columns} FROM {quoted(self.split)} WHERE {ROW_ID} "
        self._close = weakref.finalize(self, self._connections.close)

    def _check_columns(self, layout: Layout) -> None:
        if self.item is None or layout.serialized or self.item is dict:
            return
        missing = [each.name for each in fields_of(self.item) if each.required and each.name not in layout.columns]
        if missing:
            self._connections.close()
            raise DataError(
                f"SqliteDataset: {self.item.__name__} needs columns that {self.split!r} of {self.path} does not have: "
                f"{', '.join(missing)}; it has {', '.join(layout.columns)}"
            )

    def get(self, index: int) -> I | None:
        """The item of row `index + 1`."""
        if not 0 <= index < self._length:
            return None
        with self._connections.lent() as connection:
            row = connection.execute(self._query + "= ?", (index + 1,)).fetchone()
        return self._decoded(index, row)

    def get_many(self, indices: Sequence[int]) -> Sequence[I | None]:
        """Several items with one query for a few hundred of them."""
        found: dict[int, Any] = {}
        wanted = [index + 1 for index in dict.fromkeys(indices) if 0 <= index < self._length]
        with self._connections.lent() as connection:
            for start in range(0, len(wanted), MOST_NAMES):
                part = wanted[start : start + MOST_NAMES]
                marks = ", ".join("?" * len(part))
                for row in connection.execute(f"{self._query}IN ({marks})", part):
                    found[row[0] - 1] = row
        return [self._decoded(index, found.get(index)) if 0 <= index < self._length else None for index in indices]

    def _decoded(self, index: int, row: tuple[Any, ...] | None) -> I | None:
        try:
            if row is None:
                raise DataError("there is no such row")
            if self.layout.serialized:
                return unpack(row[1], self.item)  # type: ignore[no-any-return]
            values = dict(zip(self.layout.columns, row[1:], strict=True))
            return make_item(self.item if has_fields(self.item) else dict, values)  # type: ignore[no-any-return,arg-type]
        except DataError as error:
            refuse_or_skip(CorruptItem(f"{self.path}, split {self.split!r}", index, str(error)), self.on_error)
            return None

    def len(self) -> int:
        """The largest number of a row."""
        return self._length

    def close(self) -> None:
        """Close the connections that nobody is using."""
        self._connections.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened, (type(self), self.path, self.split, self.item, self.on_error)


def _opened(kind: Any, path: Path, split: str, item: Any, on_error: OnError) -> Any:
    return kind(path, split, item, on_error=on_error)
