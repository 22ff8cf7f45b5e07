"""Surgery on graphs, the laws they keep, and their text."""

from __future__ import annotations

import numpy as np
import pytest

from burn_import.onnx import OnnxError
from burn_import.onnx.ir import Constant, Dim, ElementType, Graph, Model, Node, TensorType, graph_to_text, verify

F32 = ElementType.f32


def small() -> tuple[Graph, Node, Node]:
    graph = Graph("small")
    x = graph.add_input("x", TensorType(F32, (Dim("batch"), 4)))
    w = graph.add_constant(Constant.of(np.ones((4, 2), np.float32)), "w")
    first = graph.append(Node("MatMul", [x, w], version=13))
    second = graph.append(Node("Relu", [first.output], version=14))
    graph.add_output(second.output)
    return graph, first, second


def test_uses_follow_replacement() -> None:
    graph, first, second = small()
    between = graph.insert(Node("Neg", [first.output], version=13), after=first)
    first.output.replace_by(between.output, unless=between)
    assert second.inputs == (between.output,)
    assert first.output.users == (between,)
    assert [node.op_type for node in graph] == ["MatMul", "Neg", "Relu"]
    verify(Model(graph))


def test_outputs_follow_replacement_and_keep_their_names() -> None:
    graph, first, second = small()
    name = second.output.name
    second.replace_by(first.output)
    assert graph.outputs == (first.output,)
    assert graph.output_names == [name]
    assert len(graph) == 1
    verify(Model(graph))


def test_a_node_that_is_used_cannot_be_removed() -> None:
    _, first, _ = small()
    with pytest.raises(AssertionError, match="still used"):
        first.remove()


def test_walking_is_safe_while_nodes_come_and_go() -> None:
    graph, first, second = small()
    seen = []
    for node in graph:
        seen.append(node.op_type)
        if node is first:
            graph.insert(Node("Abs", [first.output], version=13), after=first)
        if node.op_type == "Abs":
            node.remove()
    assert seen == ["MatMul", "Abs", "Relu"]
    assert list(reversed(graph)) == [second, first]


def test_bodies_capture_values_directly() -> None:
    graph, first, _ = small()
    body = Graph("then", graph.names)
    inner = body.append(Node("Neg", [first.output], version=13))
    body.add_output(inner.output)
    node = graph.append(Node("If", [first.output], attributes={"then_branch": body, "else_branch": body}, version=1))
    assert node.captures() == (first.output,)
    assert inner in first.output.users
    node.remove()
    assert inner not in first.output.users


def test_names_stay_unique() -> None:
    graph, _, _ = small()
    made = [graph.add_constant(Constant.of([1]), "w").name for _ in range(3)]
    assert made == ["w_1", "w_2", "w_3"]


def test_the_verifier_lists_every_broken_law() -> None:
    graph, first, second = small()
    other = Graph("other")
    stranger = other.add_input("stranger")
    second.set_input(0, stranger)
    first.attributes["bad"] = object()
    graph.reorder([second, first])
    with pytest.raises(OnnxError) as caught:
        verify(Model(graph))
    text = "\n".join(caught.value.faults)
    assert "uses %stranger: ? before it is defined" in text
    assert "attribute 'bad'" in text
    assert len(caught.value.faults) == 2


def test_the_verifier_sees_uses_before_definitions() -> None:
    graph, first, second = small()
    graph.reorder([second, first])
    with pytest.raises(OnnxError, match="before it is defined"):
        verify(Model(graph))


def test_text_shows_types_constants_and_attributes() -> None:
    graph, first, _ = small()
    first.attributes["alpha"] = 0.5
    first.output.type = TensorType(F32, (Dim("batch"), 2))
    assert graph_to_text(graph) == (
        "graph small(%x: f32[batch, 4]) -> (%relu)\n"
        "  %w = constant f32[4, 2] [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]\n"
        "  %matmul: f32[batch, 2] = MatMul.13(%x, %w, alpha=0.5)\n"
        "  %relu: ? = Relu.14(%matmul)\n"
    )


def test_constants_are_read_only_and_know_their_type() -> None:
    constant = Constant.of(np.arange(6).reshape(2, 3))
    assert str(constant.type) == "i64[2, 3]"
    with pytest.raises(ValueError, match="read-only"):
        constant.array[0, 0] = 1
    assert Constant.of(["a", "b"]).dtype is ElementType.string


def test_large_constants_are_not_kept_alive() -> None:
    loads = []

    def load() -> np.ndarray:
        loads.append(1)
        return np.zeros(1 << 20, np.uint8)

    constant = Constant(ElementType.u8, (1 << 20,), load)
    held = constant.array
    assert constant.array is held
    del held
    assert constant.array is not None
    assert len(loads) == 2
