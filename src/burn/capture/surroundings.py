"""What a captured function reads, and may bind anew, beside its arguments."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Iterator
from types import CodeType
from typing import Any

from burn.tree import STATIC, Structure, Walk


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()


class Surroundings:
    """Closure cells, globals that the function names, defaults and `self`, read anew at every call."""

    def __init__(self, function: Any) -> None:
        plain = inspect.unwrap(getattr(function, "__func__", function))
        code = getattr(plain, "__code__", None)
        self.cells: tuple[Any, ...] = getattr(plain, "__closure__", None) or ()
        self.globals: dict[str, Any] = getattr(plain, "__globals__", {})
        self.global_names = list(dict.fromkeys(_global_names(code))) if code is not None else []
        self.fixed = [*(getattr(plain, "__defaults__", None) or ())]
        self.fixed += (getattr(plain, "__kwdefaults__", None) or {}).values()
        if getattr(function, "__self__", None) is not None:
            self.fixed.append(function.__self__)
        free = code.co_freevars if code is not None else ()
        self.names = [*free, *self.global_names]
        self.by_identity: set[int] = set()
        """Positions of containers without tensors that the function changes itself: their contents are no key."""
        self._opaque: list[tuple[Any, Structure | None]] = []

    def values(self) -> list[Any]:
        """The values of this moment: those of `names`, then those that cannot be bound anew."""
        try:
            found = [cell.cell_contents for cell in self.cells]
        except ValueError:
            found = [_contents(cell) for cell in self.cells]
        get = self.globals.get
        found += [get(name, MISSING) for name in self.global_names]
        found += self.fixed
        return found

    def bind(self, position: int, value: Any) -> None:
        """Give one of `names` another value."""
        if position < len(self.cells):
            self.cells[position].cell_contents = value
        else:
            self.globals[self.names[position]] = value

    def take(self, values: list[Any], walk: Walk) -> tuple[Any, ...]:
        """Take the values apart: what is no leaf guards the capture."""
        opaque = self._opaque
        if len(opaque) != len(values):
            opaque = self._opaque = [(MISSING, None)] * len(values)
        found: list[Any] = []
        for position, value in enumerate(values):
            known, structure = opaque[position]
            if known is not value or structure is None:
                structure = walk.take(value)
                if structure.kind is STATIC:
                    opaque[position] = (value, structure)
            if position in self.by_identity and not structure.leaves and not structure.mutables:
                found.append((id(value), value.__class__))
            else:
                found.append(structure)
        return tuple(found)


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing was bound to it yet
        return MISSING


def _global_names(code: CodeType) -> Iterator[str]:
    """The globals that a function and the functions inside it read or bind."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "STORE_GLOBAL", "LOAD_NAME"):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_names(constant)
