"""A frozen plan as plain data: steps, the slots they read, and how all of it follows from named sizes.

Wherever a number may depend on sizes it is a `Linear`: an int, or an expression over the named sizes (`burn.dim`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from burn.classes import dataclass
from burn.dim import Dim, Linear

if TYPE_CHECKING:
    from burn.cube.images import Image

WORD, ROOM, CONSTANT, PLACE, STATUS = range(5)
"""What a slot holds: a number as it is; an address in a room of the arena, in a constant, in an input or result of the
run; that of the two words which a check writes."""

RELATIONS = ("==", "!=", ">=")

Bytes = NDArray[np.uint8]


class Step(NamedTuple):
    """A kernel over its extent; its slots begin at `slot`."""

    kernel: int
    slot: int
    extent: Linear
    grain: Linear
    label: str


class Slot(NamedTuple):
    """A word that a kernel reads: of a kind, with the number of the room, constant, place or check, and an offset."""

    kind: int
    which: int
    amount: Linear


class Described(NamedTuple):
    """An array that is given or made: its shape, and the name of its dtype."""

    shape: tuple[Linear, ...]
    dtype: str


class Check(NamedTuple):
    """Whose index a kernel looks at: the operation, the dim, and its size."""

    operation: str
    dim: int
    size: Linear


class Found(NamedTuple):
    """Where a named size is read: the input, by its number among those given, and the dim."""

    name: str
    given: int
    dim: int


@dataclass(frozen=True)
class Form:
    """One plan. What a file holds is this, machine code and the bytes of the constants."""

    kernels: tuple[str, ...]
    """The functions that steps run, by the name of their machine code."""
    steps: tuple[Step, ...]
    slots: tuple[Slot, ...]
    given: tuple[Described, ...]
    results: tuple[Described, ...]
    """What each run makes; its places come after those of the inputs."""
    outputs: tuple[int, ...]
    """For each output the place of what it is: a result, or an input that is handed back."""
    constants: tuple[int, ...]
    """The bytes of each constant."""
    rooms: tuple[tuple[Linear, ...], ...] = ()
    """The rooms of the arena, one after the other on lines of 64 bytes: each as large as the largest of these."""
    checks: tuple[Check, ...] = ()
    sizes: tuple[Found, ...] = ()
    assumptions: tuple[tuple[str, Dim], ...] = ()
    """Relations to 0 under which all of this holds."""
    threads: int = 1
    """How many threads it was made for; others run it too."""

    @property
    def is_symbolic(self) -> bool:
        """Whether it serves inputs of several shapes."""
        return bool(self.sizes)

    @property
    def is_shared(self) -> bool:
        """Whether a step may use several threads."""
        cuts = ((step.extent, step.grain) for step in self.steps)
        return any(isinstance(x, Dim) or isinstance(y, Dim) or x > y for x, y in cuts)


@dataclass
class Frozen:
    """A form in memory: where its kernels are, and the contents of its constants."""

    form: Form
    addresses: list[int]
    """Of each kernel."""
    contents: list[Bytes]
    """Of each constant."""
    image: Callable[[], Image]
    """The machine code of all kernels, for whoever stores it."""
    keep: list[Any] = field(default_factory=list, repr=False)
    """What else has to live as long as the kernels run."""

    def describe(self) -> str:
        """The steps, a line each."""
        return "\n".join(f"kernel  {step.label}" for step in self.form.steps)
