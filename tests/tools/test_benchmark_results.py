"""burn-bench: statistics, results that come back equal, reports and charts."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from burn.errors import ArgumentError, DataError
from burn_bench import chart, compare, machine, report, results
from burn_bench.benchmark import WrongResult, difference
from burn_bench.results import Measurement
from burn_bench.runner import Pace, order
from burn_bench.spread import Spread, best_of, direction, noise_of, ratios, spread, verdict
from tests.tools.measured import a_run

# Statistics


def test_a_spread_is_the_quartiles() -> None:
    assert spread([5.0, 1.0, 4.0, 2.0, 3.0]) == Spread(2.0, 3.0, 4.0)
    assert spread([7.0]) == Spread(7.0, 7.0, 7.0)


def test_ratios_pair_the_blocks() -> None:
    assert ratios([1.0, 2.0], [3.0, 3.0]) == [3.0, 1.5]


def test_ratios_of_unequal_numbers_of_blocks_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        ratios([1.0], [1.0, 2.0])


@pytest.mark.parametrize(
    "values, noise, expected",
    [
        ([2.0] * 7, 0.0, "met"),
        ([3.0] * 7, 0.0, "aim"),
        ([1.9] * 2 + [2.1] * 5, 0.0, "met"),  # the lower quartile is 2.0
        ([1.8] * 3 + [2.1] * 4, 0.0, "missed"),  # the median reaches the target, the lower quartile not 95 % of it
        ([1.8] * 3 + [2.1] * 4, 0.1, "level"),
        ([1.9] * 7, 0.1, "level"),
        ([1.9] * 7, 0.01, "missed"),
        ([3.0] * 6, 0.0, "unsure"),
        ([3.0] * 7, 0.5, "unsure"),
    ],
)
def test_a_target_of_2_with_the_aim_of_3(values: list[float], noise: float, expected: str) -> None:
    assert verdict(values, 2.0, 3.0, noise) == expected


def test_a_difference_within_the_noise_is_level() -> None:
    assert direction([1.05] * 7, 0.1) == "level"
    assert direction([1.05] * 7, 0.01) == "faster"
    assert direction([0.8] * 7, 0.1) == "slower"


def test_noise_is_how_far_an_engine_strays_from_itself() -> None:
    assert noise_of([1.0, 1.0, 1.0], [1.0, 1.2, 0.9]) == pytest.approx(0.1)


def test_the_best_peer_has_the_smallest_median() -> None:
    assert best_of({"slow": [2.0, 2.0, 2.0], "lucky once": [0.1, 3.0, 3.0], "fast": [1.0, 1.0, 1.0]}) == "fast"


def test_blocks_run_forwards_and_backwards_by_turns() -> None:
    assert [order(["a", "b", "c"], block) for block in range(3)] == [
        ["a", "b", "c"],
        ["c", "b", "a"],
        ["a", "b", "c"],
    ]


def test_short_calls_are_timed_in_batches_and_long_ones_alone() -> None:
    fast, slow = Pace.of(1e-5, 0.3), Pace.of(3.0, 0.3)
    assert fast.batch == 100
    assert fast.samples == 100
    assert fast.settle > 1
    assert slow == Pace(samples=1, batch=1, settle=0)


# Right and wrong results


def test_the_difference_is_relative_to_the_largest_value() -> None:
    assert difference([np.array([1.0, 1000.1])], [np.array([1.0, 1000.0])], 1e-3) == pytest.approx(1e-4)


@pytest.mark.parametrize(
    "result, message",
    [
        ([np.array([1.0, 2.5])], "off by"),
        ([np.array([1.0, np.nan])], "off by nan"),
        ([np.array([1.0])], "shape"),
        ([], "0 results where the reference has 1"),
    ],
)
def test_a_wrong_result_says_how(result: list[Any], message: str) -> None:
    with pytest.raises(WrongResult, match=message):
        difference(result, [np.array([1.0, 2.0])], 1e-3)


# Results


def test_a_run_comes_back_equal_from_json() -> None:
    assert results.from_json(results.to_json(a_run())) == a_run()


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format": 1}'])
def test_a_foreign_file_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="no.json is not a result of burn-bench"):
        results.from_json(text, "no.json")


def test_a_later_format_is_refused() -> None:
    with pytest.raises(DataError, match="has the format 99, this version reads 1"):
        results.from_json('{"format": 99}')


def test_kept_runs_are_found_by_age_date_and_commit(tmp_path: Path) -> None:
    older = a_run(date="2026-01-01T00:00:00Z", commit="aaaa111")
    newer = a_run(date="2026-02-01T00:00:00Z", commit="bbbb222+")
    for run in (newer, older):
        results.keep(run, tmp_path)
    assert results.load("latest", tmp_path) == newer
    assert results.load("previous", tmp_path) == older
    assert results.load("2026-01-01", tmp_path) == older
    assert results.load("bbbb222", tmp_path) == newer
    with pytest.raises(ArgumentError, match="cccc is neither a file nor a run"):
        results.load("cccc", tmp_path)


def test_an_empty_store_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="there is no latest run in .*; write burn-bench run first"):
        results.load("latest", tmp_path)


def test_results_are_kept_in_the_data_folder_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert results.store_folder() == tmp_path / "burn" / "benchmarks"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert results.store_folder() == Path.home() / ".local" / "share" / "burn" / "benchmarks"


# Reports

REPORT = """\
burn-dl 0.1.0 at abc1234, 2026-01-02T03:04:05Z, a processor, 2 cores, 2 threads, Python 3.11.0; \
medians of 7 interleaved blocks of about 0.3 s

softmax 64x64  over rows
  engine                   time  quartiles            cpu is ×             bandwidth
  cpu                      1 ms  995 µs – 1.01 ms                                50%
  cpu again                1 ms  995 µs – 1.01 ms     1.00 (0.99–1.02)
  torch                    3 ms  3 ms – 3 ms          3.00 (2.99–3.02)           17%
                       note: 1000 page faults a call
  jax                  not installed (jax)
  numpy                wrong: result 0 is off by 2.0e-01
  copy                   500 µs  500 µs – 500 µs      0.50 (0.50–0.50)          100%
  target: cpu ≥ 2 × best of torch, jax, aim 4: 3.00 (2.99–3.02) against torch: met; us against us ±2%

targets: 1 met
left out: jax: not installed (jax)
other processes took 30% of the machine, other machines on its host 0.0%
the machine was busy with other things: repeat the run before believing it
"""


def test_the_report_of_a_run() -> None:
    assert report.report(a_run(), colour=False) == REPORT


def test_colours_are_only_added() -> None:
    coloured = report.report(a_run(), colour=True)
    assert "\x1b[32mmet\x1b[0m" in coloured
    assert "\x1b[31mwrong: result 0 is off by 2.0e-01\x1b[0m" in coloured


@pytest.mark.parametrize(
    "seconds, text", [(2.0, "2 s"), (0.0123, "12.3 ms"), (0.25, "250 ms"), (4.2e-6, "4.2 µs"), (3e-10, "0.3 ns")]
)
def test_a_duration_has_three_digits(seconds: float, text: str) -> None:
    assert report.duration(seconds) == text


def test_a_target_without_its_engine_has_no_data() -> None:
    run = a_run()
    run.outcomes[0].engines["cpu"] = Measurement(failure="ValueError: no", kind="failed")
    run.outcomes[0].again.clear()
    assert "aim 4: no data" in report.report(run, colour=False)
    assert report.faults(run) == ["softmax/64x64 on cpu: failed: ValueError: no"]


def test_no_verdict_is_given_on_a_machine_that_others_keep_busy() -> None:
    run = a_run()
    run.outcomes[0].others = 0.4
    assert "unsure (others took 40% of the machine)" in report.report(run, colour=False)


def test_no_verdict_is_given_where_an_engine_strays_from_itself() -> None:
    run = a_run()
    run.outcomes[0].again["cpu"] = [2e-3] * 7
    assert "unsure (too noisy); us against us ±101%" in report.report(run, colour=False)


def test_time_of_our_own_disturbs_nobody() -> None:
    watch = machine.Watch()
    assert watch.disturbance(own=1e9).others == 0.0


def test_comparing_says_faster_only_beyond_the_noise() -> None:
    (faster,) = compare.changes(a_run(2.0), a_run(1.0))
    assert (faster.engine, faster.yardstick, faster.verdict) == ("cpu", "torch", "faster")
    assert faster.ratio == pytest.approx(2.0)
    (level,) = compare.changes(a_run(1.0), a_run(0.995))
    assert level.verdict == "level"
    assert "ratio to torch: faster" in compare.comparison(a_run(2.0), a_run(1.0), colour=False)


def test_comparing_warns_of_another_machine() -> None:
    other = a_run()
    other.machine["processor"] = "another one"
    assert "the machines differ" in compare.comparison(a_run(), other, colour=False)


def test_history_has_one_point_a_run() -> None:
    runs = [a_run(2.0, "2026-01-01T00:00:00Z"), a_run(1.0, "2026-01-02T00:00:00Z")]
    series = compare.history(runs, "torch")
    assert [round(point.ratio.median, 2) for point in series["softmax/64x64 cpu"]] == [1.5, 3.0]
    assert compare.history(runs, "torch", names=["matmul"]) == {}


# Charts


def test_bars_are_an_svg_with_a_tick_for_the_target(tmp_path: Path) -> None:
    chart.save_bars(a_run(), tmp_path / "bars.svg")
    tree = ElementTree.parse(tmp_path / "bars.svg")
    texts = [each.text for each in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert "softmax 64x64, cpu" in texts
    assert "3.00" in texts
    assert "copy" not in texts
    lines = list(tree.iter("{http://www.w3.org/2000/svg}line"))
    assert any(each.get("stroke-width") == "2.5" for each in lines)


def test_a_history_is_an_svg_with_one_line_a_series(tmp_path: Path) -> None:
    runs = [a_run(2.0, "2026-01-01T00:00:00Z"), a_run(1.0, "2026-01-02T00:00:00Z")]
    chart.save_history(compare.history(runs, "torch"), "torch", tmp_path / "lines.svg")
    tree = ElementTree.parse(tmp_path / "lines.svg")
    assert len(list(tree.iter("{http://www.w3.org/2000/svg}polyline"))) == 1


def test_a_png_without_matplotlib_points_at_svg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ArgumentError, match=r"a PNG needs matplotlib, which is not installed; write .*bars\.svg"):
        chart.save_bars(a_run(), tmp_path / "bars.png")


def test_a_chart_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="must end in .svg or .png"):
        chart.save_bars(a_run(), tmp_path / "bars.pdf")
