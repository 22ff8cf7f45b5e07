"""Rows of text files: CSV with a header, and JSON with one object a line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from burn.data.dataset.errors import CorruptItem, OnError, refuse_or_skip
from burn.data.dataset.typed import make_item
from burn.errors import ArgumentError, DataError

Row = dict[str, Any]
Rows = Iterator[tuple[int, int, "Row | str"]]


def csv_rows(path: str | PathLike[str], columns: Sequence[str] | None, encoding: str, options: dict[str, Any]) -> Rows:
    """The rows of a CSV file: (number, line, row), with a str in place of a row that is broken.

    `columns` names the columns of a file without a header line.
    """
    with open(path, newline="", encoding=encoding) as file:
        reader = csv.reader(file, **options)
        names = list(columns) if columns is not None else next(_fed(reader, path), None)
        if names is None:
            return
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise DataError(f"from_csv: {path}: columns that are there twice: {', '.join(twice)}")
        number = 0
        for values in _fed(reader, path):
            if not values:
                continue
            if len(values) == len(names):
                yield number, reader.line_num, dict(zip(names, values, strict=True))
            else:
                yield number, reader.line_num, f"has {len(values)} values where the header has {len(names)}"
            number += 1


def _fed(reader: Any, path: Any) -> Iterator[list[str]]:
    try:
        yield from reader
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataError(f"from_csv: {path}, near line {max(1, reader.line_num)}: {error}") from None


def json_rows(path: str | PathLike[str], encoding: str) -> Rows:
    """The objects of a file with one JSON value a line. Empty lines do not count."""
    number = 0
    with open(path, "rb") as file:
        for line, raw in enumerate(file, 1):
            if not raw.strip():
                continue
            found: Row | str
            try:
                found = json.loads(raw.decode(encoding))
                if not isinstance(found, Mapping):
                    found = f"is a {type(found).__name__}, not an object"
            except (json.JSONDecodeError, UnicodeDecodeError) as error:
                found = f"is not JSON: {error}"
            yield number, line, found
            number += 1


def items_of(rows: Rows, path: str | PathLike[str], item: type, on_error: OnError) -> list[Any]:
    """The rows as items; broken ones are refused, or told about and left out."""
    found: list[Any] = []
    for number, line, row in rows:
        if isinstance(row, str):
            why = row
        else:
            try:
                found.append(make_item(item, row))
                continue
            except DataError as error:
                why = str(error)
        refuse_or_skip(CorruptItem(f"{Path(path)}, line {line}", number, why), on_error)
    return found


def guess_columns(rows: list[Row]) -> list[Row]:
    """Columns whose values all read as ints, or as floats, as such; the others stay text. Empty is None."""
    if not rows:
        return rows
    for name in rows[0]:
        values = [row[name] for row in rows]
        if any("_" in value for value in values):  # Python reads 1_000 as a number, tables do not mean it
            continue
        for kind in (int, float):
            try:
                converted: list[Any] = [None if value == "" else kind(value) for value in values]
            except ValueError:
                continue
            if any(value is not None for value in converted):
                for row, value in zip(rows, converted, strict=True):
                    row[name] = value
            break
    return rows


def csv_options(delimiter: str, options: dict[str, Any]) -> dict[str, Any]:
    """Options for the reader, refused here if it would refuse them later."""
    chosen = {"delimiter": delimiter, "strict": True, **options}
    try:
        csv.reader(io.StringIO(), **chosen)
    except TypeError as error:
        raise ArgumentError(f"from_csv: {error}") from None
    return chosen
