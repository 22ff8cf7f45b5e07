"""Files: written whole or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Replace the content of a file in one step, so that no reader and no crash sees half of it."""
    target = path.resolve() if path.is_symlink() else path
    beside = target.with_name(f".{target.name}.{os.urandom(4).hex()}.part")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            os.chmod(beside, target.stat().st_mode & 0o7777)
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            beside.unlink()
        raise
