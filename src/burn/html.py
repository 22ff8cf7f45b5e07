"""Pieces of the pages that notebooks show: tables and folds, escaped, in the colours of the page, dark or light.

No colour is named: text and lines take the one that the page writes in, lines with less of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_LINE = "border:none;border-bottom:1px solid rgba(128,128,128,.35)"
_CELL = f"padding:.15em .8em;text-align:left;background:none;color:inherit;{_LINE}"
_MONO = "font-family:monospace;font-size:.92em"


def box(title: str, facts: str, *parts: str) -> str:
    """A block with a title, what is to be known in one line, and parts that are HTML already."""
    head = f"<div><b>{escape(title)}</b> <span style='opacity:.75'>{escape(facts)}</span></div>"
    return f"<div style='color:inherit;line-height:1.45'>{head}{''.join(parts)}</div>"


def preformatted(text: str) -> str:
    """Text as it is, in letters of one width."""
    style = f"{_MONO};margin:.3em 0;padding:0;max-height:24em;overflow:auto;background:none;color:inherit"
    return f"<pre style='{style}'>{escape(text)}</pre>"


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts."""
    top = "".join(f"<th style='{_CELL}'>{escape(cell)}</th>" for cell in heading)
    body = "".join(
        "<tr style='background:none'>" + "".join(f"<td style='{_CELL}'>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    style = "border-collapse:collapse;margin:.3em 0;color:inherit"
    return f"<table style='{style}'><thead><tr style='background:none'>{top}</tr></thead><tbody>{body}</tbody></table>"


def line(name: str, text: str) -> str:
    """A name and what it is, in letters of one width."""
    said = f"{escape(name)}: " if name else ""
    return f"<div style='{_MONO};padding-left:1.1em'>{said}<span style='opacity:.75'>{escape(text)}</span></div>"


def fold(name: str, title: str, facts: str, parts: Iterable[str], opened: bool = False) -> str:
    """A part of a tree that a click opens and closes."""
    said = f"{escape(name)}: " if name else ""
    summary = f"{said}<b>{escape(title)}</b> <span style='opacity:.75'>{escape(facts)}</span>"
    style = f"{_MONO};padding-left:1.1em"
    inside = "".join(parts)
    return (
        f"<details{' open' if opened else ''} style='{style}'>"
        f"<summary style='margin-left:-1.1em;cursor:pointer'>{summary}</summary>{inside}</details>"
    )
