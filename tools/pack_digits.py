"""Writes the digits that come with the package: `python -m tools.pack_digits FOLDER FILE`.

FOLDER has the four files of MNIST. The number of images is such that the file takes a tenth of the wheel.
"""

from __future__ import annotations

import bz2
import sys
from pathlib import Path
from typing import Any

import numpy as np

from burn.data.dataset.vision.bundled import HEADER, LEVELS, MAGIC, WEIGHTS, Split
from burn.data.dataset.vision.idx import read_idx

SIZES = {"train": 3000, "test": 650}


def share(images: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], count: int) -> Split:
    """`count` images in their order, each digit as frequent as in the whole and taken from all over it."""
    wanted = np.bincount(labels, minlength=10) * count / len(labels)
    numbers = np.floor(wanted).astype(int)
    for digit in np.argsort(numbers - wanted, kind="stable")[: count - int(numbers.sum())]:
        numbers[digit] += 1
    chosen = []
    for digit, number in enumerate(numbers):
        places = np.flatnonzero(labels == digit)
        chosen.append(places[np.arange(number) * len(places) // number])
    order = np.sort(np.concatenate(chosen))
    return images[order], labels[order]


def write(folder: Path, target: Path) -> int:
    """Write the bundled file from the four files of MNIST in `folder`; its size in bytes."""
    splits = {"train": "train", "test": "t10k"}
    parts = [
        share(
            read_idx(folder / f"{stem}-images-idx3-ubyte.gz"),
            read_idx(folder / f"{stem}-labels-idx1-ubyte.gz"),
            SIZES[split],
        )
        for split, stem in splits.items()
    ]
    greys = [np.rint(images / 255 * (LEVELS - 1)).astype(np.uint8) for images, _ in parts]
    packed = [(grey.reshape(-1, 7, 4, 28) * WEIGHTS).sum(2, dtype=np.uint8) for grey in greys]
    body = b"".join([*(labels.tobytes() for _, labels in parts), *(each.tobytes() for each in packed)])
    target.write_bytes(HEADER.pack(MAGIC, SIZES["train"], SIZES["test"]) + bz2.compress(body, 9))
    return target.stat().st_size


if __name__ == "__main__":
    print(write(Path(sys.argv[1]), Path(sys.argv[2])))
