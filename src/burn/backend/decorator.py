"""What decorators have in common: they stand on another device, and their hardware is its hardware."""

from __future__ import annotations

from typing import Any, Generic

from typing_extensions import TypeVar

from burn.device import Device

I = TypeVar("I", bound=Device, default=Any)  # noqa: E741


class Decorator(Device, Generic[I]):
    """A device made of another one."""

    below: I

    def __init__(self, inner: I) -> None:
        super().__init__()
        self.below = inner
        self.label = inner.label
        self.place = inner.place
        self.float_dtype = inner.float_dtype
        self.int_dtype = inner.int_dtype

    @property
    def base(self) -> Device:
        return self.below.base

    @property
    def hardware(self) -> tuple[Any, ...]:
        return self.below.hardware

    @property
    def depth(self) -> int:
        return self.below.depth + 1

    def sync(self) -> None:
        self.below.sync()

    def mark(self) -> None:
        self.below.mark()
