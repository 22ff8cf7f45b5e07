"""Damaged and hostile bytes: a model or one clear error, quickly and without much memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from burn_import.onnx import OnnxError
from burn_import.onnx.ir import verify
from burn_import.onnx.passes import prepare
from burn_import.onnx.reader import read
from tests.onnx.running import text_model

SEED = text_model(
    """g (float[N, 4] x, bool c) => (float[N, 4] y)
    <float[4] w = {1, 2, 3, 4}, int64[2] shape = {0, -1}>
    {
        a = Add(x, w)
        b = Reshape<allowzero = 0>(a, shape)
        y = If(c) <
            then_branch = t () => (float p) { p = Softmax<axis = -1>(b) },
            else_branch = e () => (float q) { q = Neg(b) }
        >
    }""",
    12,
)
SEED.graph.initializer.append(numpy_helper.from_array(np.arange(5, dtype=np.float16), "half"))
TEXTS: Any = [b"abc"]
SEED.graph.initializer.append(helper.make_tensor("text", TensorProto.STRING, [1], TEXTS))
SEED.functions.append(
    helper.make_function(
        "mine", "f", ["p"], ["q"], [helper.make_node("Neg", ["p"], ["q"])], [helper.make_opsetid("", 12)]
    )
)
BYTES = SEED.SerializeToString()


def read_or_refuse(data: bytes) -> None:
    """Either a well-formed model whose constants can be read, or an `OnnxError`."""
    try:
        model = read(data)
        verify(model)
        for graph in model.graphs():
            for value in graph.constants:
                assert value.constant is not None
                assert value.constant.array.shape == value.constant.shape
        prepare(model, verify=True)
    except OnnxError:
        return


@settings(max_examples=400)
@given(st.integers(0, len(BYTES)))
def test_truncated_files(length: int) -> None:
    read_or_refuse(BYTES[:length])


@settings(max_examples=1000)
@given(st.lists(st.tuples(st.integers(0, len(BYTES) - 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_files_with_changed_bytes(changes: list[tuple[int, int]]) -> None:
    data = bytearray(BYTES)
    for position, value in changes:
        data[position] = value
    read_or_refuse(bytes(data))


@settings(max_examples=400)
@given(st.integers(0, len(BYTES)), st.integers(0, len(BYTES)), st.integers(0, len(BYTES)))
def test_files_with_a_piece_moved(start: int, end: int, target: int) -> None:
    piece = BYTES[min(start, end) : max(start, end)]
    read_or_refuse(BYTES[:target] + piece + BYTES[target:])


@settings(max_examples=400)
@given(st.binary(max_size=200))
def test_random_bytes(data: bytes) -> None:
    read_or_refuse(data)


@settings(max_examples=200)
@given(st.binary(max_size=100))
def test_random_bytes_as_a_graph(data: bytes) -> None:
    read_or_refuse(b"\x3a" + len(data).to_bytes(1, "little") + data)


def nested(levels: int) -> bytes:
    """Graphs in attributes of nodes in graphs: ModelProto.graph, then node, attribute and graph over and over."""
    data = b""
    for _ in range(levels):
        for key in (b"\x32", b"\x2a", b"\x0a"):  # attribute.g, node.attribute, graph.node
            data = key + varint(len(data)) + data
    return b"\x3a" + varint(len(data)) + data


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def test_a_bomb_of_nested_messages_is_refused() -> None:
    with pytest.raises(OnnxError, match="more than 100 levels of nested messages"):
        read(nested(5000))


def test_a_bomb_of_nested_functions_is_refused() -> None:
    functions = []
    for level in range(40):
        body = [helper.make_node(f"f{level + 1}", ["x"], [name], domain="mine") for name in ("a", "b")]
        if level == 39:
            body = [helper.make_node("Neg", ["x"], [name]) for name in ("a", "b")]
        imports = [helper.make_opsetid("", 21), helper.make_opsetid("mine", 1)]
        functions.append(helper.make_function("mine", f"f{level}", ["x"], ["a"], body, imports))
    proto = text_model("g (float[2] x) => (float[2] y) { y = mine.f0(x) }", extra=', "mine" : 1')
    proto.functions.extend(functions)
    with pytest.raises(OnnxError, match="1,000,000 is the most"):
        prepare(read(proto))


def test_a_few_bytes_that_claim_a_petabyte_are_refused_without_allocating() -> None:
    tensor = TensorProto(name="w", data_type=TensorProto.INT64, dims=[1 << 47])
    tensor.int64_data.append(1)
    sparse = helper.make_sparse_tensor(
        numpy_helper.from_array(np.ones(1, np.float32), "s"), numpy_helper.from_array(np.zeros(1, np.int64)), [1 << 40]
    )
    graph = helper.make_graph([], "g", [], [], initializer=[tensor])
    graph.sparse_initializer.append(sparse)
    tracemalloc.start()
    try:
        with pytest.raises(OnnxError) as caught:
            read(helper.make_model(graph))
        assert tracemalloc.get_traced_memory()[1] < 1 << 22
    finally:
        tracemalloc.stop()
    assert len(caught.value.faults) == 2


def test_folding_does_not_blow_up_a_small_file() -> None:
    proto = text_model(
        """g (float x) => (float[A, B] y) <int64[2] s = {100000, 100000}> {
            big = ConstantOfShape(s)
            y = Add(big, x)
        }"""
    )
    model = read(proto)
    prepare(model, verify=True)
    assert [node.op_type for node in model.graph] == ["ConstantOfShape", "Add"]


def test_reading_costs_little_beside_the_file(tmp_path: Path) -> None:
    """Weights stay in the mapped file; reading one after the other holds one at a time."""
    weights = [numpy_helper.from_array(np.full((256, 1024), index, np.float32), f"w{index}") for index in range(16)]
    graph = helper.make_graph([], "g", [], [], initializer=weights)
    path = tmp_path / "m.onnx"
    path.write_bytes(helper.make_model(graph).SerializeToString())
    read(path)  # tables are loaded once
    tracemalloc.start()
    try:
        model = read(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 18
        total = sum(float(value.constant.array[0, 0]) for value in model.graph.constants if value.constant is not None)
        assert total == sum(range(16))
        assert tracemalloc.get_traced_memory()[1] < 3 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("position", range(0, 60, 7))
def test_a_broken_file_leaves_nothing_open(tmp_path: Path, position: int) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(BYTES[:position] + b"\xff" * 12)
    with pytest.raises(OnnxError):
        read(path)
    path.unlink()


def test_the_seed_itself_is_fine() -> None:
    read_or_refuse(BYTES)
    assert len(read(BYTES).graph) == 3
