"""The clean-up passes, each alone, and the driver that runs them."""

from __future__ import annotations

import numpy as np
import pytest

from burn_import.onnx import OnnxError
from burn_import.onnx.ir import Model, Node, to_text
from burn_import.onnx.passes import (
    Branches,
    Common,
    Dead,
    Driver,
    Fold,
    Inline,
    Lift,
    Pass,
    Repeat,
    Simplify,
    Sort,
    prepare,
    standard,
)
from burn_import.onnx.reader import read
from tests.onnx.running import assert_same, runtime, text_model
from tests.onnx.serialize import to_proto


def after(text: str, *passes: Pass, opset: int = 21) -> Model:
    model = read(text_model(text, opset))
    Driver([Sort(), Inline(), Lift(), *passes], verify=True).run(model)
    return model


def operators(model: Model) -> list[str]:
    return [node.op_type for node in model.graph]


# -- folding


def test_nodes_over_constants_become_constants() -> None:
    model = after(
        "g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 5}> "
        "{ c = Mul(a, b) d = Sqrt(c) y = Add(x, d) }",
        Fold(),
    )
    assert operators(model) == ["Add"]
    (value,) = [value for value in model.graph.constants if value.name == "d"]
    assert value.constant is not None
    np.testing.assert_allclose(value.constant.array, np.sqrt([3, 10]), rtol=1e-6)


def test_sizes_that_the_inputs_fix_become_constants() -> None:
    model = after(
        "g (float[2, 6] x) => (float[A, B] y) <int64 one = {1}, int64[1] open = {-1}, int64[1] z = {0}> "
        "{ s = Shape(x) n = Gather(s, one) u = Unsqueeze(n, z) t = Concat<axis = 0>(u, open) y = Reshape(x, t) }",
        Fold(), Dead(),
    )  # fmt: skip
    assert operators(model) == ["Reshape"]


def test_a_weight_that_is_only_turned_keeps_its_name() -> None:
    model = after(
        "g (float[n, 4] x) => (float[n, 3] y) <float[3, 4] weight> { t = Transpose(weight) y = MatMul(x, t) }", Fold()
    )
    (value,) = model.graph.constants
    assert str(value.type) == "f32[4, 3]"
    assert value.name == "weight"


def test_open_sizes_are_not_folded() -> None:
    model = after("g (float[n, 6] x) => (int64[2] y) { y = Shape(x) }", Fold())
    assert operators(model) == ["Shape"]


def test_a_fold_keeps_the_names_of_results() -> None:
    model = after("g () => (float[2] y) <float[2] a = {1, 2}> { y = Neg(a) }", Fold())
    assert operators(model) == []
    assert model.graph.output_names == ["y"]
    assert model.graph.outputs[0].name == "y"


def test_quantised_weights_and_random_numbers_are_not_folded() -> None:
    model = after(
        "g () => (float[2] y, float[2] z) <int8[2] q = {1, 2}, float s = {0.5}> "
        "{ y = DequantizeLinear(q, s) z = RandomNormal<shape = [2]>() }",
        Fold(),
    )
    assert operators(model) == ["DequantizeLinear", "RandomNormal"]


def test_a_node_that_would_fail_is_left_to_fail() -> None:
    model = read(text_model("g () => (float[A] y) <float[3] a = {1, 2, 3}, int64[1] i = {7}> { y = Gather(a, i) }"))
    Driver([Inline(), Lift(), Fold()], verify=True).run(model)
    assert operators(model) == ["Gather"]


EVALUATED = {
    "integer division": "<int64[4] a = {7, -7, 7, -7}, int64[4] b = {2, 2, -2, -2}> { y = Div(a, b) }",
    "remainder": "<int64[4] a = {7, -7, 7, -7}, int64[4] b = {3, 3, -3, -3}> { y = Mod(a, b) }",
    "c remainder": "<int64[4] a = {7, -7, 7, -7}, int64[4] b = {3, 3, -3, -3}> { y = Mod<fmod = 1>(a, b) }",
    "power": "<float[3] a = {1, 2, 3}, int64 b = {2}> { y = Pow(a, b) }",
    "bounds": "<float[3] a = {-1, 0.5, 3}, float low = {0}, float high = {1}> { y = Clip(a, low, high) }",
    "choice": "<bool[3] c = {1, 0, 1}, float[3] a = {1, 2, 3}, float b = {9}> { y = Where(c, a, b) }",
    "cast": "<float[3] a = {-1.5, 0.5, 3.7}> { y = Cast<to = 7>(a) }",
    "slice back": (
        "<float[5] a = {1, 2, 3, 4, 5}, int64[1] s = {-1}, int64[1] e = {-9223372036854775807}, "
        "int64[1] z = {0}, int64[1] m = {-2}> { y = Slice(a, s, e, z, m) }"
    ),
    "tile": "<float[2] a = {1, 2}, int64[1] t = {3}> { y = Tile(a, t) }",
    "one hot": "<int64[3] a = {0, 2, -1}, int64 d = {3}, float[2] v = {0, 5}> { y = OneHot(a, d, v) }",
    "triangle": "<float[2, 2] a = {1, 2, 3, 4}, int64 k = {1}> { y = Trilu(a, k) }",
    "range": "<float a = {1}, float b = {2}, float c = {0.3}> { y = Range(a, b, c) }",
    "mean": "<float[2, 2] a = {1, 2, 3, 4}, int64[1] k = {1}> { y = ReduceMean<keepdims = 0>(a, k) }",
    "all": "<float[2, 2] a = {1, 2, 3, 4}> { y = ReduceMax(a) }",
    "place": "<float[2, 2] a = {1, 2, 4, 3}> { y = ArgMax<axis = 1>(a) }",
    "scatter": "<float[3] a = {1, 2, 3}, int64[1, 1] i = {1}, float[1] u = {9}> { y = ScatterND(a, i, u) }",
    "product": "<float[2, 2] a = {1, 2, 3, 4}, float[2] b = {1, -1}> { y = MatMul(a, b) }",
    "gemm": (
        "<float[2, 2] a = {1, 2, 3, 4}, float[2, 2] b = {1, -1, 0, 2}, float[2] c = {5, 6}> "
        "{ y = Gemm<transB = 1, alpha = 0.5>(a, b, c) }"
    ),
    "pad": "<float[2] a = {1, 2}, int64[2] p = {1, 2}, float v = {7}> { y = Pad(a, p, v) }",
    "non zero": "<float[2, 2] a = {1, 0, 0, 4}> { y = NonZero(a) }",
    "sum along": "<float[3] a = {1, 2, 3}, int64 k = {0}> { y = CumSum(a, k) }",
    "rounding": "<float[4] a = {0.5, 1.5, 2.5, -0.5}> { y = Round(a) }",
    "parts": "<float[5] a = {1, 2, 3, 4, 5}> { p, y = Split<num_outputs = 2>(a) }",
    "gather": "<float[2, 2] a = {1, 2, 3, 4}, int64[1, 2] i = {1, -1}> { y = Gather<axis = 1>(a, i) }",
    "spread": "<float[2, 1] a = {1, 2}, int64[3] s = {2, 1, 3}> { y = Expand(a, s) }",
}  # fmt: skip


@pytest.mark.parametrize("name", EVALUATED)
def test_folded_results_are_those_of_onnx_runtime(name: str) -> None:
    proto = text_model(f"g () => (float y) {EVALUATED[name]}")
    proto.graph.output[0].ClearField("type")
    model = read(proto)
    Driver([Inline(), Lift(), Fold()], verify=True).run(model)
    (value,) = model.graph.outputs
    assert value.constant is not None
    assert_same(value.constant.array, runtime(to_proto(read(proto), 21), {})[0])


# -- dead code, common subexpressions, branches


def test_what_nobody_uses_disappears() -> None:
    model = after("g (float[2] x) => (float[2] y) <float[2] w> { a = Neg(x) b = Add(a, w) y = Relu(x) }", Dead())
    assert operators(model) == ["Relu"]
    assert not model.graph.constants


def test_equal_nodes_become_one() -> None:
    model = after(
        "g (float[2] x) => (float[2] y) "
        "{ a = Exp(x) b = Exp(x) c = Elu<alpha = 1.0>(a) d = Elu<alpha = 2.0>(b) y = Add(c, d) }",
        Common(),
    )
    assert operators(model) == ["Exp", "Elu", "Elu", "Add"]


def test_equal_weights_of_two_layers_stay_two() -> None:
    model = after(
        """g (float[n, 2] x) => (float[n, 2] y) <float[2] a = {1, 1}, float[2] b = {1, 1}> {
            h = Mul(x, a)
            y = Mul(h, b)
        }""",
        Common(), Dead(),
    )  # fmt: skip
    assert [value.name for value in model.graph.constants] == ["a", "b"]


def test_equal_numbers_and_index_lists_become_one() -> None:
    model = after(
        """g (float[n, 2] x) => (float[A, B, C, D] y)
        <int64[1] i = {0}, int64[1] j = {0}, float a = {2}, float b = {2}> {
            p = Unsqueeze(x, i) q = Unsqueeze(p, j) r = Mul(q, a) y = Mul(r, b)
        }""",
        Common(), Dead(),
    )  # fmt: skip
    assert [value.name for value in model.graph.constants] == ["i", "a"]


def test_random_nodes_are_never_equal() -> None:
    model = after(
        "g (float[2] x) => (float[2] y) { a = RandomNormalLike(x) b = RandomNormalLike(x) y = Add(a, b) }", Common()
    )
    assert len(model.graph) == 3


def test_bodies_use_what_is_computed_around_them() -> None:
    model = after(
        """g (float[2] x, bool c) => (float[2] y, float[2] a) {
            a = Exp(x)
            y = If(c) <
                then_branch = t () => (float[2] p) { b = Exp(x) p = Neg(b) },
                else_branch = e () => (float[2] q) { q = Abs(x) }
            >
        }""",
        Common(),
    )
    assert sorted(node.op_type for node in model.graph.walk()) == ["Abs", "Exp", "If", "Neg"]


def test_two_results_of_a_model_stay_two() -> None:
    model = after("g (float[2] x) => (float[2] y, float[2] z) { y = Exp(x) z = Exp(x) }", Common())
    assert len(model.graph) == 2


def test_a_branch_that_is_always_taken_takes_the_place_of_the_choice() -> None:
    model = after(
        """g (float[2, 3] x) => (float[A, B] y) <int64 zero = {0}, int64 two = {2}> {
            s = Shape(x) n = Gather(s, zero) c = Equal(n, two)
            y = If(c) <
                then_branch = t () => (float[A, B] p) { q = Exp(x) p = Neg(q) },
                else_branch = e () => (float[A, B] r) { r = Abs(x) }
            >
        }""",
        Branches(), Dead(),
    )  # fmt: skip
    assert operators(model) == ["Exp", "Neg"]


# -- nodes that do nothing

NOTHING = {
    "identity": "{ a = Identity(x) y = Relu(a) }",
    "cast": "{ a = Cast<to = 1>(x) y = Relu(a) }",
    "cast like": "<float w = {1}> { a = CastLike(x, w) y = Relu(a) }",
    "zero": "<float z = {0}> { a = Add(x, z) y = Relu(a) }",
    "zero from the left": "<float z = {0}> { a = Add(z, x) y = Relu(a) }",
    "minus zero": "<float z = {0}> { a = Sub(x, z) y = Relu(a) }",
    "one": "<float o = {1}> { a = Mul(o, x) y = Relu(a) }",
    "by one": "<float o = {1}> { a = Div(x, o) y = Relu(a) }",
    "first power": "<float o = {1}> { a = Pow(x, o) y = Relu(a) }",
    "twice": "{ a = Relu(x) y = Relu(a) }",
    "same shape": "<int64[2] s = {0, -1}> { a = Reshape(x, s) y = Relu(a) }",
    "same order": "{ a = Transpose<perm = [0, 1]>(x) y = Relu(a) }",
    "back again": "{ a = Transpose<perm = [1, 0]>(x) b = Transpose<perm = [1, 0]>(a) y = Relu(b) }",
    "minus minus": "{ a = Neg(x) b = Neg(a) y = Relu(b) }",
    "one part": "{ a = Concat<axis = 0>(x) y = Relu(a) }",
    "one copy": "<int64[2] t = {1, 1}> { a = Tile(x, t) y = Relu(a) }",
    "no pads": "<int64[4] p = {0, 0, 0, 0}> { a = Pad(x, p) y = Relu(a) }",
    "whole slice": (
        "<int64[1] s = {0}, int64[1] e = {9223372036854775807}, int64[1] k = {1}> "
        "{ a = Slice(x, s, e, k) y = Relu(a) }"
    ),
    "chosen": "<bool c = {1}, float z = {0}> { a = Where(c, x, z) y = Relu(a) }",
}  # fmt: skip


@pytest.mark.parametrize("name", NOTHING)
def test_nodes_that_do_nothing_disappear(name: str) -> None:
    model = after(f"g (float[n, 3] x) => (float[n, 3] y) {NOTHING[name]}", Simplify(), Dead())
    assert operators(model) == ["Relu"]
    x = np.array([[-1.0, 2.0, 0.0]], np.float32)
    assert_same(runtime(to_proto(model, 21), {"x": x})[0], np.maximum(x, 0))


SOMETHING = {
    "a zero that broadcasts": "<float[2, 1, 1] z = {0, 0}> { y = Add(x, z) }",
    "one minus": "<float z = {0}> { y = Sub(z, x) }",
    "a power of one": "<float o = {1}> { y = Pow(o, x) }",
    "another type": "{ y = Cast<to = 11>(x) }",
    "dropout, for whoever trains": "<float r = {0.5}> { y = Dropout(x, r) }",
    "an open reshape": "<int64[2] s = {-1, 3}> { t = Transpose<perm = [1, 0]>(x) y = Reshape(t, s) }",
}


@pytest.mark.parametrize("name", SOMETHING)
def test_nodes_that_do_something_stay(name: str) -> None:
    proto = text_model(f"g (float[n, 3] x) => (float[A] y) {SOMETHING[name]}")
    proto.graph.output[0].ClearField("type")
    model = read(proto)
    count = len(model.graph)
    Driver([Inline(), Lift(), Simplify(), Dead()], verify=True).run(model)
    assert len(model.graph) == count


def test_a_result_keeps_its_name_when_its_node_goes() -> None:
    model = after("g (float[2] x) => (float[2] y) { a = Relu(x) y = Identity(a) }", Simplify(), Dead())
    assert [value.name for value in model.graph.outputs] == ["y"]
    model = after("g (float[2] x) => (float[2] y) { y = Identity(x) }", Simplify(), Dead())
    assert model.graph.output_names == ["y"]
    assert model.graph.outputs == model.graph.inputs


# -- the driver


class Break(Pass):
    name = "break"

    def run(self, model: Model) -> bool:
        stray = Node("Neg", [next(iter(model.graph)).output])
        stray.attributes["x"] = object()
        model.graph.insert(stray, before=next(iter(model.graph)))
        return True


class Fail(Pass):
    name = "fail"

    def run(self, model: Model) -> bool:
        raise RuntimeError("oops")


RELU = "g (float[2] x) => (float[2] y) { y = Relu(x) }"


def test_a_pass_whose_needs_nobody_meets_is_refused_before_anything_runs() -> None:
    model = read(text_model(RELU))
    with pytest.raises(OnnxError, match=r"pass 'fold' needs \['lifted', 'typed'\]"):
        Driver([Sort(), Fold()]).run(model)


def test_a_pass_that_breaks_a_law_is_named() -> None:
    with pytest.raises(OnnxError, match="pass 'break' broke the graph: 2 faults"):
        Driver([Break()], verify=True).run(read(text_model(RELU)))


def test_a_pass_that_fails_is_named_with_those_before_it() -> None:
    with pytest.raises(RuntimeError) as caught:
        Driver([Sort(), Dead(), Fail()]).run(read(text_model(RELU)))
    assert caught.value.__notes__ == ["in pass 'fail' of the ONNX importer, after sort, dead"]


def test_repetition_ends_when_nothing_changes() -> None:
    model = read(text_model(RELU))
    report = Driver([Sort(), Inline(), Lift(), Repeat("clean", [Fold(), Dead()])]).run(model)
    assert [step.name for step in report.steps] == ["sort", "inline", "lift", "fold", "dead"]
    assert not any(step.changed for step in report.steps[3:])
    assert "lift" in str(report)


def test_preparing_twice_changes_nothing_and_is_deterministic() -> None:
    text = """g (float[n, 4, 8] x) => (float[A, B] y) <float[32, 10] w> {
        s = Shape(x) z = Constant<value_int = 0>() n0 = Gather(s, z) a = Constant<value_ints = [0]>()
        u = Unsqueeze(n0, a) m = Constant<value_ints = [-1]>() t = Concat<axis = 0>(u, m)
        r = Reshape(x, t) y = MatMul(r, w)
    }"""
    texts = []
    for _ in range(2):
        model = read(text_model(text))
        prepare(model, verify=True)
        first = to_text(model)
        model.properties.add("inlined")
        assert not Driver([each for each in standard() if isinstance(each, Repeat)]).run(model).changed
        assert to_text(model) == first
        texts.append(first)
    assert texts[0] == texts[1]
    assert "%y: f32[n, 10] = MatMul" in texts[0]
