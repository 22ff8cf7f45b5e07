"""What a well-formed program is."""

from __future__ import annotations

from burn.errors import BurnError
from burn.program.fused import unfused
from burn.program.lawful import row_faults
from burn.program.program import Node, Program, Scalar


class ProgramError(BurnError, AssertionError):
    """A program that breaks the rules of programs: a fault of a pass, not of a user."""


def verify(program: Program, rows: bool = False) -> None:
    """Raise `ProgramError`, listing every fault, unless the program is well formed.

    With `rows`, each node must also be what its row says.
    """
    faults: list[str] = []
    defined = set(range(program.inputs))
    for position, node in enumerate(program.nodes):
        where = f"node {position} ({node.op.name})"
        missing = [n for n in node.reads() if n not in defined]
        faults += [f"{where} reads %{n} before it is made" for n in missing]
        for operand in node.operands:
            if isinstance(operand, Scalar) and not 0 <= operand.slot < program.scalars:
                faults.append(f"{where} reads scalar {operand.slot} of {program.scalars}")
        for number in node.results:
            if number in defined:
                faults.append(f"{where} makes %{number} a second time")
            if not 0 <= number < len(program.values):
                faults.append(f"{where} makes %{number}, which has no description")
                missing.append(number)
            defined.add(number)
        for name, attribute in zip(node.op.attributes, node.attributes, strict=False):
            if isinstance(attribute, Program):
                try:
                    verify(attribute, rows)
                except ProgramError as error:
                    faults.append(f"{where}: {name}: {error}")
        if rows and not missing:
            found = row_faults(node, program.values) if node.fused is None else _fused_faults(node, program)
            faults += [f"{where}: {fault}" for fault in found]
    faults += [f"output %{n} is never made" for n in program.outputs if n not in defined]
    if faults:
        raise ProgramError("program: " + "; ".join(faults))


def _fused_faults(node: Node, program: Program) -> list[str]:
    """What is wrong with a fused node: with the rows that it stands for, or with what they make."""
    try:
        rows = unfused(node, program.values)
        verify(rows, rows=True)
    except BurnError as error:
        return [f"({node.fused}) {error}"]
    except Exception as error:  # what a pass wrote may be anything
        return [f"({node.fused}) cannot be written out: {ascii(error)[:100]}"]
    stated = [program.values[number] for number in node.results]
    made = [rows.values[number] for number in rows.outputs]
    return [] if made == stated else [f"({node.fused}) results are {stated}, and the rows make {made}"]
