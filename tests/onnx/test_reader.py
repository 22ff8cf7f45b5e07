"""Reading models: every encoding, every source, and one error for everything that is wrong."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from burn_import.onnx import OnnxError
from burn_import.onnx.ir import (
    Dim,
    ElementType,
    Graph,
    MapType,
    OptionalType,
    SequenceType,
    TensorType,
    to_text,
    verify,
)
from burn_import.onnx.reader import read
from tests.onnx.running import text_model


def model_of(*initialisers: onnx.TensorProto, nodes: Any = (), inputs: Any = (), outputs: Any = ()) -> onnx.ModelProto:
    graph = helper.make_graph(list(nodes), "g", list(inputs), list(outputs), initializer=list(initialisers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def only_constant(model: onnx.ModelProto) -> np.ndarray:
    (value,) = read(model).graph.constants
    assert value.constant is not None
    return value.constant.array


NUMERIC = [each for each in ElementType if each is not ElementType.string]


@pytest.mark.parametrize("count", [0, 1, 3, 4, 7])
@pytest.mark.parametrize("dtype", NUMERIC, ids=str)
def test_every_element_type_reads_from_raw_bytes(dtype: ElementType, count: int) -> None:
    numbers = np.random.default_rng(count).integers(0, 2, count).astype(np.float32)
    array = numbers.astype(dtype.numpy) if not dtype.is_complex else (numbers + 1j).astype(dtype.numpy)
    proto = numpy_helper.from_array(array, "w")
    found = only_constant(model_of(proto))
    assert found.dtype == dtype.numpy
    assert found.tobytes() == numpy_helper.to_array(proto).tobytes()
    assert found.flags.aligned
    assert not found.flags.writeable


@pytest.mark.parametrize("dtype", NUMERIC, ids=str)
def test_every_element_type_reads_from_typed_fields(dtype: ElementType) -> None:
    values: Any = [1, 0, 1, 1, 0] if not dtype.is_complex else [1 + 1j, 0, 1, 1 - 2j, 0]
    if dtype.is_int and dtype.name[0] == "i":
        values = [-1, 0, 1, -2, 0]
    proto = helper.make_tensor("w", dtype.value, [5], values)
    assert not proto.HasField("raw_data")
    found = only_constant(model_of(proto))
    expected = numpy_helper.to_array(proto)
    assert found.dtype == dtype.numpy
    assert found.tobytes() == expected.tobytes()


def test_strings_are_python_strings() -> None:
    texts: Any = [b"caf\xc3\xa9", b""]
    proto = helper.make_tensor("w", TensorProto.STRING, [2, 1], texts)
    assert only_constant(model_of(proto)).tolist() == [["café"], [""]]


def test_large_integers_survive_their_encoding() -> None:
    values = [0, -1, 1 << 62, -(1 << 63), (1 << 63) - 1]
    assert only_constant(model_of(helper.make_tensor("w", TensorProto.INT64, [5], values))).tolist() == values
    large = [0, (1 << 64) - 1]
    assert only_constant(model_of(helper.make_tensor("w", TensorProto.UINT64, [2], large))).tolist() == large


@pytest.mark.parametrize("linear", [True, False])
def test_sparse_initialisers_become_dense(linear: bool) -> None:
    values = numpy_helper.from_array(np.array([5.0, 7.0], np.float32), "w")
    where = np.array([1, 5], np.int64) if linear else np.array([[0, 1], [1, 2]], np.int64)
    graph = helper.make_graph([], "g", [], [])
    graph.sparse_initializer.append(helper.make_sparse_tensor(values, numpy_helper.from_array(where, "i"), [2, 3]))
    found = only_constant(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]))
    assert found.tolist() == [[0, 5, 0], [0, 0, 7]]


def test_the_same_model_reads_from_every_kind_of_source(tmp_path: Path) -> None:
    proto = text_model("g (float[N, 4] x) => (float[N, 4] y) { y = Relu(x) }")
    data = proto.SerializeToString()
    path = tmp_path / "m.onnx"
    path.write_bytes(data)
    with path.open("rb") as file:
        texts = {
            to_text(read(source)) for source in (path, str(path), data, bytearray(data), file, io.BytesIO(data), proto)
        }
    assert len(texts) == 1
    assert read(path).source == str(path)


def external(tmp_path: Path, location: str, data: bytes = bytes(24), **entries: str) -> onnx.ModelProto:
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2, 2], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=value)
    (tmp_path / "w.bin").write_bytes(data)
    return model_of(tensor)


def test_external_data_are_mapped(tmp_path: Path) -> None:
    data = b"12345678" + np.arange(4, dtype=np.float32).tobytes()
    proto = external(tmp_path, "w.bin", data, offset="8", length="16")
    path = tmp_path / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    for model in (read(path), read(proto, folder=tmp_path)):
        (value,) = model.graph.constants
        assert value.constant is not None
        assert value.constant.array.tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    "location, entries, message",
    [
        ("../w.bin", {}, "a path below the model's folder is allowed"),
        ("/etc/passwd", {}, "is refused"),
        ("C:\\w.bin", {}, "is refused"),
        ("a/../../w.bin", {}, "is refused"),
        ("link.bin", {}, "leads out of the model's folder"),
        ("other.bin", {}, "is not beside the model"),
        ("w.bin", {"offset": "16"}, "has 24 bytes, and bytes 16 to 32 are asked for"),
        ("w.bin", {"length": "8"}, "has 8 bytes, and the shape needs 16"),
        ("w.bin", {"offset": "-4"}, "cannot be negative"),
        ("w.bin", {"offset": "x"}, "invalid literal"),
        ("", {}, "without a location"),
    ],
)
def test_external_data_outside_the_folder_or_the_file_are_refused(
    tmp_path: Path, location: str, entries: dict[str, str], message: str
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "w.bin").write_bytes(bytes(64))
    (folder / "link.bin").symlink_to(tmp_path / "w.bin")
    with pytest.raises(OnnxError, match=message):
        read(external(folder, location, bytes(24), **entries), folder=folder)


def test_bytes_without_a_folder_cannot_have_external_data(tmp_path: Path) -> None:
    with pytest.raises(OnnxError, match="read the model from its path"):
        read(external(tmp_path, "w.bin").SerializeToString())


def test_nodes_in_any_order_are_sorted() -> None:
    proto = text_model("g (float[4] x) => (float[4] c) { a = Relu(x) b = Neg(a) c = Abs(b) }")
    nodes = list(proto.graph.node)
    del proto.graph.node[:]
    proto.graph.node.extend(reversed(nodes))
    model = read(proto)
    assert [node.op_type for node in model.graph] == ["Relu", "Neg", "Abs"]
    verify(model)


def test_sorting_counts_what_bodies_capture() -> None:
    proto = text_model(
        """g (float[4] x, bool c) => (float[4] y) {
            y = If(c) <
                then_branch = t () => (float[4] p) { p = Neg(a) },
                else_branch = e () => (float[4] q) { q = Abs(a) }
            >
            a = Relu(x)
        }"""
    )
    model = read(proto)
    assert [node.op_type for node in model.graph] == ["Relu", "If"]
    (branch,) = [node for node in model.graph if node.op_type == "If"]
    assert [value.name for value in branch.captures()] == ["a"]
    verify(model)


def test_a_cycle_is_named() -> None:
    proto = text_model("g (float[4] x) => (float[4] c) { a = Add(x, c) b = Neg(a) c = Abs(b) }")
    for node, name in zip(proto.graph.node, ("first", "second", "third")):
        node.name = name
    with pytest.raises(OnnxError, match=r"cycle.*node 'first' \(Add\).*node 'third' \(Abs\).*node 'second' \(Neg\)"):
        read(proto)


def test_every_fault_is_listed_at_once() -> None:
    proto = text_model(
        "g (float[4] x) => (float[4] y, float z) { a = Relu(x) a = Neg(missing) y = Cast(a) w = Softmax(x, x) }"
    )
    proto.graph.node[0].attribute.append(helper.make_attribute("alpha", 1.0))
    proto.graph.node[3].attribute.append(helper.make_attribute("axis", 1.0))
    proto.graph.initializer.append(TensorProto(name="big", data_type=1, dims=[1 << 40, 1 << 40]))
    proto.graph.initializer.append(TensorProto(name="negative", data_type=1, dims=[-1]))
    proto.graph.initializer.append(TensorProto(name="odd", data_type=99, dims=[1]))
    proto.graph.initializer.append(numpy_helper.from_array(np.zeros(2, np.float32), "x2"))
    proto.graph.initializer.append(numpy_helper.from_array(np.zeros(2, np.float32), "x2"))
    with pytest.raises(OnnxError) as caught:
        read(proto)
    text = "\n".join(caught.value.faults)
    for part in (
        "initialiser 'big': shape (1099511627776, 1099511627776) of f32 needs",
        "initialiser 'negative': shape (-1,) has a negative size",
        "initialiser 'odd': element type 99",
        "two initialisers 'x2'",
        "value 'a' is defined twice",
        "uses 'missing', which nothing defines",
        "lacks attribute 'to'",
        "has 2 inputs; version 13 takes 1",
        "attribute 'axis' of node of 'w' (Softmax) is of kind FLOAT; version 13 of the operator takes INT",
        "gives 'z', which nothing defines",
    ):
        assert part in text
    assert len(caught.value.faults) == 10
    assert str(caught.value).startswith("read: 10 faults\n  1. ")


def test_types_of_every_kind_are_read() -> None:
    proto = text_model(
        "g (seq(float[2]) s, optional(int64[N]) o, map(string, float) m, float[?, 3, M] x, float u) => (float[?] y) "
        "{ y = Identity(u) }"
    )
    proto.graph.input[3].type.tensor_type.shape.dim[1].dim_value = -1
    model = read(proto)
    types = [value.type for value in model.graph.inputs]
    assert types[0] == SequenceType(TensorType(ElementType.f32, (2,)))
    assert types[1] == OptionalType(TensorType(ElementType.i64, (Dim("N"),)))
    assert isinstance(types[2], MapType)
    assert types[3] == TensorType(ElementType.f32, (None, None, Dim("M")))


def test_initialisers_among_the_inputs_are_constants() -> None:
    proto = text_model(
        "g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }", ir_version=3
    )
    model = read(proto)
    assert [value.name for value in model.graph.inputs] == ["x"]
    assert model.graph.overridable == []
    proto.ir_version = 8
    assert [value.name for value in read(proto).graph.overridable] == ["w"]


def test_attributes_become_python_values() -> None:
    proto = text_model("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    node = proto.graph.node[0]
    node.op_type, node.domain = "Custom", "mine"
    for name, value in {
        "i": 3, "f": 0.5, "s": "text", "raw": b"\xff\x00", "ints": [1, -2], "floats": [0.5], "strings": ["a", "b"],
        "tensor": numpy_helper.from_array(np.arange(3)), "graph": proto.graph.__class__(name="inner"),
        "type": helper.make_tensor_type_proto(1, [2]),
    }.items():  # fmt: skip
        node.attribute.append(helper.make_attribute(name, value))
    found = next(iter(read(proto).graph)).attributes
    assert {name: found[name] for name in ("i", "f", "s", "raw", "ints", "floats", "strings")} == {
        "i": 3, "f": 0.5, "s": "text", "raw": b"\xff\x00", "ints": (1, -2), "floats": (0.5,), "strings": ("a", "b"),
    }  # fmt: skip
    assert found["tensor"].array.tolist() == [0, 1, 2]
    assert isinstance(found["graph"], Graph)
    assert found["type"] == TensorType(ElementType.f32, (2,))


def test_attributes_from_before_they_had_kinds_are_read() -> None:
    proto = text_model("g (float[2] x) => (float[2] y) { y = Softmax<axis = 0>(x) }")
    proto.graph.node[0].attribute[0].ClearField("type")
    assert next(iter(read(proto).graph)).attributes == {"axis": 0}


def test_an_attribute_whose_value_is_of_another_kind_is_refused() -> None:
    proto = text_model("g (float[2] x) => (float[2] y) { y = Softmax<axis = 0>(x) }")
    proto.graph.node[0].attribute[0].f = 1.0
    with pytest.raises(OnnxError, match="is of kind INT, and its value is in f"):
        read(proto)


def test_long_lists_of_numbers_are_read_in_runs() -> None:
    rng = np.random.default_rng(0)
    ints = rng.integers(-(1 << 62), 1 << 62, 50_000).tolist() + list(range(-300, 300))
    floats = rng.standard_normal(50_000).astype(np.float32).tolist()
    proto = text_model("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    node = proto.graph.node[0]
    node.op_type, node.domain = "Custom", "mine"
    node.attribute.extend([helper.make_attribute("ints", ints), helper.make_attribute("floats", floats)])
    found = next(iter(read(proto).graph)).attributes
    assert found["ints"] == tuple(ints)
    assert found["floats"] == tuple(floats)
    assert found["ints"][3] == ints[3]
    assert found["floats"][2:4] == tuple(floats[2:4])


def test_versions_are_resolved_per_node() -> None:
    proto = text_model(
        "g (float[2] x) => (float[2] y) { a = Softmax(x) b = Relu(a) y = mine.Other(b) }", 12, extra=', "mine" : 7'
    )
    assert [node.version for node in read(proto).graph] == [11, 6, 7]


def test_a_newer_opset_than_the_known_one_is_noted() -> None:
    proto = text_model("g (float[2] x) => (float[2] y) { y = Relu(x) }", 99)
    assert "opset 99 of ai.onnx is newer than" in read(proto).notes[0]


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "the file is empty"),
        (b"\x1f\x8b\x08rest", "compressed with gzip"),
        (b"PK\x03\x04rest", "zip archive"),
        (b"\x20\x00\x00\x00ORTM rest", "an offset leads out of the file"),
        (b"version https://git-lfs.github.com/spec/v1", "pointer of Git LFS"),
        (b"\x08\x07", "has no graph"),
        (b"hello world, this is text", "no ONNX file, or it is damaged"),
    ],
)
def test_files_of_other_kinds_are_recognised(data: bytes, message: str) -> None:
    with pytest.raises(OnnxError, match=message):
        read(data)


def test_paths_that_hold_no_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OnnxError, match="is a folder"):
        read(tmp_path)
    with pytest.raises(OnnxError, match="is not there"):
        read(tmp_path / "missing.onnx")
    with pytest.raises(OnnxError, match="int is no path"):
        read(3)  # type: ignore[arg-type]
