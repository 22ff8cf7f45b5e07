"""What a well-formed program is."""

from __future__ import annotations

from burn.errors import BurnError
from burn.program.program import Program, Scalar


class ProgramError(BurnError, AssertionError):
    """A program that breaks the rules of programs: a fault of a pass, not of a user."""


def verify(program: Program) -> None:
    """Raise `ProgramError`, listing every fault, unless the program is well formed."""
    faults: list[str] = []
    defined = set(range(program.inputs))
    for position, node in enumerate(program.nodes):
        where = f"node {position} ({node.op.name})"
        faults += [f"{where} reads %{n} before it is made" for n in node.reads() if n not in defined]
        for operand in node.operands:
            if isinstance(operand, Scalar) and not 0 <= operand.slot < program.scalars:
                faults.append(f"{where} reads scalar {operand.slot} of {program.scalars}")
        for number in node.results:
            if number in defined:
                faults.append(f"{where} makes %{number} a second time")
            if not 0 <= number < len(program.values):
                faults.append(f"{where} makes %{number}, which has no description")
            defined.add(number)
    faults += [f"output %{n} is never made" for n in program.outputs if n not in defined]
    if faults:
        raise ProgramError("program: " + "; ".join(faults))
