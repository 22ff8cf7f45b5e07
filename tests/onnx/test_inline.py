"""Functions of a model: called, nested, with attributes, recursive."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from burn_import.onnx import OnnxError
from burn_import.onnx.passes import Driver, Inline, prepare
from burn_import.onnx.reader import read
from tests.onnx.running import assert_same, prepared, runtime, text_model
from tests.onnx.serialize import to_proto

IMPORTS = [helper.make_opsetid("", 21), helper.make_opsetid("mine", 1)]
X = np.array([-1.0, 2.0, -3.0], np.float32)


def function(name: str, inputs: list[str], outputs: list[str], nodes: list[onnx.NodeProto], **kwargs: Any) -> Any:
    return helper.make_function("mine", name, inputs, outputs, nodes, IMPORTS, **kwargs)


def with_reference(node: onnx.NodeProto, attribute: str, of: str, kind: int) -> onnx.NodeProto:
    added = node.attribute.add(name=attribute, ref_attr_name=of)
    added.type = kind
    return node


def model(body: str, *functions: Any) -> onnx.ModelProto:
    proto = text_model(f"g (float[3] x) => (float[3] y) {{ {body} }}", extra=', "mine" : 1')
    proto.functions.extend(functions)
    return proto


LEAKY = function(
    "Leaky", ["a"], ["b"],
    [with_reference(helper.make_node("LeakyRelu", ["a"], ["b"]), "alpha", "slope", onnx.AttributeProto.FLOAT)],
    attribute_protos=[helper.make_attribute("slope", 0.5)],
)  # fmt: skip
TWICE = function(
    "Twice", ["a"], ["c"],
    [
        helper.make_node("Leaky", ["a"], ["b"], domain="mine", slope=0.1),
        helper.make_node("Leaky", ["b"], ["c"], domain="mine"),
    ],
)  # fmt: skip


@pytest.mark.parametrize("body", ["y = mine.Leaky(x)", "y = mine.Leaky<slope = 0.25>(x)", "y = mine.Twice(x)",
                                  "z = mine.Twice(x) y = mine.Twice(z)"])  # fmt: skip
def test_calls_give_what_the_function_gives(body: str) -> None:
    proto = model(body, LEAKY, TWICE)
    expected = runtime(proto, {"x": X})[0]
    found = prepared(proto)
    assert not found.functions
    assert {node.domain for node in found.graph} == {""}
    assert_same(runtime(to_proto(found, 21), {"x": X})[0], expected)


def test_functions_stay_functions_until_they_are_inlined() -> None:
    found = read(model("y = mine.Twice(x)", LEAKY, TWICE))
    assert list(found.functions) == [("mine", "Leaky", ""), ("mine", "Twice", "")]
    assert found.functions["mine", "Leaky", ""].defaults == {"slope": 0.5}
    assert Driver([Inline()], verify=True).run(found).changed
    assert [node.op_type for node in found.graph] == ["LeakyRelu", "LeakyRelu"]
    assert [node.attributes["alpha"] for node in found.graph] == [pytest.approx(0.1), 0.5]


def test_absent_inputs_and_attributes_stay_absent() -> None:
    clip = function("Clamp", ["a", "low", "high"], ["b"], [helper.make_node("Clip", ["a", "low", "high"], ["b"])])
    proto = model("low = Constant<value_float = -2.0>() y = mine.Clamp(x, low)", clip)
    assert_same(runtime(to_proto(prepared(proto), 21), {"x": X})[0], np.maximum(X, -2))


def test_functions_in_bodies_and_bodies_in_functions() -> None:
    branch = helper.make_graph(
        [helper.make_node("Leaky", ["a"], ["p"], domain="mine")], "t", [], [helper.make_tensor_value_info("p", 1, None)]
    )
    other = helper.make_graph(
        [helper.make_node("Neg", ["a"], ["q"])], "e", [], [helper.make_tensor_value_info("q", 1, None)]
    )
    choose = function(
        "Choose", ["a", "c"], ["b"], [helper.make_node("If", ["c"], ["b"], then_branch=branch, else_branch=other)]
    )
    proto = text_model(
        "g (float[3] x, bool c) => (float[3] y, float[3] z) { y = mine.Choose(x, c) z = mine.Choose(y, c) }",
        extra=', "mine" : 1',
    )
    proto.functions.extend([LEAKY, choose])
    made = to_proto(prepared(proto), 21)
    for condition in (True, False):
        feed = {"x": X, "c": np.array(condition)}
        for actual, expected in zip(runtime(made, feed), runtime(proto, feed), strict=True):
            assert_same(actual, expected)


def test_a_function_that_calls_itself_is_refused() -> None:
    ping = function("Ping", ["a"], ["b"], [helper.make_node("Pong", ["a"], ["b"], domain="mine")])
    pong = function("Pong", ["a"], ["b"], [helper.make_node("Ping", ["a"], ["b"], domain="mine")])
    with pytest.raises(OnnxError, match="functions call themselves: mine.Ping -> mine.Pong -> mine.Ping"):
        prepare(read(model("y = mine.Ping(x)", ping, pong)))


def test_a_call_without_a_needed_attribute_is_refused() -> None:
    needs = function("Needs", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])], attributes=["width"])
    with pytest.raises(OnnxError, match=r"lacks the attributes \['width'\]"):
        prepare(read(model("y = mine.Needs(x)", needs)))
