"""Images as a PNG file: a grid of squares in grey."""

from __future__ import annotations

import struct
import zlib
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np


def grid(images: np.ndarray[Any, Any], columns: int, gap: int = 2) -> np.ndarray[Any, Any]:
    """Images (count, height, width) from -1 to 1 side by side, as bytes; bright on dark, with gaps."""
    count, height, width = images.shape
    rows = -(-count // columns)
    sheet = np.full((rows * (height + gap) + gap, columns * (width + gap) + gap), 64, np.uint8)
    pixels = ((images.clip(-1, 1) + 1) * 127.5).round().astype(np.uint8)
    for number, image in enumerate(pixels):
        top, left = (part * (size + gap) + gap for part, size in zip(divmod(number, columns), (height, width)))
        sheet[top : top + height, left : left + width] = image
    return sheet


def write_png(path: str | PathLike[str], pixels: np.ndarray[Any, Any]) -> None:
    """Bytes (height, width) as a PNG file in grey."""
    height, width = pixels.shape

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    lines = np.zeros((height, width + 1), np.uint8)  # each line begins with 0: no filter
    lines[:, 1:] = pixels
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)) + chunk(b"IEND", b"")
    Path(path).write_bytes(b"\x89PNG\r\n\x1a\n" + body)
