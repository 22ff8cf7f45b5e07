"""Renaming: regular expressions over the names of tensors, with the replacements of Rust and of Python."""

from __future__ import annotations

import re

from burn.errors import ArgumentError
from burn.record.errors import RecordError

PART = re.compile(
    r"\$(?P<dollar>\$)|\$(?P<number>\d+)|\$(?P<word>[A-Za-z_]\w*)|\$\{(?P<braced>\w+)\}"
    r"|\\(?P<back>\d{1,2})|\\g<(?P<named>\w+)>|\\(?P<slash>\\)"
)


class Renaming:
    """A pattern and what takes the place of each of its matches."""

    def __init__(self, pattern: str, replacement: str) -> None:
        self.pattern, self.replacement = pattern, replacement
        try:
            self._compiled = re.compile(re.sub(r"\(\?<(?=[A-Za-z_])", "(?P<", pattern))
        except (re.error, TypeError) as error:
            raise ArgumentError(f"with_key_remap: {pattern!r} is no regular expression: {error}") from None
        if not isinstance(replacement, str):
            raise ArgumentError(f"with_key_remap: the replacement must be text, got {replacement!r}")
        self._parts = list(_parts(replacement))
        unknown = [part for part in self._parts if isinstance(part, _Group) and not self._has(part.name)]
        if unknown:
            names = ", ".join(repr(each.name) for each in unknown)
            raise ArgumentError(
                f"with_key_remap: {replacement!r} names the group {names}, and {pattern!r} has "
                f"{self._compiled.groups} groups{_list(self._compiled.groupindex)}"
            )

    def _has(self, name: int | str) -> bool:
        return name <= self._compiled.groups if isinstance(name, int) else name in self._compiled.groupindex

    def __call__(self, name: str) -> str:
        """The name with every match replaced."""
        return self._compiled.sub(self._filled, name)

    def _filled(self, match: re.Match[str]) -> str:
        return "".join(part if isinstance(part, str) else match[part.name] or "" for part in self._parts)

    def __repr__(self) -> str:
        return f"Renaming({self.pattern!r}, {self.replacement!r})"


class _Group:
    def __init__(self, name: str) -> None:
        self.name: int | str = int(name) if name.isdigit() else name


def _parts(replacement: str) -> list[str | _Group]:
    parts: list[str | _Group] = []
    at = 0
    for found in PART.finditer(replacement):
        parts.append(replacement[at : found.start()])
        kind = found.lastgroup
        assert kind is not None
        parts.append(found[kind] if kind in ("dollar", "slash") else _Group(found[kind]))
        at = found.end()
    parts.append(replacement[at:])
    return parts


def _list(names: object) -> str:
    found = list(names)  # type: ignore[call-overload]
    return f" ({', '.join(found)})" if found else ""


def rename(names: list[str], renamings: tuple[Renaming, ...]) -> dict[str, str]:
    """New names by old ones. Two that become one are an error."""
    made = {}
    for name in names:
        new = name
        for each in renamings:
            new = each(new)
        made[name] = new
    origins: dict[str, list[str]] = {}
    for name, new in made.items():
        origins.setdefault(new, []).append(name)
    clashes = [f"{' and '.join(old)} both become {new}" for new, old in origins.items() if len(old) > 1]
    if clashes:
        more = f"; and {len(clashes) - 8} more" if len(clashes) > 8 else ""
        raise RecordError(f"with_key_remap: {'; '.join(clashes[:8])}{more}")
    return made
