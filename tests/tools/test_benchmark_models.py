"""`burn-bench models`: files of a folder, measured beside ONNX Runtime."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from burn.errors import ArgumentError
from burn_bench import cli, models
from burn_bench.model_inputs import listed_shapes, shapes_in, sizes_from
from burn_bench.models import Outcome

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("llvmlite")


def write_model(path: Path) -> None:
    """`relu(x @ w)` with a batch whose size is open."""
    helper = onnx.helper
    weight = onnx.numpy_helper.from_array(np.random.default_rng(0).random((8, 4), np.float32), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Relu", ["y"], ["z"])]
    given = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["batch", 8])
    made = helper.make_tensor_value_info("z", onnx.TensorProto.FLOAT, ["batch", 4])
    graph = helper.make_graph(nodes, "g", [given], [made], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)


def test_a_folder_is_measured_and_a_broken_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "deep").mkdir()
    write_model(tmp_path / "deep" / "small.onnx")
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    kept, picture = tmp_path / "found.json", tmp_path / "found.svg"
    arguments = [str(tmp_path), "--size", "batch=3", "--blocks", "1", "--seconds", "0.01", "--threads", "1"]
    assert cli.main(["models", *arguments, "--json", str(kept), "--plot", str(picture)]) == 0
    printed = capsys.readouterr().out
    assert "1 of 2 models measured" in printed
    broken, small = models.read(kept)
    assert broken.model == "broken.onnx"
    assert broken.fault.startswith("ONNX Runtime:")
    assert (small.model, small.fault, small.host_calls) == ("deep/small.onnx", "", 0)
    assert small.ratio[1] == pytest.approx(small.theirs / small.ours)
    assert 0 < small.ours < small.warm
    assert min(small.memory, small.their_memory) > 1e7
    assert small.difference < 1e-5
    assert "small.onnx" in picture.read_text(encoding="utf-8")


def test_results_that_are_apart_are_said(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", r0=np.array([1.0, 2.0]))
    np.savez(tmp_path / "b.npz", r0=np.array([1.0, 4.0]))
    np.savez(tmp_path / "c.npz", r0=np.array([1.0, np.nan]))
    assert models._difference(tmp_path / "a.npz", tmp_path / "a.npz") == 0
    assert models._difference(tmp_path / "a.npz", tmp_path / "b.npz") == 0.5
    assert models._difference(tmp_path / "c.npz", tmp_path / "b.npz") == float("inf")
    assert " !" in models.line(Outcome("m", 1, 1, (1, 1, 1), 1, 1, 1, 1e8, 1e8, 0, 0.5))


def test_two_runs_are_compared_the_worst_first(tmp_path: Path) -> None:
    first = [Outcome("a", ratio=(1, 1, 1)), Outcome("b", ratio=(2, 2, 2)), Outcome("c", fault="broken")]
    second = [Outcome("a", ratio=(2, 2, 2)), Outcome("b", ratio=(1, 1, 1)), Outcome("c", ratio=(1, 1, 1))]
    assert [row.split()[-1] for row in models.changes(first, second)] == ["b", "a"]
    models.save(first, tmp_path / "kept.json")
    assert models.read(tmp_path / "kept.json") == first


def test_sizes_and_shapes_come_from_the_command_line_and_from_a_file(tmp_path: Path) -> None:
    assert sizes_from(["batch=4", "length=16"]) == {"batch": 4, "length": 16}
    with pytest.raises(ArgumentError, match="'batch'.*batch=4"):
        sizes_from(["batch", "length=16"])
    (tmp_path / "shapes.json").write_text(json.dumps({"small.onnx": {"x": [2, 8]}}), encoding="utf-8")
    listed = listed_shapes(tmp_path / "shapes.json")
    assert shapes_in(listed, Path("any/small.onnx")) == {"x": [2, 8]}
    assert shapes_in(listed, Path("any/not-small.onnx")) is None
    (tmp_path / "rows.json").write_text(json.dumps([{"path": "p/m.onnx", "in_shapes": {"x": [1]}}]), encoding="utf-8")
    assert shapes_in(listed_shapes(tmp_path / "rows.json"), Path("q/p/m.onnx")) == {"x": [1]}
    (tmp_path / "shapes.json").write_text("3", encoding="utf-8")
    with pytest.raises(ArgumentError, match="shapes.json"):
        listed_shapes(tmp_path / "shapes.json")


def test_a_folder_without_models_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"holds no \.onnx or \.ort file"):
        models.found_models(tmp_path, [])
    with pytest.raises(ArgumentError, match="there is no"):
        models.found_models(tmp_path / "nowhere", [])
