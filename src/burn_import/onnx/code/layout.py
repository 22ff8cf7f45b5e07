"""Statements laid out in lines of at most 110 columns.

A statement that is too long is opened at its longest outer bracket: the inside goes on its own lines, one argument a
line with a comma behind each, which formatters leave as it is. A string that is too long for a line becomes several
that Python joins.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

WIDTH = 110
_STRING = re.compile(r"""^(\w+=)?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(,?)$""", re.DOTALL)
_COMPREHENSION = re.compile(r" for \w+(, \w+)* in ")
_OPEN = {"(": ")", "[": "]", "{": "}"}


def lay_out(text: str, indent: int, width: int = WIDTH) -> list[str]:
    """`text` as lines that begin with `indent` spaces."""
    margin = " " * indent
    if indent + len(text) <= width:
        return [margin + text]
    opened = _split(text, width - indent)
    if opened is None:
        return _broken(text, indent, width)
    head, inside, tail, settled = opened
    lines = [margin + head]
    if inside and settled and indent + 4 + len(inside) <= width:
        lines.append(f"{margin}    {inside}")
    elif inside:
        lines += _arguments(inside, indent + 4, width, is_call=_is_call(head))
    closing = lay_out(tail, indent, width)
    return lines + closing


def _is_call(head: str) -> bool:
    """Whether a bracket holds arguments or items, where a last comma changes nothing."""
    return (
        head[-1] in "([{"
        and (head[-1] != "(" or head[-2:-1].isalnum() or head[-2:-1] in "_)]")
        and (head[-1] != "[" or not (head[-2:-1].isalnum() or head[-2:-1] in "_)]"))
    )


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
        if indent + len(target) > width - 12:
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


def _arguments(inside: str, indent: int, width: int, *, is_call: bool) -> list[str]:
    """What stands in a bracket, one part a line; the last comma keeps formatters from joining them again."""
    parts = list(_pieces(inside))
    if not is_call and len(parts) == 1:
        return lay_out(inside, indent, width)
    if len(parts) == 1 and _COMPREHENSION.search(inside):
        return lay_out(inside, indent, width)
    lines: list[str] = []
    for part in parts:
        lines += lay_out(part + ",", indent, width)
    return lines


def _split(text: str, room: int) -> tuple[str, str, str, bool] | None:
    """Before, inside and after the longest bracket at the outer level that opens where there is still room; the first
    one when none does, and None when there is none at all. Last, whether formatters would open the same one: they
    prefer the last bracket, if what is before it fits."""
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
    if found[-1][0] < room and not _is_call(text[: first + 1]):
        first, last = found[-1]
    settled = (first, last) == found[-1] or found[-1][0] >= room
    return text[: first + 1], text[first + 1 : last].strip(), text[last:], settled


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
