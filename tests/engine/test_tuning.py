"""Choice by measurement: answers that are kept, plans that follow them, and the rule by which a candidate wins.

No test looks at a clock: where a winner matters, the seconds are made up.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import burn
from burn import Cpu, NdArray
from burn.backend.cpu import tuning
from burn.backend.cpu.pool import pool
from burn.backend.cpu.settings import settings
from burn.backend.cpu.tuning import OFF, ON, Question, asking_here, measuring, using
from burn.backend.cpu.tuning.timing import Contestant, by_turns, time_differences
from burn.engine.tuning import pick
from burn.engine.tuning.answers import Answers
from burn.engine.tuning.inputs import MadeUp
from burn.engine.tuning.report import Report, Row
from burn.engine.tuning.store import NAME, Store, TuningWarning
from burn.engine.tuning.verdict import decide
from burn.errors import ArgumentError
from burn.tensor.module import ConvOptions, conv2d

WINOGRAD, PLAIN = "4x4", "plain"
"""How the convolution of these tests is done unless measured otherwise, and one of its other ways."""

QUESTION = Question("test", (1, 2), 2, "fast", "native", ("a", "b"))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Answers of their own for each test."""
    monkeypatch.delenv("BURN_TUNE", raising=False)
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("BURN_CACHE", str(tmp_path))
        tuning.answers().reload()
        yield tmp_path
    Cpu().sync()  # what was recorded and not read must not become part of another test's plan
    tuning.answers().reload()


# The file


def test_answers_are_there_for_the_next_process(folder: Path) -> None:
    Answers(lambda: Store(folder, "a machine")).add({QUESTION: "b"})
    assert Answers(lambda: Store(folder, "a machine")).of(QUESTION) == "b"
    assert Answers(lambda: Store(folder, "another machine")).of(QUESTION) is None


def test_an_answer_that_is_not_on_offer_is_none(folder: Path) -> None:
    store = Store(folder, "a machine")
    store.add({QUESTION.title(): "c"})
    assert Answers(lambda: store).of(QUESTION) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"format": 2}',
        '{"format": 1, "machines": 3}',
        '{"format": 1, "machines": {"m": {"q": 1}}}',
        "[" * 9999,
    ],
)
def test_a_broken_file_is_ignored_with_a_notice_and_replaced(folder: Path, text: str) -> None:
    (folder / NAME).write_text(text, encoding="utf-8")
    store = Store(folder, "a machine")
    with pytest.warns(TuningWarning, match="is not used: .*; the next answers replace it"):
        assert store.load() == {}
    with pytest.warns(TuningWarning):
        store.add({"q": "a"})
    assert store.load() == {"q": "a"}


def test_answers_that_cannot_be_written_hold_for_the_process(folder: Path) -> None:
    (folder / "file").write_text("", encoding="utf-8")
    answers = Answers(lambda: Store(folder / "file", "a machine"))
    with pytest.warns(TuningWarning, match="cannot be written"):
        answers.add({QUESTION: "b"})
    assert answers.of(QUESTION) == "b"
    assert Answers(lambda: Store(folder / "file", "a machine")).of(QUESTION) is None


def test_without_a_folder_nothing_is_kept() -> None:
    answers = Answers(lambda: Store(None, "a machine"))
    answers.add({QUESTION: "b"})
    assert answers.of(QUESTION) == "b"
    assert Answers(lambda: Store(None, "a machine")).of(QUESTION) is None


def test_forgetting_leaves_other_machines_alone(folder: Path) -> None:
    for name in ("one", "two"):
        Store(folder, name).add({"q": name})
    Answers(lambda: Store(folder, "one")).forget()
    assert Store(folder, "one").load() == {}
    assert Store(folder, "two").load() == {"q": "two"}


def test_only_the_machines_of_late_are_kept(folder: Path) -> None:
    for number in range(20):
        Store(folder, f"machine {number}").add({"q": "a"})
    machines = json.loads((folder / NAME).read_text(encoding="utf-8"))["machines"]
    assert list(machines) == [f"machine {number}" for number in range(4, 20)]


WRITER = """
import sys
from pathlib import Path
from burn.engine.tuning.store import Store
for number in range(20):
    Store(Path(sys.argv[1]), "a machine").add({f"{sys.argv[2]} {number}": "a"})
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no locks of files")
def test_processes_that_write_at_once_lose_nothing(folder: Path) -> None:
    started = [subprocess.Popen([sys.executable, "-c", WRITER, str(folder), name]) for name in ("one", "two", "three")]
    assert [each.wait(60) for each in started] == [0, 0, 0]
    assert len(Store(folder, "a machine").load()) == 60
    assert sorted(each.name for each in folder.iterdir()) == [NAME, "tuning.lock"]


# Asking


def test_a_question_gets_its_default_until_somebody_knows_better() -> None:
    def ask(numbers: tuple[int, ...] = (1, 2), candidates: tuple[str, ...] = ("a", "b")) -> str:
        with asking_here("fast", settings().features):
            return pick("test", numbers, candidates, "a")

    assert ask() == "a"
    tuning.answers().add({Question("test", (1, 2), pool().threads, "fast", settings().features, ("a", "b")): "b"})
    assert ask() == "b"
    assert ask((1, 3)) == "a"
    assert ask(candidates=("a", "b", "c")) == "a"
    assert pick("test", (1, 2), ("a", "b"), "a") == "a"  # no plan is made
    with using(OFF):
        assert ask() == "a"


def test_the_accuracy_of_the_device_is_part_of_a_question() -> None:
    tuning.answers().add({Question("test", (), pool().threads, "fast", "native", ("a", "b")): "b"})
    with asking_here("exact", "native") as asked:
        assert pick("test", (), ("a", "b"), "a") == "a"
    assert [each.accuracy for each in asked.answers] == ["exact"]
    with asking_here("fast", "native"):
        assert pick("test", (), ("a", "b"), "a") == "b"


def test_the_instruction_sets_of_the_device_are_part_of_a_question() -> None:
    tuning.answers().add({Question("test", (), pool().threads, "fast", "native", ("a", "b")): "b"})
    with asking_here("fast", "avx2") as asked:
        assert pick("test", (), ("a", "b"), "a") == "a"
    assert [each.features for each in asked.answers] == ["avx2"]


def test_fixed_answers_come_first_and_one_candidate_is_no_question() -> None:
    question = Question("test", (), pool().threads, "fast", "native", ("a", "b"))
    with using(OFF), asking_here("fast", "native", {question: "b"}) as asked:
        assert pick("test", (), ("a", "b"), "a") == "b"
        assert pick("test", (), ("a",), "a") == "a"
    assert asked.answers == {question: "b"}
    assert asked.holds()


def test_the_environment_names_the_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tuning.mode() == "remembered"
    monkeypatch.setenv("BURN_TUNE", "off")
    assert tuning.mode() == "off"
    with using(ON):
        assert tuning.mode() == "on"
    monkeypatch.setenv("BURN_TUNE", "always")
    with pytest.raises(ArgumentError, match="BURN_TUNE: 'always' is not a mode; write one of off, remembered, on"):
        tuning.mode()


# Who wins


@pytest.mark.parametrize(
    "times, winner",
    [
        ({"a": [1.0] * 8, "b": [0.90] * 8}, "b"),
        ({"a": [1.0] * 8, "b": [0.98] * 8}, "a"),  # not by the margin
        ({"a": [1.0] * 8, "b": [0.90] * 8, "c": [0.8] * 8}, "c"),
        ({"a": [1.0] * 8, "b": [0.5] * 5 + [1.1] * 3}, "a"),  # not in enough rounds
        ({"a": [1.0] * 8, "b": [0.90] * 8, "c": [0.5] * 5 + [1.1] * 3}, "b"),
        ({"b": [0.1] * 8}, "a"),
        ({}, "a"),
    ],
)
def test_a_candidate_must_win_by_a_margin_and_in_most_rounds(times: Mapping[str, list[float]], winner: str) -> None:
    assert decide(times, "a") == winner


def test_contestants_take_turns() -> None:
    assert [by_turns(3, number) for number in range(3)] == [[0, 1, 2], [2, 1, 0], [0, 1, 2]]


# Plans


@pytest.fixture
def device() -> Any:
    pytest.importorskip("llvmlite")
    return Cpu()


def network(x: Any, weight: Any, bias: Any) -> Any:
    return conv2d(x, weight, bias, ConvOptions(padding=1)).relu()


def arguments(device: Any) -> list[Any]:
    draw = np.random.default_rng(0)
    shapes = ((1, 32, 16, 16), (64, 32, 3, 3), (64,))
    return [burn.tensor(draw.standard_normal(each, dtype=np.float32) * 0.1, device=device) for each in shapes]


def captured(device: Any) -> tuple[Any, Any, list[Any]]:
    """A captured function, its plan and arguments."""
    call, given = burn.compile(network), arguments(device)
    for _ in range(3):
        call(*given)
    ((capture,),) = call.ready.values()
    return call, capture.plan, given


def exact(given: list[Any]) -> Any:
    host = NdArray()
    return network(*(burn.tensor(each.numpy(), device=host) for each in given)).numpy()


def test_a_plan_follows_a_new_answer_and_no_other(device: Any) -> None:
    call, plan, given = captured(device)
    expected = exact(given)
    (question,) = (each for each in plan.asked.answers if each.family == "winograd")
    assert plan.asked.answers[question] == WINOGRAD
    works = plan.works
    tuning.answers().add({QUESTION: "b"})
    call(*given)
    assert plan.works is works
    tuning.answers().add({question: PLAIN})
    np.testing.assert_allclose(call(*given).numpy(), expected, atol=1e-4)
    assert plan.works is not works
    assert "in tiles" not in plan.describe()
    tuning.answers().add({question: WINOGRAD})
    np.testing.assert_allclose(call(*given).numpy(), expected, atol=1e-4)
    assert "in tiles" in plan.describe()


def test_without_tuning_plans_do_not_depend_on_what_was_measured(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _, plan, _ = captured(device)
    tuning.answers().add({each: each.candidates[-1] for each in plan.asked.answers})
    monkeypatch.setenv("BURN_TUNE", "off")
    _, again, _ = captured(device)
    assert again.asked.answers == again.asked.defaults
    assert again.describe() == plan.describe()


def test_steps_in_which_plans_differ_are_timed(device: Any) -> None:
    _, plan, _ = captured(device)
    (question,) = (each for each in plan.asked.answers if each.family == "winograd")
    inputs = MadeUp(plan.source, plan.free)
    contestants = {name: Contestant(_with(plan, {question: name}), inputs) for name in question.candidates}
    times = time_differences(contestants)
    assert set(times) == set(question.candidates)
    assert len(times[WINOGRAD]) == len(times[PLAIN])
    assert min(map(min, times.values())) > 0
    same = {name: Contestant(_with(plan, {}), inputs) for name in ("one", "other")}
    assert time_differences(same) == {}


def _with(plan: Any, fixed: Mapping[Question, str]) -> Any:
    return type(plan)(plan.source, plan.free, plan.device, fixed)


def test_made_up_inputs_stay_in_range_and_data_is_new_each_time(device: Any) -> None:
    _, plan, _ = captured(device)
    inputs = MadeUp(plan.source, plan.free)
    first, second = inputs.next(), inputs.next()
    assert [one.value is other.value for one, other in zip(first, second, strict=True)] == [False, True, True]
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.value, other.value)
        assert np.isfinite(one.value).all()
    (result,) = plan(first, inputs.scalars)
    assert 0.01 < np.abs(result).max() < 100


def test_weights_that_a_step_updates_are_new_each_time(device: Any) -> None:
    call = burn.compile(lambda x, w, m: (w - (x.transpose() @ x) * 0.1, m * 0.9, (x @ w).sum()))
    given = [burn.tensor(np.ones(shape, np.float32), device=device) for shape in ((4, 8), (8, 8), (8, 8))]
    for _ in range(3):
        call(*given)
    ((capture,),) = call.ready.values()
    inputs = MadeUp(capture.plan.source, capture.plan.free)
    assert inputs.changing == {0, 1, 2}


# Measuring


class Clock:
    """Seconds that are made up, in the place of rounds: `fast` names candidates that win, `total` the whole plans."""

    def __init__(self, fast: frozenset[str], total: tuple[float, float] = (2.0, 1.0)) -> None:
        self.fast, self.total = fast, total
        self.asked: list[set[str]] = []

    def differences(self, contestants: Mapping[str, Contestant]) -> dict[str, list[float]]:
        self.asked.append(set(contestants))
        return {name: [0.5 if name in self.fast else 1.0] * 9 for name in contestants}

    def whole(self, contestants: Mapping[str, Contestant]) -> dict[str, list[float]]:
        return {name: [seconds] for name, seconds in zip(contestants, self.total, strict=True)}

    def use(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(measuring, "time_differences", self.differences)
        monkeypatch.setattr(measuring, "time_whole", self.whole)


def test_tuning_measures_once_remembers_and_changes_the_plan(
    device: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(frozenset([PLAIN]))
    clock.use(monkeypatch)
    call, plan, given = captured(device)
    expected, seen = exact(given), []
    report = burn.tune(call, *given, progress=lambda *told: seen.append(told[:2]))
    assert clock.asked[0] == {WINOGRAD, "2x2", PLAIN}
    assert seen[0] == (0, len(report.rows))
    assert seen[-1] == (len(report.rows), len(report.rows))
    (changed,) = report.changed
    assert (changed.default, changed.chosen, changed.gain) == (WINOGRAD, PLAIN, 2.0)
    assert "plain               2.00  winograd 1 16 16 32 64" in str(report)
    assert "1 changed; the whole plan: 2e+03 ms before, 1e+03 ms after" in str(report)
    np.testing.assert_allclose(call(*given).numpy(), expected, atol=1e-4)
    assert "in tiles" not in plan.describe()
    kept = json.loads((folder / NAME).read_text(encoding="utf-8"))["machines"]
    assert PLAIN in {answer for each in kept.values() for answer in each.values()}
    tuning.answers().reload()  # as another process would
    assert burn.tune(network, *given).rows == []
    assert len(clock.asked) == len(report.rows)
    again = burn.tune(network, *given, again=True)
    assert changed.question in {row.question for row in again.rows}


def test_winners_that_are_slower_together_are_not_believed(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(frozenset([PLAIN]), total=(1.0, 1.5)).use(monkeypatch)
    call, plan, given = captured(device)
    report = burn.tune(call, *given)
    assert report.kept_defaults
    assert report.changed == []
    assert "together the winners were slower" in str(report)
    call(*given)
    assert "in tiles" in plan.describe()


def test_a_candidate_that_computes_something_else_does_not_take_part(
    device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    Clock(frozenset([PLAIN])).use(monkeypatch)
    monkeypatch.setattr(measuring, "agree", lambda one, other: False)
    call, _, given = captured(device)
    report = burn.tune(call, *given)
    assert report.changed == []
    assert all(why == "gives other results" for row in report.rows for why in row.faults.values())


def test_plans_are_measured_when_they_are_made_where_the_mode_says_so(
    device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(frozenset([PLAIN]))
    clock.use(monkeypatch)
    reports: list[Report] = []
    with using(ON), tuning.listening(reports.append):
        _, plan, _ = captured(device)
    (report,) = reports
    assert set(plan.asked.answers) <= {row.question for row in report.rows}
    assert "in tiles" not in plan.describe()
    tuning.answers().forget()
    call, given = burn.compile(network, tune=True), arguments(device)
    asked = len(clock.asked)
    for _ in range(3):
        call(*given)
    assert len(clock.asked) > asked


def test_a_real_measurement_leaves_the_results_alone(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning.timing, "SECONDS", 0.0)
    call, plan, given = captured(device)
    expected = exact(given)
    report = burn.tune(call, *given)
    assert {row.question for row in report.rows} == set(plan.asked.defaults)
    for row in report.rows:  # where no step differed there is nothing to remember: it may in another plan
        assert (tuning.answers().of(row.question) is not None) == bool(row.medians)
    np.testing.assert_allclose(call(*given).numpy(), expected, atol=1e-4)


def test_what_is_not_captured_cannot_be_tuned(device: Any) -> None:
    given = arguments(device)
    with pytest.raises(ArgumentError, match="tune: .* runs without capture: a value is read"):
        burn.tune(lambda x: x * float(x.sum().item()), given[0])
    with pytest.raises(ArgumentError, match="tune: .* runs without capture: no argument lives on a fused device"):
        burn.tune(lambda x: x + x, burn.tensor([1.0], device=NdArray()))
    taking = burn.compile(lambda x: x + 1.0, donate=(0,))
    with pytest.raises(ArgumentError, match="call it twice first"):
        burn.tune(taking, given[0])


def test_arrays_stand_for_tensors(device: Any) -> None:
    weight = arguments(device)[1]
    report = burn.tune(lambda x, w: conv2d(x, w), np.ones((1, 32, 8, 8), np.float32), weight)
    assert isinstance(report, Report)


def test_a_report_says_what_took_no_part() -> None:
    row = Row(QUESTION, "a", "a", {}, {"b": "is not here"})
    assert "the same steps either way; b: is not here" in str(Report([row]))
    assert str(Report([])).startswith("nothing to measure")
