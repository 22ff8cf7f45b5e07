"""Gzip: pieces compressed one by one, and a whole file expanded under a limit, its checksum verified.

Deflate packs up to a thousand bytes into one, so a small file can ask for a lot of memory. A file may expand to
1 GiB, or to 100 times its size where that is more, unless the recorder is given another limit. Records of
ordinary numbers shrink to a half at best; one that would shrink beyond the limit, such as a very
large one full of zeros, is stored uncompressed inside its gzip file, so that it can be read back.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from burn.record.errors import RecordError

FLOOR = 1 << 30
RATIO = 100
STEP = 1 << 20
MARK = b"\x1f\x8b"
HEADER = bytes.fromhex("1f8b08000000000000ff")
"""No name, no time, no system: the same record gives the same file."""


def limit_for(compressed: int) -> int:
    """How far a file of this size may expand."""
    return max(FLOOR, RATIO * compressed)


def compress(pieces: Iterable[bytes | memoryview], level: int = 6) -> Iterator[bytes]:
    """The pieces as one gzip member."""
    packer = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    yield HEADER
    checksum, size = 0, 0
    for piece in pieces:
        for start in range(0, len(piece), STEP):
            part = piece[start : start + STEP]
            checksum, size = zlib.crc32(part, checksum), size + len(part)
            packed = packer.compress(part)
            if packed:
                yield packed
    yield packer.flush() + checksum.to_bytes(4, "little") + (size & 0xFFFFFFFF).to_bytes(4, "little")


def expand(data: memoryview, limit: int | None = None) -> bytearray:
    """The contents of a gzip file, after its checksum and its length were found right."""
    if bytes(data[:2]) != MARK:
        raise RecordError("it is not compressed with gzip; use the recorder without Gz in its name")
    allowed = limit_for(len(data)) if limit is None else limit
    unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
    result = bytearray()
    at = 0
    rest: bytes | memoryview = b""
    try:
        while not unpacker.eof:
            if not rest:
                rest, at = data[at : at + STEP], at + STEP
                if not rest:
                    raise RecordError("the gzip stream ends too early: the file is truncated")
            result += unpacker.decompress(rest, STEP)
            rest = unpacker.unconsumed_tail
            if len(result) > allowed:
                raise RecordError(
                    f"it expands to more than {allowed:,} bytes, {len(data):,} compressed; "
                    "if you trust the file, give the recorder a larger limit=..."
                )
    except zlib.error as error:
        raise RecordError(f"the gzip stream is damaged: {error}") from None
    if unpacker.unused_data or at < len(data):
        raise RecordError("there are bytes after the end of the gzip stream")
    return result
