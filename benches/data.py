"""Batches a second, beside PyTorch's loader: `python -m benches.data`.

Each block runs an epoch of ours and one of theirs, in turns; the figure is the median over the blocks of the ratio of
neighbours, with its quartiles, and `ours` beside itself shows the noise. Both give shuffled, normalised batches of
tensors on the CPU whose values are there.

PyTorch is measured in two ways of writing a dataset: *each*, the usual one, normalises every item and collates by
default; *whole* gathers bytes and normalises in the collate function, which is how our batcher works.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import burn
from burn import Cpu
from burn.data.dataloader import DataLoaderBuilder, column
from burn.data.dataset.vision import ImageFolderDataset, MnistDataset

MEAN, DEVIATION = 0.1307, 0.3081
BUDGET = 1.5
Epoch = Callable[[], int]


class MnistBatcher:
    """The guide's, with one tensor for all images of a batch."""

    def batch(self, items: Any, device: Any) -> Any:
        images = burn.tensor(column(items, "image"), device=device)
        return (images / 255 - MEAN) / DEVIATION, burn.tensor(column(items, "label"), device=device)


class ImageBatcher:
    """Images of equal size."""

    def batch(self, items: Any, device: Any) -> Any:
        pixels = burn.tensor(column(items, "image"), device=device)
        targets = burn.tensor(np.array([item.annotation.label for item in items]), device=device)
        return pixels.permute((0, 3, 1, 2)).cast("f32") / 255, targets


def ours(dataset: Any, batcher: Any, workers: int, size: int) -> Epoch:
    builder = DataLoaderBuilder(batcher).batch_size(size).shuffle(1).num_workers(workers).set_device(Cpu())
    loader = builder.build(dataset)

    def epoch() -> int:
        count = 0
        for images, targets in loader:
            count += len(targets.numpy())
            images.numpy()
        return count

    return epoch


def theirs(dataset: Any, workers: int, size: int, collate: Any = None) -> Epoch:
    import torch.utils.data

    loader: Any = torch.utils.data.DataLoader(
        dataset, size, shuffle=True, num_workers=workers, persistent_workers=workers > 0, collate_fn=collate
    )

    def epoch() -> int:
        return sum(len(targets) for _, targets in loader)

    return epoch


class TorchEach:
    """An item is a normalised image."""

    def __init__(self, images: Any, labels: Any) -> None:
        import torch

        self.images, self.labels = torch.from_numpy(images.copy()), labels.tolist()

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> Any:
        return (self.images[index].float() / 255 - MEAN) / DEVIATION, self.labels[index]


class TorchWhole(TorchEach):
    """An item is an image of bytes."""

    def __getitem__(self, index: int) -> Any:
        return self.images[index], self.labels[index]


def collate_whole(items: Any) -> Any:
    import torch

    images = torch.stack([image for image, _ in items])
    return (images.float() / 255 - MEAN) / DEVIATION, torch.tensor([label for _, label in items])


class TorchImages:
    """Files through Pillow."""

    def __init__(self, entries: Any) -> None:
        self.entries = entries

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, index: int) -> Any:
        import torch
        from PIL import Image

        path, annotation = self.entries[index]
        with Image.open(path) as image:
            pixels = torch.from_numpy(np.array(image.convert("RGB")))
        return pixels.permute(2, 0, 1).float() / 255, annotation.label


def write_images(folder: Path, count: int) -> None:
    """Smooth pictures as JPEG files in two folders."""
    from PIL import Image

    random = np.random.default_rng(0)
    for number in range(count):
        place = folder / ("even", "odd")[number % 2]
        place.mkdir(exist_ok=True)
        small = Image.fromarray(random.integers(0, 256, (8, 8, 3), np.uint8))
        small.resize((96, 96), Image.Resampling.BICUBIC).save(place / f"{number:04}.jpg", quality=90)


def seconds(epoch: Epoch) -> float:
    gc.collect()
    start = time.perf_counter()
    epoch()
    return time.perf_counter() - start


def compare(label: str, mine: Epoch, other: Epoch, items: int, blocks: int) -> None:
    """Print one line: items a second of both, and the ratio."""
    for epoch in (mine, other):
        assert epoch() == items
    times: tuple[list[float], list[float]] = ([], [])
    for block in range(blocks):
        for index in (0, 1) if block % 2 else (1, 0):
            times[index].append(seconds((mine, other)[index]))
    ratios = [theirs / mine for mine, theirs in zip(*times, strict=True)]
    low, median, high = statistics.quantiles(ratios, n=4, method="inclusive")
    verdict = "" if label.endswith("ours") else "met" if median >= BUDGET and low >= 0.95 * BUDGET else "MISSED"
    first, second = (items / statistics.median(each) for each in times)
    print(f"{label:<34} {first:>10,.0f} {second:>10,.0f} {median:>6.2f}  {f'{low:.2f} to {high:.2f}':<14} {verdict}",
          flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.data", description=__doc__.splitlines()[0])
    parser.add_argument("--mnist", help="a folder with the four files of MNIST (default: the bundled part)")
    parser.add_argument("--blocks", type=int, default=7, help="interleaved blocks, at least 7 (default 7)")
    parser.add_argument("--batch", type=int, default=64, help="items in a batch (default 64)")
    parser.add_argument("--images", type=int, default=600, help="image files of the second part (default 600)")
    options = parser.parse_args()
    digits = MnistDataset.train(options.mnist) if options.mnist else MnistDataset.bundled("train")
    size, blocks = options.batch, max(7, options.blocks)
    warnings.filterwarnings("ignore", category=UserWarning, module="torch")
    print(f"{'':<34} {'ours':>10} {'theirs':>10} {'ratio':>6}  quartiles        (items a second)")
    for workers in (0, 2):
        mine = ours(digits, MnistBatcher(), workers, size)
        name = f"mnist, {workers} workers"
        compare(f"{name}, ours", mine, ours(digits, MnistBatcher(), workers, size), len(digits), blocks)
        each = theirs(TorchEach(digits.images, digits.labels), workers, size)
        compare(f"{name}, each", mine, each, len(digits), blocks)
        whole = theirs(TorchWhole(digits.images, digits.labels), workers, size, collate_whole)
        compare(f"{name}, whole", mine, whole, len(digits), blocks)
    with tempfile.TemporaryDirectory() as folder:
        write_images(Path(folder), options.images)
        files = ImageFolderDataset.new_classification(folder)
        for workers in (0, 2):
            mine = ours(files, ImageBatcher(), workers, 32)
            other = theirs(TorchImages(files.entries), workers, 32)
            compare(f"image folder, {workers} workers", mine, other, len(files), blocks)


if __name__ == "__main__":
    main()
