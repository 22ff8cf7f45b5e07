"""Items kept in a list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, TypeVar

from typing_extensions import TypeVar as DefaultTypeVar

from burn.data.dataset import rows
from burn.data.dataset.dataset import Dataset
from burn.data.dataset.errors import OnError, check_choice
from burn.data.dataset.typed import make_item
from burn.errors import ArgumentError

I = TypeVar("I")  # noqa: E741
T = DefaultTypeVar("T", default=dict[str, Any])


class InMemDataset(Dataset[I]):
    """The items of an iterable, in memory.

    >>> from burn.data.dataset import InMemDataset
    >>> dataset = InMemDataset(word.upper() for word in ("one", "two", "three"))
    >>> len(dataset), dataset[-1], dataset.get(7)
    (3, 'THREE', None)
    """

    def __init__(self, items: Iterable[I]) -> None:
        self.items: list[I] = list(items)

    @classmethod
    def from_dataset(cls, dataset: Dataset[T]) -> InMemDataset[T]:
        """Every item of another dataset, read now."""
        made: Any = cls
        return made(dataset)  # type: ignore[no-any-return]

    @classmethod
    def from_csv(
        cls,
        path: str | PathLike[str],
        *,
        item: type[T] | None = None,
        delimiter: str = ",",
        columns: Sequence[str] | None = None,
        encoding: str = "utf-8-sig",
        on_error: OnError = "raise",
        **options: Any,
    ) -> InMemDataset[T]:
        r"""The rows of a CSV file, as `item` (a dataclass or NamedTuple) or, without it, as dicts.

        The first line names the columns unless `columns` does. In dicts, columns of numbers are numbers. A broken row
        is an error, or with `on_error="skip"` a warning. `options` are those of `csv.reader`.

        `delimiter` stands between fields, a tab in `.tsv` files; `encoding` is how the text is written, UTF-8 as usual.

        >>> from pathlib import Path
        >>> from typing import NamedTuple
        >>> from burn.data.dataset import InMemDataset
        >>> _ = Path("people.csv").write_text("name,age\nAda,36\nEve,7\n")
        >>> class Person(NamedTuple):
        ...     name: str
        ...     age: int
        >>> InMemDataset.from_csv("people.csv", item=Person)[0]
        Person(name='Ada', age=36)
        >>> InMemDataset.from_csv("people.csv")[1]
        {'name': 'Eve', 'age': 7}
        """
        check_choice(on_error)
        found = rows.csv_rows(path, columns, encoding, rows.csv_options(delimiter, options))
        items: list[Any] = rows.items_of(found, path, item or dict, on_error)
        made: Any = cls
        return made(items if item is not None else rows.guess_columns(items))  # type: ignore[no-any-return]

    @classmethod
    def from_json_rows(
        cls,
        path: str | PathLike[str],
        *,
        item: type[T] | None = None,
        encoding: str = "utf-8",
        on_error: OnError = "raise",
    ) -> InMemDataset[T]:
        r"""The objects of a file with one JSON object a line, as `item` or as dicts.

        A broken row is an error, or with `on_error="skip"` a warning. `encoding` is how the text is written, UTF-8 as
        usual.

        >>> from pathlib import Path
        >>> from burn.data.dataset import InMemDataset
        >>> _ = Path("people.jsonl").write_text('{"name": "Ada", "age": 36}\n{"name": "Eve", "age": 7}\n')
        >>> list(InMemDataset.from_json_rows("people.jsonl"))
        [{'name': 'Ada', 'age': 36}, {'name': 'Eve', 'age': 7}]
        """
        check_choice(on_error)
        made: Any = cls
        return made(rows.items_of(rows.json_rows(path, encoding), path, item or dict, on_error))  # type: ignore[no-any-return]

    @classmethod
    def from_dataframe(cls, frame: Any, *, item: type[T] | None = None) -> InMemDataset[T]:
        """The rows of a Polars or Pandas frame, as `item` or as dicts, read now."""
        if hasattr(frame, "iter_rows"):
            found: Iterable[Any] = frame.iter_rows(named=True)
        elif hasattr(frame, "to_dict"):
            found = frame.to_dict("records")
        else:
            raise ArgumentError(f"from_dataframe: {type(frame).__name__} is not a frame of Polars or Pandas")
        made: Any = cls
        return made(make_item(item or dict, row) for row in found)  # type: ignore[no-any-return]

    def get(self, index: int) -> I | None:
        """The item of that number."""
        return self.items[index] if 0 <= index < len(self.items) else None

    def get_many(self, indices: Sequence[int]) -> Sequence[I | None]:
        """Several items."""
        items, size = self.items, len(self.items)
        return [items[index] if 0 <= index < size else None for index in indices]

    def len(self) -> int:
        """How many items there are."""
        return len(self.items)
