"""What is known about an image: a class, several, a mask, or boxes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class BoundingBox:
    """Where something is: `coords` (x, y, width, height) in pixels from the upper left corner, `label` is its class.

    >>> from burn.data.dataset.vision import BoundingBox
    >>> BoundingBox((10.0, 20.0, 64.0, 32.0), label=2).coords
    (10.0, 20.0, 64.0, 32.0)
    """

    coords: tuple[float, float, float, float]
    label: int


class Annotation:
    """What is known about an image: `Annotation.Label`, `.MultiLabel`, `.SegmentationMask` or `.BoundingBoxes`.

    >>> from burn.data.dataset.vision import Annotation
    >>> match Annotation.Label(3):
    ...     case Annotation.Label(label):
    ...         print(label)
    3
    """

    __slots__ = ()

    Label: type[Label]
    MultiLabel: type[MultiLabel]
    SegmentationMask: type[SegmentationMask]
    BoundingBoxes: type[BoundingBoxes]


@dataclass(frozen=True, slots=True)
class Label(Annotation):
    """The annotation of an image of one class: its number, `label`.

    >>> from burn.data.dataset.vision import Label
    >>> Label(3).label
    3
    """

    label: int


@dataclass(frozen=True, slots=True)
class MultiLabel(Annotation):
    """The annotation of an image of several classes: their numbers, `labels`.

    >>> from burn.data.dataset.vision import MultiLabel
    >>> MultiLabel((0, 4)).labels
    (0, 4)
    """

    labels: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SegmentationMask(Annotation):
    """The annotation that gives each pixel the number of its class: `mask`, an array (height, width).

    >>> from burn.data.dataset.vision import SegmentationMask
    >>> SegmentationMask(np.zeros((4, 6), np.uint8)).mask.shape
    (4, 6)
    """

    mask: Array


@dataclass(frozen=True, slots=True)
class BoundingBoxes(Annotation):
    """The annotation of an image with objects in boxes.

    >>> from burn.data.dataset.vision import BoundingBox, BoundingBoxes
    >>> annotation = BoundingBoxes((BoundingBox((0.0, 0.0, 8.0, 8.0), 1), BoundingBox((4.0, 4.0, 2.0, 2.0), 0)))
    >>> [box.label for box in annotation.boxes]
    [1, 0]
    """

    boxes: tuple[BoundingBox, ...]


Annotation.Label = Label
Annotation.MultiLabel = MultiLabel
Annotation.SegmentationMask = SegmentationMask
Annotation.BoundingBoxes = BoundingBoxes


@dataclass(frozen=True, slots=True, eq=False)
class ImageDatasetItem:
    """Pixels (`image`: height, width, channels) of u8, u16 or f32, what is known of them, and their file.

    `annotation` is one of `Annotation`, `image_path` the file that the pixels come from.

    >>> from burn.data.dataset.vision import ImageDatasetItem, Label
    >>> item = ImageDatasetItem(np.zeros((4, 6, 3), np.uint8), Label(1), "cat/1.png")
    >>> item.image_width, item.image_height
    (6, 4)
    """

    image: Array
    annotation: Annotation
    image_path: str

    @property
    def image_width(self) -> int:
        """The number of columns."""
        return int(self.image.shape[1])

    @property
    def image_height(self) -> int:
        """The number of rows."""
        return int(self.image.shape[0])
