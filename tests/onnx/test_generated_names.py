"""Names in the source that is written: whole words, weights after what they are for, and what is a parameter."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import burn
from burn_import.onnx import load
from burn_import.onnx.code.names import LONGEST, snake
from burn_import.onnx.importing import import_model
from tests.onnx.running import runtime

BLOCKS = 16


def test_long_names_are_cut_between_words() -> None:
    text = "encoder.layers.intermediate.feed_forward.output_projection.weight"
    assert len(text) > LONGEST
    assert snake(text) == "feed_forward_output_projection_weight"
    assert snake("a_" + "x" * 60) == "x" * 60
    assert snake("y" * 60) == "y" * 60
    exact = "b" * 20 + "_" + "c" * 19
    assert snake(f"a_{exact}") == exact


def quantized_chain() -> onnx.ModelProto:
    """Convolutions whose weights are kept in steps, all of which are made floats before the first convolution."""
    rng = np.random.default_rng(0)
    front, back, initializers = [], [], []
    x = "x"
    for index in range(BLOCKS):
        parts = [
            (f"onnx::steps_{index}", rng.integers(-100, 100, (4, 4, 3)).astype(np.int8)),
            (f"onnx::size_{index}", rng.uniform(0.001, 0.01, 4).astype(np.float32)),
            (f"onnx::zero_{index}", np.zeros(4, np.int8)),
            (f"onnx::out_{index}", np.float32(rng.uniform(0.01, 0.1))),
            (f"onnx::middle_{index}", np.uint8(128)),
        ]
        initializers += [numpy_helper.from_array(np.asarray(array), name) for name, array in parts]
        names = [name for name, _ in parts]
        front.append(helper.make_node("DequantizeLinear", names[:3], [f"onnx::w_{index}"], axis=0))
        conv = helper.make_node("Conv", [x, f"onnx::w_{index}"], [f"onnx::c_{index}"], pads=[1, 1])
        steps = helper.make_node("QuantizeLinear", [f"onnx::c_{index}", *names[3:]], [f"onnx::q_{index}"])
        x = "y" if index == BLOCKS - 1 else f"onnx::d_{index}"
        back += [conv, steps, helper.make_node("DequantizeLinear", [f"onnx::q_{index}", *names[3:]], [x])]
    graph = helper.make_graph(
        [*front, *back],
        "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4, 9])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4, 9])],
        initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_weights_in_steps_belong_to_the_block_that_uses_them_and_are_named_after_it() -> None:
    model = quantized_chain()
    source = import_model(model).write().source
    assert "weight_steps: Param" in source
    assert "weight_scale: Param" in source
    assert "x_1" not in source
    assert "shift" not in source
    feed = {"x": np.random.default_rng(1).standard_normal((2, 4, 9)).astype(np.float32)}
    (theirs,) = runtime(model, feed)
    np.testing.assert_allclose(load(model, burn.NdArray()).run(feed)["y"], theirs, atol=1e-6)


def scaled(name: str) -> onnx.ModelProto:
    nodes = [helper.make_node("Mul", ["x", name], ["m"]), helper.make_node("Tanh", ["m"], ["y"])]
    kinds = [helper.make_tensor_value_info(each, TensorProto.FLOAT, [2, 3]) for each in "xy"]
    number = numpy_helper.from_array(np.array(0.75, np.float32), name)
    graph = helper.make_graph(nodes, "scaled", kinds[:1], kinds[1:], [number])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_a_number_that_is_named_as_a_parameter_is_one_and_any_other_is_written_down() -> None:
    for name, field in (("head.gamma", "head_gamma"), ("logit_scale", "logit_scale")):
        assert f"{field}: Param" in import_model(scaled(name)).write().source
    for name in ("onnx::Mul_12", "/Constant_output_0", "val_7"):
        source = import_model(scaled(name)).write().source
        assert "Param" not in source
        assert "x * 0.75" in source
    x = np.ones((2, 3), np.float32)
    assert load(scaled("head.gamma"), burn.NdArray()).run({"x": x})["y"][0, 0] == np.tanh(np.float32(0.75))
