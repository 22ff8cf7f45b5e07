"""Guards: everything that a capture's Python read, checked before each replay by a function made for it.

Most of it is names that are bound to what they were: functions, classes, numbers. For these the function is a row of
identity checks, which costs some ten nanoseconds for each. Where one fails, looks decide by value.
"""

from __future__ import annotations

import functools
import gc
import types
from collections.abc import Callable, Mapping
from typing import Any

from burn.capture.looks import MISSING, Aliases, Atom, Attribute, Fields, Forever, Held, Look, contents_of

Moved = Callable[[tuple[Any, ...], dict[str, Any]], str]


FEW = 12
"""Entries of a dict that are quicker gone through than asked for the last one."""


class Guards:
    """What Python values a capture depends on, beside its key: looks, each with its place (see `read_place`)."""

    def __init__(self, looks: list[tuple[Any, Any, Look]], aliases: Aliases | None) -> None:
        self.looks, self.aliases = looks, aliases

    def moved(self, surroundings: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """What is another than when the capture was recorded; empty if nothing is."""
        given = {"args": args, "kwargs": kwargs, "globals": surroundings.globals, "fixed": surroundings.fixed}
        for container, name, look in self.looks:
            if found := look.moved(read_place(container, name, given)):
                return found
        return self.aliases.moved(None) if self.aliases is not None else ""

    def function(self, surroundings: Any) -> Moved | None:
        """`moved` for one function, fast; None where there is nothing to look at."""
        if not self.looks:
            return None
        return _Writer(functools.partial(self.moved, surroundings)).written(self, surroundings)


def read_place(container: Any, name: Any, given: Mapping[str, Any]) -> Any:
    """What stands in a place: an entry of a dict, a list or a tuple, or (no name) the contents of a cell.

    A container that is another one in each call, or for each function, goes by its name among the `given`.
    """
    if container.__class__ is str:
        container = given[container]
    if name is None:
        return contents_of(container)
    if name == "":  # the look knows itself where to look
        return None
    return container[name] if container.__class__ in (tuple, list) else container.get(name, MISSING)


class _Writer:
    """Writes a function that checks identities and leaves everything else to looks."""

    def __init__(self, slow: Any) -> None:
        self.constants: dict[str, Any] = {"slow": slow}
        self.lines: list[str] = []
        self.absent: dict[str, set[str]] = {}

    def constant(self, value: Any) -> str:
        name = f"k{len(self.constants)}"
        self.constants[name] = value
        return name

    def written(self, guards: Guards, surroundings: Any) -> Moved:
        held: dict[int, str] = {}
        for container, name, look in guards.looks:
            if isinstance(look, Attribute):
                self.attribute(look)
                continue
            named = container.__class__ is str
            if named and container in ("args", "kwargs"):
                self.check(look, f"{container}[{name!r}]")
                continue
            space = getattr(surroundings, container) if named else _itself(container)
            place = held.get(id(space))
            if place is None:
                place = held[id(space)] = self.constant(space)
            if isinstance(look, Atom) and look.value is MISSING and name.__class__ is str:
                self.absent.setdefault(place, set()).add(name)
            else:
                self.check(look, f"{place}.cell_contents" if name is None else f"{place}[{name!r}]")
        for place, names in self.absent.items():
            self.lacks(self.constants[place], place, names)
        if guards.aliases is not None:
            self.check(guards.aliases, "None")
        parameters = ", ".join(f"{name}={name}" for name in self.constants)
        body = "\n        ".join(self.lines) or "pass"
        source = (
            f"def moved(args, kwargs, {parameters}):\n    try:\n        {body}\n"
            "    except (KeyError, AttributeError, ValueError, TypeError):\n        return slow(args, kwargs)\n"
            "    return ''\n"
        )
        scope = dict(self.constants)
        exec(compile(source, "<guards of a capture>", "exec"), scope)
        made: Moved = scope["moved"]
        return made

    def attribute(self, look: Attribute) -> None:
        """A check that nobody replaced an attribute."""
        owner = look.reference()
        lasts = isinstance(owner, type) or not owner.__closure__
        place = self.constant(owner) if lasts else f"{self.constant(look.reference)}()"
        self.fail_if(f"{place}.{look.name} is not {self.constant(look.value)}")

    def fail_if(self, condition: str) -> None:
        self.lines.append(f"if {condition}: return slow(args, kwargs)")

    def check(self, look: Look, value: str) -> None:
        """Lines that leave for the slow way unless `value` is what it was."""
        if isinstance(look, Atom):
            self.fail_if(f"{value} is not {self.constant(look.value)}")
        elif look.__class__ is Held:
            self.same(look.reference, value)
        elif isinstance(look, Fields):
            if look.all_names is None and not (
                look.children or look.absent or look.slots or look.contents or look.special
            ):
                self.same(look.reference, value)
                return
            if look.all_names is not None:
                self.fail_if(f"{self.constant(look.moved)}({value})")
                return
            name = f"t{len(self.lines)}"
            self.lines.append(f"{name} = {value}")
            self.same(look.reference, name)
            self.fail_if(f"type({name}) is not {self.constant(look.kind)}")
            if look.contents is not None:
                self.fail_if(f"{self.constant(look.contents.moved)}({name})")
            if look.children or look.absent:
                self.lines.append(f"{name}f = {name}.__dict__")
            for field, child in look.children.items():
                self.check(child, f"{name}f[{field!r}]")
            if look.absent:
                self.lacks(getattr(look.reference(), "__dict__", {}), f"{name}f", look.absent)
            for special, child in look.special:
                self.check(child, f"{name}.{special}")
            for slot, slot_child in look.slots:
                if slot_child is not None:
                    self.check(slot_child, f"{self.constant(slot.__get__)}({name})")
                else:
                    self.fail_if(f"{self.constant(look.moved)}({name})")
        else:
            self.fail_if(f"{self.constant(look.moved)}({value})")

    def lacks(self, now: Any, place: str, names: set[str]) -> None:
        """A check that a dict has none of the names; in a large one a name that is added comes last."""
        has = f"not {self.constant(frozenset(names))}.isdisjoint({place})"
        if len(now) > FEW:
            self.lines.append(f"for last in reversed({place}): break")
            has = f"(len({place}) != {len(now)} or last is not {self.constant(next(reversed(now)))}) and {has}"
        self.fail_if(has)

    def same(self, reference: Any, value: str) -> None:
        """A check of identity; what lasts as long as its module is held as it is."""
        if reference.__class__ is Forever:
            self.fail_if(f"{value} is not {self.constant(reference.value)}")
        elif isinstance(reference(), type | types.ModuleType | types.BuiltinFunctionType) or (
            isinstance(reference(), types.FunctionType) and not reference().__closure__
        ):
            self.fail_if(f"{value} is not {self.constant(reference())}")
        else:
            self.fail_if(f"{value} is not {self.constant(reference)}()")


def _itself(space: Any) -> Any:
    """The dict behind the read-only view of a class, which is quicker to read."""
    if isinstance(space, types.MappingProxyType):
        return next((each for each in gc.get_referents(space) if isinstance(each, dict)), space)
    return space
