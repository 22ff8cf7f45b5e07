"""Items that were read together, and their fields as arrays.

A dataset that reads many items at once often has their fields as arrays already. `Items` is the list of them that
keeps these arrays, and `column` is how a batcher asks for one without caring whether they are there.

    images = burn.tensor(column(items, "image"), device=device)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

I = TypeVar("I")  # noqa: E741
Array = np.ndarray[Any, Any]


class Items(list[I]):
    """A list of items with `columns`: by field name, the array of the values of all items.

    What `get_many` may give, so that `column` need not collect the values one by one.

    >>> import numpy as np
    >>> from burn.data.dataset import Items, column
    >>> items = Items([{"age": 36}, {"age": 7}], {"age": np.array([36, 7])})
    >>> len(items), column(items, "age")
    (2, array([36,  7]))
    """

    __slots__ = ("columns",)

    def __init__(self, items: Any, columns: dict[str, Array]) -> None:
        super().__init__(items)
        self.columns = columns

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


def column(items: Sequence[Any], name: str) -> Array:
    """The field `name` of all items as an array: the first axis counts the items. Read it, do not write to it.

    Nothing is copied where the dataset read the items together, as images do.

    >>> from burn.data.dataloader import column
    >>> from burn.data.dataset.vision import MnistDataset
    >>> items = MnistDataset.bundled("test").get_many(range(4))
    >>> column(items, "image").shape, column(items, "label")
    ((4, 28, 28), array([7, 2, 1, 0], dtype=uint8))
    """
    if items.__class__ is Items:
        found = items.columns.get(name)
        if found is not None and len(found) == len(items):
            return found
    return np.stack([np.asarray(getattr(item, name)) for item in items])
