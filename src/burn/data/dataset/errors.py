"""What is wrong with a dataset's files: which file, which item, and why."""

from __future__ import annotations

import warnings
from typing import Literal

from burn.errors import ArgumentError, DataError

OnError = Literal["raise", "skip"]
"""What a dataset does with an item that cannot be read."""


class CorruptItem(DataError):
    """An item that cannot be read. `file` and `index` say which one.

    >>> from burn.data.dataset import CorruptItem
    >>> error = CorruptItem("people.csv", 3, "age: 'old' is not an int")
    >>> print(error)
    dataset: item 3 of people.csv: age: 'old' is not an int
    """

    def __init__(self, file: str, index: int, why: str) -> None:
        super().__init__(f"dataset: item {index} of {file}: {why}")
        self.file, self.index, self.why = file, index, why

    def __reduce__(self) -> tuple[type[CorruptItem], tuple[str, int, str]]:
        return CorruptItem, (self.file, self.index, self.why)


class SkippedItem(UserWarning):
    r"""The warning about an item that was left out because `on_error="skip"` was asked for.

    >>> import warnings
    >>> from pathlib import Path
    >>> from burn.data.dataset import InMemDataset, SkippedItem
    >>> _ = Path("rows.jsonl").write_text('{"a": 1}\n{"a"\n')
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", SkippedItem)  # to hear nothing of them
    ...     print(list(InMemDataset.from_json_rows("rows.jsonl", on_error="skip")))
    [{'a': 1}]
    """


def check_choice(on_error: str) -> None:
    """Refuse what is neither `raise` nor `skip`."""
    if on_error not in ("raise", "skip"):
        raise ArgumentError(f'dataset: on_error is "raise" or "skip", got {on_error!r}')


def refuse_or_skip(error: CorruptItem, on_error: OnError) -> None:
    """Raise `error`, or tell that its item is left out."""
    if on_error == "raise":
        raise error
    warnings.warn(SkippedItem(f"{error} (skipped)"), stacklevel=3)
