"""Groups of parameters: which ones a setting is for, by path, by text in the path, or by id.

    biases = ParamGroup.from_regex(r"\\.bias$")
    head = ParamGroup.under("head")
    rest = ParamGroup.all().exclude(head)

A group is a rule, not a list: it is asked about each parameter with its id and its dotted path. Groups
are values; equal rules are equal, so a group may be the key of a dict.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from typing import Any

from burn.errors import ArgumentError
from burn.module.identity import ParamId
from burn.module.param import Param
from burn.module.walk import leaves


class ParamGroup:
    """A rule that says of a parameter whether it belongs. Make one with `all`, `under`, `from_...`.

    It is asked about each parameter with its id and its dotted path. `a | b` and `a - b` combine rules.

    `from_predicate` looks for a text in the path, `from_regex` for a `pattern`; of several `patterns` (or texts)
    all must be found, or one of them in the `from_any_` forms. `kind` and `parts` are how a rule is kept.

    >>> from burn.optim import ParamGroup
    >>> rest = ParamGroup.all() - ParamGroup.under("head")
    >>> rest.matches("", "body.0.weight"), rest.matches("", "head.weight")
    (True, False)
    """

    __slots__ = ("kind", "parts")

    kind: str
    parts: tuple[Any, ...]

    def __init__(self, kind: str, parts: Iterable[Any] = ()) -> None:
        self.kind, self.parts = kind, tuple(parts)
        if kind not in _RULES:
            raise ArgumentError(
                f"ParamGroup: {kind!r} is no rule; write ParamGroup.all(), ParamGroup.under('head'), ..."
            )

    # Rules

    @classmethod
    def all(cls) -> ParamGroup:
        """Every parameter."""
        return cls("all")

    @classmethod
    def from_ids(cls, ids: Iterable[str]) -> ParamGroup:
        """The parameters with these ids."""
        return cls("ids", (frozenset(map(ParamId, ids)),))

    @classmethod
    def ids_from_module(cls, module: Any) -> ParamGroup:
        """The parameters that a module has now, by id, wherever they stand."""
        return cls.from_ids(leaf.id for _, leaf in leaves(module) if isinstance(leaf, Param))

    @classmethod
    def from_path(cls, path: str) -> ParamGroup:
        """The parameter at exactly this dotted path."""
        return cls.from_paths([path])

    @classmethod
    def from_paths(cls, paths: Sequence[str]) -> ParamGroup:
        """The parameters at exactly these dotted paths."""
        return cls("paths", _texts("from_paths", paths))

    @classmethod
    def under(cls, *paths: str) -> ParamGroup:
        """The parameters of the modules at these dotted paths."""
        return cls("under", _texts("under", paths))

    @classmethod
    def from_predicate(cls, text: str) -> ParamGroup:
        """The parameters with this text in their path."""
        return cls.from_predicates([text])

    @classmethod
    def from_predicates(cls, texts: Sequence[str]) -> ParamGroup:
        """The parameters with all of these texts in their path."""
        return cls("all texts", _texts("from_predicates", texts))

    @classmethod
    def from_any_predicates(cls, texts: Sequence[str]) -> ParamGroup:
        """The parameters with one of these texts in their path."""
        return cls("any text", _texts("from_any_predicates", texts))

    @classmethod
    def from_regex(cls, pattern: str) -> ParamGroup:
        """The parameters in whose path this regular expression is found."""
        return cls.from_regexes([pattern])

    @classmethod
    def from_regexes(cls, patterns: Sequence[str]) -> ParamGroup:
        """The parameters in whose path all of these regular expressions are found."""
        return cls("all patterns", _patterns("from_regexes", patterns))

    @classmethod
    def from_any_regexes(cls, patterns: Sequence[str]) -> ParamGroup:
        """The parameters in whose path one of these regular expressions is found."""
        return cls("any pattern", _patterns("from_any_regexes", patterns))

    # Combining

    def fuse(self, other: ParamGroup) -> ParamGroup:
        """What belongs to this group or to the other: `a | b`."""
        return ParamGroup("fuse", (self, other))

    def exclude(self, other: ParamGroup) -> ParamGroup:
        """What belongs to this group and not to the other: `a - b`."""
        return ParamGroup("exclude", (self, other))

    __or__ = fuse
    __sub__ = exclude

    def matches(self, id: str, path: str) -> bool:
        """Whether the parameter with this id at this path belongs."""
        return _matches(self, id, path)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ParamGroup) and self.kind == other.kind and self.parts == other.parts

    def __hash__(self) -> int:
        return hash((self.kind, self.parts))

    def __repr__(self) -> str:
        return str(_NAMES[self.kind](*self.parts))


_RULES: dict[str, Any] = {
    "all": lambda id, path: True,
    "ids": lambda id, path, ids: id in ids,
    "paths": lambda id, path, *paths: path in paths,
    "under": lambda id, path, *paths: any(path == each or path.startswith(each + ".") for each in paths),
    "all texts": lambda id, path, *texts: all(each in path for each in texts),
    "any text": lambda id, path, *texts: any(each in path for each in texts),
    "all patterns": lambda id, path, *patterns: all(re.search(each, path) for each in patterns),
    "any pattern": lambda id, path, *patterns: any(re.search(each, path) for each in patterns),
    "fuse": lambda id, path, one, other: one.matches(id, path) or other.matches(id, path),
    "exclude": lambda id, path, one, other: one.matches(id, path) and not other.matches(id, path),
}

_NAMES: dict[str, Any] = {
    "all": lambda: "ParamGroup.all()",
    "ids": lambda ids: f"ParamGroup.from_ids({sorted(map(str, ids))})",
    "paths": lambda *paths: f"ParamGroup.from_paths({list(paths)})",
    "under": lambda *paths: f"ParamGroup.under({', '.join(map(repr, paths))})",
    "all texts": lambda *texts: f"ParamGroup.from_predicates({list(texts)})",
    "any text": lambda *texts: f"ParamGroup.from_any_predicates({list(texts)})",
    "all patterns": lambda *patterns: f"ParamGroup.from_regexes({list(patterns)})",
    "any pattern": lambda *patterns: f"ParamGroup.from_any_regexes({list(patterns)})",
    "fuse": lambda one, other: f"({one!r} | {other!r})",
    "exclude": lambda one, other: f"({one!r} - {other!r})",
}


@functools.lru_cache(maxsize=65536)
def _matches(group: ParamGroup, id: str, path: str) -> bool:
    # A training loop asks the same question at every step.
    return bool(_RULES[group.kind](id, path, *group.parts))


def _texts(operation: str, texts: Any) -> tuple[str, ...]:
    if isinstance(texts, str) or not all(isinstance(each, str) for each in texts):
        raise ArgumentError(f"ParamGroup.{operation}: needs a list of texts, got {texts!r}")
    return tuple(texts)


def _patterns(operation: str, patterns: Any) -> tuple[str, ...]:
    for pattern in _texts(operation, patterns):
        try:
            re.compile(pattern)
        except re.error as error:
            raise ArgumentError(f"ParamGroup.{operation}: {pattern!r} is no regular expression: {error}") from None
    return tuple(patterns)
