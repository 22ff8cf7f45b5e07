"""Running every recorded program as it comes back from its data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from burn.backend.fusion.device import Fusion
from burn.program import Program, to_text

FORMS = (Program.to_data, Program.to_bytes, Program.to_json)


def came_back(program: Program, form: Any) -> Program:
    """The program that is read from one form of the data: another object, and the same in all that can be asked."""
    again = Program.from_data(form(program))
    assert again == program
    assert again.key() == program.key()
    assert to_text(again) == to_text(program)
    return again


@contextmanager
def stored() -> Iterator[list[Program]]:
    """What Fusion and captures record and prepare is read back from its data first, in each form by turns."""
    found: list[Program] = []
    prepare, expanded, fixed = Fusion.prepare, Fusion.expanded, Fusion.prepare_fixed

    def prepare_stored(self: Fusion[Any], program: Program, free: tuple[bool, ...]) -> Any:
        found.append(program)
        return prepare(self, came_back(program, FORMS[len(found) % len(FORMS)]), free)

    def fixed_stored(self: Fusion[Any], program: Program, constants: Any, numbers: Any = ()) -> Any:
        found.append(program)
        return fixed(self, came_back(program, FORMS[len(found) % len(FORMS)]), constants, numbers)

    def expanded_stored(self: Fusion[Any], program: Program) -> Any:
        return expanded(self, came_back(program, FORMS[len(found) % len(FORMS)]))

    Fusion.prepare, Fusion.expanded = prepare_stored, expanded_stored  # type: ignore[method-assign]
    Fusion.prepare_fixed = fixed_stored  # type: ignore[method-assign]
    try:
        yield found
    finally:
        Fusion.prepare, Fusion.expanded = prepare, expanded  # type: ignore[method-assign]
        Fusion.prepare_fixed = fixed  # type: ignore[method-assign]
