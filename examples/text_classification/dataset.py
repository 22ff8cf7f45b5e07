"""Texts with classes: news (AG News), encyclopedia entries (DbPedia), or a file of one's own.

The two named ones come through the `datasets` library and need a network the first time. A file has a line for each
text, its columns `label` and `text` separated by tabs (`.tsv`) or commas (`.csv`). Without any, four kinds of books of
the King James Bible are told apart by their passages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burn.data.dataset import Dataset, HuggingfaceDatasetLoader, InMemDataset
from burn.data.dataset.transform import MapperDataset, PartialDataset, ShuffledDataset

PASSAGES = Path(__file__).with_name("passages.tsv")


@dataclass(frozen=True)
class TextClassificationItem:
    """A text and the number of its class."""

    text: str
    label: int


class TextClassificationDataset(Dataset[TextClassificationItem]):
    """Texts, and the names of their classes."""

    def __init__(self, items: Dataset[TextClassificationItem], classes: list[str]) -> None:
        self.items = items
        self.classes = classes

    def get(self, index: int) -> TextClassificationItem | None:
        """The text of that number."""
        return self.items.get(index)

    def len(self) -> int:
        """How many texts there are."""
        return self.items.len()


Both = tuple[TextClassificationDataset, TextClassificationDataset]


@dataclass
class AgNewsItem:
    """A row of AG News."""

    text: str
    label: int


@dataclass
class DbPediaItem:
    """A row of DbPedia."""

    title: str
    content: str
    label: int


@dataclass
class FileItem:
    """A row of a file."""

    label: str
    text: str


def ag_news() -> Both:
    """News in four classes."""
    classes = ["World", "Sports", "Business", "Technology"]
    return _hosted("ag_news", AgNewsItem, lambda item: TextClassificationItem(item.text, item.label), classes)


def dbpedia() -> Both:
    """The first sentences of encyclopedia entries, in fourteen classes."""
    classes = [
        "Company", "Educational Institution", "Artist", "Athlete", "Office Holder", "Mean of Transportation",
        "Building", "Natural Place", "Village", "Animal", "Plant", "Album", "Film", "Written Work",
    ]  # fmt: skip
    return _hosted(
        "dbpedia_14",
        DbPediaItem,
        lambda item: TextClassificationItem(f"Title: {item.title} - Content: {item.content}", item.label),
        classes,
    )


def _hosted(name: str, item: type[Any], mapper: Callable[[Any], TextClassificationItem], classes: list[str]) -> Both:
    loader = HuggingfaceDatasetLoader(name)
    train, test = (MapperDataset(loader.dataset(split, item), mapper) for split in ("train", "test"))
    return TextClassificationDataset(train, classes), TextClassificationDataset(test, classes)


def from_file(path: str | Path, seed: int = 42) -> Both:
    """The texts of a file: four fifths to train with, the others to test."""
    delimiter = "," if Path(path).suffix == ".csv" else "\t"
    rows: InMemDataset[FileItem] = InMemDataset.from_csv(path, delimiter=delimiter, item=FileItem)
    classes = sorted({row.label for row in rows})
    numbers = {name: number for number, name in enumerate(classes)}
    items = MapperDataset(rows, lambda row: TextClassificationItem(row.text, numbers[row.label]))
    mixed = ShuffledDataset.with_seed(items, seed)
    border = len(mixed) * 4 // 5
    parts = PartialDataset(mixed, 0, border), PartialDataset(mixed, border, len(mixed))
    return TextClassificationDataset(parts[0], classes), TextClassificationDataset(parts[1], classes)


def datasets_of(name: str) -> Both:
    """By name, or by file."""
    named = {"ag_news": ag_news, "dbpedia": dbpedia, "passages": lambda: from_file(PASSAGES)}
    return named[name]() if name in named else from_file(name)
