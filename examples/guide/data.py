"""The guide's data: digits as normalised batches."""

from __future__ import annotations

from dataclasses import dataclass

import burn
from burn.data.dataloader import column
from burn.data.dataloader.batcher import Batcher
from burn.data.dataset.vision import MnistItem
from burn.prelude import Device, Tensor


@dataclass
class MnistBatch:
    """Images (batch, 28, 28) of mean 0 and deviation 1, and their digits (batch,)."""

    images: Tensor
    targets: Tensor


class MnistBatcher(Batcher[MnistItem, MnistBatch]):
    """Makes batches of digits."""

    def batch(self, items: list[MnistItem], device: Device) -> MnistBatch:
        """Scale to [0, 1], then to the mean and deviation of the whole of MNIST."""
        images = burn.tensor(column(items, "image"), device=device)
        images = ((images / 255) - 0.1307) / 0.3081
        return MnistBatch(images, Tensor.from_data(column(items, "label"), device))
