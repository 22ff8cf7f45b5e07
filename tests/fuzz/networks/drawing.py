"""How a network is drawn: families offer steps that fit the values there are; PyTorch says what came out."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import torch

from tests.fuzz.networks.network import Drawn, Network, Step
from tests.fuzz.networks.reference import evaluate

T = TypeVar("T")
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17, 24, 31, 32, 33)
CHANNELS = (1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 12, 15, 16, 16, 17, 24, 32, 33, 48, 64)


class Unfit(Exception):
    """A step that cannot be, or whose numbers leave the range worth testing."""


class Writer:
    """Draws one step after the other."""

    def __init__(self, seed: int, dtype: str = "float32", most: int = 60_000, work: int = 20_000_000) -> None:
        self.random = random.Random(seed)
        self.network = Network(seed, dtype)
        self.values: dict[int, torch.Tensor] = {}
        self.most, self.work = most, work
        self.used: set[int] = set()

    # Choosing

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def one(self, choices: Sequence[T]) -> T:
        return self.random.choice(choices)

    def several(self, choices: Sequence[T], count: int) -> list[T]:
        return [self.one(choices) for _ in range(count)]

    def shape(self, number: int) -> tuple[int, ...]:
        return tuple(self.values[number].shape)

    def floats(self, *ranks: int) -> list[int]:
        """The float values of some ranks, newest last."""
        fits = [n for n, v in self.values.items() if v.is_floating_point() and v.numel()]
        return [n for n in fits if not ranks or self.values[n].ndim in ranks]

    def pick(self, *ranks: int) -> int:
        """A float value of some rank, a new one most often."""
        found = self.floats(*ranks)
        if not found:
            raise Unfit
        return found[-1] if self.chance(0.7) else self.one(found[-4:])

    # Adding

    def add_input(self, drawn: Drawn) -> int:
        number = len(self.values)
        self.network = replace(self.network, inputs={**self.network.inputs, number: drawn})
        array = drawn.array((self.network.seed, number, 0), self.network.dtype)
        self.values[number] = torch.from_numpy(array).double() if drawn.is_float else torch.from_numpy(array)
        return number

    def add(
        self, operands: Sequence[int], ours: str, theirs: str, config: str = "",
        parameters: dict[str, Drawn] | None = None, states: dict[str, Drawn] | None = None,
    ) -> int:  # fmt: skip
        """A step, if PyTorch accepts it and its numbers stay in range."""
        number = len(self.values)
        step = Step(
            number, tuple(operands), ours, theirs, config,
            tuple((parameters or {}).items()), tuple((states or {}).items()),
        )  # fmt: skip
        try:
            single = replace(self.network, steps=(step,))
            found = evaluate(single, True, dict(self.values))[number]
        except (RuntimeError, ValueError, IndexError) as fault:
            raise Unfit(str(fault)) from fault
        self.in_range(found)
        self.network = replace(self.network, steps=(*self.network.steps, step))
        self.values[number] = found
        self.used.update(operands)
        return number

    def in_range(self, found: Any) -> None:
        """Refuse what is empty, too large, or hard to say anything about."""
        if not found.numel() or found.numel() > self.most:
            raise Unfit
        if found.is_floating_point():
            size = float(found.double().square().mean().sqrt())
            if not np.isfinite(size) or size > 300.0 or size < 1e-3:
                raise Unfit

    def weight(self, shape: Sequence[int], fan_in: int | None = None) -> Drawn:
        """Weights that keep the size of what goes through."""
        inputs = math.prod(shape[1:]) if fan_in is None else fan_in
        return Drawn(tuple(shape), 1.2 / math.sqrt(max(1, inputs)))

    def affine(self, channels: int) -> dict[str, Drawn]:
        return {"gamma": Drawn((channels,), 0.3, 1.0), "beta": Drawn((channels,), 0.3)}

    def try_one(self, families: Sequence[Callable[[Writer], Any]], tries: int = 12) -> None:
        """A step or block of a family that fits; what a block began and could not finish is taken back."""
        for _ in range(tries):
            before = self.network, dict(self.values), set(self.used)
            try:
                self.one(families)(self)
                return
            except Unfit:
                self.network, self.values, self.used = before

    def finished(self, outputs: int = 3) -> Network:
        """The network, giving out what no step uses, and sometimes a value on the way."""
        made = [step.out for step in self.network.steps]
        loose = [n for n in made if n not in self.used and self.values[n].is_floating_point()]
        chosen = loose[-outputs:] or made[-1:]
        if made and self.chance(0.2):
            chosen = sorted({*chosen, self.one([n for n in made if self.values[n].is_floating_point()])})
        return replace(self.network, outputs=tuple(chosen)).pruned()
