"""Rows of CSV, JSON and frames as typed items, with every fault named."""

from __future__ import annotations

import csv
import dataclasses
import json
import warnings
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burn.data.dataset import CorruptItem, DataframeDataset, InMemDataset, SkippedItem
from burn.errors import ArgumentError, DataError
from tests.data.samples import Everything, Kind, Person, Point

PEOPLE = 'name\tage\theight\tmarried\tnickname\nAda\t36\t1.65\ttrue\t\n"Tab\tman"\t41\t1.8\tno\tTabby\n'


def write(folder: Path, text: str, name: str = "rows") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def test_the_book_reads_a_file_with_tabs(tmp_path):
    people = InMemDataset.from_csv(write(tmp_path, PEOPLE), delimiter="\t", item=Person)
    assert list(people) == [Person("Ada", 36, 1.65, True, ""), Person("Tab\tman", 41, 1.8, False, "Tabby")]


def test_columns_without_a_type_become_numbers_where_all_values_are(tmp_path):
    path = write(tmp_path, "a,b,c,d\n1,2.5,x,\n2,3,4,7\n")
    assert list(InMemDataset.from_csv(path)) == [
        {"a": 1, "b": 2.5, "c": "x", "d": None},
        {"a": 2, "b": 3.0, "c": "4", "d": 7},
    ]


def test_a_file_without_a_header_is_told_its_columns(tmp_path):
    path = write(tmp_path, "1;2\n3;4\n")
    points = InMemDataset.from_csv(path, delimiter=";", columns=["x", "y"], item=Point)
    assert list(points) == [Point(1.0, 2.0), Point(3.0, 4.0)]


@given(st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\r")), st.integers(),
                          st.floats(allow_nan=False)), max_size=8))  # fmt: skip
def test_what_the_standard_library_writes_is_read_back(tmp_path_factory, rows):
    class Row(NamedTuple):
        text: str
        whole: int
        real: float

    path = tmp_path_factory.mktemp("csv") / "rows.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(Row._fields)
        writer.writerows(rows)
    assert list(InMemDataset.from_csv(path, item=Row)) == rows


def test_every_fault_of_a_row_is_named_with_file_line_and_number(tmp_path):
    path = write(tmp_path, "name,age,height\nAda,36,1.65\nBob,old,tall\n")
    with pytest.raises(CorruptItem) as caught:
        InMemDataset.from_csv(path, item=Person)
    assert str(caught.value) == (
        f"dataset: item 1 of {path}, line 3: age: 'old' is not an int; height: 'tall' is not a float"
    )
    assert caught.value.index == 1


def test_broken_rows_can_be_skipped(tmp_path):
    path = write(tmp_path, "name,age,height\nAda,36,1.65\nBob,old,1\nshort\nEve,7,1.2\n")
    with pytest.warns(SkippedItem) as told:
        people = InMemDataset.from_csv(path, item=Person, on_error="skip")
    assert [each.name for each in people] == ["Ada", "Eve"]
    assert "item 1 of" in str(told[0].message)
    assert "line 4: has 1 values where the header has 3" in str(told[1].message)


def test_a_missing_column_is_a_fault_and_an_extra_one_is_not(tmp_path):
    path = write(tmp_path, "name,age,extra\nAda,36,!\n")
    with pytest.raises(CorruptItem, match="height: is missing"):
        InMemDataset.from_csv(path, item=Person)
    good = write(tmp_path, "name,age,height,extra\nAda,36,1,!\n")
    assert InMemDataset.from_csv(good, item=Person)[0] == Person("Ada", 36, 1.0)


def test_files_that_are_no_csv_are_refused(tmp_path):
    with pytest.raises(DataError, match="columns that are there twice: a"):
        InMemDataset.from_csv(write(tmp_path, "a,a\n1,2\n"))
    with pytest.raises(DataError, match="near line 2: unexpected end of data"):
        InMemDataset.from_csv(write(tmp_path, 'a,b\n"1,2\n'))
    with pytest.raises(ArgumentError, match="from_csv"):
        InMemDataset.from_csv(write(tmp_path, "a\n"), delimiter="ab")
    with pytest.raises(ArgumentError, match='on_error is "raise" or "skip"'):
        InMemDataset.from_csv(write(tmp_path, "a\n"), on_error="ignore")
    assert InMemDataset.from_csv(write(tmp_path, "")).is_empty()


def test_json_lines_become_nested_items(tmp_path):
    @dataclasses.dataclass
    class Shape:
        kind: Kind
        corners: list[Point]
        color: Literal["red", "blue"]
        size: tuple[int, float]
        weights: np.ndarray
        note: str | None = None

    rows = [
        {"kind": "LARGE", "corners": [{"x": 1, "y": 2}], "color": "red", "size": [3, 4], "weights": [[1, 2]]},
        {"kind": 1, "corners": [], "color": "blue", "size": [5, 0.5], "weights": [], "note": "n", "more": 1},
    ]
    path = write(tmp_path, "\n\n".join(json.dumps(row) for row in rows))
    first, second = InMemDataset.from_json_rows(path, item=Shape)
    assert (first.kind, first.corners, first.size, first.note) == (Kind.LARGE, [Point(1.0, 2.0)], (3, 4.0), None)
    assert first.weights.tolist() == [[1, 2]]
    assert (second.kind, second.corners, second.color, second.note) == (Kind.SMALL, [], "blue", "n")
    assert list(InMemDataset.from_json_rows(path))[1] == rows[1]


def test_faults_of_nested_items_say_where_they_are(tmp_path):
    @dataclasses.dataclass
    class Line:
        start: Point
        color: Literal["red"]

    path = write(tmp_path, '{"start": {"x": 1}, "color": "green"}\n')
    with pytest.raises(CorruptItem, match=r"start: y: is missing; color: 'green' is none of 'red'"):
        InMemDataset.from_json_rows(path, item=Line)


def test_lines_that_are_no_objects_are_named_or_skipped(tmp_path):
    path = write(tmp_path, '{"x": 1, "y": 2}\n[1]\n{"x": \n')
    with pytest.raises(CorruptItem, match="item 1 of .*line 2: is a list, not an object"):
        InMemDataset.from_json_rows(path, item=Point)
    with pytest.warns(SkippedItem) as told:
        points = InMemDataset.from_json_rows(path, item=Point, on_error="skip")
    assert "line 3: is not JSON" in str(told[1].message)
    assert list(points) == [Point(1.0, 2.0)]


def test_a_number_that_would_lose_digits_is_refused(tmp_path):
    @dataclasses.dataclass
    class Count:
        count: int

    assert InMemDataset.from_json_rows(write(tmp_path, '{"count": 3.0}'), item=Count)[0].count == 3
    with pytest.raises(CorruptItem, match="count: 3.5 is not an int"):
        InMemDataset.from_json_rows(write(tmp_path, '{"count": 3.5}'), item=Count)


def test_a_class_without_fields_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match="int has no fields; write a dataclass or a NamedTuple"):
        InMemDataset.from_csv(write(tmp_path, "a\n1\n"), item=int)


def test_rows_of_a_frame_are_items():
    frame = polars.DataFrame({"name": ["Ada", "Eve"], "age": [36, 7], "height": [1.65, 1.2]})
    expected = [Person("Ada", 36, 1.65), Person("Eve", 7, 1.2)]
    assert list(InMemDataset.from_dataframe(frame, item=Person)) == expected
    rows = DataframeDataset(frame, Person)
    assert list(rows) == expected
    assert rows.get_many([1, 0, 1]) == [expected[1], expected[0], expected[1]]
    assert rows.get_many([5]) == [None]
    assert rows.get(2) is None
    assert DataframeDataset(frame)[0] == {"name": "Ada", "age": 36, "height": 1.65}


def test_a_frame_that_lacks_columns_is_refused_at_once():
    frame = polars.DataFrame({"name": ["Ada"]})
    with pytest.raises(DataError, match="Person needs columns that the frame does not have: age, height; it has name"):
        DataframeDataset(frame, Person)
    with pytest.raises(ArgumentError, match="list is not a frame of Polars or Pandas"):
        InMemDataset.from_dataframe([1])


def test_items_of_another_dataset_are_copied():
    source = InMemDataset([1, 2])
    assert list(InMemDataset.from_dataset(source)) == [1, 2]
    assert InMemDataset.from_dataset(source).items is not source.items


def test_no_warning_comes_from_good_files(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        InMemDataset.from_csv(write(tmp_path, PEOPLE), delimiter="\t", item=Person, on_error="skip")


def test_annotations_of_every_kind_are_understood():
    from burn.data.dataset.typed import fields_of

    assert [field.name for field in fields_of(Everything)] == [each.name for each in dataclasses.fields(Everything)]


def test_an_underscore_does_not_make_a_number(tmp_path):
    path = write(tmp_path, "x,y\n1_0,2\n")
    with pytest.raises(CorruptItem, match="x: '1_0' is not a float"):
        InMemDataset.from_csv(path, item=Point)
    assert InMemDataset.from_csv(path)[0] == {"x": "1_0", "y": 2}


def test_an_annotation_that_cannot_be_read_is_told(tmp_path):
    @dataclasses.dataclass
    class Inner:
        x: int

    @dataclasses.dataclass
    class Outer:
        inner: Inner

    with pytest.raises(ArgumentError, match="an annotation of Outer cannot be read: name 'Inner' is not defined"):
        InMemDataset.from_json_rows(write(tmp_path, '{"inner": {"x": 1}}'), item=Outer)
