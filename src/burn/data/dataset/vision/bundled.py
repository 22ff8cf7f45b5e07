"""The digits that come with the package: a part of MNIST, for when there is no network.

The file is a short header, and labels and pixels compressed together. Pixels have three levels of grey instead of
256, which takes a quarter of the room and costs no accuracy that a training shows; four that lie below each other are
one byte. Images keep the order they have in MNIST, and each digit has its share; `tools/pack_digits.py` of the
repository writes the file anew.
"""

from __future__ import annotations

import bz2
import struct
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from burn.errors import DataError

NAME = "mnist_subset.bin"
HEADER = struct.Struct("<8sII")
MAGIC = b"burnidx2"
LEVELS = 3
WEIGHTS = LEVELS ** np.arange(4, dtype=np.uint8)[:, None]
"""What each of the four pixels is worth that lie below each other and share a byte."""

Split = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


@cache
def _both() -> dict[str, Split]:
    data = files("burn.data.dataset.vision").joinpath(NAME).read_bytes()
    if len(data) < HEADER.size or not data.startswith(MAGIC):
        raise DataError(f"mnist: the bundled file {NAME} is damaged; install the package again")
    _, train, test = HEADER.unpack_from(data)
    try:
        body = bz2.decompress(data[HEADER.size :])
    except (OSError, ValueError) as error:
        raise DataError(f"mnist: the bundled file {NAME} is damaged; install the package again") from error
    count = train + test
    labels = np.frombuffer(body, np.uint8, count)
    greys = np.rint(np.linspace(0, 255, LEVELS)).astype(np.uint8)
    packed = np.frombuffer(body, np.uint8, offset=count).reshape(count, 7, 1, 28)
    images = greys[packed // WEIGHTS % LEVELS].reshape(count, 28, 28)
    images.flags.writeable = False
    return {"train": (images[:train], labels[:train]), "test": (images[train:], labels[train:])}


def bundled_digits(split: str) -> Split:
    """Images (n, 28, 28) and labels (n,) of the bundled part of a split, as unsigned bytes."""
    return _both()[split]
