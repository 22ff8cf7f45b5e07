"""Statements laid out in lines of at most 110 columns.

A statement that is too long is opened at its last outer bracket: the inside goes on its own lines, one argument a
line where it does not fit on one. Strings are never broken.
"""

from __future__ import annotations

from collections.abc import Iterator

WIDTH = 110
_OPEN = {"(": ")", "[": "]", "{": "}"}


def lay_out(text: str, indent: int, width: int = WIDTH) -> list[str]:
    """`text` as lines that begin with `indent` spaces."""
    margin = " " * indent
    if indent + len(text) <= width:
        return [margin + text]
    opened = _split(text)
    if opened is None:
        return [margin + text]
    head, inside, tail = opened
    lines = [margin + head]
    if inside:
        lines += _arguments(inside, indent + 4, width)
    closing = lay_out(tail, indent, width)
    return lines + closing


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


def _split(text: str) -> tuple[str, str, str] | None:
    """Before, inside and after the longest bracket at the outer level; None when there is none."""
    best: tuple[int, int] | None = None
    start = -1
    for position, depth, character in _scan(text):
        if depth == 1 and character in _OPEN:
            start = position
        elif depth == 0 and character in ")]}" and (best is None or position - start > best[1] - best[0]):
            best = (start, position)
    if best is None or best[1] - best[0] < 2:
        return None
    first, last = best
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
