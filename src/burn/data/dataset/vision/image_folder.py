"""Images on disk with what is known about them: classes by folder, lists of items, masks, COCO boxes.

Files are found and annotations read when the dataset is made; pixels are read when an item is asked for.

    dataset = ImageFolderDataset.new_classification("path/to/root")     # root/cat/1.png, root/dog/2.png
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import NamedTuple, TypeVar

from burn.data.dataset.dataset import Dataset
from burn.data.dataset.errors import CorruptItem, OnError, check_choice, refuse_or_skip
from burn.data.dataset.vision.annotation import Annotation, ImageDatasetItem, Label, MultiLabel, SegmentationMask
from burn.data.dataset.vision.coco import read_coco
from burn.data.dataset.vision.image_file import EXTENSIONS, read_image, read_mask
from burn.errors import DataError, raise_faults

AnyPath = str | PathLike[str]
T = TypeVar("T")


class Entry(NamedTuple):
    """An image that is not read yet: its file, and its annotation or the file of its mask."""

    path: Path
    annotation: Annotation | Path


class ImageFolderDataset(Dataset[ImageDatasetItem]):
    """Images on disk with their annotations; as `torchvision.datasets.ImageFolder`.

    Files are found when the dataset is made and read, through Pillow, when an item is asked for. `classes` names the
    numbers that annotations use. With `on_error="skip"` a file that cannot be read gives None, with a warning.

    Make one with a `new_` method: a folder for each class below `root`; `items`, pairs of a file and its class,
    classes or mask; or COCO `annotations`. `extensions` are the endings of file names that count.

    `entries` are what these methods make.

    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from burn.data.dataset.vision import ImageFolderDataset
    >>> for name in ("cat", "dog"):
    ...     Path("images", name).mkdir(parents=True)
    ...     Image.new("RGB", (6, 4)).save(f"images/{name}/1.png")
    >>> dataset = ImageFolderDataset.new_classification("images")
    >>> len(dataset), dataset[1].image.shape, dataset.classes[dataset[1].annotation.label]
    (2, (4, 6, 3), 'dog')
    """

    def __init__(self, entries: Iterable[Entry], classes: Sequence[str], *, on_error: OnError = "raise") -> None:
        check_choice(on_error)
        self.entries = list(entries)
        self.classes = list(classes)
        self.on_error = on_error

    @classmethod
    def new_classification(cls, root: AnyPath, *, on_error: OnError = "raise") -> ImageFolderDataset:
        """One folder for each class in `root`, with images of the usual kinds."""
        return cls.new_classification_with(root, EXTENSIONS, on_error=on_error)

    @classmethod
    def new_classification_with(
        cls, root: AnyPath, extensions: Sequence[str], *, on_error: OnError = "raise"
    ) -> ImageFolderDataset:
        """The same with a choice of file name endings. Classes and files are sorted by name."""
        folder = Path(root)
        if not folder.is_dir():
            raise DataError(f"ImageFolderDataset: there is no folder {folder}")
        endings = {"." + each.lower().lstrip(".") for each in extensions}
        classes = sorted(each.name for each in folder.iterdir() if each.is_dir())
        entries = [
            Entry(path, Label(number))
            for number, name in enumerate(classes)
            for path in sorted(folder.joinpath(name).rglob("*"))
            if path.suffix.lower() in endings and path.is_file()
        ]
        if not entries:
            kinds = ", ".join(sorted(endings))
            raise DataError(f"ImageFolderDataset: no files of {kinds} in the folders of {folder}")
        return cls(entries, classes, on_error=on_error)

    @classmethod
    def new_classification_with_items(
        cls, items: Iterable[tuple[AnyPath, str]], classes: Sequence[str], *, on_error: OnError = "raise"
    ) -> ImageFolderDataset:
        """A list of (file, class)."""
        listed = [(Path(path), [label]) for path, label in items]
        numbers = _numbered(listed, classes)
        entries = [Entry(path, Label(each[0])) for (path, _), each in zip(listed, numbers, strict=True)]
        return cls(entries, classes, on_error=on_error)

    @classmethod
    def new_multilabel_classification_with_items(
        cls, items: Iterable[tuple[AnyPath, Sequence[str]]], classes: Sequence[str], *, on_error: OnError = "raise"
    ) -> ImageFolderDataset:
        """A list of (file, classes)."""
        listed = [(Path(path), list(labels)) for path, labels in items]
        numbers = _numbered(listed, classes)
        entries = [Entry(path, MultiLabel(tuple(each))) for (path, _), each in zip(listed, numbers, strict=True)]
        return cls(entries, classes, on_error=on_error)

    @classmethod
    def new_segmentation_with_items(
        cls, items: Iterable[tuple[AnyPath, AnyPath]], classes: Sequence[str], *, on_error: OnError = "raise"
    ) -> ImageFolderDataset:
        """A list of (file, file of the mask). The numbers in a mask are those of `classes`."""
        return cls([Entry(Path(image), Path(mask)) for image, mask in items], classes, on_error=on_error)

    @classmethod
    def new_coco_detection(
        cls, annotations: AnyPath, images: AnyPath, *, on_error: OnError = "raise"
    ) -> ImageFolderDataset:
        """The boxes of a COCO file, with the images of a folder."""
        classes, boxes = read_coco(Path(annotations))
        return cls([Entry(Path(images) / name, each) for name, each in boxes], classes, on_error=on_error)

    def get(self, index: int) -> ImageDatasetItem | None:
        """The image of that number with its annotation."""
        if not 0 <= index < len(self.entries):
            return None
        path, annotation = self.entries[index]
        file = path
        try:
            image = read_image(path)
            if isinstance(annotation, Path):
                file = annotation
                annotation = self._mask(annotation, image.shape[:2])
        except DataError as error:
            refuse_or_skip(CorruptItem(str(file), index, str(error)), self.on_error)
            return None
        return ImageDatasetItem(image, annotation, str(path))

    def _mask(self, path: Path, shape: tuple[int, ...]) -> SegmentationMask:
        mask = read_mask(path)
        if mask.shape != shape:
            raise DataError(f"the mask is {mask.shape[1]} x {mask.shape[0]} and its image {shape[1]} x {shape[0]}")
        if mask.size and int(mask.max()) >= len(self.classes):
            raise DataError(f"the mask has class {int(mask.max())}, and there are {len(self.classes)} classes")
        return SegmentationMask(mask)

    def len(self) -> int:
        """How many images there are."""
        return len(self.entries)


def _numbered(items: Sequence[tuple[Path, Sequence[str]]], classes: Sequence[str]) -> list[list[int]]:
    """Classes by name as numbers. All names that are no class are reported at once."""
    numbers = {name: number for number, name in enumerate(classes)}
    unknown = {label: path for path, labels in reversed(items) for label in labels if label not in numbers}
    faults = [f"{label!r} (of {path}) is none of the classes {', '.join(classes)}" for label, path in unknown.items()]
    if len(numbers) != len(classes):
        faults.append("a class is there twice")
    raise_faults("ImageFolderDataset", faults, DataError)
    return [[numbers[label] for label in labels] for _, labels in items]
