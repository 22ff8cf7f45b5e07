"""One seed: draw the program, compare it on every device, and shrink it if it differs."""

from __future__ import annotations

import random
import time
import traceback
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tests.fuzz.networks.seeds import alike
from tests.fuzz.programs import running
from tests.fuzz.programs.families import DIFFERENTIABLE, EVERYTHING, FLOATS, WHOLE
from tests.fuzz.programs.program import Given, Program
from tests.fuzz.programs.writing import Writer

SIZES = (1, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 64)
LARGE = (257, 1000, 4099, 40_000)


def draw(seed: int) -> Program:
    """The program of a seed, the same on every machine."""
    chooser = random.Random(f"program {seed}")
    flavour = chooser.choice(("values", "values", "special", "gradients"))
    gradients = flavour == "gradients"
    shape = tuple(chooser.choice(SIZES) for _ in range(chooser.choice((0, 1, 2, 2, 3, 3, 4))))
    most = 6000
    if chooser.random() < 0.08:
        shape, most = (*shape[:1], chooser.choice(LARGE)), 300_000
    elif shape and not gradients and chooser.random() < 0.05:
        shape = (*shape[:-1], 0)
    while np.prod(shape, dtype=int) > most // 2:
        shape = shape[1:]
    w = Writer(seed, most, flavour == "special", gradients)
    floats = "f32" if gradients or chooser.random() < 0.7 else chooser.choice(FLOATS)
    special = flavour == "special" and floats in ("f32", "f64")
    w.special = special
    w.add_input(Given(shape, floats, special))
    w.add_input(Given(chooser.choice((shape, shape[-1:], tuple(1 for _ in shape), ())), floats, special))
    if not gradients:
        w.add_input(Given(shape, chooser.choice(WHOLE)))
    if not gradients and chooser.random() < 0.5:
        w.add_input(Given(shape, "bool"))
    with np.errstate(all="ignore"):
        for _ in range(chooser.choice((1, 2, 4, 6, 8, 12, 16, 24))):
            w.try_one(DIFFERENTIABLE if gradients else EVERYTHING)
    return w.finished()


def faults(program: Program) -> list[str]:
    """What is wrong, a line each; an exception is one line too."""
    try:
        with np.errstate(all="ignore"):
            return running.faults(program)
    except Exception as error:
        return [f"{type(error).__name__}: {error}", traceback.format_exc(limit=-4)]


def check(seed: int) -> str | None:
    """A report if the program of the seed fails."""
    program = draw(seed)
    found = faults(program)
    if not found:
        return None
    small = _shrunk(program, found)
    still = faults(small) or ["(passed when it was run once more)"]
    first = "\n".join(f"# {line}" for line in "\n".join([*found[:4], "after shrinking:", *still[:4]]).splitlines())
    return f"{first}\n{small}"


def _shrunk(program: Program, found: list[str], patience: float = 40.0) -> Program:
    until = time.monotonic() + patience
    changed = True
    while changed and time.monotonic() < until:
        changed = False
        for smaller in _smaller(program):
            if time.monotonic() > until:
                break
            if alike(faults(smaller), found):
                program, changed = smaller, True
                break
    return program


def _smaller(program: Program) -> Iterator[Program]:
    if len(program.outputs) > 1:
        for output in program.outputs:
            yield replace(program, outputs=(output,)).pruned()
    for number in range(len(program.steps)):
        if not program.steps[number].makes:
            yield replace(program, steps=program.steps[:number] + program.steps[number + 1 :])
    made = [step for step in program.steps if step.makes]
    for step in made[:-1]:
        earlier = program.steps[: program.steps.index(step) + 1]
        yield replace(program, steps=earlier, outputs=(step.out,)).pruned()
    for step in made:
        for operand in step.operands:
            yield _without(program, step.out, operand)
    for number in program.outputs[:1]:
        yield replace(program, outputs=tuple(n for n in program.outputs if n != number) or program.outputs).pruned()


def _without(program: Program, value: int, instead: int) -> Program:
    """The program with an operand in place of a value; what does not fit then fails otherwise and is passed over."""
    steps = tuple(
        replace(step, operands=tuple(instead if n == value else n for n in step.operands))
        for step in program.steps
        if step.out != value
    )
    return replace(program, steps=steps, outputs=tuple(instead if n == value else n for n in program.outputs)).pruned()
