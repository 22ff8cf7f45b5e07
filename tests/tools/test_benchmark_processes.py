"""burn-bench: engines, processes that stop while idle, runs and the command line. No test looks at a time."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from burn.errors import ArgumentError
from burn_bench import cli, machine, report, results
from burn_bench.benchmark import Setting
from burn_bench.engines import DEVICES, PEERS, Engine, chosen_devices, chosen_peers, environment
from burn_bench.process import Process, WorkerError, of_engine
from burn_bench.results import Measurement, Outcome
from burn_bench.runner import Pace, Plan, Runner, Team, subjects
from burn_bench.worker import Worker, load_suite, serve
from tests.tools.measured import a_run

FOLDER = Path(__file__).resolve().parent
POSIX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes through /proc")


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
    found = of_engine(engine, environment(engine, 1), threads=1, folder=tmp_path, suite=suite)
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
from burn_bench.process import of_engine
numpy = PEERS["numpy"]
child = of_engine(numpy, environment(numpy, 1), threads=1, folder=Path(sys.argv[1]), suite="fake_suite")
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
