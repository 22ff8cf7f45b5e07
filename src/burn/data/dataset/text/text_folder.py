"""Texts on disk, one file each, classes by folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from burn.data.dataset.dataset import Dataset
from burn.data.dataset.errors import CorruptItem, OnError, check_choice, refuse_or_skip
from burn.errors import DataError


@dataclass(frozen=True, slots=True)
class TextDatasetItem:
    """A `text`, the number of its class (`label`, None in a folder without classes), and its file (`text_path`).

    >>> from burn.data.dataset.text import TextDatasetItem
    >>> TextDatasetItem("Good morning", 1, "greetings/1.txt").text
    'Good morning'
    """

    text: str
    label: int | None
    text_path: str


class TextFolderDataset(Dataset[TextDatasetItem]):
    """The text files of `root`: of its folders, which are the classes, or of `root` itself if it has none.

    `extensions` are the endings of file names that count, `encoding` is how texts are written, UTF-8 as usual. A
    text that cannot be read is an error, or with `on_error="skip"` a warning.

    >>> from pathlib import Path
    >>> from burn.data.dataset.text import TextFolderDataset
    >>> for name, text in (("bad", "Bored."), ("good", "Loved it.")):
    ...     Path("reviews", name).mkdir(parents=True)
    ...     _ = Path("reviews", name, "1.txt").write_text(text)
    >>> [(item.text, item.label) for item in TextFolderDataset("reviews")]
    [('Bored.', 0), ('Loved it.', 1)]
    """

    def __init__(
        self,
        root: str | PathLike[str],
        extensions: Sequence[str] = ("txt",),
        *,
        encoding: str = "utf-8",
        on_error: OnError = "raise",
    ) -> None:
        check_choice(on_error)
        folder = Path(root)
        if not folder.is_dir():
            raise DataError(f"TextFolderDataset: there is no folder {folder}")
        self.encoding, self.on_error = encoding, on_error
        self.classes = sorted(each.name for each in folder.iterdir() if each.is_dir())
        endings = {"." + each.lower().lstrip(".") for each in extensions}
        places: list[tuple[int | None, Path]] = [(n, folder / name) for n, name in enumerate(self.classes)]
        self.files = [
            (path, label)
            for label, place in places or [(None, folder)]
            for path in sorted(place.rglob("*"))
            if path.suffix.lower() in endings and path.is_file()
        ]
        if not self.files:
            raise DataError(f"TextFolderDataset: no files of {', '.join(sorted(endings))} in {folder}")

    @classmethod
    def new_classification(cls, root: str | PathLike[str], *, on_error: OnError = "raise") -> TextFolderDataset:
        """One folder for each class."""
        found = cls(root, on_error=on_error)
        if not found.classes:
            raise DataError(f"TextFolderDataset: {root} has no folders, one for each class")
        return found

    def get(self, index: int) -> TextDatasetItem | None:
        """The text of that number."""
        if not 0 <= index < len(self.files):
            return None
        path, label = self.files[index]
        try:
            return TextDatasetItem(path.read_text(encoding=self.encoding), label, str(path))
        except (OSError, UnicodeDecodeError) as error:
            refuse_or_skip(CorruptItem(str(path), index, str(error)), self.on_error)
            return None

    def len(self) -> int:
        """How many files there are."""
        return len(self.files)
