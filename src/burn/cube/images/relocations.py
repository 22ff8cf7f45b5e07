"""What a relocation asks for: which address, and how it is written at its place.

A machine has a table from the numbers of its relocations to rules (`x86.py`, `arm.py`). All relocations of one number
in one section are done together, as arrays of places and targets.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from burn.cube.images.image import Unlinkable

Array = np.ndarray[Any, Any]

Write = Callable[[Array, Array, Array, int], None]
"""Write into the contents, at places, what targets ask for; the last argument is where the table begins."""


class Wanted(Enum):
    """Whose address a relocation names."""

    PLACE = "the symbol, which must be in the image"
    CALL = "the symbol, or a jump to it where it is elsewhere"
    SLOT = "the word of the table that holds the symbol's address"
    TABLE = "the table, whatever the symbol"
    POINTER = "the symbol, as a word that mapping fills"


class Rule(NamedTuple):
    """How one kind of relocation is done; the place takes `size` bytes."""

    wanted: Wanted
    size: int
    write: Write


def put(contents: Array, places: Array, values: Array, kind: str) -> None:
    """Write numbers of a kind such as `<i4` at places, each of which may begin at any byte."""
    rows = np.ascontiguousarray(values.astype(kind)).view(np.uint8).reshape(len(places), -1)
    contents[places[:, None] + np.arange(rows.shape[1])] = rows


def words_at(contents: Array, places: Array) -> Array:
    """The instructions of four bytes at places."""
    if (places & 3).any():
        raise Unlinkable("object: a relocation between instructions")
    rows = np.ascontiguousarray(contents[places[:, None] + np.arange(4)])
    return rows.view("<u4").reshape(-1).astype(np.int64)


def within(values: Array, bits: int) -> Array:
    """The values, which must be signed numbers of so many bits."""
    limit = 1 << (bits - 1)
    if ((values < -limit) | (values >= limit)).any():
        raise Unlinkable(f"object: a distance of more than {bits} bits")
    return values


def distance(kind: str, bits: int) -> Write:
    """From the place to the target."""

    def write(contents: Array, places: Array, targets: Array, table: int) -> None:
        put(contents, places, within(targets - places, bits), kind)

    return write


def nothing(contents: Array, places: Array, targets: Array, table: int) -> None:
    """Mapping does it."""
