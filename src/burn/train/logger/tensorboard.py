"""Event files for TensorBoard, written without it: length, checksum and a small protocol buffer for each event.

A record is `length u64, crc(length) u32, data, crc(data) u32`, little endian, with CRC-32C rotated and shifted as
TFRecord files have it. The data is an `Event`: wall time, step, and a summary with a tag and a float.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from burn.train.logger.protocol import RunLogger
from burn.train.store import Split

POLYNOMIAL = 0x82F63B78  # Castagnoli's, reflected
MASK = 0xA282EAD8


def _table() -> list[int]:
    found = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (POLYNOMIAL if value & 1 else 0)
        found.append(value)
    return found


_TABLE = _table()


def crc32c(data: bytes) -> int:
    """The CRC-32C of some bytes."""
    value, table = 0xFFFFFFFF, _TABLE
    for byte in data:
        value = table[(value ^ byte) & 0xFF] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


def masked(data: bytes) -> int:
    """The checksum as a record holds it."""
    value = crc32c(data)
    return (((value >> 15) | (value << 17)) + MASK) & 0xFFFFFFFF


def record(data: bytes) -> bytes:
    """One record of an event file."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked(length)) + data + struct.pack("<I", masked(data))


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _bytes(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def scalar_event(tag: str, value: float, step: int, wall: float) -> bytes:
    """An event with one number."""
    summary = _bytes(1, _bytes(1, tag.encode()) + b"\x15" + struct.pack("<f", value))
    return b"\x09" + struct.pack("<d", wall) + b"\x10" + _varint(step) + _bytes(5, summary)


class TensorBoardLogger(RunLogger):
    """Writes event files below a folder, `train` and `valid` apart, so that TensorBoard draws them in one chart."""

    def __init__(self, folder: Any, every: int = 1) -> None:
        self.folder, self.every = Path(folder), every
        self._files: dict[Split, BinaryIO] = {}

    def _file(self, split: Split) -> BinaryIO:
        found = self._files.get(split)
        if found is None:
            folder = self.folder / split.value
            folder.mkdir(parents=True, exist_ok=True)
            now = time.time()
            name = f"events.out.tfevents.{int(now):010d}.{socket.gethostname()}.{os.getpid()}.{time.monotonic_ns()}"
            found = self._files[split] = (folder / name).open("wb")
            found.write(record(b"\x09" + struct.pack("<d", now) + _bytes(3, b"brain.Event:2")))
        return found

    def _scalars(self, split: Split, step: int, prefix: str, values: Mapping[str, float]) -> None:
        file, now = self._file(split), time.time()
        for name, value in values.items():
            file.write(record(scalar_event(f"{prefix}/{name}", value, step, now)))

    def log_batch(self, split: Split, epoch: int, step: int, values: Mapping[str, float]) -> None:
        """Training batches against the iteration."""
        if split is Split.Train and step % self.every == 0:
            self._scalars(split, step, "batch", values)

    def log_epoch(self, split: Split, epoch: int, step: int, values: Mapping[str, float]) -> None:
        """Both splits against the epoch."""
        self._scalars(split, epoch, "epoch", values)

    def flush(self) -> None:
        """Write what was logged."""
        for file in self._files.values():
            file.flush()

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()
        self._files.clear()
