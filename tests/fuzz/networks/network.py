"""A random network as data, and as code: the code that is printed for a failure is the code that ran.

A step is an expression of ours and the same expression of PyTorch's, over values by their numbers. In both, `$0` is the
first operand; `$m` is the step's module of ours, `$.weight` its parameter and `$~running_mean` its state in PyTorch's
expression, in the layout that we keep it in, so that gradients compare as they are.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Drawn:
    """A tensor of random numbers: normal ones of a scale around a centre, whole ones below `count`, or truths."""

    shape: tuple[int, ...]
    scale: float = 1.0
    centre: float = 0.0
    count: int = 0
    positive: bool = False

    @property
    def is_float(self) -> bool:
        """Whether it has a gradient."""
        return not self.count

    def array(self, key: tuple[int, ...], dtype: str) -> Array:
        """The numbers for a key; numbers of f64 are those of f32 where both are asked for."""
        random = np.random.default_rng(list(key))
        if self.count:
            return random.integers(0, self.count, self.shape)
        values = random.uniform(-1.7, 1.7, self.shape) * self.scale + self.centre
        return (np.abs(values) if self.positive else values).astype(dtype)


@dataclass(frozen=True)
class Step:
    """One operation or layer."""

    out: int
    operands: tuple[int, ...]
    ours: str
    theirs: str
    config: str = ""
    parameters: tuple[tuple[str, Drawn], ...] = ()
    states: tuple[tuple[str, Drawn], ...] = ()

    @property
    def name(self) -> str:
        """The attribute that holds its module."""
        return f"layer{self.out}"

    def spelled(self, text: str) -> str:
        """An expression with the names of its values."""
        text = re.sub(r"\$(\d)", lambda found: f"x{self.operands[int(found[1])]}", text)
        text = re.sub(r"\$\.([\w.]+)", rf'p["{self.name}.\1"]', text)
        text = re.sub(r"\$~([\w.]+)", rf's["{self.name}.\1"]', text)
        return text.replace("$m", f"self.{self.name}")


@dataclass(frozen=True)
class Network:
    """Inputs and steps by number, and which values are given out."""

    seed: int
    dtype: str = "float32"
    inputs: dict[int, Drawn] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    outputs: tuple[int, ...] = ()

    def pruned(self) -> Network:
        """Without the steps and inputs that no output needs."""
        needed = set(self.outputs)
        for step in reversed(self.steps):
            if step.out in needed:
                needed.update(step.operands)
        steps = tuple(step for step in self.steps if step.out in needed)
        inputs = {number: drawn for number, drawn in self.inputs.items() if number in needed}
        return replace(self, inputs=inputs, steps=steps)

    def input_arrays(self, variant: int = 0) -> list[Array]:
        """The inputs' numbers; another variant has others."""
        return [drawn.array((self.seed, number, variant), self.dtype) for number, drawn in self.inputs.items()]

    def tensors(self, what: str) -> dict[str, Array]:
        """The numbers of all "parameters" or "states" by path."""
        found = {}
        for step in self.steps:
            for name, drawn in getattr(step, what):
                path = f"{step.name}.{name}"
                found[path] = drawn.array((self.seed, zlib.crc32(path.encode())), self.dtype)
        return found

    # As code

    def _arguments(self) -> str:
        return ", ".join(f"x{number}" for number in self.inputs)

    def _results(self) -> str:
        return ", ".join(f"x{number}" for number in self.outputs)

    def ours(self) -> str:
        """The class of our module."""
        lines = ["class Network(burn.Module):", "    def __init__(self, device):"]
        layers = [step for step in self.steps if step.config]
        lines += [f"        self.{step.name} = {step.config}" for step in layers] or ["        pass"]
        lines += ["", f"    def forward(self, {self._arguments()}):"]
        lines += [f"        x{step.out} = {step.spelled(step.ours)}" for step in self.steps]
        return "\n".join([*lines, f"        return [{self._results()}]"])

    def theirs(self) -> str:
        """The function of PyTorch's."""
        lines = [f"def network(p, s, training, {self._arguments()}):"]
        lines += [f"    x{step.out} = {step.spelled(step.theirs)}" for step in self.steps]
        return "\n".join([*lines, f"    return [{self._results()}]"])

    def __str__(self) -> str:
        """Both sides, to be run as they are by `tests.fuzz.networks.running.compare_code`."""
        inputs = [f"    {number}: {drawn}," for number, drawn in self.inputs.items()]
        return "\n".join([
            f"# seed {self.seed}, {self.dtype}", "inputs = {", *inputs, "}", "", self.ours(), "", "", self.theirs(),
        ])  # fmt: skip
