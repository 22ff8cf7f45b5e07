"""Files: the extension of a recorder, and writing that never leaves half a file.

A record is written beside its target and renamed over it when every byte is on disk: the target holds the
old record or the new one, whatever happens, and nothing else stays behind.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterable
from typing import Any

from burn.errors import ArgumentError
from burn.record.errors import RecordError

PIECE = 1 << 24
SCRATCH = re.compile(r"^\..+\.\d+-[0-9a-f]{8}\.tmp$")


def with_extension(operation: str, path: Any, extension: str) -> str:
    """The path with the recorder's extension in place of its last one; a path that has it is left alone."""
    try:
        text = os.fspath(path)
    except TypeError:
        raise ArgumentError(f"{operation}: a path is needed, got {path!r}") from None
    text = os.fsdecode(text)
    folder, name = os.path.split(text)
    if name in ("", ".", ".."):
        raise ArgumentError(f"{operation}: {text!r} names a folder; add the name of the file")
    if name.endswith(f".{extension}"):
        return text
    stem, dot, _ = name.rpartition(".")
    return os.path.join(folder, f"{stem if dot and stem else name}.{extension}")


def write_file(path: str, pieces: Iterable[bytes | memoryview]) -> int:
    """Write pieces to a file, all of them or nothing, and give their size."""
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    try:
        os.makedirs(folder, exist_ok=True)
        if os.path.isdir(target):
            raise RecordError("there is a folder of this name")
        scratch = os.path.join(folder, f".{os.path.basename(target)}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(scratch, flags, 0o666)
    except OSError as error:
        raise RecordError(f"cannot be written: {error.strerror or error}") from error
    try:
        with open(descriptor, "wb", buffering=1 << 16) as file:
            with contextlib.suppress(OSError):
                os.chmod(scratch, os.stat(target).st_mode & 0o7777)
            size = _write(file, pieces)
            file.flush()
            os.fsync(file.fileno())
        os.replace(scratch, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(scratch)
        if isinstance(error, OSError):
            raise RecordError(f"cannot be written: {error.strerror or error}") from error
        raise
    _sync_folder(folder)
    return size


def sweep(folder: str | os.PathLike[str]) -> None:
    """Remove what writers that were killed have left in a folder. Nobody may be writing there."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for name in os.listdir(folder):
            if SCRATCH.match(name):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(folder, name))


def _write(file: Any, pieces: Iterable[bytes | memoryview]) -> int:
    size = 0
    for piece in pieces:
        for start in range(0, len(piece), PIECE):
            size += file.write(piece[start : start + PIECE])
    return size


def _sync_folder(folder: str) -> None:
    """Make the new name last through a power cut, where the system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
