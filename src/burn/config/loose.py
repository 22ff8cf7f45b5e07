"""Loose arguments: a config from what people write who know other libraries.

    loose(Conv2dConfig, "Conv2d", (1, 8, 3), {"padding": 1})

is `Conv2dConfig([1, 8], [3, 3], padding=PaddingConfig2d.Explicit(1, 1))`. Beside what the config itself takes there
are the names of `burn.guesses.SPELLINGS`, an int for a pair of equal ones, text for a variant without fields, and an
order of positions where the config says one in `_positions`. A value that stands for one thing in that order and for
another in the config's is refused, unless the first value tells them apart.
"""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any

from burn.config.config import Config
from burn.config.containers import Many, is_sequence
from burn.config.faults import ConfigError, instead
from burn.config.kinds import Integer, Kind, Member
from burn.config.structs import Choice
from burn.config.union import Union
from burn.errors import ArgumentError
from burn.guesses import spelled

JOINED = {"channels": ("channels_in", "channels_out")}
"""Fields that hold a pair whose parts go by names of their own elsewhere."""


def loose(config: type[Config], title: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Config:
    """The config that these arguments mean; errors speak of `title`, for which they were given."""
    fields = config._table().by_name
    given = dict(kwargs)
    for name in kwargs:
        meant = None if name in fields else spelled(name, (*fields, *_parts(fields)))
        if meant is not None and meant not in given:
            given[meant] = given.pop(name)
    faults = _place(config, args, given)
    known = [*fields, *_parts(fields)]
    faults += [f"there is no {name}{instead(name, known)}" for name in given if name not in known]
    for whole, parts in JOINED.items():
        found = [given.pop(part) for part in parts if whole in fields and part not in fields and part in given]
        if len(found) == len(parts):
            given[whole] = found
        elif found:
            faults.append(f"needs {' and '.join(parts)}")
    try:
        if not faults:
            return config(**{name: _value(name, fields[name].kind, each) for name, each in given.items()})
    except ConfigError as error:
        faults = list(error.faults)
    raise ArgumentError(f"{title}: {'; '.join(faults)}; it takes ({_spelled(config)})")


def positions(config: type[Config]) -> tuple[str, ...]:
    """The arguments that may be given by position, in order."""
    own = config._table().positional
    other: tuple[str, ...] = getattr(config, "_positions", own)
    return (
        other
        if own[:1] != other[:1]
        else tuple(name for name, _ in takewhile(lambda pair: pair[0] == pair[1], zip(own, other)))
    )


def signature(config: type[Config]) -> list[inspect.Parameter]:
    """The arguments as `help` and editors show them."""
    fields = config._table().by_name
    order = positions(config)
    names = [*order, *(name for name in fields if name not in order and not (set(JOINED.get(name, ())) & set(order)))]
    found = []
    for name in names:
        how = inspect.Parameter.POSITIONAL_OR_KEYWORD if name in order else inspect.Parameter.KEYWORD_ONLY
        field = fields.get(name)
        if field is None:  # a part of a joined field
            found.append(inspect.Parameter(name, how, annotation="int"))
            continue
        default = inspect.Parameter.empty if field.is_required else field.make() if field.make else field.default
        found.append(inspect.Parameter(name, how, default=default, annotation=field.annotation))
    return found


def _spelled(config: type[Config]) -> str:
    parts = []
    for each in signature(config):
        simple = each.default is None or isinstance(each.default, bool | int | float | str | tuple)
        default = repr(each.default) if simple else "..."
        parts.append(each.name if each.default is each.empty else f"{each.name}={default}")
    parts.insert(len(positions(config)), "*")
    return ", ".join([*parts, "device=None"])


def _parts(fields: Iterable[str]) -> list[str]:
    return [part for name in fields for part in JOINED.get(name, ())]


def _place(config: type[Config], args: tuple[Any, ...], given: dict[str, Any]) -> list[str]:
    """Give the positional arguments their names; what is wrong with them."""
    own, order = config._table().positional, positions(config)
    if args and is_sequence(args[0]) and own[0] in JOINED:
        order = own
    if len(args) > len(order):
        if len(order) == len(own):
            return [f"takes {len(order)} values by position ({', '.join(order)}), got {len(args)}"]
        names = " or ".join(f"{each[len(order)]}={args[len(order)]!r}" for each in (config._positions, own))  # type: ignore[attr-defined]
        return [f"value {len(order) + 1} would be another one here than in PyTorch; give it by name: {names}"]
    faults = []
    for name, value in zip(order, args):
        if name in given:
            faults.append(f"{name} is given twice, by position and by name")
        given[name] = value
    return faults


def _is_number(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, numbers.Real)


def _value(name: str, kind: Kind, value: Any) -> Any:
    """A value of the kind, if it is clear which one is meant; else the value as it came."""
    if isinstance(kind, Union):
        for member in () if value is None else kind.others:
            found = _value(name, member, value)
            if found is not value:
                return found
        return value
    if isinstance(kind, Choice):
        return kind.cls._guessed(value)
    if isinstance(kind, Member) and isinstance(value, str):
        return next((each for each in kind.cls if each.name.lower() == value.lower()), value)
    if isinstance(kind, Many):
        if kind.count is not None and _is_number(value):
            return value if name in JOINED else (value,) * kind.count
        return value.tolist() if hasattr(value, "tolist") else value
    if isinstance(kind, Integer) and is_sequence(value) and len(value) == 1:
        return value[0]
    return value
