"""A large body on its way in: the system writes it to where it will be read from.

Pieces that go through the parser are copied four times before a model sees them. A body of known length gets memory
of that length instead, which the transport fills; and it is placed so that the tensors behind a JSON header lie as
kernels want them.
"""

from __future__ import annotations

import numpy as np

LEAST = 64 << 10
"""Bytes below which the parser's pieces are good enough."""
MOST = 16 << 20
"""Bytes above which memory is taken as the body comes, not as a client announces it."""
ALIGNMENT = 64


class Incoming:
    """Memory for a body of `size` bytes. `header` of them come before what is to be aligned."""

    __slots__ = ("_filled", "_size", "view")

    def __init__(self, size: int, header: int = 0) -> None:
        memory = np.empty(size + ALIGNMENT, np.uint8)  # not touched: pages are taken when they are written to
        begin = -(memory.ctypes.data + header) % ALIGNMENT
        self.view: memoryview = memory.data[begin : begin + size]
        self._size = size
        self._filled = 0

    @property
    def rest(self) -> memoryview:
        """Where the next bytes go."""
        return self.view[self._filled :]

    def add(self, piece: bytes) -> None:
        """Bytes that came with the headers."""
        self.view[self._filled : self._filled + len(piece)] = piece
        self._filled += len(piece)

    def advance(self, count: int) -> bool:
        """Bytes have been written to `rest`; whether these were the last."""
        self._filled += count
        return self._filled == self._size
