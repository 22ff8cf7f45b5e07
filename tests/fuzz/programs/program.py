"""A random program as data and as code: operations, and what is read or forgotten on the way.

A value is *exact* if every operation on its way rounds correctly or only moves elements: it must then be equal on
every device, to the bit. Comparisons, roundings and choices are made of exact values only, so that no result hangs on
the last bit of another.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import burn
from burn import Tensor
from burn.tensor import activation, module

Array = np.ndarray[Any, Any]
SPECIAL = (math.nan, math.inf, -math.inf, -0.0, 0.0, 1e-42, 3.0)
READ, FORGET = "read", "forget"


@dataclass(frozen=True)
class Given:
    """An input: numbers of a type, a share of them special."""

    shape: tuple[int, ...]
    dtype: str = "f32"
    special: bool = False

    def array(self, key: tuple[int, ...]) -> Array:
        random = np.random.default_rng(list(key))
        dtype = np.dtype(burn_dtype(self.dtype).numpy)
        if self.dtype == "bool":
            return random.integers(0, 2, self.shape).astype(bool)
        if dtype.kind in "iu":
            return random.integers(0 if dtype.kind == "u" else -5, 9, self.shape).astype(dtype)
        values = random.uniform(-3.0, 3.0, self.shape)
        if self.special:
            values = np.where(random.random(self.shape) < 0.3, random.choice(SPECIAL, self.shape), values)
        return np.asarray(values).astype(np.float32).astype(dtype)


def burn_dtype(name: str) -> Any:
    """One of our types by name."""
    return burn.bool_ if name == "bool" else getattr(burn, name)


@dataclass(frozen=True)
class Step:
    """An expression over values by number; `$0` is the first operand."""

    out: int
    operands: tuple[int, ...]
    code: str
    exact: bool = True

    @property
    def makes(self) -> bool:
        return self.code not in (READ, FORGET)

    def spelled(self) -> str:
        return re.sub(r"\$(\d)", lambda found: f"x{self.operands[int(found[1])]}", self.code)


@dataclass(frozen=True)
class Program:
    """Inputs and steps by number, and the values that are read at the end."""

    seed: int
    inputs: dict[int, Given] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    outputs: tuple[int, ...] = ()
    gradients: bool = False

    def arrays(self, variant: int = 0) -> dict[int, Array]:
        """The inputs' numbers."""
        return {number: given.array((self.seed, number, variant)) for number, given in self.inputs.items()}

    def exact(self) -> dict[int, bool]:
        """Whether each value must be equal to the bit."""
        found = dict.fromkeys(self.inputs, True)
        return found | {step.out: step.exact for step in self.steps if step.makes}

    def pruned(self) -> Program:
        """Without what nothing that is read needs."""
        needed = {*self.outputs, *(step.operands[0] for step in self.steps if step.code == READ)}
        for step in reversed(self.steps):
            if step.makes and step.out in needed:
                needed.update(step.operands)
        steps = tuple(s for s in self.steps if (s.out in needed if s.makes else s.operands[0] in needed))
        return replace(self, steps=steps, inputs={n: given for n, given in self.inputs.items() if n in needed})

    def __str__(self) -> str:
        lines = ["from burn import *", "import numpy as np", "from burn.tensor import activation, module"]
        lines += ["from tests.fuzz.programs.program import Given, NAMES", "globals().update(NAMES)"]
        lines += ["", "device = Cpu()"]
        for number, given in self.inputs.items():
            lines.append(f"x{number} = Tensor.from_data({given}.array(({self.seed}, {number}, 0)), device)")
        for step in self.steps:
            if step.makes:
                lines.append(f"x{step.out} = {step.spelled()}  # {'' if step.exact else 'not '}exact")
            else:
                lines.append(
                    f"print(np.asarray(x{step.operands[0]}))" if step.code == READ else f"del x{step.operands[0]}"
                )
        what = "outputs, their gradients too" if self.gradients else "outputs"
        return "\n".join([*lines, f"print({', '.join(f'np.asarray(x{n})' for n in self.outputs)})  # {what}"])


# What expressions may use beside methods


def places(x: Any, dim: int, factor: int = 2) -> Any:
    """Indices along a dim that go round it."""
    found = (np.indices(tuple(x.shape))[dim] * factor + 1) % max(1, x.shape[dim])
    return Tensor.from_data(found, x.device)


def rows(x: Any, *indices: int) -> Any:
    """Whole numbers as a tensor beside `x`."""
    return Tensor.from_data(np.array(indices, dtype=np.int64), x.device)


def kernel(x: Any, *shape: int) -> Any:
    """A small weight with numbers that depend on the shape only."""
    values = np.sin(np.arange(math.prod(shape)) * 1.7).astype(np.float32).reshape(shape)
    return Tensor.from_data(values, x.device).cast(x.dtype)


def cast(x: Any, dtype: str) -> Any:
    """A cast; the reference keeps its own float type (see `reference`)."""
    kind = burn_dtype(dtype)
    return x.cast(burn.f64 if Casts.floats_stay and kind.is_float else kind)


class Casts:
    """Whether casts between float types are left out."""

    floats_stay = False


NAMES: dict[str, Any] = {
    "Tensor": Tensor, "np": np, "activation": activation, "module": module,
    "places": places, "rows": rows, "kernel": kernel, "cast": cast,
}  # fmt: skip
