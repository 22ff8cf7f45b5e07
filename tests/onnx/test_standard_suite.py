"""The standard's own test models through reader and passes: same results, true types.

The models run in the reference evaluator after they were read, lifted to the newest opset and cleaned up. A sample of
the operator tests runs always, all of them in the slow run.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from burn_import.onnx.passes import prepare
from burn_import.onnx.reader import read
from tests.onnx.running import assert_same, assert_type, reference
from tests.onnx.serialize import to_proto

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from onnx.backend.test import loader

    NODES: dict[str, Any] = {case.name: case for case in loader.load_model_tests(kind="node")}
    FILES: dict[str, Any] = {
        case.name: case
        for kind in ("simple", "pytorch-converted", "pytorch-operator")
        for case in loader.load_model_tests(kind=kind)
    }

# What the judge cannot run, not what we cannot read.
UNRUNNABLE = {
    "test_gradient_of_add": "the evaluator has no Gradient",
    "test_gradient_of_add_and_mul": "the evaluator has no Gradient",
    "test_range_float_type_positive_delta_expanded": "the evaluator stacks inputs of a body that are results wrongly",
    "test_range_float16_type_positive_delta_expanded": "the same",
    "test_range_bfloat16_type_positive_delta_expanded": "the same",
    "test_range_int32_type_negative_delta_expanded": "the same",
}
RANDOM = ("bernoulli", "random", "dropout")


def decode(data: Any, info: onnx.ValueInfoProto) -> Any:
    """An expected value, from bytes or from a message."""
    if isinstance(data, bytes):
        kind = info.type.WhichOneof("value")
        message: Any = {"sequence_type": onnx.SequenceProto, "optional_type": onnx.OptionalProto}.get(
            kind, onnx.TensorProto
        )()
        message.ParseFromString(data)
        data = message
    if isinstance(data, onnx.TensorProto):
        return numpy_helper.to_array(data)
    if isinstance(data, onnx.SequenceProto):
        return numpy_helper.to_list(data)
    if isinstance(data, onnx.OptionalProto):
        return numpy_helper.to_optional(data)
    return data


def check(name: str, proto: onnx.ModelProto, inputs: list[Any], outputs: list[Any]) -> None:
    model = read(proto)
    prepare(model, verify=True)
    assert model.notes == []
    if name in UNRUNNABLE:
        return
    made = to_proto(model)
    constants = {each.name for each in proto.graph.initializer}
    infos = [info for info in proto.graph.input if len(inputs) == len(proto.graph.input) or info.name not in constants]
    feed = {info.name: decode(data, info) for info, data in zip(infos, inputs)}
    sizes: dict[str, int] = {}
    for value in model.graph.inputs:
        assert_type(value.type, feed[value.name], sizes, value.name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = reference(made, {value.name: feed[value.name] for value in model.graph.inputs})
    for value, info, actual, data in zip(model.graph.outputs, proto.graph.output, results, outputs):
        expected = decode(data, info)
        assert_type(value.type, expected, sizes, value.name)
        assert value.type is not None
        if isinstance(expected, np.ndarray) and not any(word in name for word in RANDOM):
            assert_same(actual, expected, rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize("name", sorted(NODES)[::9])
def test_a_sample_of_the_operator_tests(name: str) -> None:
    case = NODES[name]
    check(name, case.model, *case.data_sets[0])


@pytest.mark.slow
def test_all_operator_tests() -> None:
    failed = []
    for name, case in NODES.items():
        try:
            check(name, case.model, *case.data_sets[0])
        except Exception as error:
            failed.append(f"{name}: {type(error).__name__}: {error}"[:200])
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize("name", sorted(FILES))
def test_exported_models_of_old_opsets(name: str) -> None:
    folder = Path(FILES[name].model_dir)
    proto = onnx.load(folder / "model.onnx")
    data = folder / "test_data_set_0"
    inputs = [path.read_bytes() for index in range(99) if (path := data / f"input_{index}.pb").exists()]
    outputs = [path.read_bytes() for index in range(99) if (path := data / f"output_{index}.pb").exists()]
    check(name, proto, inputs, outputs)
