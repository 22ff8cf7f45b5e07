"""Event files for TensorBoard, written without it: length, checksum and a small protocol buffer for each event.

A record is `length u64, crc(length) u32, data, crc(data) u32`, little endian, with CRC-32C rotated and shifted as
TFRecord files have it. The data is an `Event`: wall time, step, and a summary with a tag and a float.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from burn.record.files import sweep, write_file
from burn.train.logger.protocol import RunLogger, checked_every
from burn.train.position import Position
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


def records(data: bytes) -> Iterator[bytes]:
    """The data of the records of an event file, up to one that is not whole."""
    place = 0
    while place + 12 <= len(data):
        (length,) = struct.unpack_from("<Q", data, place)
        end = place + 16 + length
        body = data[place + 12 : end - 4]
        if end > len(data) or struct.unpack_from("<I", data, end - 4)[0] != masked(body):
            return
        yield body
        place = end


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protocol buffer: numbers, or bytes."""
    place = 0

    def varint() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = data[place]
            place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while place < len(data):
        key = varint()
        wire = key & 7
        size = varint() if wire == 2 else {1: 8, 5: 4}.get(wire, 0)
        if wire == 0:
            yield key >> 3, varint()
        else:
            yield key >> 3, data[place : place + size]
        place += size


def scalar_of(event: bytes) -> tuple[str, int, float] | None:
    """Tag, step and number of an event; None for other events."""
    fields = dict(_fields(event))
    if 5 not in fields:
        return None
    value = dict(_fields(dict(_fields(fields[5]))[1]))
    return value[1].decode(), fields.get(2, 0), struct.unpack("<f", value[2])[0]


class TensorBoardLogger(RunLogger):
    """Writes event files below a folder, `train` and `valid` apart, so that TensorBoard draws them in one chart.

    `every` is how many batches it goes from one value to the next. TensorBoard itself is not needed to write.

    >>> from pathlib import Path
    >>> from burn.train import Split, TensorBoardLogger
    >>> logger = TensorBoardLogger("runs/first", every=10)  # LearnerBuilder.loggers([logger]) does the rest
    >>> logger.begin(None)
    >>> logger.log_epoch(Split.Valid, 1, 20, {"Loss": 0.5})
    >>> logger.close()
    >>> [path.parent.name for path in Path("runs").rglob("*tfevents*")]
    ['valid']
    """

    def __init__(self, folder: Any, every: int = 1) -> None:
        self.folder, self.every = Path(folder), checked_every("TensorBoardLogger", every)
        self._files: dict[Split, BinaryIO] = {}

    def begin(self, position: Position | None) -> None:
        """Take away the events after the position. A training that begins anew leaves other files alone."""
        if position is None or (position.epoch and not position.step):  # nobody knows the step
            return
        for split in (Split.Train, Split.Valid):
            folder = self.folder / split.value
            sweep(folder)
            for path in folder.glob("events.out.tfevents.*") if folder.is_dir() else ():
                data = path.read_bytes()
                kept = b"".join(record(each) for each in records(data) if _is_kept(each, split, position))
                if len(kept) != len(data):
                    write_file(str(path), [kept])

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


def _is_kept(event: bytes, split: Split, position: Position) -> bool:
    found = scalar_of(event)
    if found is None:
        return True
    tag, step, _ = found
    return step <= position.step if tag.startswith("batch/") else position.has_epoch(split, step)
