"""Tensors whose bytes lie in files beside the model: found, checked and mapped, never copied."""

from __future__ import annotations

import mmap
from pathlib import Path, PurePosixPath, PureWindowsPath


class ExternalFiles:
    """The files of one model. A location is a relative path below the model's folder; anything else is refused,
    because a model must not be able to read what lies elsewhere."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._maps: dict[str, memoryview] = {}

    @property
    def are_read(self) -> bool:
        """Whether the model has data in other files."""
        return bool(self._maps)

    def slice(self, location: str, offset: int, length: int | None, needed: int) -> memoryview:
        """`needed` bytes of the file at `offset`. Raises ValueError with the reason when that cannot be."""
        data = self._maps.get(location)
        if data is None:
            data = self._maps[location] = self._map(location)
        if offset < 0 or (length is not None and length < 0):
            raise ValueError(f"offset {offset} and length {length} of external data in {location!r} cannot be negative")
        if length is not None and length != needed:
            raise ValueError(f"external data in {location!r} has {length} bytes, and the shape needs {needed}")
        if offset + needed > len(data):
            raise ValueError(
                f"{location!r} has {len(data)} bytes, and bytes {offset} to {offset + needed} are asked for"
            )
        return data[offset : offset + needed]

    def _map(self, location: str) -> memoryview:
        if self.folder is None:
            raise ValueError(f"its data are in {location!r}, and bytes have no folder; read the model from its path")
        posix, windows = PurePosixPath(location), PureWindowsPath(location)
        absolute = posix.is_absolute() or windows.is_absolute() or bool(windows.drive) or location.startswith("\\")
        if not location or absolute or ".." in posix.parts or ".." in windows.parts or "\0" in location:
            raise ValueError(f"external data at {location!r} is refused; a path below the model's folder is allowed")
        root = self.folder.resolve()
        path = root / location
        if not path.resolve().is_relative_to(root):
            raise ValueError(f"external data at {location!r} is refused; the path leads out of the model's folder")
        if not path.is_file():
            raise ValueError(f"external data file {location!r} is not beside the model; put it there")
        return map_file(path)


def map_file(path: Path) -> memoryview:
    """A file as memory; an empty one as no bytes."""
    with path.open("rb") as file:
        if path.stat().st_size == 0:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
