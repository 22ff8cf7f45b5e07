"""What a captured function reads, and may bind anew, beside its arguments."""

from __future__ import annotations

import dis
import functools
from collections.abc import Iterator
from types import CodeType
from typing import Any

from burn.capture.looks import MISSING, reference_to
from burn.capture.trust import Ignore
from burn.tree import STATIC, Structure, Walk


def _nothing() -> Any:
    return MISSING


class Surroundings:
    """Closure cells, globals that the function names, defaults and `self`, read anew at every call."""

    def __init__(self, function: Any, ignore: Ignore | None = None) -> None:
        self.owner = getattr(function, "__self__", None)
        self.fixed: list[Any] = []
        while isinstance(function, functools.partial):
            self.fixed += [*function.args, *function.keywords.values()]
            function = function.func
        self.functions = [*_wrappers(getattr(function, "__func__", function))]
        plain = self.functions[-1]
        code = getattr(plain, "__code__", None)
        self.cells: tuple[Any, ...] = getattr(plain, "__closure__", None) or ()
        self.globals: dict[str, Any] = getattr(plain, "__globals__", {})
        self.global_names = list(dict.fromkeys(_global_names(code))) if code is not None else []
        self.fixed += getattr(plain, "__defaults__", None) or ()
        self.fixed += (getattr(plain, "__kwdefaults__", None) or {}).values()
        if self.owner is not None:
            self.fixed.append(self.owner)
        free = code.co_freevars if code is not None else ()
        self.names = [*free, *self.global_names]
        self.ignored: set[int] = set()
        """Positions of names that the user asked to leave out."""
        if ignore:
            self.ignored = {
                i for i, (name, at) in enumerate(zip(self.names, self.values())) if ignore.matches(name, at)
            }
        self._parameters = list(code.co_varnames[: code.co_argcount]) if code is not None else []
        if self.owner is not None:
            del self._parameters[:1]
        self._opaque: list[tuple[Any, Structure | None]] = []  # held weakly: what was there, and its structure

    def parameter(self, index: int) -> str:
        """What the function calls an argument."""
        return self._parameters[index] if index < len(self._parameters) else f"argument {index}"

    def values(self) -> list[Any]:
        """The values of this moment: those of `names`, then those that cannot be bound anew."""
        try:
            found = [cell.cell_contents for cell in self.cells]
        except ValueError:
            found = [_contents(cell) for cell in self.cells]
        get = self.globals.get
        found += [get(name, MISSING) for name in self.global_names]
        found += self.fixed
        for position in self.ignored:
            found[position] = MISSING
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
            opaque = self._opaque = [(_nothing, None)] * len(values)
        found: list[Any] = []
        for position, value in enumerate(values):
            known, structure = opaque[position]
            if structure is None or known() is not value:
                structure = walk.take(value)
                if structure.kind is STATIC:
                    opaque[position] = (reference_to(value), structure)
            found.append(structure)
        return tuple(found)


def _wrappers(function: Any) -> Iterator[Any]:
    """A function, and the functions that it wraps, by their word."""
    seen: set[int] = set()
    while function is not None and id(function) not in seen:
        seen.add(id(function))
        yield function
        function = getattr(function, "__wrapped__", None)


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
