"""Containers: lists, tuples, sets and dicts of other kinds.

A list and a tuple are taken for each other and become what the field declares, so `[3, 3]` serves a
`tuple[int, int]`. Each container is copied when it is taken: what a config holds is its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Annotated, Any, TypeAlias, TypeVar

from burn.config.faults import Faults, Path
from burn.config.kinds import Kind

Element = TypeVar("Element")


class Length:
    """How long a sequence is: `Annotated[Sequence[int], Length(2)]` takes two ints, as `count` says, and holds a tuple.

    `Pair[int]` and `Triple[int]` are the usual ones.

    >>> from collections.abc import Sequence
    >>> from typing import Annotated
    >>> from burn.config import Config, Length
    >>> class WindowConfig(Config):
    ...     size: Annotated[Sequence[int], Length(2)]
    >>> WindowConfig([3, 5]).size
    (3, 5)
    """

    __slots__ = ("count",)

    def __init__(self, count: int) -> None:
        self.count = count

    def __repr__(self) -> str:
        return f"Length({self.count})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Length) and other.count == self.count

    def __hash__(self) -> int:
        return hash((Length, self.count))


Pair: TypeAlias = Annotated[Sequence[Element], Length(2)]
"""Two of a kind, such as a kernel's height and width: `Pair[int]`."""
Triple: TypeAlias = Annotated[Sequence[Element], Length(3)]
"""Three of a kind, such as a kernel's depth, height and width: `Triple[int]`."""


def is_sequence(value: object) -> bool:
    """Whether a value counts as a list where one is declared."""
    if isinstance(value, (list, tuple)):
        return True
    if isinstance(value, (str, bytes, bytearray, memoryview)):
        return False
    return isinstance(value, Sequence) or (hasattr(value, "tolist") and getattr(value, "ndim", 0) > 0)


def elements(value: Any) -> Sequence[Any]:
    """The elements of what `is_sequence` accepts, as Python values."""
    return value.tolist() if hasattr(value, "tolist") else value  # type: ignore[no-any-return]


class Many(Kind):
    """Any number of one kind, or exactly `count`, held as a list or a tuple."""

    def __init__(self, element: Kind, cls: type[list[Any]] | type[tuple[Any, ...]], count: int | None = None) -> None:
        self.element = element
        self.cls = cls
        self.count = count

    @property
    def expected(self) -> str:
        if self.count is not None:
            return f"{self.count} of {self.element.expected}"
        return f"list[{self.element.expected}]" if self.cls is list else f"tuple[{self.element.expected}, ...]"

    def take(self, value: Any, path: Path, faults: Faults) -> Any:
        if not is_sequence(value):
            faults.unexpected(path, self.expected, value)
            return value
        given = elements(value)
        if self.count is not None and len(given) != self.count:
            faults.unexpected(path, self.expected, value)
            return value
        exact, take = self.element.exact, self.element.take
        return self.cls(
            each if type(each) is exact else take(each, (path, index), faults) for index, each in enumerate(given)
        )

    def write(self, value: Any, path: Path, faults: Faults) -> Any:
        return [self.element.write(each, (path, index), faults) for index, each in enumerate(value)]

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        if type(value) not in (list, tuple) or (self.count is not None and len(value) != self.count):
            faults.unexpected(path, self.expected, value, as_json=True)
            return value
        return self.cls(self.element.read(each, (path, index), faults) for index, each in enumerate(value))


class Row(Kind):
    """`tuple[A, B]`: one kind per position."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self.kinds = tuple(kinds)

    @property
    def expected(self) -> str:
        return f"tuple[{', '.join(kind.expected for kind in self.kinds) or '()'}]"

    def take(self, value: Any, path: Path, faults: Faults) -> Any:
        if not is_sequence(value) or len(given := elements(value)) != len(self.kinds):
            faults.unexpected(path, self.expected, value)
            return value
        return tuple(
            each if type(each) is kind.exact else kind.take(each, (path, index), faults)
            for index, (kind, each) in enumerate(zip(self.kinds, given))
        )

    def write(self, value: Any, path: Path, faults: Faults) -> Any:
        return [kind.write(each, (path, index), faults) for index, (kind, each) in enumerate(zip(self.kinds, value))]

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        if type(value) not in (list, tuple) or len(value) != len(self.kinds):
            faults.unexpected(path, self.expected, value, as_json=True)
            return value
        return tuple(
            kind.read(each, (path, index), faults) for index, (kind, each) in enumerate(zip(self.kinds, value))
        )


class Distinct(Kind):
    """A set, written as a list in order."""

    def __init__(self, element: Kind, cls: type[set[Any]] | type[frozenset[Any]]) -> None:
        self.element = element
        self.cls = cls

    @property
    def expected(self) -> str:
        return f"{self.cls.__name__}[{self.element.expected}]"

    def take(self, value: Any, path: Path, faults: Faults) -> Any:
        if not isinstance(value, AbstractSet):
            faults.unexpected(path, self.expected, value)
            return value
        return self._gather([self.element.take(each, path, faults) for each in value], path, faults)

    def write(self, value: Any, path: Path, faults: Faults) -> Any:
        written = [self.element.write(each, path, faults) for each in value]
        return sorted(
            written, key=lambda each: (str(type(each)), each if isinstance(each, (int, float)) else str(each))
        )

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        if type(value) not in (list, tuple):
            faults.unexpected(path, f"a list for {self.expected}", value, as_json=True)
            return value
        found = [self.element.read(each, (path, index), faults) for index, each in enumerate(value)]
        return self._gather(found, path, faults)

    def _gather(self, values: list[Any], path: Path, faults: Faults) -> Any:
        try:
            return self.cls(values)
        except TypeError as error:
            faults.add(path, f"a set needs elements that hash: {error}")
            return values


class Dictionary(Kind):
    """A dict. Its keys are text in JSON, so they are of a kind that text can say."""

    def __init__(self, key: Kind, value: Kind) -> None:
        self.key = key
        self.value = value

    @property
    def expected(self) -> str:
        return f"dict[{self.key.expected}, {self.value.expected}]"

    def take(self, value: Any, path: Path, faults: Faults) -> Any:
        if not isinstance(value, Mapping):
            faults.unexpected(path, self.expected, value)
            return value
        taken = {}
        for key, each in value.items():
            place = (path, key if isinstance(key, str) else repr(key))
            before = len(faults)
            own = self.key.take(key, place, faults)
            held = self.value.take(each, place, faults)
            if len(faults) == before:
                taken[own] = held
        return taken

    def write(self, value: Any, path: Path, faults: Faults) -> Any:
        written = {}
        for key, each in value.items():
            text = self.key.write_key(key, path, faults)
            written[text] = self.value.write(each, (path, text), faults)
        return written

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        if type(value) is not dict:
            faults.unexpected(path, f"an object for {self.expected}", value, as_json=True)
            return value
        found = {}
        for text, each in value.items():
            place = (path, str(text))
            before = len(faults)
            key = self.key.read_key(text, place, faults)
            held = self.value.read(each, place, faults)
            if len(faults) == before:
                found[key] = held
        return found
