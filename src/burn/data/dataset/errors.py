"""What is wrong with a dataset's files: which file, which item, and why."""

from __future__ import annotations

import warnings
from typing import Literal

from burn.errors import ArgumentError, DataError

OnError = Literal["raise", "skip"]
"""What a dataset does with an item that cannot be read."""


class CorruptItem(DataError):
    """An item that cannot be read. `file` and `index` say which one."""

    def __init__(self, file: str, index: int, why: str) -> None:
        super().__init__(f"dataset: item {index} of {file}: {why}")
        self.file, self.index, self.why = file, index, why

    def __reduce__(self) -> tuple[type[CorruptItem], tuple[str, int, str]]:
        return CorruptItem, (self.file, self.index, self.why)


class SkippedItem(UserWarning):
    """An item that was left out because `on_error="skip"` was asked for."""


def check_choice(on_error: str) -> None:
    """Refuse what is neither `raise` nor `skip`."""
    if on_error not in ("raise", "skip"):
        raise ArgumentError(f'dataset: on_error is "raise" or "skip", got {on_error!r}')


def refuse_or_skip(error: CorruptItem, on_error: OnError) -> None:
    """Raise `error`, or tell that its item is left out."""
    if on_error == "raise":
        raise error
    warnings.warn(SkippedItem(f"{error} (skipped)"), stacklevel=3)
