"""Pretrained models of other people, imported and compared with ONNX Runtime: a few small ones of a long list.

They come from packages: from the folder that BURN_REAL_MODELS names, else downloaded once into pytest's cache.
`python -m tools.real_models` runs the whole list.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import burn
from burn_import.onnx import load
from tests.onnx.running import runtime, text_model
from tools.real_models.comparison import difference, examine, verdict
from tools.real_models.packages import Entry, fetch, read_list
from tools.real_models.report import line, read_results, summary

ENTRIES = read_list(Path(__file__).with_name("real_models.json"))


@pytest.fixture(scope="session")
def models(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The folder of the models, and what could not be downloaded."""
    given = os.environ.get("BURN_REAL_MODELS")
    cache = getattr(request.config, "cache", None)  # none under `-p no:cacheprovider`
    kept = tmp_path_factory.mktemp("real_models") if cache is None else Path(str(cache.mkdir("real_models")))
    folder = Path(given) if given else kept
    said: list[str] = []
    if not given:
        for sentence in fetch(ENTRIES, folder):
            said.append(sentence)
            if "not downloaded" in sentence:
                break  # without a registry every package would wait for its time-out
    return folder, said


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.package}-{Path(entry.path).stem}")
def test_a_real_model_matches_onnx_runtime(entry: Entry, models: tuple[Path, list[str]]) -> None:
    folder, said = models
    path = entry.place(folder)
    if not path.exists():
        pytest.skip(f"{entry.name} is not there: {said[-1] if said else 'BURN_REAL_MODELS has no such file'}")
    devices = ["ndarray", "cpu"] if entry.size < 500_000 else ["ndarray"]  # kernels of a large one take seconds
    known: dict[str, Any] = {}
    examine(path, entry.shapes, devices, known.update)
    assert {device: known[device]["status"] for device in devices} == dict.fromkeys(devices, "match"), known


def test_a_difference_counts_against_the_element_and_the_largest_one() -> None:
    expected = np.array([100.0, 0.001], np.float32)
    assert difference(expected, expected)["excess"] == 0.0
    assert difference(expected + np.float32([0.1, 0.0]), expected)["excess"] == pytest.approx(0.1 / 0.11, rel=1e-3)
    assert difference(expected * 1.01, expected)["excess"] > 1.0
    tiny = expected * np.float32(1e-9)
    assert difference(tiny * 1.01, tiny)["excess"] > 1.0, "tiny outputs are compared relatively too"


def test_nan_other_shapes_and_other_types_are_faults() -> None:
    one = np.ones(3, np.float32)
    assert "NaN" in str(difference(np.array([1, np.nan, 1], np.float32), one)["fault"])
    assert "shape" in str(difference(np.ones(4, np.float32), one)["fault"])
    assert "dtype" in str(difference(np.ones(3), one)["fault"])
    assert difference(np.array([1, 2]), np.array([1, 3]))["excess"] > 1.0


def test_the_spread_of_the_runtime_never_hides_a_fault() -> None:
    calm, restless = {"excess": 0.01}, {"excess": 40.0}
    assert verdict({"excess": 0.5}, calm) == "match"
    assert verdict({"excess": 30.0}, restless) == "spread"
    assert verdict({"excess": 30.0}, calm) == "differs"
    assert verdict({"fault": "y: shape (1,), expected (2,)"}, restless) == "differs"
    assert verdict({"excess": 30.0}, {"fault": "y: shape (1,), expected (2,)"}) == "differs"


def test_results_of_two_devices_are_put_together_and_counted(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    results.write_text(
        '{"name": "p/a.onnx", "ndarray": {"status": "differs"}, "cpu": {"status": "match"}}\n'
        '{"name": "p/a.onnx", "ndarray": {"status": "match", "relative": 1e-6}}\n'
    )
    rows = read_results(results)
    assert summary(list(rows.values()), ["ndarray", "cpu"]) == "ndarray: 1 models: 1 match\ncpu: 1 models: 1 match"
    assert "1e-06" in line(rows["p/a.onnx"], "ndarray")


# What real models needed


@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("size", [(1, 1), (1, 5), (2, 7), (6, 6)])
def test_a_pool_wider_than_its_input_still_gives_one_window(operator: str, size: tuple[int, int]) -> None:
    node = f"y = {operator}<kernel_shape=[3, 2], strides=[3, 2]>(x)"
    model = text_model(f"g (float[n, c, h, w] x) => (float[n, c, i, j] y) {{ {node} }}", opset=13)
    x = np.random.default_rng(0).standard_normal((1, 2, *size)).astype(np.float32)
    for device in (burn.NdArray(), burn.Cpu()):
        np.testing.assert_allclose(load(model, device).run({"x": x})["y"], runtime(model, {"x": x})[0], rtol=1e-5)


def test_sizes_behind_a_narrow_pool_are_the_real_ones() -> None:
    model = text_model(
        """g (float[1, 1, h, w] x) => (float[1, 1, i, j] y) {
            small = MaxPool<kernel_shape=[2, 2], strides=[2, 2]>(x)
            shape = Shape(small)
            y = Expand(small, shape)
        }""",
        opset=13,
    )
    loaded = load(model, burn.NdArray())
    for size in ((1, 1), (1, 4), (4, 5)):
        x = np.random.default_rng(0).standard_normal((1, 1, *size)).astype(np.float32)
        np.testing.assert_array_equal(loaded.run({"x": x})["y"], runtime(model, {"x": x})[0])


def test_rows_of_a_table_that_floats_choose_count_from_the_end_when_negative() -> None:
    table = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
    nodes = [
        helper.make_node("Cast", ["x"], ["i"], to=TensorProto.INT32),
        helper.make_node("Gather", ["t", "i"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [onnx.numpy_helper.from_array(table, "t")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    x = np.array([-1.0, 0.0, 4.0, -5.0], np.float32)
    np.testing.assert_array_equal(load(model, burn.NdArray()).run({"x": x})["y"], runtime(model, {"x": x})[0])


def test_a_grid_that_a_division_makes_infinite_is_read_as_onnx_runtime_does() -> None:
    model = text_model(
        """g (float[1, 1, 3, 4] x, float[1, 1, n, 2] p, float[1] d) => (float[1, 1, 1, n] y) {
            grid = Div(p, d)
            y = GridSample<mode = "linear">(x, grid)
        }""",
        opset=20,
    )
    x = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4)
    places = np.array([[0.5, 0.0], [-1.0, 1.0], [0.0, 0.0]], np.float32).reshape(1, 1, 3, 2)
    for divisor in (0.0, 2.0):
        feed = {"x": x, "p": places, "d": np.array([divisor], np.float32)}
        np.testing.assert_allclose(load(model, burn.NdArray()).run(feed)["y"], runtime(model, feed)[0], rtol=1e-6)
