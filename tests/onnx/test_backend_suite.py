"""The standard's own tests, through generated source: a sample in every run, all of them under `slow`."""

from __future__ import annotations

import pytest

import burn
from burn_import.onnx.report import compare, main
from tests.onnx.backend_suite import KINDS, RANDOM, cases, known, run, table

SMALL = KINDS[:-1]  # without the real networks


def failures(step: int, device: burn.Device, *kinds: str) -> list[str]:
    chosen = [case for case in cases(*(kinds or SMALL))[::step] if case.name not in known(device)]
    return [f"{each.name}: {each.status}: {each.reason}" for each in run(chosen, device) if each.status != "pass"]


def test_every_fifth_case_of_the_suite_passes_on_ndarray() -> None:
    assert failures(5, burn.NdArray()) == []


def test_every_fortieth_case_of_the_suite_passes_on_cpu() -> None:
    assert failures(40, burn.Cpu()) == []


@pytest.mark.slow
@pytest.mark.parametrize("device", [burn.NdArray(), burn.Cpu()], ids=repr)
def test_the_whole_suite_passes_but_for_the_misses_that_are_listed_with_reasons(device: burn.Device) -> None:
    every = cases()
    outcomes = list(run(every, device))
    wrong = [each for each in outcomes if each.status != "pass"]
    misses = known(device)
    assert [f"{each.name}: {each.reason}" for each in wrong if each.name not in misses] == []
    assert {name for name, reason in misses.items() if reason != RANDOM} <= {each.name for each in wrong}
    assert len(every) - len(wrong) >= 2033 - len(misses)
    assert "total 2033" in table(outcomes)


@pytest.mark.parametrize("device", [burn.NdArray(), burn.Cpu()], ids=repr)
def test_no_case_that_is_listed_as_a_miss_passes(device: burn.Device) -> None:
    misses = known(device)
    listed = [case for case in cases("node") if case.name in misses]
    assert len(listed) == len(misses)
    assert not [each.name for each in run(listed, device) if each.status == "pass" and misses[each.name] != RANDOM]


def test_a_real_network_of_the_standard_gives_the_results_that_lie_beside_it() -> None:
    chosen = [case for case in cases("real") if case.name == "test_squeezenet"]
    assert [each.status for each in run(chosen, burn.NdArray())] == ["pass"]


def test_a_difference_is_told_in_words() -> None:
    assert compare([1.0], [1.0, 2.0]).startswith("expected a list")
    assert compare(None, None) == ""


def test_the_report_prints_a_line_for_each_case_of_an_operator(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--operator", "Elu", "--kind", "node"]) == 0
    printed = capsys.readouterr().out
    assert "pass" in printed
    assert "test_elu_default" in printed


def test_the_backend_interface_of_the_standard_runs_models() -> None:
    from burn_import.onnx.backend import BurnBackend

    case = next(each for each in cases("node") if each.name == "test_sub")
    (inputs, expected), *_ = case.data_sets
    assert BurnBackend.supports_device("CPU")
    for device in ("CPU", "CPU:fused"):
        (result,) = BurnBackend.run_model(case.model, list(inputs), device)
        assert compare(result, expected[0]) == ""
