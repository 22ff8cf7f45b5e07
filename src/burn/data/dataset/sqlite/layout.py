"""The two ways in which a table holds items, and what tells them apart.

A *serialised* table has two columns: `row_id`, counted from 1, and `item`, a blob of MessagePack in which a
record is the list of its values. A *flat* table has `row_id` and a column for each field.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgpack

from burn.data.dataset.typed import fields_of, has_fields, make_item, plain, values_of
from burn.errors import ArgumentError, DataError

ROW_ID = "row_id"
ITEM = "item"


class Layout(NamedTuple):
    """What a table looks like: its columns without `row_id`, and whether items are serialised."""

    columns: tuple[str, ...]
    serialized: bool


def quoted(name: str) -> str:
    """A name of a table or column as SQL takes it."""
    if "\x00" in name:
        raise ArgumentError(f"sqlite: {name!r} is not a name of a table or column")
    return '"' + name.replace('"', '""') + '"'


def layout_of(connection: sqlite3.Connection, split: str, path: str) -> Layout:
    """The layout of a table, or an error that lists the tables there are."""
    columns = connection.execute(f"PRAGMA table_info({quoted(split)})").fetchall()
    if not columns:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        there = ", ".join(name for name in tables if not name.startswith("sqlite_")) or "no table"
        raise DataError(f"SqliteDataset: {path} has no split {split!r}; it has {there}")
    names = [column[1] for column in columns]
    if ROW_ID not in names:
        raise DataError(
            f"SqliteDataset: the table {split!r} of {path} has no column {ROW_ID}; it has {', '.join(names)}"
        )
    others = tuple(name for name in names if name != ROW_ID)
    kinds = {column[1]: column[2].upper() for column in columns}
    return Layout(others, others == (ITEM,) and kinds[ITEM] == "BLOB")


def pack(item: Any) -> bytes:
    """An item as a serialised table holds it."""
    return msgpack.packb(plain(item), use_bin_type=True)  # type: ignore[no-any-return]


def unpack(blob: bytes, item: type | None) -> Any:
    """An item of a blob, or a DataError."""
    try:
        values = msgpack.unpackb(blob, raw=False, strict_map_key=False)
    except (ValueError, msgpack.UnpackException) as error:
        raise DataError(f"is not MessagePack: {error or type(error).__name__}") from None
    if item is None:
        return values
    if not has_fields(item):
        if not isinstance(values, item):
            raise DataError(f"is a {type(values).__name__}, not a {item.__name__}")
        return values
    if not isinstance(values, list | tuple | Mapping):
        raise DataError(f"is a {type(values).__name__}, not the values of a {item.__name__}")
    return make_item(item, values)


def columns_of(item: Any) -> dict[str, Any]:
    """An item as a flat table holds it: column to value."""
    if isinstance(item, Mapping):
        pairs = list(item.items())
    elif isinstance(item, tuple) and hasattr(item, "_fields"):
        pairs = list(zip(item._fields, item, strict=True))
    else:
        pairs = list(zip([field.name for field in fields_of(type(item))], values_of(item), strict=True))
    return {name: _column(name, value) for name, value in pairs}


def _column(name: str, value: Any) -> Any:
    value = plain(value)
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return value
    raise DataError(
        f"write: the field {name} is a {type(value).__name__}, which a flat table cannot hold; write serialised items"
    )


SQL_TYPES = {bool: "INTEGER", int: "INTEGER", float: "REAL", str: "TEXT", bytes: "BLOB", type(None): ""}
"""The declared type of a column by its first value. None gives none, so that later values stay what they are."""
