"""Datasets, mappers and batchers that several tests use, and that a spawned process can import."""

from __future__ import annotations

import enum
import os
import threading
import time
from dataclasses import dataclass

import numpy as np

from burn.data.dataset import Dataset


class Kind(enum.Enum):
    SMALL = 1
    LARGE = 2


@dataclass
class Point:
    x: float
    y: float


@dataclass
class Person:
    name: str
    age: int
    height: float
    married: bool = False
    nickname: str | None = None


@dataclass
class Everything:
    text: str
    number: int
    share: float
    yes: bool
    raw: bytes
    kind: Kind
    points: list[Point]
    names: dict[str, int]
    nothing: int | None


def everything(number: int) -> Everything:
    points = [Point(float(each), -float(each)) for each in range(number % 3)]
    kind = Kind.LARGE if number % 2 else Kind.SMALL
    return Everything(f"text {number} \N{SNOWMAN}", number, number / 7, number % 2 == 0, bytes([number % 256]), kind,
                      points, {"a": number}, None if number % 5 else number)  # fmt: skip


class Squares(Dataset[int]):
    """The squares of the numbers below `size`."""

    def __init__(self, size: int) -> None:
        self.size = size

    def get(self, index: int) -> int | None:
        return index * index if 0 <= index < self.size else None

    def len(self) -> int:
        return self.size


class Slow(Squares):
    """Takes longer for early items, so that workers finish out of order."""

    def get(self, index: int) -> int | None:
        time.sleep(0.004 if index % 7 == 0 else 0.0)
        return super().get(index)


class Failing(Squares):
    """Fails at one item."""

    def __init__(self, size: int, at: int) -> None:
        super().__init__(size)
        self.at = at

    def get(self, index: int) -> int | None:
        if index == self.at:
            raise KeyError("a pixel is missing")
        return super().get(index)


class Dying(Squares):
    """Ends its process at one item."""

    def get(self, index: int) -> int | None:
        if index == 5:
            os._exit(3)
        return super().get(index)


def negated(number: int) -> int:
    return -number


def with_process(number: int) -> tuple[int, int]:
    return number, os.getpid()


class Lists:
    """A batcher that gives its items as they are."""

    def batch(self, items, device):
        return list(items)


class Arrays:
    """A batcher that gives an array."""

    def batch(self, items, device):
        return np.array(items)


class Locks(Squares):
    """Items that cannot be sent to another process."""

    def get(self, index: int):
        return threading.Lock()


class Moody(Squares):
    """Fails when several items are asked for, and never for one."""

    def get_many(self, indices):
        raise OSError("too many at once")
