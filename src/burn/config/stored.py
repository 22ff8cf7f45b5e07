"""Storage: values with fields as JSON text, in files and in memory."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Self

from burn.config.faults import ConfigFileNotFound, Faults, fail
from burn.config.fields import Fields
from burn.config.files import write_whole
from burn.config.kinds import Kind


class Stored(Fields):
    """Fields that can be saved and loaded. `_field_kind` says in which form."""

    @classmethod
    def _field_kind(cls, arguments: tuple[Any, ...]) -> Kind:
        """The kind of a field that holds such a value."""
        raise NotImplementedError

    def to_json(self, *, indent: int | None = 2) -> str:
        """The value as JSON text; on one line with `indent=None`."""
        data = type(self)._field_kind(()).write(self, None, faults := Faults())
        faults.raise_for(f"{self._title()}.to_json")
        text = json.dumps(data, indent=indent, ensure_ascii=False, allow_nan=False)
        try:
            text.encode()
        except UnicodeEncodeError:
            # Half of a surrogate pair is no text in UTF-8, but JSON can escape it.
            return json.dumps(data, indent=indent, allow_nan=False)
        return text

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The value that JSON text describes. One error lists everything that does not fit."""
        return cls._read(text, f"{cls._title()}.from_json")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the value to a file as JSON. The file is whole at every moment: the old text, then the new."""
        write_whole(Path(path), self.to_json().encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read the value from a file."""
        operation = f"{cls._title()}.load({str(path)!r})"
        try:
            data = Path(path).read_bytes()
        except FileNotFoundError:
            raise ConfigFileNotFound(f"{operation}: there is no such file; save one with config.save(path)") from None
        return cls._read(data, operation)

    @classmethod
    def load_binary(cls, data: bytes) -> Self:
        """Read the value from the `data` of a file, such as one that a package carries."""
        return cls._read(bytes(data), f"{cls._title()}.load_binary")

    @classmethod
    def _read(cls, text: str | bytes, operation: str) -> Self:
        faults = Faults()
        data = _parse(text, operation, faults)
        found = cls._field_kind(()).read(data, None, faults)
        faults.raise_for(operation)
        return found  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return self.to_json()


def _parse(text: str | bytes, operation: str, faults: Faults) -> Any:
    """Plain data from JSON text. A key given twice is a fault, as it would hide a value."""

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(items)
        if len(made) < len(items):
            names = [name for name, _ in items]
            for name in dict.fromkeys(name for name in names if names.count(name) > 1):
                faults.add(None, f'the key "{name}" stands twice in one object')
        return made

    try:
        return json.loads(text.decode("utf-8-sig") if isinstance(text, bytes) else text, object_pairs_hook=pairs)
    except UnicodeDecodeError as error:
        fail(operation, [f"this is not JSON: byte {error.start} is not UTF-8"])
    except json.JSONDecodeError as error:
        fail(
            operation,
            [f"this is not JSON: {error.msg[:1].lower()}{error.msg[1:]} (line {error.lineno}, column {error.colno})"],
        )
    except ValueError as error:
        fail(operation, [f"this JSON cannot be read: {error}"])
    except RecursionError:
        fail(operation, ["this JSON is nested too deep to be a config"])
