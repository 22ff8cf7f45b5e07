"""IDX files: a header that tells element type and shape, then the elements."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from burn.errors import DataError

ELEMENTS = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(path: str | Path) -> np.ndarray[Any, Any]:
    """The array of an IDX file, compressed or not."""
    data = Path(path).read_bytes()
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"idx: {path} is not a whole gzip file: {error}") from None
    if len(data) < 4 or data[:2] != b"\x00\x00" or data[2] not in ELEMENTS:
        raise DataError(f"idx: {path} does not begin as an IDX file does; it begins with {data[:4].hex(' ')}")
    dtype, rank = np.dtype(ELEMENTS[data[2]]), data[3]
    start = 4 + 4 * rank
    if len(data) < start:
        raise DataError(f"idx: {path} ends within its header")
    shape = tuple(int(each) for each in np.frombuffer(data, ">u4", rank, 4))
    needed = math.prod(shape) * dtype.itemsize
    if len(data) - start != needed:
        raise DataError(f"idx: {path} has {len(data) - start} bytes of elements, and shape {shape} needs {needed}")
    return np.frombuffer(data, dtype, offset=start).reshape(shape).astype(dtype.newbyteorder("="), copy=False)
