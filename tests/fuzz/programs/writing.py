"""How a program is drawn: each family offers a step that fits the values there are."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from burn.errors import BurnError
from tests.fuzz.programs.program import FORGET, READ, Given, Program, Step
from tests.fuzz.programs.reference import PLAIN, Tensor, evaluate

T = TypeVar("T")
LARGEST = {"f64": 1e12, "f32": 1e8, "f16": 1e3, "bf16": 1e8}


class Unfit(Exception):
    """A step that cannot be, or whose numbers leave the range worth testing."""


class Writer:
    """Draws one step after the other and keeps their values."""

    def __init__(self, seed: int, most: int, special: bool, gradients: bool) -> None:
        self.random = random.Random(f"steps {seed}")
        self.program = Program(seed, gradients=gradients)
        self.most, self.special, self.gradients = most, special, gradients
        self.values: dict[int, Any] = {}
        self.exact: dict[int, bool] = {}
        self.live: list[int] = []
        self.count = 0

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def one(self, choices: Sequence[T]) -> T:
        return self.random.choice(choices)

    def some(self, choices: Sequence[T], least: int = 1) -> list[T]:
        return sorted(self.random.sample(list(choices), self.random.randint(least, len(choices))))  # type: ignore[type-var]

    def shape(self, number: int) -> tuple[int, ...]:
        return tuple(self.values[number].shape)

    def kind(self, number: int) -> str:
        dtype = self.values[number].dtype
        return "bool" if dtype.is_bool else "float" if dtype.is_float else "int"

    def pick(self, *kinds: str, exact: bool = False, rank: int = 0, full: bool = False) -> int:
        """A live value of some kind and at least some rank, the newest ones most often; `full` is one with elements."""
        fitting = [
            n for n in self.live
            if (not kinds or self.kind(n) in kinds) and (self.exact[n] or not exact) and len(self.shape(n)) >= rank
            and (not full or math.prod(self.shape(n)))
        ]  # fmt: skip
        if not fitting:
            raise Unfit
        return self.one(fitting[-4:])

    def dim(self, number: int) -> int:
        return self.random.randrange(len(self.shape(number)))

    def add_input(self, given: Given) -> int:
        number = self.count
        self.count += 1
        self.program = replace(self.program, inputs={**self.program.inputs, number: given})
        self.values[number] = Tensor.from_data(given.array((self.program.seed, number, 0)), PLAIN)
        self.exact[number] = True
        self.live.append(number)
        return number

    def add(self, operands: Sequence[int], code: str, exact: bool = True) -> int:
        """A step; a result is exact if the operation is and all operands are."""
        exact = exact and all(self.exact[n] for n in operands) and not self.gradients
        half = any(str(self.values[n].dtype) in ("f16", "bf16") for n in operands)
        step = Step(self.count, tuple(operands), code, exact)
        try:
            value = evaluate(step, self.values)
        except BurnError as refused:
            raise Unfit(str(refused)) from refused
        if half and self.kind_of(value) == "float":
            step = replace(step, exact=False)  # halves may be kept wider between operations
        self._in_range(value, step.exact)
        self.count += 1
        self.values[step.out], self.exact[step.out] = value, step.exact
        self.program = replace(self.program, steps=(*self.program.steps, step))
        self.live.append(step.out)
        return step.out

    def kind_of(self, value: Any) -> str:
        return "bool" if value.dtype.is_bool else "float" if value.dtype.is_float else "int"

    def _in_range(self, value: Any, exact: bool) -> None:
        if math.prod(value.shape) > self.most or len(value.shape) > 6:
            raise Unfit
        if value.dtype.is_float and not self.special:
            largest = float(np.abs(np.asarray(value).astype(np.float64)).max(initial=0.0))
            if not largest < LARGEST[str(value.dtype)]:
                raise Unfit

    def look(self) -> None:
        """Read a value in the middle."""
        self.program = replace(self.program, steps=(*self.program.steps, Step(-1, (self.one(self.live),), READ)))

    def forget(self) -> None:
        """Drop a value: its memory may then be used for the next one."""
        if len(self.live) > 3:
            number = self.one(self.live)
            self.live.remove(number)
            self.program = replace(self.program, steps=(*self.program.steps, Step(-1, (number,), FORGET)))

    def try_one(self, families: Sequence[Callable[[Writer], Any]]) -> None:
        for _ in range(8):
            try:
                self.one(families)(self)
                return
            except Unfit:
                continue

    def finished(self) -> Program:
        """The program; the newest values are read, in any order."""
        last = self.live[-self.one((1, 2, 3, 3, 5)) :]
        return replace(self.program, outputs=tuple(self.random.sample(last, len(last))))
