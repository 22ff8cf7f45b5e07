"""Trees: taken apart and put together again, with a structure that hashes."""

from __future__ import annotations

import enum
from collections import namedtuple
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burn.tree import flatten, map_leaves, unflatten

Point = namedtuple("Point", ["x", "y"])


class Colour(enum.Enum):
    Red = 1


@dataclass(frozen=True)
class Pair:
    left: object
    right: object
    name: str = "pair"


class Box:
    def __init__(self, content, label):
        self.content, self.label = content, label

    def __tree__(self):
        return [self.content], self.label

    @classmethod
    def __untree__(cls, token, children):
        return cls(children[0], token)


def trees():
    leaves = st.floats(allow_nan=False) | st.integers() | st.text(max_size=3) | st.booleans() | st.none()
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.tuples(inner, inner)
            | st.dictionaries(st.text(max_size=2), inner, max_size=3)
            | st.builds(Point, inner, inner)
            | st.builds(Pair, inner, inner)
        ),
        max_leaves=12,
    )


@given(trees())
def test_a_tree_comes_back_as_it_was(tree):
    leaves, structure = flatten(tree)
    assert unflatten(structure, leaves) == tree
    assert all(isinstance(leaf, float) for leaf in leaves)
    assert structure.leaf_count() == len(leaves)
    assert hash(structure) == hash(flatten(tree)[1])


def test_floats_are_leaves_and_everything_else_is_structure():
    leaves, structure = flatten({"rate": 0.5, "steps": 3, "colour": Colour.Red, "on": True})
    assert leaves == [0.5]
    assert structure == flatten({"rate": 0.7, "steps": 3, "colour": Colour.Red, "on": True})[1]
    assert structure != flatten({"rate": 0.5, "steps": 4, "colour": Colour.Red, "on": True})[1]
    assert flatten([1])[1] != flatten([True])[1]


def test_a_class_says_how_it_is_taken_apart():
    leaves, structure = flatten([Box([1.0, 2.0], "label")])
    assert leaves == [1.0, 2.0]
    rebuilt = unflatten(structure, [3.0, 4.0])[0]
    assert (rebuilt.content, rebuilt.label) == ([3.0, 4.0], "label")


def test_unhashable_values_are_equal_only_to_themselves():
    value = {1, 2}
    assert flatten(value)[1] == flatten(value)[1]
    assert flatten(value)[1] != flatten({1, 2})[1]
    assert unflatten(flatten(value)[1], []) is value


def test_the_number_of_leaves_must_fit():
    _, structure = flatten([1.0, 2.0])
    with pytest.raises(ValueError, match="the structure has 2 leaves, 1 were given"):
        unflatten(structure, [1.0])


def test_leaves_are_mapped_in_place():
    assert map_leaves(lambda leaf: leaf * 2, {"a": [1.0, "text"], "b": 2.0}) == {"a": [2.0, "text"], "b": 4.0}
