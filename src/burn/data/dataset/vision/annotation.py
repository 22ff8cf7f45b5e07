"""What is known about an image: a class, several, a mask, or boxes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class BoundingBox:
    """Where something is, as (x, y, width, height) in pixels from the upper left corner, and what it is."""

    coords: tuple[float, float, float, float]
    label: int


class Annotation:
    """One of `Annotation.Label`, `.MultiLabel`, `.SegmentationMask`, `.BoundingBoxes`."""

    __slots__ = ()

    Label: type[Label]
    MultiLabel: type[MultiLabel]
    SegmentationMask: type[SegmentationMask]
    BoundingBoxes: type[BoundingBoxes]


@dataclass(frozen=True, slots=True)
class Label(Annotation):
    """The number of the image's class."""

    label: int


@dataclass(frozen=True, slots=True)
class MultiLabel(Annotation):
    """The numbers of the image's classes."""

    labels: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SegmentationMask(Annotation):
    """For each pixel, the number of its class: (height, width)."""

    mask: Array


@dataclass(frozen=True, slots=True)
class BoundingBoxes(Annotation):
    """The boxes of the image."""

    boxes: tuple[BoundingBox, ...]


Annotation.Label = Label
Annotation.MultiLabel = MultiLabel
Annotation.SegmentationMask = SegmentationMask
Annotation.BoundingBoxes = BoundingBoxes


@dataclass(frozen=True, slots=True, eq=False)
class ImageDatasetItem:
    """Pixels (height, width, channels) of u8, u16 or f32, what is known of them, and the file they come from."""

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
