"""One node of the exchange format, run by ONNX Runtime: the oracle of layers that its graphs contain."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime

import burn
from burn.backend import NdArray
from tests.exact_integers import lowered, unsigned

DEVICE = NdArray()


def run(
    kind: str, inputs: list[Any], outputs: int | list[str] = 1, domain: str = "", version: int = 22, **attributes: Any
) -> list[Any]:
    """The results of a node; None among the inputs is one left out. Integers are exact on every processor."""
    inputs, signed = unsigned(kind, inputs)
    names = [f"x{i}" if each is not None else "" for i, each in enumerate(inputs)]
    while names and not names[-1]:
        names.pop()
    results = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
    node = onnx.helper.make_node(kind, names, results, domain=domain, **attributes)
    given = {f"x{i}": np.array(each, order="C") for i, each in enumerate(inputs) if each is not None}
    starts = [
        onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(each.dtype), each.shape)
        for name, each in given.items()
    ]
    ends = [onnx.helper.make_empty_tensor_value_info(name) for name in results if name]
    sets = [onnx.helper.make_opsetid(*each) for each in (("", version), ("com.microsoft", 1), ("ai.onnx.ml", 3))]
    model = onnx.helper.make_model(
        onnx.helper.make_graph([node], "one", starts, ends), opset_imports=sets, ir_version=10
    )
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found = session.run(None, given)
    return [lowered(each) for each in found] if signed else found  # type: ignore[no-any-return]


def on_device(value: Any, device: Any = DEVICE) -> Any:
    return None if value is None else burn.tensor(np.asarray(value), device=device)


def assert_same(ours: Any, theirs: list[Any], rtol: float = 1e-5, atol: float = 1e-5) -> None:
    """Equal shapes and values; integers exactly."""
    mine = [np.asarray(each) for each in (ours if isinstance(ours, tuple) else (ours,))]
    assert len(mine) == len(theirs)
    for each, expected in zip(mine, theirs, strict=True):
        assert each.shape == expected.shape
        if expected.dtype.kind in "iu":
            np.testing.assert_array_equal(each, expected)
        else:
            np.testing.assert_allclose(each, expected, rtol=rtol, atol=atol)
