"""Small ONNX files: rows of two, plus a number."""

from __future__ import annotations

from pathlib import Path

import pytest


def write_adder(path: Path, number: float) -> Path:
    """A model that adds `number`; the file is put in place whole."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "number"], ["y"])], "adder",
        [helper.make_tensor_value_info("x", kind, ["batch", 2])],
        [helper.make_tensor_value_info("y", kind, ["batch", 2])],
        [helper.make_tensor("number", kind, [2], [number, number])],
    )  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_suffix(".part")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), made)
    made.replace(path)
    return path
