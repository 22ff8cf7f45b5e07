"""burn-bench: what it measures is the same everywhere, and what memory is held against."""

from __future__ import annotations

import mmap
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burn_bench import cli, first_call, memory, report, tune
from burn_bench.benchmark import Setting, difference
from burn_bench.engines import DEVICES, PEERS, environment
from burn_bench.expression import drawn
from burn_bench.spread import Spread
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
from burn_bench.worker import load_suite
from tests.tools.measured import a_run

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
