"""Random programs as data: each comes back as it was and computes the same; damaged data is refused or is a program.

A seed is a random program and some damage to the data of what it records: bytes exchanged, cut or added, and values of
the tree replaced, removed, repeated or moved. Nothing but `ProgramDataError` may come of it, and soon.
"""

from __future__ import annotations

import copy
import json
import random
import time
from typing import Any

import numpy as np

from burn import Fusion, NdArray
from burn.program import Program, ProgramDataError
from tests.fuzz.programs.program import Program as Drawn
from tests.fuzz.programs.reference import gradients
from tests.fuzz.programs.running import run
from tests.fuzz.programs.seeds import draw
from tests.program.through_data import FORMS, came_back, stored

DAMAGES = 40
PATIENCE = 5.0
"""Seconds of work after which a reader counts as hung."""

STRANGE: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 255, 1 << 31, 1 << 40, (1 << 63) - 1, 1 << 64, -(1 << 63), 10**40, 0.5, -0.0,
    1e308, float("nan"), float("inf"), "", "f32", "bool", "mul", "matmul", "literal", "nan", "\ud800", "x" * 5000, b"",
    b"\0" * 9, [], [0], [[]], [1 << 40] * 3, [-1], [0.0], {}, {"float": 1.0}, {"float": "nan"}, {"dtype": "i4"},
    {"scalar": 0}, {"scalar": -1}, {"constant": 0}, {"constant": [1]}, {"bytes": "AA=="}, {"bytes": b"\0" * 4},
    {"program": {}},
)  # fmt: skip


def recorded(drawn: Drawn) -> list[Program]:
    """The programs that a random one becomes; all of them have come back from their data before they ran."""
    device = Fusion(NdArray())
    with stored() as found, np.errstate(all="ignore"):
        if drawn.gradients:
            gradients(drawn, device.autodiff())
        else:
            run(drawn, device)
    return found


def check(seed: int) -> str | None:
    """A report if a program is not what it was, or if damage does something else than to be refused."""
    chooser = random.Random(f"stored {seed}")
    programs = recorded(draw(seed))
    for program in programs:
        for form in FORMS:
            came_back(program, form)
    for number in range(DAMAGES if programs else 0):
        state = chooser.getstate()
        failure = _failure(_damaged(chooser.choice(programs), chooser))
        if failure:
            return f"damage {number} of seed {seed}: {failure}\nstate {hash(state)}"
    return None


def _failure(data: Any) -> str | None:
    begun = time.process_time()
    try:
        program = Program.from_data(data)
        for form in FORMS:
            came_back(program, form)
    except ProgramDataError as error:
        if not error.faults or not str(error).startswith("program data: "):
            return f"an error without a fault: {error!r}"
    except Exception as error:
        return f"{type(error).__name__}: {error}\n{ascii(data)[:4000]}"
    taken = time.process_time() - begun
    return f"{taken:.1f} s for {ascii(data)[:4000]}" if taken > PATIENCE else None


def _damaged(program: Program, chooser: random.Random) -> Any:
    how = chooser.randrange(6)
    if how == 0:
        return bytes(_bytes_damaged(bytearray(program.to_bytes()), chooser))
    if how == 1:
        return _bytes_damaged(bytearray(program.to_json().encode()), chooser).decode("utf-8", "replace")
    tree = copy.deepcopy(program.to_data())
    for _ in range(chooser.choice((1, 1, 1, 2, 5))):
        _tree_damaged(tree, chooser)
    if how == 2:
        try:
            return json.dumps(tree, default=lambda data: data.hex())
        except RecursionError:
            return tree
    return tree


def _bytes_damaged(data: bytearray, chooser: random.Random) -> bytearray:
    for _ in range(chooser.choice((1, 1, 2, 8))):
        place = chooser.randrange(len(data)) if data else 0
        match chooser.randrange(5):
            case 0 if data:
                data[place] ^= 1 << chooser.randrange(8)
            case 1 if data:
                data[place] = chooser.choice((0, 0x7F, 0xC1, 0xC6, 0xDB, 0xDD, 0xDF, 0xFF, 0x91, 0x30, 0x39))
            case 2:
                del data[place:]
            case 3:
                data += chooser.randbytes(chooser.choice((1, 9)))
            case _:
                end = place + chooser.randrange(1, 40)
                data[place:place] = data[place:end]
    return data


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """Every container of a tree with every key of it."""
    found: list[tuple[Any, Any]] = []
    for key in tree if isinstance(tree, dict) else range(len(tree)):
        found.append((tree, key))
        if isinstance(tree[key], dict | list):
            found += _places(tree[key])
    return found


def _tree_damaged(tree: Any, chooser: random.Random) -> None:
    places = _places(tree)
    if not places:
        return
    holder, key = chooser.choice(places)
    match chooser.randrange(6):
        case 0:
            del holder[key]
        case 1:
            other, name = chooser.choice(places)
            holder[key] = copy.deepcopy(other[name])
        case 2 if isinstance(holder, list):
            holder.insert(chooser.randrange(len(holder) + 1), copy.deepcopy(holder[key]))
        case 2:
            holder[chooser.choice(("name", "x", "shape", ""))] = holder.pop(key)
        case 3 if type(holder[key]) is int:
            holder[key] += chooser.choice((-1, 1, 1 << 20, -(1 << 40)))
        case 4:
            nested: Any = holder[key]
            for _ in range(chooser.choice((1, 10, 40))):
                nested = chooser.choice(([nested], {"program": nested}))
            holder[key] = nested
        case _:
            holder[key] = copy.deepcopy(chooser.choice(STRANGE))
