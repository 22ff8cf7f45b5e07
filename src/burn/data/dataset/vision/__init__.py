"""Images: digits, clothes, and folders of files."""

from __future__ import annotations

from burn.data.dataset.vision.annotation import (
    Annotation,
    BoundingBox,
    BoundingBoxes,
    ImageDatasetItem,
    Label,
    MultiLabel,
    SegmentationMask,
)
from burn.data.dataset.vision.image_folder import ImageFolderDataset
from burn.data.dataset.vision.mnist import BundledNotice, FashionMnistDataset, MnistDataset, MnistItem

__all__ = [
    "Annotation", "BoundingBox", "BoundingBoxes", "BundledNotice", "FashionMnistDataset", "ImageDatasetItem",
    "ImageFolderDataset", "Label", "MnistDataset", "MnistItem", "MultiLabel", "SegmentationMask",
]  # fmt: skip
