"""Spelling: values as the source that makes them."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any


def spell(value: Any) -> str:
    """The source of a value that a config can hold."""
    kind = type(value)
    if kind is float and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, enum.Enum):
        return f"{kind.__name__}.{value.name}" if value.name is not None else f"{kind.__name__}({value.value!r})"
    if isinstance(value, PurePath):
        name = "Path" if kind.__name__ in ("PosixPath", "WindowsPath") else kind.__name__
        return f"{name}({str(value)!r})"
    if kind is list:
        return f"[{', '.join(map(spell, value))}]"
    if kind is tuple:
        return f"({', '.join(map(spell, value))}{',' if len(value) == 1 else ''})"
    if kind in (set, frozenset) and value:
        inside = f"{{{', '.join(sorted(map(spell, value)))}}}"
        return inside if kind is set else f"frozenset({inside})"
    if kind is dict:
        return f"{{{', '.join(f'{spell(key)}: {spell(each)}' for key, each in value.items())}}}"
    return repr(value)


def spell_call(name: str, values: Mapping[str, Any], *, by_position: bool = False) -> str:
    """The source of a call with these arguments."""
    arguments = (spell(value) if by_position else f"{key}={spell(value)}" for key, value in values.items())
    return f"{name}({', '.join(arguments)})"
