"""Which imports fit together: the version in a file, and the command that writes the file anew.

`FORMAT` is raised when files that were written before can no longer be loaded. A release changes the import version,
which only says who wrote a file; a file stays good as long as its format does.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from burn.version import __version__
from burn_import.onnx.errors import OnnxError

FORMAT = 1
_FLAGS = {"half_precision": "--half", "embed_states": "--embed"}


def check(operation: str, described: Mapping[str, Any]) -> None:
    """Refuse a description of another format, and say what to run."""
    found = described.get("format_version")
    if found != FORMAT or type(found) is not int:
        by = _shown(described.get("import_version"))
        reason = f"burn-import {by} wrote it in format {_shown(found)}; burn-import {__version__} reads {FORMAT}"
        raise OnnxError(operation, [f"{reason}; run: {command(described)}"])


def command(described: Mapping[str, Any]) -> str:
    """The command line that writes the files of a description again."""
    options = described.get("options")
    given = options if isinstance(options, Mapping) else {}
    words = ["burn-import", "--input", _shown(described.get("source"), "MODEL.onnx")]
    words += ["--output", _shown(described.get("name"), "NAME")]
    if given.get("record_type") in ("NamedMpkGz", "PrettyJson", "Bincode"):
        words += ["--record-type", str(given["record_type"])]
    words += [flag for name, flag in _FLAGS.items() if given.get(name) is True]
    return shlex.join(words)


def opset(described: Mapping[str, Any]) -> int:
    """The standard's operator set of the file that was imported; 0 when it is not said."""
    found = described.get("opset")
    number = found.get("", found.get("ai.onnx", 0)) if isinstance(found, Mapping) else 0
    return number if type(number) is int and 0 <= number < 1 << 31 else 0


def _shown(value: Any, default: str = "?") -> str:
    """A word of a file for a message: printable, short, and default when there is none."""
    if value is None or isinstance(value, dict | list):
        return default
    return ascii(value).strip("'\"")[:120] or default


__all__ = ["FORMAT", "check", "command", "opset"]
