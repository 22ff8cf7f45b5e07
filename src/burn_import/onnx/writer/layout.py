"""Statements laid out in lines of at most 110 columns.

A statement that is too long is opened at its last outer bracket: the inside goes on its own lines, one argument a
line where it does not fit on one. A string that is too long for a line becomes several that Python joins.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

WIDTH = 110
_STRING = re.compile(r"""^(\w+=)?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(,?)$""", re.DOTALL)
_OPEN = {"(": ")", "[": "]", "{": "}"}


def lay_out(text: str, indent: int, width: int = WIDTH) -> list[str]:
    """`text` as lines that begin with `indent` spaces."""
    margin = " " * indent
    if indent + len(text) <= width:
        return [margin + text]
    opened = _split(text, width - indent)
    if opened is None:
        return _broken(text, indent, width)
    head, inside, tail = opened
    lines = [margin + head]
    if inside:
        lines += _arguments(inside, indent + 4, width)
    closing = lay_out(tail, indent, width)
    return lines + closing


def lay_out_statement(text: str, indent: int, width: int = WIDTH) -> list[str]:
    """A whole statement as lines; lists without brackets get some where the statement is too long for one line."""
    if indent + len(text) <= width:
        return [" " * indent + text]
    if text.startswith("return "):
        value = text[len("return ") :]
        return lay_out(f"return ({value})" if len(list(_pieces(value))) > 1 else text, indent, width)
    target, equals, value = text.partition(" = ")
    if equals and len(list(_pieces(target))) > 1 and "(" not in target and "[" not in target:
        if len(list(_pieces(value))) > 1:
            value = f"({value})"
        if indent + len(target) > width // 2:
            target = f"({target})"
        return lay_out(f"{target} = {value}", indent, width)
    return lay_out(text, indent, width)


def _broken(text: str, indent: int, width: int) -> list[str]:
    """A long string as several that stand below each other; anything else as it is."""
    found = _STRING.match(text)
    if found is None:
        return [" " * indent + text]
    value = ast.literal_eval(found[2])
    pieces: list[str] = []
    while value:
        size = width - indent - 4 - 2
        while len(ascii(value[:size])) > width - indent - 4:
            size -= max(1, size // 8)
        pieces.append(ascii(value[:size]))
        value = value[size:]
    margin = " " * indent
    return [f"{margin}{found[1] or ''}(", *(f"{margin}    {piece}" for piece in pieces), f"{margin}){found[3]}"]


def _arguments(inside: str, indent: int, width: int) -> list[str]:
    if indent + len(inside) <= width:
        return [" " * indent + inside]
    parts = list(_pieces(inside))
    if len(parts) > 8 and all(len(part) < 16 for part in parts):
        return _filled(parts, indent, width)
    lines: list[str] = []
    for part in parts:
        lines += lay_out(part + ("," if len(parts) > 1 else ""), indent, width)
    return lines


def _filled(parts: list[str], indent: int, width: int) -> list[str]:
    """Many short arguments: as many on a line as fit."""
    lines: list[str] = []
    line = " " * indent
    for part in parts:
        if len(line) + len(part) + 1 > width:
            lines.append(line.rstrip())
            line = " " * indent
        line += f"{part}, "
    return [*lines, line.rstrip()]


def _split(text: str, room: int) -> tuple[str, str, str] | None:
    """Before, inside and after the longest bracket at the outer level that opens where there is still room; the first
    one when none does, and None when there is none at all."""
    found: list[tuple[int, int]] = []
    start = -1
    closing = 1 if text[0] in ")]}" else 0  # what follows a part that was opened already
    for place, depth, character in _scan(text[closing:]):
        if depth == 1 and character in _OPEN:
            start = place + closing
        elif depth == 0 and character in ")]}" and place + closing - start > 1:
            found.append((start, place + closing))
    if not found:
        return None
    fitting = [each for each in found if each[0] < room] or found[:1]
    first, last = max(fitting, key=lambda each: each[1] - each[0])
    return text[: first + 1], text[first + 1 : last].strip(), text[last:]


def _pieces(text: str) -> Iterator[str]:
    """The parts between commas of the outer level."""
    last = 0
    for position, depth, character in _scan(text):
        if depth == 0 and character == ",":
            yield text[last:position].strip()
            last = position + 1
    rest = text[last:].strip()
    if rest:
        yield rest


def _scan(text: str) -> Iterator[tuple[int, int, str]]:
    """Position, depth after it, and character, for what stands outside strings."""
    depth = 0
    quote = ""
    escaped = False
    for position, character in enumerate(text):
        if quote:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == quote:
                quote = ""
            continue
        if character in "\"'":
            quote = character
        elif character in _OPEN:
            depth += 1
            yield position, depth, character
        elif character in ")]}":
            depth -= 1
            yield position, depth, character
        else:
            yield position, depth, character
