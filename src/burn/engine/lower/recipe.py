"""Kernels that are written only when nobody has compiled them before.

Writing a kernel out, checking it and printing it for its key takes longer than loading its machine code. A recipe has
a key of its own, made of everything that its text depends on, and its machine code is kept under that.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from burn import engine, ops
from burn.checkout import state_of
from burn.cube import Kernel
from burn.cube.ir import Region
from burn.engine.target import lowering_for, target


class Recipe:
    """A kernel to be: `parts` tell it from every other one that `write` of the same `name` may give.

    It is written for the target of the lowering that made it, whenever that happens.
    """

    __slots__ = ("_target", "_kernel", "_write", "key_parts")

    def __init__(self, name: str, parts: tuple[Any, ...], write: Callable[[], Kernel]) -> None:
        self._target = target()
        self.key_parts = f"{name} {parts!r} {self._target.tiles.key}"
        self._write: Callable[[], Kernel] | None = write
        self._kernel: Kernel | None = None

    def kernel(self) -> Kernel:
        """The kernel, written on first use."""
        if self._kernel is None:
            assert self._write is not None
            with lowering_for(self._target):
                self._kernel, self._write = self._write(), None
        return self._kernel

    @property
    def body(self) -> Region:
        """What the kernel does."""
        return self.kernel().body

    def __str__(self) -> str:
        return str(self.kernel())


@functools.cache
def lowering() -> str:
    """The state of the engine, which writes kernels, and of the rows whose elements it writes."""
    return state_of(Path(engine.__file__).parent) + state_of(Path(ops.__file__).parent)
