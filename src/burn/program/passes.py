"""Passes: named steps that turn a program into an equal, simpler one, run in order by one driver.

`BURN_EXPLAIN=1` prints the program after each step that changed it, and the reasons for which a step
left something alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from burn.classes import dataclass
from burn.environment import is_on
from burn.program.printer import to_text
from burn.program.program import Constant, Node, Operand, Program, is_same_number
from burn.program.verifier import verify


@dataclass
class Explanation:
    """What happened while a program was prepared: what it was after each step, and why rules declined."""

    steps: list[tuple[str, Program]] = field(default_factory=list)
    declined: list[str] = field(default_factory=list)

    def decline(self, step: str, reason: str) -> None:
        """Note why a step left something alone."""
        self.declined.append(f"{step}: {reason}")

    def __str__(self) -> str:
        parts = [f"== {name} ==\n{to_text(program)}" for name, program in self.steps]
        return "\n\n".join(parts + (["declined:\n  " + "\n  ".join(self.declined)] if self.declined else []))


Pass = Callable[[Program, Explanation], Program]


def run_passes(program: Program, passes: Sequence[tuple[str, Pass]], explanation: Explanation | None = None) -> Program:
    """Run named passes in order, checking the program after each; `BURN_VERIFY=1` has every row asked, too."""
    notes = explanation or Explanation()
    loud, rows = is_on("BURN_EXPLAIN"), is_on("BURN_VERIFY")
    notes.steps.append(("recorded", program))
    for name, step in passes:
        changed = step(program, notes)
        if changed is not program:
            verify(changed, rows)
            notes.steps.append((name, changed))
            program = changed
    if loud:
        print(notes, file=sys.stderr)
    return program


def rebuild(program: Program, nodes: Sequence[Node], replace: dict[int, int], outputs: Sequence[int]) -> Program:
    """A program of some of the nodes, with values renumbered and `replace` applied to every read, once."""

    numbers = {number: number for number in range(program.inputs)}
    values = list(program.values[: program.inputs])
    rebuilt: list[Node] = []

    def operand(each: Operand) -> Operand:
        if isinstance(each, int):
            return numbers[replace.get(each, each)]
        if isinstance(each, tuple):
            return tuple(numbers[replace.get(n, n)] for n in each)
        return each

    for node in nodes:
        operands = tuple(operand(each) for each in node.operands)
        results = []
        for number in node.results:
            numbers[number] = len(values)
            results.append(len(values))
            values.append(program.values[number])
        rebuilt.append(Node(node.op, operands, node.attributes, tuple(results), node.fused))
    finished = tuple(numbers[replace.get(n, n)] for n in outputs)
    return Program(tuple(values), program.inputs, program.scalars, tuple(rebuilt), finished, program.names)


def remove_dead(program: Program, notes: Explanation) -> Program:
    """Drop nodes whose results nobody reads."""
    needed = set(program.outputs)
    kept: list[Node] = []
    for node in reversed(program.nodes):
        if needed.intersection(node.results):
            kept.append(node)
            needed.update(node.reads())
    if len(kept) == len(program.nodes):
        return program
    return rebuild(program, kept[::-1], {}, program.outputs)


def share_equal(program: Program, notes: Explanation) -> Program:
    """Compute equal nodes once."""
    seen: dict[object, Node] = {}
    replace: dict[int, int] = {}
    kept: list[Node] = []

    def current(each: Operand) -> Operand:
        if isinstance(each, int):
            return replace.get(each, each)
        return tuple(replace.get(n, n) for n in each) if isinstance(each, tuple) else each

    for node in program.nodes:
        operands = tuple(current(each) for each in node.operands)
        key = (node.op, operands, node.attributes, node.fused, program.values[node.results[0]].dtype)
        try:
            earlier = seen.get(key)
        except TypeError:
            earlier = None
            key = (id(node),)  # type: ignore[assignment]
        if earlier is None:
            seen[key] = node
            kept.append(node)
        else:
            replace.update(zip(node.results, earlier.results, strict=True))
    if len(kept) == len(program.nodes):
        return program
    return rebuild(program, kept, replace, program.outputs)


IDENTITIES = {
    "mul": (1.0, (0, 1)),
    "add": (0.0, (0, 1)),
    "sub": (0.0, (1,)),
    "true_div": (1.0, (1,)),
    "div": (1.0, (1,)),
}
"""Operation → the constant that changes nothing, and the operand positions where it may stand."""


def drop_identities(program: Program, notes: Explanation) -> Program:
    """Drop casts to the same dtype, reshapes and expands to the same shape, `x * 1` and the like.

    Adding 0 turns -0.0 into 0.0, so `x + 0` is kept for floats; `x - 0` is exact.
    """
    replace: dict[int, int] = {}
    kept: list[Node] = []
    for node in program.nodes:
        source = _identity_source(program, node)
        if source is None:
            kept.append(node)
        else:
            replace[node.results[0]] = replace.get(source, source)
    if not replace:
        return program
    return rebuild(program, kept, replace, program.outputs)


def _identity_source(program: Program, node: Node) -> int | None:
    made = program.values[node.results[0]]
    first = node.operands[0] if node.operands else None
    if node.op.name in ("cast", "reshape", "expand") and isinstance(first, int):
        return first if program.values[first] == made else None
    known = IDENTITIES.get(node.op.name)
    if known is None or (node.op.name == "add" and made.dtype.is_float):
        return None
    neutral, positions = known
    for position in positions:
        operand, other = node.operands[position], node.operands[1 - position]
        if isinstance(operand, Constant) and _is(operand.value, neutral) and isinstance(other, int):
            return other if program.values[other] == made else None
    return None


def _is(value: Any, neutral: float) -> bool:
    """Whether a constant is a neutral one: -0.0 is not 0.0, since `x - -0.0` turns -0.0 into 0.0."""
    return bool(value == neutral) and (neutral != 0 or is_same_number(float(value), neutral))
