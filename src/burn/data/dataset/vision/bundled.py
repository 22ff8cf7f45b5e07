"""The digits that come with the package: a part of MNIST, for when there is no network.

The file is a short header, the labels, and all pixels compressed together with LZMA. Images keep the order they
have in MNIST, and each digit has its share; `pack_digits` beside this file writes it anew.
"""

from __future__ import annotations

import lzma
import struct
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from burn.errors import DataError

NAME = "mnist_subset.bin"
HEADER = struct.Struct("<8sII")
MAGIC = b"burnidx1"

Split = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


@cache
def _both() -> dict[str, Split]:
    data = files("burn.data.dataset.vision").joinpath(NAME).read_bytes()
    if len(data) < HEADER.size or not data.startswith(MAGIC):
        raise DataError(f"mnist: the bundled file {NAME} is damaged; install the package again")
    _, train, test = HEADER.unpack_from(data)
    body = lzma.decompress(data[HEADER.size :], lzma.FORMAT_XZ)
    count = train + test
    labels = np.frombuffer(body, np.uint8, count)
    images = np.frombuffer(body, np.uint8, offset=count).reshape(count, 28, 28)
    return {"train": (images[:train], labels[:train]), "test": (images[train:], labels[train:])}


def bundled_digits(split: str) -> Split:
    """Images (n, 28, 28) and labels (n,) of the bundled part of a split, as unsigned bytes."""
    return _both()[split]
