"""Matching a record with a schema: every difference at once, by its path."""

from __future__ import annotations

from typing import Any

import pytest

from burn.record import (
    Absent,
    BinBytesRecorder,
    Choice,
    Mapping,
    MappingOf,
    NamedMpkBytesRecorder,
    ParamItem,
    Record,
    RecordError,
    Signed,
    Some,
    Variant,
)

from .conftest import data

WEIGHT = ParamItem("v8vojso07rkks", data([1.0]))
EMPTY = ParamItem("", None)


def test_all_faults_come_at_once_with_their_paths() -> None:
    item = {"a": {"w": WEIGHT}, "b": [WEIGHT], "c": 3, "more": 1, "variant": {"Relu": None}, "n": "text"}
    like = {"a": {"w": EMPTY, "bias": EMPTY}, "b": [EMPTY, {"w": EMPTY}], "c": EMPTY, "d": {"e": {"f": EMPTY}}}
    like |= {"variant": Variant("Gelu", 0, None), "n": 1}
    record = Record(item)
    with pytest.raises(RecordError) as error:
        record.resolve(like)
    text = str(error.value)
    for part in (
        "load_record: 6 faults",
        "a.bias: missing",
        "b.1.w: missing",
        "d.e.f: missing",
        "c: a parameter is expected, the record has an integer",
        "variant: the variant Gelu is expected, the record has Relu",
        "n: an integer is expected, the record has a text",
    ):
        assert part in text, part
    assert record.extra == ["more"]
    assert record.missing == ["a.bias", "b.1.w", "d.e.f"]


def test_extra_names_and_entries_are_told_apart_from_faults() -> None:
    record = Record({"w": WEIGHT, "x": {"y": WEIGHT}, "list": [WEIGHT, WEIGHT]})
    assert record.resolve({"w": EMPTY, "list": [EMPTY]}) == {"w": WEIGHT, "list": [WEIGHT]}
    assert record.extra == ["x", "list.1"]


def test_partial_loading_takes_what_is_missing_from_the_schema() -> None:
    record = Record({"w": WEIGHT})
    found = record.resolve({"w": EMPTY, "v": ParamItem("mine", None)}, partial=True)
    assert found == {"w": WEIGHT, "v": ParamItem("mine", None)}
    assert record.missing == ["v"]


def test_matching_alone_raises_nothing() -> None:
    found = Record({"w": 1}).match({"w": EMPTY, "v": EMPTY})
    assert found.missing == ["v"]
    assert len(found.faults) == 1


@pytest.mark.parametrize(
    "item, like, expected",
    [
        (None, Some(EMPTY), Absent(EMPTY)),
        (WEIGHT, Some(EMPTY), Some(WEIGHT)),
        (WEIGHT, Absent(EMPTY), Some(WEIGHT)),
        (WEIGHT, Absent(), Some(WEIGHT)),
        (None, Absent(EMPTY), Absent(EMPTY)),
        (None, Some(None), Some(None)),
        (Some(WEIGHT), Absent(EMPTY), Some(WEIGHT)),
        (data([1.0]), ParamItem("mine", None), ParamItem("mine", data([1.0]))),
        (WEIGHT, data([0.0]), data([1.0])),
        ([None, None], (None, None), (None, None)),
        ([WEIGHT], (EMPTY,), (WEIGHT,)),
        ({"Gelu": None}, Variant("Gelu", 3, None), Variant("Gelu", 3, None)),
        ("Gelu", Variant("Gelu", 3, None), Variant("Gelu", 3, None)),
        ({"B": 3}, Choice({"A": 0, "B": 0}), Variant("B", 1, 3)),
        ({"k": 3}, MappingOf(0), Mapping({"k": 3})),
        (3, 1.0, 3.0),
        (-3, Signed(0), Signed(-3)),
        ({"a": 1}, None, None),
        ({}, {"a": None, "b": Absent(EMPTY), "c": (None,), "d": [], "e": {"f": None}},
         {"a": None, "b": Absent(EMPTY), "c": (None,), "d": [], "e": {"f": None}}),
        ({"0": WEIGHT, "1": WEIGHT}, [EMPTY, EMPTY], [WEIGHT, WEIGHT]),
        ([WEIGHT], {"0": EMPTY}, {"0": WEIGHT}),
    ],
)  # fmt: skip
def test_items_take_the_kinds_of_the_schema(item: Any, like: Any, expected: Any) -> None:
    found = Record({"x": item}).resolve({"x": like})
    assert found == {"x": expected}
    assert type(found["x"]) is type(expected)


@pytest.mark.parametrize(
    "item, like, message",
    [
        (1.5, 1, "x: an integer is expected, the record has a number"),
        (1, True, "x: a bool is expected, the record has an integer"),
        (True, 1.0, "x: a number is expected, the record has a bool"),
        ([1], {"a": EMPTY, "0": 1, "b": 1}, "x.a: missing"),
        (WEIGHT, {"a": 1}, "x: a struct is expected, the record has a parameter"),
        (WEIGHT, [1], "x: a list is expected, the record has a parameter"),
        ({"a": 1}, EMPTY, "x: a parameter is expected, the record has a struct"),
        (None, "", "x: a text is expected, the record has nothing"),
        ({"C": 1}, Choice({"A": 0, "B": 0}), "x: one of A, B is expected"),
        ([1], MappingOf(0), "x: a map is expected, the record has a list"),
    ],
)
def test_kinds_that_do_not_fit_are_named(item: Any, like: Any, message: str) -> None:
    with pytest.raises(RecordError) as error:
        Record({"x": item}).resolve({"x": like})
    assert message in str(error.value)


def test_a_failed_load_says_who_wrote_the_record() -> None:
    record = NamedMpkBytesRecorder().load(NamedMpkBytesRecorder().record({"x": 1}))
    with pytest.raises(
        RecordError, match=r"x: .*written by burn_core::record::memory::NamedMpkBytesRecorder.*0\.19\.0"
    ):
        record.resolve({"x": EMPTY})


@pytest.mark.parametrize(
    "item, like, message",
    [
        ({"a": 1, "b": 2}, {"a": 1}, "1 bytes are left"),
        ({"a": 1}, {"a": 1, "b": 2}, "at b.*1 bytes are announced, 0 are left"),
        (Variant("A", 1, None), Variant("B", 0, None), "variant B, number 0, is expected, the file has 1"),
        (Some(7), Absent(), "what it holds is not known"),
        ([1, 2], [], "a list of 2 entries where an empty one is expected"),
        (Some(7), None, "a value where a constant is expected"),
        ([1], [1, 2], "2 entries are expected, the record has 1"),
    ],
)
def test_a_bin_record_that_does_not_fit_says_where(item: Any, like: Any, message: str) -> None:
    with pytest.raises(RecordError, match=message):
        BinBytesRecorder().load(BinBytesRecorder().record(item)).resolve(like)


def test_a_longer_list_in_a_bin_record_is_extra() -> None:
    record = BinBytesRecorder().load(BinBytesRecorder().record({"l": [WEIGHT, WEIGHT], "n": 5}))
    assert record.resolve({"l": [EMPTY], "n": 0}) == {"l": [WEIGHT], "n": 5}
    assert record.extra == ["l.1"]
