"""A folder of images: `train/<class>/*.png` and `test/<class>/*.png`, in colour.

Without a folder of one's own, one is made of the digits that come with the package: each in the size of CIFAR-10,
32 x 32, in colours of its own on a coloured ground, so that colour alone says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import numpy as np

from burn import Device, Tensor
from burn.data.dataloader import Batcher
from burn.data.dataset.vision import ImageDatasetItem, ImageFolderDataset, Label, MnistDataset
from burn.errors import DataError

NAMES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
SIZE = 32


def make_digits(root: Path, train: int = 2000, test: int = 500, seed: int = 1) -> None:
    """Write coloured digits as PNG files."""
    from PIL import Image

    random = np.random.default_rng(seed)
    counts: dict[Literal["train", "test"], int] = {"train": train, "test": test}
    for split, count in counts.items():
        digits = MnistDataset.bundled(split)
        for name in NAMES:
            (root / split / name).mkdir(parents=True, exist_ok=True)
        for index in range(min(count, len(digits))):
            item = digits[index]
            ink = np.zeros((SIZE, SIZE, 1), np.float32)
            ink[2:30, 2:30, 0] = np.asarray(item.image) / 255
            front, back = random.uniform(0, 255, (2, 3))
            while abs(front.mean() - back.mean()) < 60:
                front, back = random.uniform(0, 255, (2, 3))
            pixels = (ink * front + (1 - ink) * back).round().astype(np.uint8)
            Image.fromarray(pixels).save(root / split / NAMES[item.label] / f"{index:05}.png")


@dataclass
class ClassificationBatch:
    """Images (batch, 3, 32, 32), normalised, and their classes (batch,)."""

    images: Tensor
    targets: Tensor


class ClassificationBatcher(Batcher[ImageDatasetItem, ClassificationBatch]):
    """Makes batches of images, all of one size."""

    mean = np.array([0.4914, 0.4822, 0.4465], np.float32)
    deviation = np.array([0.247, 0.243, 0.261], np.float32)

    def batch(self, items: list[ImageDatasetItem], device: Device) -> ClassificationBatch:
        """Scale to [0, 1], then to the mean and deviation of CIFAR-10; channels come first."""
        odd = [f"{item.image_path} is {item.image.shape}" for item in items if item.image.shape != (SIZE, SIZE, 3)]
        if odd:
            raise DataError(f"images: needs {SIZE} x {SIZE} pixels in three colours; {'; '.join(odd[:3])}")
        pixels = np.stack([item.image for item in items]).astype(np.float32) / 255
        images = np.ascontiguousarray(((pixels - self.mean) / self.deviation).transpose(0, 3, 1, 2))
        targets = np.array([cast(Label, item.annotation).label for item in items], np.int64)
        return ClassificationBatch(Tensor.from_data(images, device), Tensor.from_data(targets, device))


def load(root: Path, split: str) -> ImageFolderDataset:
    """The images of a split."""
    return ImageFolderDataset.new_classification(root / split)
