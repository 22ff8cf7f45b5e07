"""SHA-256 of large memory in pieces, which threads compute at once: one core does two gibibytes a second at best."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence

from burn.backend.cpu.cores import usable_cores

PIECE = 4 << 20
DIGEST = 32
MOST_THREADS = 8


def sums(parts: Sequence[memoryview], padded: Sequence[int]) -> bytes:
    """The digests of all pieces of some parts, each as if zeros filled it up to a size."""
    pieces = [(part, begin, size) for part, size in zip(parts, padded, strict=True) for begin in range(0, size, PIECE)]
    found = [b""] * len(pieces)
    indices = iter(range(len(pieces)))
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                index = next(indices, None)
            if index is None:
                return
            part, begin, size = pieces[index]
            digest = hashlib.sha256(part[begin : begin + PIECE])
            digest.update(bytes(max(0, min(begin + PIECE, size) - max(begin, len(part)))))
            found[index] = digest.digest()

    others = [threading.Thread(target=work) for _ in range(min(usable_cores(), MOST_THREADS, len(pieces)) - 1)]
    for each in others:
        each.start()
    work()
    for each in others:
        each.join()
    return b"".join(found)
