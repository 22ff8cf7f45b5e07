"""How far an epoch is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """Items that were given out in batches (`items_processed`), of all items of the epoch (`items_total`).

    >>> from burn.data.dataloader import Progress
    >>> Progress(items_processed=32, items_total=128).share
    0.25
    """

    items_processed: int
    items_total: int

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return self.items_processed / self.items_total if self.items_total else 1.0
