"""MNIST and Fashion-MNIST: 60,000 and 10,000 images of 28 by 28 pixels in ten classes.

The files are looked for in the folder that is given, else in the cache folder; else they are downloaded there. Where
that fails, MNIST falls back on the part of it that comes with the package, and says so.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np

from burn.data.dataset.cache_folder import cache_folder
from burn.data.dataset.dataset import Dataset
from burn.data.dataset.items import Items
from burn.data.dataset.source.download import Download, DownloadError, download
from burn.data.dataset.vision.bundled import bundled_digits
from burn.data.dataset.vision.idx import read_idx
from burn.errors import ArgumentError, DataError

Array = np.ndarray[Any, Any]
Split = Literal["train", "test"]
STEMS = {"train": "train", "test": "t10k"}


class BundledNotice(UserWarning):
    """The warning that the whole dataset was not to be had: the part that comes with the package is used.

    >>> import warnings
    >>> from burn.data.dataset.vision import BundledNotice, MnistDataset
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", BundledNotice)  # a part will do
    ...     digits = MnistDataset.test(fetch=False)
    >>> digits[0].label
    7
    """


@dataclass(slots=True, eq=False)
class MnistItem:
    """An `image` (28, 28) of f32 from 0 to 255, and its class (`label`) from 0 to 9.

    >>> from burn.data.dataset.vision import MnistDataset
    >>> item = MnistDataset.bundled("test")[0]
    >>> item.image.shape, float(item.image.max()), item.label
    ((28, 28), 255.0, 7)
    """

    image: Array
    label: int


class IdxImages(Dataset[MnistItem]):
    """Images and labels from a pair of IDX files. `images` (n, 28, 28) and `labels` (n,) are unsigned bytes.

    `train` and `test` take the files from a `folder` if one is given; with `fetch` False nothing is downloaded.

    An object of your own takes `images` (n, 28, 28) and `labels` (n,) of unsigned bytes.
    """

    name: ClassVar[str]
    addresses: ClassVar[tuple[str, ...]]
    checksums: ClassVar[dict[str, str]]
    classes: ClassVar[tuple[str, ...]]

    def __init__(self, images: Array, labels: Array) -> None:
        if images.ndim != 3 or labels.shape != images.shape[:1] or images.dtype != np.uint8:
            raise DataError(
                f"{self.name}: images {images.shape} of {images.dtype} and labels {labels.shape} do not belong together"
            )
        self.images, self.labels = images, labels

    @classmethod
    def train(cls, folder: str | os.PathLike[str] | None = None, *, fetch: bool = True) -> Self:
        """The images for training."""
        return cls.load("train", folder, fetch=fetch)

    @classmethod
    def test(cls, folder: str | os.PathLike[str] | None = None, *, fetch: bool = True) -> Self:
        """The images for testing."""
        return cls.load("test", folder, fetch=fetch)

    @classmethod
    def load(cls, split: Split, folder: str | os.PathLike[str] | None = None, *, fetch: bool = True) -> Self:
        """A split from `folder`, else from the cache folder, else (with `fetch`) from the network."""
        if split not in STEMS:
            raise ArgumentError(f'{cls.name}: the splits are "train" and "test", got {split!r}')
        if folder is not None:
            return cls._read(split, Path(folder))
        place = cache_folder() / cls.name
        if not cls._missing(split, place):
            return cls._read(split, place)
        if not fetch:
            return cls._without(split, DataError(f"{cls.name}: there are no files in {place}"))
        try:
            for file in cls._files(split):
                wanted = Download(f"{file}.gz", tuple(f"{each}{file}.gz" for each in cls.addresses), cls._sum(file))
                download(wanted, place)
        except DownloadError as error:
            return cls._without(split, error)
        return cls._read(split, place)

    @classmethod
    def _without(cls, split: Split, error: Exception) -> Self:
        raise error

    @classmethod
    def _sum(cls, file: str) -> str | None:
        return cls.checksums.get(file)

    @staticmethod
    def _files(split: Split) -> tuple[str, str]:
        return f"{STEMS[split]}-images-idx3-ubyte", f"{STEMS[split]}-labels-idx1-ubyte"

    @classmethod
    def _missing(cls, split: Split, folder: Path) -> list[str]:
        return [
            file
            for file in cls._files(split)
            if not (folder / f"{file}.gz").is_file() and not (folder / file).is_file()
        ]

    @classmethod
    def _read(cls, split: Split, folder: Path) -> Self:
        missing = cls._missing(split, folder)
        if missing:
            raise DataError(f"{cls.name}: {folder} lacks {' and '.join(f'{each}.gz' for each in missing)}")
        found = [folder / f"{file}.gz" for file in cls._files(split)]
        images, labels = (read_idx(path if path.is_file() else path.with_suffix("")) for path in found)
        return cls(images, labels)

    def get(self, index: int) -> MnistItem | None:
        """The image of that number."""
        if not 0 <= index < len(self.labels):
            return None
        return MnistItem(self.images[index].astype(np.float32), int(self.labels[index]))

    def get_many(self, indices: Sequence[int]) -> Sequence[MnistItem | None]:
        """Several images, converted in one go; `column(items, "image")` is all of them."""
        chosen = np.asarray(indices, np.int64)
        if chosen.size == 0 or chosen.min() < 0 or chosen.max() >= len(self.labels):
            return super().get_many(indices)
        images = self.images.take(chosen, 0).astype(np.float32)
        labels = self.labels.take(chosen)
        return Items(map(MnistItem, images, labels.tolist()), {"image": images, "label": labels})

    def len(self) -> int:
        """How many images there are."""
        return len(self.labels)


class MnistDataset(IdxImages):
    """Handwritten digits: 60,000 images for training and 10,000 for testing; as `torchvision.datasets.MNIST`.

    `MnistDataset.train()` and `.test()` take the files from a folder that is given, else from the cache folder, else
    from the network. Without one they fall back on the digits that come with the package, which `bundled` gives
    directly.

    The class itself takes `images` (n, 28, 28) and `labels` (n,) of unsigned bytes.

    >>> from burn.data.dataset.vision import MnistDataset
    >>> digits = MnistDataset.bundled("train")
    >>> digits[0].image.shape, digits[0].label
    ((28, 28), 5)
    """

    name = "mnist"
    addresses = (
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
    )
    checksums: ClassVar[dict[str, str]] = {
        "train-images-idx3-ubyte": "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "train-labels-idx1-ubyte": "md5:d53e105ee54ea40749a09fcbcd1e9432",
        "t10k-images-idx3-ubyte": "md5:9fb629c4189551a2d022fa330f9573f3",
        "t10k-labels-idx1-ubyte": "md5:ec29112dd5afa0611ce80d1b7f02629c",
    }
    classes = ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9")

    @classmethod
    def bundled(cls, split: Split) -> Self:
        """The part of a split that comes with the package: 3,000 images for training, 650 for testing, in
        three levels of grey."""
        if split not in STEMS:
            raise ArgumentError(f'mnist: the splits are "train" and "test", got {split!r}')
        return cls(*bundled_digits(split))

    @classmethod
    def _without(cls, split: Split, error: Exception) -> Self:
        found = cls.bundled(split)
        reason = str(error).splitlines()[-1].strip()
        warnings.warn(
            BundledNotice(
                f"mnist: the whole {split} split is not here ({reason}); using the bundled {len(found):,} images. "
                f"Put the four files into {cache_folder() / cls.name}, or pass their folder"
            ),
            stacklevel=4,
        )
        return found


class FashionMnistDataset(IdxImages):
    """Pictures of clothes in ten classes, in the form of MNIST; as `torchvision.datasets.FashionMNIST`.

    The class itself takes `images` (n, 28, 28) and `labels` (n,) of unsigned bytes.

    >>> from burn.data.dataset.vision import FashionMnistDataset
    >>> FashionMnistDataset.classes[:3]
    ('T-shirt/top', 'Trouser', 'Pullover')
    >>> clothes = FashionMnistDataset.train()  # doctest: +SKIP
    """

    name = "fashion-mnist"
    addresses = (
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    )
    checksums: ClassVar[dict[str, str]] = {
        "train-images-idx3-ubyte": "md5:8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        "train-labels-idx1-ubyte": "md5:25c81989df183df01b3e8a0aad5dffbe",
        "t10k-images-idx3-ubyte": "md5:bef4ecab320f06d8554ea6380940ec79",
        "t10k-labels-idx1-ubyte": "md5:bb300cfdad3c16e7a12a480ee83cd310",
    }
    classes = (
        "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
    )  # fmt: skip
