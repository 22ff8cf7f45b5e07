"""Digits that come with the package, as arrays."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

import numpy as np

from burn.data.dataset.vision import MnistDataset

Array = np.ndarray[Any, Any]


def digits(split: Literal["train", "test"], wanted: Collection[int], each: int | None = None) -> tuple[Array, Array]:
    """Images (count, 1, 28, 28) of the digits in `wanted`, and which of them each is; the first `each` of a kind."""
    dataset = MnistDataset.bundled(split)
    labels = np.asarray(dataset.labels, np.int64)
    order = sorted(wanted)
    places = [np.flatnonzero(labels == digit)[:each] for digit in order]
    images = np.concatenate([dataset.images[place] for place in places])[:, None].astype(np.float32)
    classes = np.repeat(np.arange(len(order)), [len(place) for place in places])
    return (images / 255 - 0.1307) / 0.3081, classes.astype(np.int64)
