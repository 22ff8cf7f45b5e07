"""Sizes in constructors as holes: what two blocks of different widths differ in.

    split("nn.LinearConfig(32, 64).init(device)")       # ["nn.LinearConfig(", ", ", ").init(device)"], [32, 64]

Blocks whose constructors are equal but for such numbers are one class, and the numbers its arguments. Digits in
strings, names and floats are no holes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_TOKEN = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|(?<![\w.\-])\d+(?![\w.])""")
_KEYWORD = re.compile(r"(\w+)=[^=]*$")
_PLACES = {
    "Linear": ("d_input", "d_output"),
    "Embedding": ("n_embedding", "d_model"),
    "GroupNorm": ("groups", "channels"),
    "Lstm": ("d_input", "d_hidden"),
    "BiLstm": ("d_input", "d_hidden"),
    "Gru": ("d_input", "d_hidden"),
    "BiGru": ("d_input", "d_hidden"),
}
_BOTH = {
    ("channels_in", "channels_out"): "channels",
    ("channels_out", "channels_in"): "hidden",
    ("d_input", "d_output"): "d_model",
    ("d_output", "d_input"): "d_hidden",
    ("features", "d_input"): "d_model",
    ("features", "d_output"): "d_model",
}


def split(text: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The text between the numbers, and the numbers."""
    parts: list[str] = []
    numbers: list[int] = []
    last = 0
    for found in _TOKEN.finditer(text):
        if found[0][0] in "\"'":
            continue
        parts.append(text[last : found.start()])
        numbers.append(int(found[0]))
        last = found.end()
    return (*parts, text[last:]), tuple(numbers)


def join(parts: Sequence[str], fillings: Sequence[str]) -> str:
    """The text with something else in its holes."""
    return "".join(part + filling for part, filling in zip(parts, (*fillings, "")))


def hole_hint(annotation: str, parts: Sequence[str], place: int) -> str:
    """What to call the number at a place of a field's constructor."""
    kind = annotation.rpartition(".")[2]
    before = "".join(f"{part}0" for part in parts[:place]) + parts[place]
    keyword = _KEYWORD.search(before)
    if keyword is not None and before.count("(", keyword.start()) >= before.count(")", keyword.start()):
        return keyword[1]
    if kind.startswith("Conv"):
        return ("channels_in", "channels_out", "kernel_size")[min(place, 2)]
    if kind.endswith("Norm") and kind not in _PLACES:
        return "features"
    names = _PLACES.get(kind, ())
    return names[place] if place < len(names) else "size"


def between(hints: Sequence[str]) -> str:
    """The name of one size that stands in several places: what goes in and out again is neither of the two."""
    first, last = hints[0], hints[-1]
    return _BOTH.get((first, last), first)


def merged(comments: Sequence[str], names: dict[tuple[int, ...], str]) -> str:
    """One comment for several: sizes that differ are named after the argument they go with, or left open."""
    if len(set(comments)) == 1:
        return comments[0]
    found = [split(comment) for comment in comments]
    if len({parts for parts, _ in found}) > 1:
        return ""
    columns = list(zip(*(numbers for _, numbers in found)))
    words = [str(column[0]) if len(set(column)) == 1 else names.get(column, "_") for column in columns]
    return join(found[0][0], words)
