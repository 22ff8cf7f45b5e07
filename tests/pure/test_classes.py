"""Our `dataclass` makes what that of the standard library makes."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import FrozenInstanceError, field
from typing import Any, ClassVar

import pytest

from burn.classes import dataclass

OPTIONS: list[dict[str, Any]] = [
    {}, {"frozen": True}, {"slots": True}, {"frozen": True, "slots": True}, {"eq": False}, {"repr": False},
    {"frozen": True, "eq": False}, {"frozen": True, "order": True}, {"kw_only": True},
]  # fmt: skip


def pair(options: dict[str, Any]) -> list[Any]:
    """The same class, made by the library and here."""
    found = []
    for decorator in (dataclasses.dataclass, dataclass):

        class Size:
            """A size."""

            width: int
            height: int = 1
            names: list[str] = field(default_factory=list)
            unit: str = field(default="m")

            def __post_init__(self) -> None:
                if self.width < 0:
                    raise ValueError("negative")

            def area(self) -> int:
                return self.width * self.height

        found.append(decorator(**options)(Size))
    return found


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_objects_behave_as_those_of_the_library(options: dict[str, Any]) -> None:
    theirs, ours = pair(options)
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert [(each.name, each.type, each.default) for each in dataclasses.fields(ours)] == [
        (each.name, each.type, each.default) for each in dataclasses.fields(theirs)
    ]
    assert (ours.__match_args__, ours.__annotations__) == (theirs.__match_args__, theirs.__annotations__)
    assert (ours.__hash__ is None) == (theirs.__hash__ is None)
    for given in ({"width": 2}, {"width": 2, "height": 3, "unit": "cm"}, {"width": 1, "names": ["a"]}):
        x, y, other = theirs(**given), ours(**given), ours(**given)
        assert dataclasses.asdict(x) == dataclasses.asdict(y)
        assert x.area() == y.area()
        assert (repr(x) == repr(y)) == options.get("repr", True)
        assert (y == other) == options.get("eq", True)
        assert (x != y, y != 3) == (True, True)
        assert dataclasses.replace(y, width=9).width == 9
        assert hasattr(y, "__dict__") == hasattr(x, "__dict__")
        assert copy.copy(y).width == y.width
        for change in (lambda each: setattr(each, "width", 5), lambda each: delattr(each, "unit")):
            results = []
            for each in (copy.deepcopy(x), copy.deepcopy(y)):
                try:
                    change(each)
                    results.append("done")
                except FrozenInstanceError as error:
                    results.append(str(error))
            assert results[0] == results[1]
    for made in (theirs, ours):
        with pytest.raises(ValueError, match="negative"):
            made(width=-1)
        with pytest.raises(TypeError, match="width"):
            made()
    assert ours(width=1).names is not ours(width=1).names


def test_frozen_values_are_keys_by_what_they_hold() -> None:
    @dataclass(frozen=True)
    class Point:
        """A point."""

        x: int
        y: float = 0.0

    assert len({Point(1), Point(1, 0.0), Point(2)}) == 2
    assert hash(Point(1)) == hash((1, 0.0))


@dataclass(frozen=True, slots=True)
class Kept:
    """At the top of a module, so that it can be pickled."""

    name: str
    sizes: tuple[int, ...] = ()


def test_the_constructor_is_code_of_the_module_of_its_class() -> None:
    """Captures ask whose code runs."""
    assert Kept.__init__.__globals__ is globals()  # type: ignore[attr-defined]
    assert not [name for name in globals() if name.startswith("_create")]


def test_frozen_values_with_slots_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Kept("a", (1, 2)))) == Kept("a", (1, 2))


def test_what_is_unusual_is_left_to_the_library() -> None:
    @dataclass(frozen=True)
    class Base:
        """A base."""

        x: int
        known: ClassVar[int] = 3

    @dataclass(frozen=True)
    class More(Base):
        """With one more."""

        y: int = field(default=2, compare=False)

    @dataclass
    class Own:
        """With methods of its own."""

        x: int

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 5

    assert More(1) == More(1, 5)
    assert repr(More(1)).endswith("More(x=1, y=2)")
    assert [each.name for each in dataclasses.fields(Base)] == ["x"]
    assert Own(1) == Own(2)
    assert hash(Own(1)) == 5
    with pytest.raises(FrozenInstanceError):
        More(1).x = 2  # type: ignore[misc]
