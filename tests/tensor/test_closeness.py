"""The closeness report: counts, labels, colours and the Book's sample."""

from __future__ import annotations

import math

import pytest

import burn
from burn.backend import NdArray
from burn.errors import ShapeError
from burn.tensor.closeness import Closeness, check_closeness, closeness_report, measure_closeness

FIRST = [1.0, 2.0, 3.0, 4.0, 5.0, 6.001, 7.002, 8.003, 9.004, 10.1]
SECOND = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.001, 8.002, 9.003, 10.004]

BOOK_REPORT = """\
Closeness of output and expected
========================================================
[PASS] epsilon 1e-01: 10/10 elements within tolerance (100.00%)
[PASS] epsilon 1e-02: 10/10 elements within tolerance (100.00%)
[WARN] epsilon 1e-03:  9/10 elements within tolerance (90.00%)
[FAIL] epsilon 1e-04:  6/10 elements within tolerance (60.00%)
[FAIL] epsilon 1e-05:  5/10 elements within tolerance (50.00%)
[FAIL] epsilon 1e-06:  5/10 elements within tolerance (50.00%)
[FAIL] epsilon 1e-07:  5/10 elements within tolerance (50.00%)
[FAIL] epsilon 1e-08:  5/10 elements within tolerance (50.00%)
========================================================
"""


def test_the_books_sample_prints_eight_decades(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    device = NdArray()
    results = check_closeness(burn.tensor(FIRST, device=device), burn.tensor(SECOND, device=device))
    assert capsys.readouterr().out == BOOK_REPORT
    assert [each.close for each in results] == [10, 10, 9, 6, 5, 5, 5, 5]


def test_labels_are_coloured_unless_colour_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    check_closeness(FIRST, SECOND)
    printed = capsys.readouterr().out
    assert "\x1b[32m[PASS]\x1b[0m" in printed
    assert "\x1b[33m[WARN]\x1b[0m" in printed
    assert "\x1b[31m[FAIL]\x1b[0m" in printed
    assert printed.startswith("\x1b[1mCloseness")
    assert "\x1b" not in closeness_report(measure_closeness(FIRST, SECOND), colour=False)


def test_the_label_follows_the_share() -> None:
    assert [Closeness(0.1, close, 10).label for close in (10, 9, 8)] == ["PASS", "WARN", "FAIL"]
    assert Closeness(0.1, 1, 3).percentage == pytest.approx(33.3333, abs=1e-3)


def test_nan_is_never_close_and_infinity_only_to_itself() -> None:
    results = measure_closeness([math.nan, math.inf, math.inf, 1.0], [math.nan, math.inf, -math.inf, math.inf])
    assert [each.close for each in results] == [1] * 8


def test_nothing_at_all_passes() -> None:
    assert {each.label for each in measure_closeness([], [])} == {"PASS"}
    assert measure_closeness([], [])[0].percentage == 100.0


def test_shapes_must_agree() -> None:
    with pytest.raises(ShapeError, match=r"check_closeness: the output is \[1, 2\] and \[2\] was expected"):
        check_closeness([[1.0, 2.0]], [1.0, 2.0])
