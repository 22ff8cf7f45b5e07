"""Strings beside tensors."""

from __future__ import annotations

import numpy as np
import pytest

import burn
from burn.errors import ArgumentError
from burn_import.functions import text

WORDS = np.array([["b", "a"], ["z", "b"]], dtype=object)


def test_words_become_places_and_places_become_words() -> None:
    places = text.positions(WORDS, ["a", "b", "a"])
    assert places.dtype == np.int64
    assert places.tolist() == [[1, 0], [-1, 1]]
    chosen = text.choose(burn.tensor(np.array([[1, 0]]), device=burn.NdArray()), ["no", "yes"])
    assert chosen.dtype == object
    assert chosen.tolist() == [["yes", "no"]]


def test_labels_are_replaced_and_unknown_ones_get_the_default() -> None:
    assert text.encode(WORDS, ["a", "b"], [1.5, 2.5], -1.0).tolist() == [[2.5, 1.5], [-1.0, 2.5]]
    numbers = burn.tensor(np.array([0.1, np.nan, 3.0], np.float32), device=burn.NdArray())
    assert text.encode(numbers, [0.1, float("nan")], ["x", "y"], "?").tolist() == ["x", "y", "?"]


def test_of_equal_keys_the_last_one_counts() -> None:
    assert text.encode(WORDS, ["b", "b"], ["x", "y"], "?").tolist() == [["y", "?"], ["?", "y"]]


def test_strings_are_joined_with_broadcasting() -> None:
    assert text.concat(WORDS, np.array(["!", "?"], dtype=object)).tolist() == [["b!", "a?"], ["z!", "b?"]]
    single = text.concat(np.array("a", dtype=object), np.array("b", dtype=object))
    assert single.shape == ()
    assert single[()] == "ab"


def test_parts_are_filled_up_with_empty_strings() -> None:
    parts, counts = text.split(np.array(["a b  c", ""], dtype=object))
    assert parts.tolist() == [["a", "b", "c"], ["", "", ""]]
    assert counts.tolist() == [3, 0]
    parts, counts = text.split(np.array(["a,b,,c"], dtype=object), ",", 2)
    assert parts.tolist() == [["a", "b", ",c"]]
    assert counts.tolist() == [3]
    parts, counts = text.split(np.empty((0,), dtype=object))
    assert parts.shape == (0, 0)
    assert counts.shape == (0,)


def test_patterns_match_whole_strings() -> None:
    assert text.matches(np.array(["abc", "abcd"], dtype=object), "a.c").tolist() == [True, False]


def test_stopwords_are_left_out_in_either_case() -> None:
    words = np.array(["The", "cat", "the"], dtype=object)
    assert text.normalize(words, "UPPER", ["the"]).tolist() == ["CAT"]
    assert text.normalize(words, "NONE", ["the"], case_sensitive=True).tolist() == ["The", "cat"]
    assert text.normalize(words, stopwords=["the", "cat"]).tolist() == [""]
    assert text.normalize(words.reshape(1, 3), "LOWER").tolist() == [["the", "cat", "the"]]
    with pytest.raises(ArgumentError, match="case must be NONE, LOWER or UPPER, got 'Title'"):
        text.normalize(words, "Title")


def test_rows_become_dicts_and_dicts_become_rows() -> None:
    x = burn.tensor(np.array([[0.25, 0.75]], np.float32), device=burn.NdArray())
    assert text.name_columns(x, ["no", "yes"]) == [{"no": 0.25, "yes": 0.75}]
    assert text.values_of({"b": 2.0, "z": 3.0}, ["a", "b"]) == [[0.0, 2.0]]
    assert text.values_of({2: 5.0, 1: 4.0}) == [[4.0, 5.0]]
