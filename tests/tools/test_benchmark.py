"""burn-bench: statistics, processes that stop while idle, results that come back equal. No test looks at a time."""

from __future__ import annotations

import importlib.util
import io
import json
import mmap
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from burn.errors import ArgumentError, DataError
from burn_bench import chart, cli, compare, first_call, machine, memory, report, results, tune
from burn_bench.benchmark import Setting, Target, WrongResult, difference
from burn_bench.engines import DEVICES, PEERS, Engine, chosen_devices, chosen_peers, environment
from burn_bench.expression import drawn
from burn_bench.process import Process, WorkerError
from burn_bench.results import Measurement, Outcome, Run
from burn_bench.runner import Pace, Plan, Runner, Team, order, subjects
from burn_bench.spread import Spread, best_of, direction, noise_of, ratios, spread, verdict
from burn_bench.suite import benchmarks, detector, networks
from burn_bench.suite.functions import (
    BurnFunctions,
    NumpyFunctions,
    TorchFunctions,
    Weights,
    convolution,
    drawn_weights,
)
from burn_bench.suite.inference import listed
from burn_bench.suite.training import mlp_gradients, mlp_task, resnet18_train
from burn_bench.worker import Worker, load_suite, serve

FOLDER = Path(__file__).resolve().parent
POSIX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes through /proc")


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


def a_run(ours: float = 1.0, date: str = "2026-01-02T03:04:05Z", commit: str = "abc1234") -> Run:
    """A run with seven blocks in which `cpu` takes `ours` milliseconds and torch 3."""
    target = Target("cpu", ("torch", "jax"), 2.0, 4.0)
    outcome = Outcome("softmax", "64x64", "softmax/64x64", "over rows", 8192, [target])
    steady = [ours * 1e-3 * factor for factor in (1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.0)]
    outcome.engines["cpu"] = Measurement(steady, 1e-7)
    outcome.engines["torch"] = Measurement([3e-3] * 7, 1e-7, faults=1000.0)
    outcome.engines["jax"] = Measurement(failure="not installed (jax)", kind="absent")
    outcome.engines["numpy"] = Measurement(failure="result 0 is off by 2.0e-01", kind="wrong")
    outcome.engines["copy"] = Measurement([0.5e-3] * 7)
    outcome.again["cpu"] = list(reversed(steady))
    place = {"processor": "a processor", "cores": 2, "threads": 2, "python": "3.11.0"}
    settings = {"blocks": 7, "seconds": 0.3}
    versions = {"cpu": "0.1.0", "torch": "2.0", "jax": "not installed (jax)"}
    return Run(date, commit, "0.1.0", place, settings, ["cpu"], versions, [outcome], {"others": 0.3, "stolen": 0.0})


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


def test_a_busy_machine_is_waited_for_and_its_blocks_are_repeated(
    suite: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    disturbances = iter([0.9, 0.0, 0.9, 0.0])
    asked: list[int] = []

    class Fake(Runner):
        def _round(self, running: Any, ready: Any, block: int, outcome: Any) -> Any:
            asked.append(block)
            self._waited += 0.001
            return {"numpy": {"times": [1.0], "faults": 0.0}}, next(disturbances)

    monkeypatch.setattr(machine, "busy_share", lambda seconds: 0.0)
    runner = Fake(Plan(blocks=2, wait=5.0, suite=suite), [PEERS["numpy"]], quiet=True)
    outcome = Outcome("x", "", "x", "", None, [], {"numpy": Measurement()})
    runner._blocks(Team(runner.plan, tmp_path), {"numpy": (PEERS["numpy"], Pace(1, 1, 0))}, outcome)
    assert asked == [0, 0, 1, 1]
    assert outcome.times("numpy") == [1.0, 1.0]
    assert outcome.others == 0.0


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


# Engines


def test_the_captured_forms_come_along_with_cpu() -> None:
    names = [each.name for each in chosen_devices(["ndarray", "cpu"])]
    assert names == ["cpu", "cpu-captured", "cpu-modules", "ndarray"]
    assert [each.name for each in chosen_devices(["ndarray"])] == ["ndarray"]


def test_the_copy_of_memory_comes_along_with_any_peer() -> None:
    assert [each.name for each in chosen_peers(["numpy"])] == ["numpy", "copy"]
    assert chosen_peers([]) == []


def test_an_unknown_engine_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ArgumentError, match="--devices: gpu is not known; choose from ndarray, libtorch"):
        chosen_devices(["gpu"])


def test_a_peer_that_is_not_installed_is_no_error() -> None:
    assert Engine("x", "x", ("no_such_package_at_all",)).absent() == "not installed (no_such_package_at_all)"
    assert PEERS["numpy"].absent() is None


def test_every_engine_gets_the_same_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_PROC_BIND", "true")
    changed = environment(PEERS["numpy"], 3)
    assert changed["OMP_NUM_THREADS"] == changed["MKL_NUM_THREADS"] == "3"
    assert "OMP_PROC_BIND" not in changed
    assert "MALLOC_TRIM_THRESHOLD_" in environment(PEERS["numpy"], 3, keep_memory=True)


# The worker and its process


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of the module with the benchmarks for tests, importable here and in children."""
    monkeypatch.syspath_prepend(str(FOLDER))
    path = os.pathsep.join([str(FOLDER), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path.rstrip(os.pathsep))
    return "fake_suite"


def test_a_worker_answers_each_line_with_a_line(suite: str, tmp_path: Path) -> None:
    worker = Worker(PEERS["numpy"], Setting(1, tmp_path), load_suite(suite))
    questions = [
        {"do": "reference", "benchmark": "double/8"},
        {"do": "prepare", "benchmark": "double/8"},
        {"do": "block", "samples": 3, "batch": 2, "settle": 1},
        {"do": "forget"},
        {"do": "reference", "benchmark": "wrong/8"},
        {"do": "prepare", "benchmark": "wrong/8"},
        {"do": "prepare", "benchmark": "raising/8"},
    ]
    answers = io.StringIO()
    serve(worker, io.StringIO("".join(json.dumps(each) + "\n" for each in questions)), answers)
    found = [json.loads(line) for line in answers.getvalue().splitlines()]
    assert len(found) == len(questions)
    assert found[1]["error"] == 0.0
    assert len(found[2]["times"]) == 3
    assert found[5]["kind"] == "wrong"
    assert "seconds" not in found[5]
    assert found[6] == {"failure": "needs a tool that is not here", "kind": "absent"}


def test_an_exception_becomes_one_line(suite: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    worker = Worker(DEVICES["ndarray"], Setting(1, tmp_path, "NdArray()"), load_suite(suite))
    answer = worker.answer({"do": "prepare", "benchmark": "raising/8"})
    assert answer == {"failure": "ValueError: no such luck", "kind": "failed"}
    assert "and more" in capsys.readouterr().err


def state(pid: int) -> str:
    """The letter that the system gives the state of a process: T is stopped."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0]


@pytest.fixture
def process(suite: str, tmp_path: Path) -> Iterator[Process]:
    engine = PEERS["numpy"]
    found = Process(engine, environment(engine, 1), threads=1, folder=tmp_path, suite=suite)
    yield found
    found.close()


@POSIX
def test_a_process_is_stopped_while_it_has_nothing_to_do(process: Process) -> None:
    process.ask(60, do="reference", benchmark="double/8")
    assert state(process.pid) == "T"
    process.ask(60, do="prepare", benchmark="double/8")
    assert state(process.pid) == "T"
    process.wake()
    assert state(process.pid) != "T"
    process.stop()
    process.close()
    assert not process.is_alive


@POSIX
def test_a_process_that_dies_says_how_and_one_that_hangs_is_ended(process: Process) -> None:
    with pytest.raises(WorkerError, match="no answer within 1 s"):
        process.ask(1.0, do="prepare", benchmark="sleeping/8")
    assert not process.is_alive
    with pytest.raises(WorkerError, match="ended by SIGKILL"):
        process.ask(1.0, do="forget")


ORPHAN = """
import sys, time
from pathlib import Path
from burn_bench.engines import PEERS, environment
from burn_bench.process import Process
child = Process(PEERS["numpy"], environment(PEERS["numpy"], 1), threads=1, folder=Path(sys.argv[1]), suite="fake_suite")
child.ask(60, do="forget")
print(child.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can be asked to end a process with its parent")
def test_a_stopped_process_ends_with_its_parent(suite: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", ORPHAN, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    end = time.monotonic() + 10
    while time.monotonic() < end and Path(f"/proc/{child}").exists() and state(child) != "Z":
        time.sleep(0.02)
    assert not Path(f"/proc/{child}").exists() or state(child) == "Z"


# The runner


@POSIX
def test_a_run_keeps_going_past_engines_that_fail(suite: str) -> None:
    plan = Plan(blocks=3, seconds=0.001, threads=1, patience=60.0, suite=suite)
    engines = [DEVICES["ndarray"], PEERS["numpy"], Engine("jax", "numpy", ("no_such_package_at_all",))]
    names = ["dying/8", "wrong/8", "raising/8", "unknown/8", "double/8"]
    run = Runner(plan, engines, quiet=True).run([load_suite(suite)[name] for name in names])
    dying, wrong, raising, unknown, double = run.outcomes
    assert "ended by SIGKILL" in dying.engines["numpy"].failure
    assert len(dying.times("ndarray")) == 3
    assert wrong.engines["numpy"].kind == "wrong"
    assert wrong.times("numpy") == []
    assert raising.engines["ndarray"].failure == "ValueError: no such luck"
    assert raising.engines["numpy"].kind == "absent"
    assert unknown.failure == "no reference: nobody knows the answer"
    assert len(double.times("numpy")) == 3  # in a new process
    assert len(double.again["ndarray"]) == 3
    assert double.engines["jax"].failure == "not installed (no_such_package_at_all)"
    assert report.faults(run) == ["raising/8 on ndarray: failed: ValueError: no such luck"]
    text = report.report(run, colour=False)
    assert "  numpy                wrong: result 0 is off by" in text
    assert results.from_json(results.to_json(run)) == run


def test_engines_with_a_target_are_compared_with_themselves(suite: str) -> None:
    fakes = load_suite(suite)
    assert subjects(fakes["double/8"], ["cpu", "ndarray"]) == ["ndarray"]
    assert subjects(fakes["wrong/8"], ["cpu", "ndarray"]) == ["cpu"]
    assert subjects(fakes["wrong/8"], []) == []


# The command line


@POSIX
def test_run_compare_and_history_from_the_command_line(
    suite: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ["--store", str(tmp_path / "kept")]
    found, plot = tmp_path / "found.json", tmp_path / "plot.svg"
    command = ["--suite", suite, "run", "double", "--quick", "--devices", "ndarray", "--peers", "numpy"]
    assert cli.main([*command, *store, "--json", str(found), "--plot", str(plot)]) == 0
    printed = capsys.readouterr().out
    assert "double 8  twice as much" in printed
    assert "unsure (fewer than 7 blocks)" in printed
    ElementTree.parse(plot)
    results.keep(a_run(), tmp_path / "kept")
    assert cli.main(["compare", str(found), "latest", *store]) == 0
    assert "ndarray" in capsys.readouterr().out
    assert cli.main(["history", "--against", "numpy", *store, "--plot", str(tmp_path / "past.svg")]) == 0
    assert "double/8 ndarray against numpy" in capsys.readouterr().out
    ElementTree.parse(tmp_path / "past.svg")
    assert cli.main(["show", *store]) == 0


def test_the_list_names_benchmarks_targets_and_engines(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list"]) == 0
    printed = capsys.readouterr().out
    assert "mlp_train/784-512-10-batch-64" in printed
    assert "target: cpu-captured ≥ 1.8 × best of torch-fused-adam, torch-compile, jax, aim 2.2" in printed


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["run", "softmin"], "there is no benchmark softmin; choose from unary, binary"),
        (["memory", "resnet19"], "resnet19 is not known; choose from cnn_train, resnet18"),
        (["first-call", "resnet19"], "resnet19 is not known; choose from mlp_train, resnet18"),
        (["run", "--blocks", "0"], "--blocks: must be 1 or more, got 0"),
        (["run", "--peers", "theano"], "--peers: theano is not known"),
    ],
)
def test_a_wrong_command_line_gets_one_sentence(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == 2
    assert message in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("burn-bench ")


# The suite


def test_every_target_names_engines_that_take_part() -> None:
    everybody = {**DEVICES, **PEERS}
    titles = [each.title for each in benchmarks()]
    assert len(titles) == len(set(titles))
    for benchmark in benchmarks():
        for target in benchmark.targets:
            for name in (target.subject, *target.peers):
                assert everybody[name].family in benchmark.builders, (benchmark.title, name)
        assert set(benchmark.builders) <= {each.family for each in everybody.values()}


def test_inputs_are_the_same_in_every_process() -> None:
    (first,), (second,) = (drawn(lambda draw: [draw(4)]) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_a_network_is_the_same_on_a_device_and_in_numpy() -> None:
    from burn import NdArray

    ours, exact = BurnFunctions(NdArray()), NumpyFunctions()
    images = np.random.default_rng(0).standard_normal((2, 1, 28, 28), dtype=np.float32)

    def network(f: Any, w: Weights, x: Any) -> Any:
        return networks.guide_cnn(f, w, x, dropout=0.0)

    results = []
    for f in (ours, exact):
        given = drawn_weights(f, network, images).values
        results.append(np.asarray(network(f, Weights.given(given), f.place(images, "input"))))
    np.testing.assert_allclose(*results, atol=1e-4)


def test_a_small_encoder_is_the_same_on_a_device_and_in_numpy() -> None:
    from burn import NdArray

    x = np.random.default_rng(0).standard_normal((2, 5, 24), dtype=np.float32)
    results = []
    for f in (BurnFunctions(NdArray()), NumpyFunctions()):
        weights = Weights(f.place)
        results.append(np.asarray(networks.encoder(f, weights, f.place(x, "input"), layers=2, size=24, heads=3)))
    np.testing.assert_allclose(*results, atol=1e-4)


@pytest.mark.parametrize(
    "network, size, parameters",
    [
        (networks.resnet18, 32, 11_684_712),
        (networks.resnet50, 32, 25_530_472),
        (networks.efficientnet_b0, 32, 5_288_548 - 42_016 // 2),
        (networks.squeezenet, 32, 1_235_496),
        (detector.yolo_n, 32, 3_151_904 - 16),
    ],
)
def test_networks_have_the_weights_of_their_papers(network: Any, size: int, parameters: int) -> None:
    """Published counts, less a scale for each batch norm that is folded, and less the detector's decoding of boxes."""
    f = NumpyFunctions(np.float32)
    weights = Weights(lambda array, kind: np.broadcast_to(np.float32(0.01), array.shape))
    network(f, weights, np.ones((1, 3, size, size), np.float32))
    assert sum(each.size for each in weights.values) == parameters


@pytest.mark.parametrize(
    "network, size", [(networks.squeezenet, 48), (networks.efficientnet_b0, 40), (detector.yolo_n, 64)]
)
def test_networks_of_images_are_the_same_on_a_device_in_torch_and_in_numpy(network: Any, size: int) -> None:
    pytest.importorskip("torch")
    from burn import NdArray

    x = np.random.default_rng(0).standard_normal((2, 3, size, size), dtype=np.float32)
    exact, ours, peer = (
        [np.asarray(each) for each in listed(network(f, Weights(f.place), f.place(x, "input")))]
        for f in (NumpyFunctions(), BurnFunctions(NdArray()), TorchFunctions(double=True))
    )
    assert difference(ours, exact, 1e-4) < 1e-4
    assert difference(peer, exact, 1e-10) < 1e-10


def test_steps_of_resnet18_with_its_norms_are_torchs(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    benchmark = resnet18_train(batch=4, size=64)
    work = benchmark.builders["burn"](Setting(1, tmp_path, "NdArray()"))
    assert work.result is not None
    assert difference(work.result(), benchmark.reference(Setting(1, tmp_path)), benchmark.tolerance) < 1e-4


def test_the_group_of_kernels_names_benchmarks_with_targets() -> None:
    found = cli.chosen(load_suite("burn_bench.suite"), ["kernels"])
    assert all(each.targets for each in found)
    assert {"resnet18", "resnet18_train", "yolo_n", "matmul"} <= {each.name for each in found}


def test_our_devices_are_told_whether_to_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BURN_TUNE", raising=False)
    assert environment(DEVICES["cpu"], 1, tune="on")["BURN_TUNE"] == "on"
    assert "BURN_TUNE" not in environment(PEERS["torch"], 1, tune="on")
    run = a_run()
    run.settings["tune"] = "off"
    assert report.heading(run).endswith("tuning off")


def test_a_benchmark_can_be_tuned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("llvmlite")
    from burn.backend.cpu import tuning

    monkeypatch.setattr(tuning.timing, "SECONDS", 0.0)
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("BURN_CACHE", str(tmp_path))
        tuning.answers().reload()
        found = tune.tune(load_suite("burn_bench.suite")["matmul/64x784x512-constant"], 1)
        assert {row.question.family for each in found for row in each.rows} <= {"product", "tile"}
        again = tune.tune(load_suite("burn_bench.suite")["matmul/64x784x512-constant"], 1)
        assert not any(row.medians for each in again for row in each.rows)
    tuning.answers().reload()


@pytest.mark.parametrize("stride, padding, groups", [(1, 0, 1), (2, 1, 1), (2, 1, 2), (1, 1, 6)])
def test_the_reference_convolution_is_torchs(stride: int, padding: int, groups: int) -> None:
    torch = pytest.importorskip("torch")
    generator = np.random.default_rng(0)
    x = generator.standard_normal((2, 6, 9, 8))
    w, b = generator.standard_normal((12 if groups < 6 else 6, 6 // groups, 3, 3)), generator.standard_normal(6)
    b = np.resize(b, len(w))
    tensors = [torch.from_numpy(each) for each in (x, w, b)]
    expected = torch.nn.functional.conv2d(*tensors, stride=stride, padding=padding, groups=groups)
    np.testing.assert_allclose(convolution(x, w, b, stride, padding, groups), expected.numpy(), atol=1e-10)


def test_the_gradients_by_hand_are_torchs() -> None:
    torch = pytest.importorskip("torch")
    task = mlp_task(4)
    values = drawn_weights(NumpyFunctions(), task.network, task.images).values
    loss, gradients = mlp_gradients(values, task.images.astype(np.float64), task.one_hot.astype(np.float64))
    w1, b1, w2, b2 = tracked = [torch.tensor(each, requires_grad=True) for each in values]
    logits = torch.relu(torch.from_numpy(task.images).double() @ w1 + b1) @ w2 + b2
    expected = torch.nn.functional.cross_entropy(logits, torch.from_numpy(task.labels))
    expected.backward()
    assert loss == pytest.approx(expected.item(), rel=1e-12)
    for found, each in zip(gradients, tracked, strict=True):
        np.testing.assert_allclose(found, each.grad.numpy(), atol=1e-12)


# Memory


def usage(engine: str, mebibytes: float, processes: int = 7) -> memory.Usage:
    peak = mebibytes * 2**20
    return memory.Usage(engine, "loaded", processes, Spread(peak, peak, peak), 2**28)


def test_memory_is_held_against_torch() -> None:
    text = memory.report([usage("cpu", 20.0), usage("cpu-captured", 45.0), usage("torch", 40.0)])
    cpu, captured, torch = text.splitlines()[1:]
    assert cpu.endswith("met: 0.50 of torch's")
    assert captured.endswith("MISSED: 1.12 of torch's")
    assert torch.endswith("256 MiB")


def test_memory_may_be_held_against_a_multiple_of_another_peers() -> None:
    usages = [usage("cpu-captured", 56.0), usage("onnxruntime", 40.0)]
    assert (
        memory.report(usages, "onnxruntime", 1.5).splitlines()[1].endswith("met: 1.40 of onnxruntime's (at most 1.5)")
    )
    assert "MISSED: 1.40" in memory.report(usages, "onnxruntime", 1.3)


def test_memory_of_one_process_is_no_verdict() -> None:
    text = memory.report([usage("cpu", 20.0, processes=1), usage("torch", 40.0)])
    assert "unsure (fewer than 7 processes): 0.50 of torch's" in text


def test_a_first_call_is_held_against_its_budget() -> None:
    def latency(seconds: float, processes: int) -> first_call.Latency:
        found = Spread(seconds, seconds, seconds)
        return first_call.Latency("cpu-captured", "warm", processes, found, found)

    absent = first_call.Latency("jax", "cold", failure="not installed (jax)")
    text = first_call.report([latency(0.3, 7), latency(0.5, 7), latency(0.3, 1), absent], {"warm": 0.4})
    met, missed, unsure, jax = text.splitlines()[1:]
    assert met.endswith("0.4 s: met")
    assert missed.endswith("0.4 s: MISSED")
    assert unsure.endswith("0.4 s: unsure (fewer than 7 processes)")
    assert jax.endswith("not installed (jax)")


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="needs /proc/self/clear_refs")
def test_the_peak_counts_what_was_freed_again() -> None:
    memory.forget_peak()
    before = memory.resident()
    with mmap.mmap(-1, 32 * 2**20) as block:  # from the system: arrays may get what an array before them left
        block.write(bytes(range(256)) * 2**17)
    assert memory.peak() - before > 24 * 2**20


def test_where_the_package_is_absent_the_command_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from burn.tools import bench

    monkeypatch.setitem(sys.modules, "burn_bench", None)
    monkeypatch.delitem(sys.modules, "burn_bench.cli")
    assert bench.main() == 2
    assert "pip install 'burn-dl[bench]'" in capsys.readouterr().err
