"""Unions: values of one of several kinds, written without a mark wherever JSON tells them apart.

A value of exactly a member's class belongs to that member; else the members are asked in order. Where
several members are configs, a config carries its class name, `{"SgdConfig": {...}}`, which is how
Rust's serde writes an enum with one variant per config. A value whose text would be read as another
member's is refused when it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from burn.config.faults import Faults, Path, did_you_mean, show, show_json
from burn.config.kinds import NONE, Kind
from burn.config.structs import Struct


class Union(Kind):
    """One of several kinds."""

    def __init__(self, members: Sequence[Kind]) -> None:
        self.others = tuple(member for member in members if member is not NONE)
        self.takes_none = len(self.others) < len(members)
        structs = [member for member in self.others if isinstance(member, Struct)]
        self.tagged = {member.expected: member for member in structs} if len(structs) > 1 else {}

    @property
    def expected(self) -> str:
        names = [member.expected for member in self.others]
        return " | ".join([*names, "None"] if self.takes_none else names)

    def take(self, value: Any, path: Path, faults: Faults) -> Any:
        if value is None and self.takes_none:
            return None
        for member in self.others:
            if type(value) is member.exact:
                return value
        return self._first([member.take for member in self.others], value, path, faults, as_json=False)

    def write(self, value: Any, path: Path, faults: Faults) -> Any:
        if value is None and self.takes_none:
            return None
        member = self._member_of(value)
        if self.tagged and isinstance(member, Struct):
            written = {type(value).__name__: member.write_fields(value, path, faults)}
        else:
            written = member.write(value, path, faults)
        if len(self.others) > 1 and not faults:
            again = self.read(written, path, wrong := Faults())
            if wrong or (again != value and repr(again) != repr(value)) or type(again) is not type(value):
                faults.add(
                    path,
                    f"{show(value)} is written as {show_json(written)}, which {self.expected} reads as {show(again)}; "
                    "declare types that JSON tells apart, or an Enumeration",
                )
        return written

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        if value is None and self.takes_none:
            return None
        for member in self.others:
            if type(value) is member.plain:
                return value
        if self.tagged and type(value) is dict:
            if len(value) == 1:
                ((name, content),) = value.items()
                if name in self.tagged:
                    return self.tagged[name].read_fields(content, (path, name), faults)
                for member in self.tagged.values():
                    if member.derived(name):
                        return member.read(value, path, faults)
            if len(self.tagged) == len(self.others):
                expected = " or ".join(f'{{"{each}": {{...}}}}' for each in self.tagged)
                near = did_you_mean(next(iter(value)), self.tagged, quote='"') if len(value) == 1 else ""
                faults.add(path, f"expected {expected}, got {show_json(value)}{near if 'mean' in near else ''}")
                return value
        untagged = [member for member in self.others if member not in self.tagged.values()]
        return self._first([member.read for member in untagged], value, path, faults, as_json=True)

    def _member_of(self, value: Any) -> Kind:
        """The member that holds a value taken before."""
        for member in self.others:
            if type(value) is member.exact:
                return member
        for member in self.others:
            taken = member.take(value, None, wrong := Faults())
            if not wrong and type(taken) is type(value):
                return member
        return self.others[0]

    def _first(
        self, attempts: Sequence[Callable[..., Any]], value: Any, path: Path, faults: Faults, *, as_json: bool
    ) -> Any:
        """What the first member without a fault makes of the value.

        When all find some, and just one member knows the type but not what is inside, its faults are the
        ones that help.
        """
        inside = []
        for attempt in attempts:
            taken = attempt(value, path, found := Faults())
            if not found:
                return taken
            if not any(fault.path is path and fault.is_type for fault in found):
                inside.append(found)
        if len(inside) == 1:
            faults += inside[0]
        else:
            faults.unexpected(path, self.expected, value, as_json=as_json)
        return value
