"""Faults: what is wrong with the values of a config, each with the path that leads to it.

A path grows by one link per level while values are checked and becomes text only when there is
something to report, so that checking good values costs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple, NoReturn, TypeAlias

from burn.errors import BurnError, raise_faults
from burn.guesses import WRITE, spelled

Path: TypeAlias = "tuple[Path, str | int] | None"
"""Where a value stands: the place that holds it and its name or position there; None at the top."""

LONGEST = 80


class ConfigError(BurnError, ValueError):
    """Values that a config does not take, or text that does not describe one. `faults` has each of them.

    >>> from burn.config import ConfigError
    >>> from burn.optim import AdamConfig
    >>> try:
    ...     AdamConfig(beta_1="high", epsilon=None)
    ... except ConfigError as error:
    ...     print(len(error.faults), error.faults[0])
    2 beta_1: expected float, got 'high'
    """

    faults: tuple[str, ...] = ()


class ConfigFileNotFound(ConfigError, FileNotFoundError):
    """A config asked of a file that is not there. It is a `FileNotFoundError` too.

    >>> from burn.config import ConfigFileNotFound
    >>> from burn.optim import AdamConfig
    >>> try:
    ...     AdamConfig.load("config.json")
    ... except ConfigFileNotFound as error:
    ...     print(error)
    AdamConfig.load('config.json'): there is no such file; save one with config.save(path)
    """


class Fault(NamedTuple):
    """What is wrong, and where. `is_type` says that the value is of another type altogether."""

    path: Path
    sentence: str
    is_type: bool

    def __str__(self) -> str:
        where = show_path(self.path)
        return f"{where}: {self.sentence}" if where else self.sentence


class Faults(list[Fault]):
    """The faults found so far."""

    def add(self, path: Path, sentence: str) -> None:
        """Note what is wrong at a place."""
        self.append(Fault(path, sentence, False))

    def unexpected(self, path: Path, expected: str, value: object, *, as_json: bool = False) -> None:
        """Note a value of another type than the one expected."""
        sentence = f"expected {expected}, got {show_json(value) if as_json else show(value)}"
        if not as_json:
            sentence += "".join(
                f"; {advice}" for name, advice in WRITE["value"].items() if name in expected.split(" | ")
            )
        self.append(Fault(path, sentence, True))

    def raise_for(self, operation: str) -> None:
        """Raise one error that lists everything found; do nothing when there is nothing."""
        if self:
            fail(operation, map(str, self))


def fail(operation: str, faults: Iterable[str]) -> NoReturn:
    """Raise one error with all the faults."""
    found = tuple(faults)
    try:
        raise_faults(operation, found, ConfigError)
    except ConfigError as error:
        error.faults = found
        raise
    raise AssertionError("an error needs a fault")


def show_path(path: Path) -> str:
    """`model.layers[0].dropout`."""
    links: list[str | int] = []
    while path is not None:
        path, link = path
        links.append(link)
    text = ""
    for link in reversed(links):
        if isinstance(link, int):
            text += f"[{link}]"
        elif link.isidentifier():
            text += f".{link}" if text else link
        else:
            text += f"[{shorten(json.dumps(link, ensure_ascii=False))}]"
    return text


def shorten(text: str) -> str:
    """The text on one line, cut in the middle where it is long."""
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 20]} ... {text[-15:]}"


def show(value: object) -> str:
    """A value as its author would type it; a class by its name."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, (str, list, tuple, range)) and len(value) > LONGEST:
        return f"{shorten(repr(value[:LONGEST]))} ({len(value)} in all)"
    if isinstance(value, dict) and len(value) > LONGEST:
        return f"a dict of {len(value)}"
    return shorten(repr(value))


def show_json(value: Any) -> str:
    """A value as it stands in the JSON text."""
    if isinstance(value, (list, dict, str)) and len(value) > LONGEST:
        kind = {list: "a list", dict: "an object", str: "a string"}[type(value)]
        return f"{kind} of {len(value)}"
    try:
        return shorten(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        return show(value)


def instead(name: str, known: Iterable[str]) -> str:
    """What to write for a field that is not there: as another library's name, else as a near one."""
    names = list(known)
    advised = WRITE["argument"].get(name)
    meant = spelled(name, names)
    if meant is not None:
        return f"; write {meant}"
    return f"; {advised}" if advised is not None else did_you_mean(name, names)


def did_you_mean(name: str, known: Iterable[str], *, prefix: str = "", quote: str = "") -> str:
    """`; did you mean dropout?` when a known name is near, else the list of those there are."""
    import difflib

    names = list(known)
    near = [each for each in names if each.lower() == name.lower()]
    near = near or difflib.get_close_matches(name, names, n=2, cutoff=0.6)
    shown = [f"{quote}{prefix}{each}{quote}" for each in near or names[:20]]
    if near:
        return f"; did you mean {' or '.join(shown)}?"
    if not names:
        return "; there are none"
    more = ", ..." if len(names) > len(shown) else ""
    return f"; there is only {shown[0]}" if len(shown) == 1 else f"; there are {', '.join(shown)}{more}"
