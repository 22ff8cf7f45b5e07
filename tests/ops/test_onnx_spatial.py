"""The standard's own cases of spatial, signal and selecting nodes, through the rows that stand for them."""

from __future__ import annotations

import functools
import inspect
import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import numpy_helper  # noqa: E402

from burn.backend import Cpu, NdArray  # noqa: E402
from burn.dtype import from_numpy  # noqa: E402
from burn.tensor import TensorData  # noqa: E402
from burn.tensor.methods.creation import place  # noqa: E402
from tests.ops.onnx_nodes import attributes_of  # noqa: E402
from tests.ops.onnx_spatial_nodes import SPATIAL  # noqa: E402


@functools.cache
def cases() -> dict[str, Any]:
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    return {
        each.name: each
        for each in found
        if each.model is not None and len(each.model.graph.node) == 1 and each.model.graph.node[0].op_type in SPATIAL
    }


def value(given: Any) -> Any:
    return numpy_helper.to_array(given) if isinstance(given, onnx.TensorProto) else np.asarray(given)


def check(name: str, device: Any) -> None:
    case = cases()[name]
    (proto,) = case.model.graph.node
    function, attributes = SPATIAL[proto.op_type], attributes_of(proto)
    if "opset" in inspect.signature(function).parameters:
        attributes["opset"] = case.model.opset_import[0].version
    for inputs, expected in case.data_sets:
        arrays = dict(zip([each.name for each in case.model.graph.input], map(value, inputs), strict=True))
        given = [place(TensorData(arrays[each]), device) if each else None for each in proto.input]
        found = function(*given, **attributes)
        results = list(found) if isinstance(found, tuple) else [found]
        kept = [each for each, output in zip(results, proto.output, strict=False) if output]
        assert len(kept) == len(expected)
        for mine, theirs in zip(kept, map(value, expected), strict=True):
            array = np.asarray(mine)
            assert array.shape == theirs.shape
            if array.dtype != theirs.dtype:
                assert from_numpy(array.dtype).kind is from_numpy(theirs.dtype).kind, (array.dtype, theirs.dtype)
            wide = [each if each.dtype.kind in "fiub" else each.astype(np.float32) for each in (array, theirs)]
            small = theirs.dtype in (np.float16, ml_dtypes.bfloat16)
            rtol, atol = (1e-2, 1e-2) if small else (case.rtol, max(case.atol, 1e-6))
            np.testing.assert_allclose(wide[0], wide[1], rtol=rtol, atol=atol, equal_nan=True)


@pytest.mark.parametrize("name", sorted(cases()))
def test_a_case_of_the_standard_gives_its_results(name: str) -> None:
    check(name, NdArray())


@pytest.mark.parametrize("name", sorted(cases())[::7])
def test_every_seventh_case_gives_them_on_the_processor(name: str) -> None:
    check(name, Cpu())
