from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest

from burn.train.renderer.braille import Curve, plot
from burn.train.renderer.curves import Line, Panel, Scale, svg
from burn.train.renderer.estimate import Estimate, duration
from burn.train.renderer.history import FullHistory, RecentHistory
from burn.train.renderer.text import cells, number, printable


def text_of(rows: list) -> list[str]:
    return ["".join(character for character, _ in row) for row in rows]


@pytest.mark.parametrize("count", [1, 249, 250, 251, 1000, 12345])
def test_the_full_history_has_at_most_250_points_and_keeps_the_mean(count: int) -> None:
    history = FullHistory()
    for index in range(count):
        history.push((float(index), float(index % 7)))
    points = history.points
    assert len(points) <= 250
    assert points[0][0] < points[-1][0] or count == 1
    whole = points[: (count // history.stands_for)]
    values = [index % 7 for index in range(len(whole) * history.stands_for)]
    assert sum(y for _, y in whole) / len(whole) == pytest.approx(sum(values) / len(values))


def test_the_recent_history_keeps_the_last_1000() -> None:
    history = RecentHistory()
    for index in range(1500):
        history.push((float(index), 0.0))
    assert [x for x, _ in history.points] == [float(x) for x in range(500, 1500)]


@pytest.mark.parametrize(
    "seconds, items, expected",
    [(9, 100, "---"), (10, 9, "---"), (10, 10, "(16 mins)"), (29, 1, "---"), (30, 1, "(8 hours)"), (30, 0, "---")],
)
def test_the_time_left_is_told_after_10_items_and_10_seconds_or_30_seconds(
    seconds: float, items: int, expected: str
) -> None:
    now = [0.0]
    estimate = Estimate(1000, clock=lambda: now[0])
    now[0] = seconds
    assert estimate.text(items) == expected


def test_work_done_by_an_earlier_run_does_not_count_as_pace() -> None:
    now = [0.0]
    estimate = Estimate(1000, done=500, clock=lambda: now[0])
    now[0] = 100.0
    assert estimate.seconds_left(600) == pytest.approx(400)


@pytest.mark.parametrize(
    "seconds, expected",
    [(0.4, "0 secs"), (1, "1 sec"), (59, "59 secs"), (60, "1 min"), (3599, "59 mins"), (7200, "2 hours"),
     (86400, "1 day"), (300000, "3 days")],
)  # fmt: skip
def test_a_duration_is_told_in_its_largest_unit(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


def test_a_rising_line_goes_from_the_lower_left_to_the_upper_right() -> None:
    rows = text_of(plot([Curve("Train", [(float(x), float(x)) for x in range(11)])], 40, 12))
    assert len(rows) == 12
    assert {len(row) for row in rows} == {40}
    assert rows[0].startswith("10.00 ┤")
    assert rows[0].rstrip()[-1] > "⠀"
    assert rows[9].startswith(" 0.00 ┤")
    assert rows[9][7] > "⠀"
    assert rows[9][20:].strip() == ""
    assert "5.00 ┤" in rows[5]
    assert rows[10].strip().startswith("└──")
    assert rows[11].split() == ["0.00", "epoch", "10.00"]


def test_each_curve_owns_its_dots() -> None:
    rows = plot([Curve("Train", [(0.0, 1.0), (1.0, 1.0)]), Curve("Valid", [(0.0, 0.0), (1.0, 0.0)])], 30, 8)
    assert {owner for _, owner in rows[0][7:]} == {0}
    assert {owner for _, owner in rows[5][7:]} == {1}


def test_values_that_are_not_finite_leave_a_gap() -> None:
    points = [(0.0, 1.0), (1.0, 1.0), (2.0, math.nan), (3.0, math.inf), (4.0, 1.0), (5.0, 1.0)]
    row = max(text_of(plot([Curve("Train", points)], 40, 8))[:6], key=lambda each: sum(c > "⠀" for c in each))
    assert row[7:].strip(" │┤").count("  ") > 0
    assert "no finite values" in "\n".join(text_of(plot([Curve("Train", [(0.0, math.nan)])], 40, 8)))
    assert "no values yet" in "\n".join(text_of(plot([Curve("Train", [])], 40, 8)))


@pytest.mark.parametrize("width, height", [(1, 1), (5, 3), (12, 4), (300, 80)])
def test_a_plot_of_any_size_has_that_size(width: int, height: int) -> None:
    rows = text_of(plot([Curve("Train", [(0.0, 1.0), (1.0, 5.0), (1.0, 5.0)])], width, height))
    assert [len(row) for row in rows] == [width] * height


def test_numbers_on_axes_have_two_decimals_unless_they_would_show_nothing() -> None:
    assert [number(v) for v in (0.0, 1.234, -0.5, 0.00123, 1e9)] == ["0.00", "1.23", "-0.50", "1.2e-03", "1.0e+09"]


def test_an_entry_splits_into_epoch_and_batch() -> None:
    assert cells("epoch 97.1 % - batch 98.4 %") == ("97.1 %", "98.4 %")
    assert cells("epoch 1.5e-4 - batch -2.0e-3") == ("1.5e-4", "-2.0e-3")
    assert cells("anything else") == ("anything else", "")


def test_printed_lines_lose_their_escapes_and_what_was_overwritten() -> None:
    assert printable("10%|#  |\r100%|###|\r") == "100%|###|"
    assert printable("\x1b[31mred\x1b[0m\tand \x1b]0;title\x07plain\x07") == "red and plain"


def test_curves_are_svg_with_a_line_and_marks_for_each_split() -> None:
    lines = [Line("Train", [(0.5, 2.0), (1.0, 1.0)], [(1.0, 1.5)]), Line("Valid", [(1.0, math.nan)], [(1.0, 1.2)])]
    text = svg([Panel("Loss <of all>", lines), Panel("Nothing", [Line("Train", [])])], title="a & b")
    root = ElementTree.fromstring(text)
    name = "{http://www.w3.org/2000/svg}"
    assert len(root.findall(f".//{name}circle")) == 2
    assert [each.text for each in root.findall(f".//{name}title")] == ["Train, epoch 1: 1.5", "Valid, epoch 1: 1.2"]
    words = [each.text for each in root.findall(f".//{name}text")]
    assert {"a & b", "Loss <of all>", "no finite values", "epoch"} <= set(words)


@pytest.mark.parametrize("low, high", [(0.0, 1.0), (-3.2, 17.9), (1e-6, 3e-6), (5.0, 5.0), (0.0, 0.0)])
def test_ticks_are_few_and_inside(low: float, high: float) -> None:
    scale = Scale(low, high, 0.0, 100.0)
    ticks = scale.ticks()
    assert 2 <= len(ticks) <= 8
    assert all(0 <= scale(tick) <= 100 for tick in ticks)
