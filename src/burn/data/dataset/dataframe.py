"""The rows of a Polars frame as items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import TypeVar

from burn.data.dataset.dataset import Dataset
from burn.data.dataset.typed import fields_of, make_item
from burn.errors import DataError

if TYPE_CHECKING:
    import polars

I = TypeVar("I", default=dict[str, Any])  # noqa: E741


class DataframeDataset(Dataset[I]):
    """Each row of a Polars frame, as `item` by column name or, without it, as a dict. Rows are made when they are read.

    >>> import polars
    >>> from burn.data.dataset import DataframeDataset
    >>> dataset = DataframeDataset(polars.DataFrame({"name": ["Ada", "Eve"], "age": [36, 7]}))
    >>> len(dataset), dataset[1]
    (2, {'name': 'Eve', 'age': 7})
    """

    def __init__(self, frame: polars.DataFrame, item: type[I] | None = None) -> None:
        self.frame = frame
        self.item: type = item or dict
        if item is not None:
            missing = [f.name for f in fields_of(item) if f.required and f.name not in frame.columns]
            if missing:
                raise DataError(
                    f"DataframeDataset: {item.__name__} needs columns that the frame does not have: "
                    f"{', '.join(missing)}; it has {', '.join(frame.columns)}"
                )

    def get(self, index: int) -> I | None:
        """The row of that number."""
        if not 0 <= index < self.frame.height:
            return None
        return make_item(self.item, self.frame.row(index, named=True))  # type: ignore[no-any-return]

    def get_many(self, indices: Sequence[int]) -> Sequence[I | None]:
        """Several rows: the frame gathers them at once."""
        height = self.frame.height
        if any(not 0 <= index < height for index in indices):
            return super().get_many(indices)
        chosen: Any = self.frame[list(indices)]
        return [make_item(self.item, row) for row in chosen.iter_rows(named=True)]

    def len(self) -> int:
        """How many rows there are."""
        return int(self.frame.height)
