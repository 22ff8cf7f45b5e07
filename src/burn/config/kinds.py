"""Kinds: for each type of field, which values it takes and how they are written.

A kind answers three questions: `take` a Python value given to a constructor, `write` a value as plain
JSON data, `read` plain JSON data. `take` and `read` note faults instead of raising, so that one error
can list them all; what they return beside a fault is not used.
"""

from __future__ import annotations

import enum
import math
import numbers
import operator
import os
from collections.abc import Sequence
from pathlib import Path as FilePath
from pathlib import PurePath
from typing import Any

from burn.config.faults import Faults, Path, did_you_mean

NON_FINITE = {"nan": math.nan, "inf": math.inf, "infinity": math.inf, "-inf": -math.inf, "-infinity": -math.inf}
"""JSON has no such numbers: they are strings, spelled as Rust spells them."""


class Kind:
    """What a type of field takes, writes and reads."""

    exact: type | None = None
    """Values of exactly this class are taken as they are."""
    plain: type | None = None
    """JSON values of exactly this class are read as they are."""

    @property
    def expected(self) -> str:
        """The type as its author would write it."""
        raise NotImplementedError

    def take(self, value: Any, path: Path, faults: Faults) -> Any:
        """The value as the field holds it."""
        raise NotImplementedError

    def write(self, value: Any, path: Path, faults: Faults) -> Any:
        """The value as plain JSON data."""
        raise NotImplementedError

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        """The value that plain JSON data describes."""
        raise NotImplementedError

    def write_key(self, value: Any, path: Path, faults: Faults) -> str:
        """The value as a key of a JSON object, which is always text."""
        written = self.write(value, path, faults)
        return written if isinstance(written, str) else str(written)

    def read_key(self, text: str, path: Path, faults: Faults) -> Any:
        """The value that a key of a JSON object describes."""
        return self.read(text, path, faults)


class Scalar(Kind):
    """A kind whose values JSON writes as they are."""

    def __init__(self, exact: type) -> None:
        self.exact = self.plain = exact

    @property
    def expected(self) -> str:
        assert self.exact is not None
        return "None" if self.exact is type(None) else self.exact.__name__

    def take(self, value: Any, path: Path, faults: Faults) -> Any:
        if type(value) is not self.exact:
            faults.unexpected(path, self.expected, value)
        return value

    def write(self, value: Any, path: Path, faults: Faults) -> Any:
        return value

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        if type(value) is not self.plain:
            faults.unexpected(path, self.expected, value, as_json=True)
        return value


class Text(Scalar):
    """`str`, also of a class that extends it."""

    def take(self, value: Any, path: Path, faults: Faults) -> Any:
        if not isinstance(value, str) or isinstance(value, enum.Enum):
            faults.unexpected(path, "str", value)
            return value
        return str(value)


class Truth(Scalar):
    """`bool`, also NumPy's."""

    def take(self, value: Any, path: Path, faults: Faults) -> Any:
        if type(value) is bool or (type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_")):
            return bool(value)
        faults.unexpected(path, "bool", value)
        return value


class Integer(Scalar):
    """`int`, also NumPy's; `True` is not a number here."""

    def take(self, value: Any, path: Path, faults: Faults) -> Any:
        if type(value) is int:
            return value
        if not isinstance(value, bool) and isinstance(value, numbers.Integral):
            return operator.index(value)
        faults.unexpected(path, "int", value)
        return value

    def read_key(self, text: str, path: Path, faults: Faults) -> Any:
        try:
            if text == str(int(text)):
                return int(text)
        except ValueError:
            pass
        faults.unexpected(path, "a key that is an int", text, as_json=True)
        return text


class Number(Scalar):
    """`float`; ints and NumPy's numbers become one."""

    def take(self, value: Any, path: Path, faults: Faults) -> Any:
        if type(value) is float:
            return value
        if not isinstance(value, bool) and isinstance(value, numbers.Real):
            return self._float(value, path, faults)
        faults.unexpected(path, "float", value)
        return value

    def write(self, value: Any, path: Path, faults: Faults) -> Any:
        if math.isfinite(value):
            return value
        return "NaN" if math.isnan(value) else "inf" if value > 0 else "-inf"

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        if type(value) is float:
            return value
        if type(value) is int:
            return self._float(value, path, faults)
        if type(value) is str and value.lower() in NON_FINITE:
            return NON_FINITE[value.lower()]
        faults.unexpected(path, "float", value, as_json=True)
        return value

    def _float(self, value: Any, path: Path, faults: Faults) -> Any:
        try:
            return float(value)
        except OverflowError:
            faults.add(path, f"expected float, got an int of {len(str(abs(int(value))))} digits, which no float holds")
            return value


class File(Kind):
    """A path in the file system, written with the separators of this system."""

    def __init__(self, cls: type[PurePath] = FilePath) -> None:
        self.cls = cls

    @property
    def expected(self) -> str:
        return self.cls.__name__

    def take(self, value: Any, path: Path, faults: Faults) -> Any:
        if isinstance(value, self.cls):
            return value
        if isinstance(value, (str, os.PathLike)):
            return self.cls(value)
        faults.unexpected(path, f"{self.expected} or str", value)
        return value

    def write(self, value: Any, path: Path, faults: Faults) -> Any:
        return str(value)

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        if type(value) is str:
            return self.cls(value)
        faults.unexpected(path, "the text of a path", value, as_json=True)
        return value


class Plain(Kind):
    """`Any`: whatever JSON can say by itself, so that it reads back as it was."""

    expected = "what JSON can hold: None, bool, int, a finite float, str, list, or dict with str keys"

    def take(self, value: Any, path: Path, faults: Faults) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
            return value
        if kind in (list, tuple):
            return [self.take(each, (path, index), faults) for index, each in enumerate(value)]
        if kind is dict:
            wrong = [key for key in value if type(key) is not str]
            for key in wrong:
                faults.unexpected(path, "str keys", key)
            return {key: self.take(each, (path, key), faults) for key, each in value.items() if key not in wrong}
        faults.unexpected(path, self.expected, value)
        return value

    def write(self, value: Any, path: Path, faults: Faults) -> Any:
        return value

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        return self.take(value, path, faults)


class Member(Kind):
    """A member of an `enum.Enum`, written by its name; of an `enum.Flag`, by its number."""

    def __init__(self, cls: type[enum.Enum]) -> None:
        self.cls = cls
        self.is_flag = issubclass(cls, enum.Flag)

    @property
    def expected(self) -> str:
        return self.cls.__name__

    def take(self, value: Any, path: Path, faults: Faults) -> Any:
        if isinstance(value, self.cls):
            return value
        names = [f"{self.expected}.{name}" for name in self.cls.__members__]
        hint = did_you_mean(f"{self.expected}.{value}", names) if isinstance(value, str) else ""
        faults.unexpected(path, self.expected + hint.replace("; did you mean", ", as in").rstrip("?"), value)
        return value

    def write(self, value: Any, path: Path, faults: Faults) -> Any:
        return value.value if self.is_flag else value.name

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        if self.is_flag:
            if type(value) is int:
                try:
                    return self.cls(value)
                except ValueError:
                    pass
            faults.unexpected(path, f"the number of a {self.expected}", value, as_json=True)
        elif type(value) is not str:
            faults.unexpected(path, f"the name of a {self.expected}", value, as_json=True)
        elif value in self.cls.__members__:
            return self.cls.__members__[value]
        else:
            near = did_you_mean(value, self.cls.__members__, quote='"')
            faults.add(path, f'{self.expected} has no member "{value}"{near}')
        return value

    def read_key(self, text: str, path: Path, faults: Faults) -> Any:
        if self.is_flag and text.isdecimal():
            return self.read(int(text), path, faults)
        return self.read(text, path, faults)


class OneOf(Kind):
    """`Literal`: one of a few values, each written as it is."""

    def __init__(self, choices: Sequence[Any]) -> None:
        self.choices = tuple(choices)

    @property
    def expected(self) -> str:
        return f"one of {', '.join(map(repr, self.choices))}"

    def take(self, value: Any, path: Path, faults: Faults) -> Any:
        for choice in self.choices:
            if type(choice) is type(value) and choice == value:
                return choice
        faults.unexpected(path, self.expected, value)
        return value

    def write(self, value: Any, path: Path, faults: Faults) -> Any:
        return value.name if isinstance(value, enum.Enum) else value

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        for choice in self.choices:
            written = self.write(choice, path, faults)
            if type(written) is type(value) and written == value:
                return choice
        faults.unexpected(path, self.expected, value, as_json=True)
        return value

    def read_key(self, text: str, path: Path, faults: Faults) -> Any:
        for choice in self.choices:
            if str(self.write(choice, path, faults)) == text:
                return choice
        faults.unexpected(path, self.expected, text, as_json=True)
        return text


NONE = Scalar(type(None))
SCALARS: dict[Any, Kind] = {
    None: NONE,
    type(None): NONE,
    bool: Truth(bool),
    int: Integer(int),
    float: Number(float),
    str: Text(str),
}
