"""Where arrays keep their address, so that binding one is a store: asking NumPy takes a microsecond."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

ADDRESS_OF_DATA: int = object.__basicsize__
"""How far into an array object its address stands; checked below."""


def address_of(held: np.ndarray[Any, Any]) -> int:
    """Where the elements of an array begin."""
    pointer: int = held.__array_interface__["data"][0]
    return pointer


def _layout_is_known() -> bool:
    """Whether array objects keep their address where we look for it. Other interpreters may have other layouts."""
    probes = [np.empty(shape, np.float32) for shape in ((3,), (2, 5), (64, 64), ())]
    return all(ctypes.c_int64.from_address(id(each) + ADDRESS_OF_DATA).value == address_of(each) for each in probes)


KNOWN_LAYOUT = _layout_is_known()


def word(number: float) -> int:
    """An integer in the eight bytes of a slot."""
    whole = int(number)
    return whole - (1 << 64) if whole >> 63 > 0 else whole
