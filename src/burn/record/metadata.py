"""The head of a record: which element types, which recorder, which version wrote it.

The strings are those of the Rust framework, type names included, so that its files and ours are
interchangeable. Readers use them to explain a failure, and to tell layouts of different versions apart.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from burn.record.errors import RecordError
from burn.record.settings import Settings

VERSION = "0.19.0"
"""The version whose layout our files have."""

FIELDS = ("float", "int", "format", "version", "settings")


class Metadata(NamedTuple):
    """What a file says about itself: element types `float` and `int`, recorder (`format`), `version`, `settings`.

    >>> from burn.record import DefaultRecorder
    >>> nn.Linear(2, 3).save_file("model")
    >>> metadata = DefaultRecorder().load("model").metadata
    >>> metadata.float, metadata.int, metadata.settings
    ('f32', 'i32', 'FullPrecisionSettings')
    """

    float: str
    int: str
    format: str
    version: str
    settings: str


def describe(type_name: str, settings: Settings) -> Metadata:
    """The head that a recorder writes; `{}` in its type name is the place of the settings."""
    full = type_name.replace("{}", f"burn_core::record::settings::{settings.__name__}")
    return Metadata(settings.float_name, settings.int_name, full, VERSION, settings.__name__)


def from_fields(fields: Any) -> Metadata:
    """The head of a named format."""
    if not isinstance(fields, dict):
        raise RecordError(f"metadata should be a map, not {type(fields).__name__}")
    wrong = [name for name in FIELDS if not isinstance(fields.get(name), str)]
    if wrong:
        raise RecordError(f"metadata has no text for {', '.join(wrong)}")
    return Metadata(*(fields[name] for name in FIELDS))


def release(metadata: Metadata | None) -> tuple[int, int] | None:
    """Major and minor version of what wrote the record, None where that cannot be told."""
    found = re.match(r"(\d{1,6})\.(\d{1,6})", metadata.version) if metadata else None
    return (int(found[1]), int(found[2])) if found else None


def origin(metadata: Metadata | None) -> str:
    """A clause for messages: who wrote the record."""
    if metadata is None:
        return "it does not say what wrote it"
    return f"it was written by {metadata.format}, version {metadata.version}"
