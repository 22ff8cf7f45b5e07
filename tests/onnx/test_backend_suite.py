"""The standard's own tests, through generated source: a sample in every run, all of them under `slow`."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import burn
from burn_import.onnx import load
from tests.onnx.backend_suite import EITHER, KINDS, cases, known, run, table
from tests.onnx.running import runtime
from tools.onnx_report import compare, compare_draws, main, opened

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
    assert {name for name, reason in misses.items() if reason not in EITHER} <= {each.name for each in wrong}
    assert len(every) - len(wrong) >= 2033 - len(misses)
    assert "total 2033" in table(outcomes)


@pytest.mark.parametrize("device", [burn.NdArray(), burn.Cpu()], ids=repr)
def test_no_case_that_is_listed_as_a_miss_passes(device: burn.Device) -> None:
    misses = {name for name, reason in known(device).items() if reason not in EITHER}
    listed = [case for case in cases("node") if case.name in misses]
    assert len(listed) == len(misses)
    assert not [each.name for each in run(listed, device) if each.status == "pass"]


@pytest.mark.parametrize("device", [burn.NdArray(), burn.Cpu()], ids=repr)
def test_a_real_network_of_the_standard_gives_the_sums_that_onnx_runtime_gives_and_their_softmax(
    device: burn.Device,
) -> None:
    (case,) = [case for case in cases("real") if case.name == "test_squeezenet"]
    model, ((inputs, _),) = opened(case)
    sums, probabilities = model.graph.node[-1].input[0], model.graph.node[-1].output[0]
    assert model.graph.node[-1].op_type == "Softmax"
    model.graph.output.append(onnx.helper.make_tensor_value_info(sums, onnx.TensorProto.FLOAT, [1, 1000, 1, 1]))
    image = {"data_0": onnx.numpy_helper.to_array(inputs[0]) if hasattr(inputs[0], "dims") else inputs[0]}
    ours = load(model, device).run(image)
    theirs = dict(zip((each.name for each in model.graph.output), runtime(model, image), strict=True))
    shapes = [onnx.numpy_helper.to_array(each) for each in model.graph.initializer if each.name.endswith("_w_0__SHAPE")]
    depth = sum(np.prod(each[1:]) for each in shapes)
    assert depth > 5_000
    bound = 2.0**-23 * depth**0.5  # of f32 sums of so many products in a row
    np.testing.assert_allclose(ours[sums], theirs[sums], rtol=bound)
    exact = np.exp(ours[sums].astype(np.float64) - ours[sums].max())
    np.testing.assert_allclose(ours[probabilities], exact / exact.sum(), rtol=1e-5, atol=1e-7)


def test_draws_are_compared_by_what_the_standard_fixes() -> None:
    draws = np.array([0.0, 1.0])
    assert compare_draws(1 - draws, draws) == ""
    assert compare_draws(draws.astype(np.float32), draws) == "float32 (2,), expected float64 (2,)"
    assert compare_draws(draws / 2, draws) == "other elements than 0 and 1"


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
