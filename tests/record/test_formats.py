"""The bytes of each format, against readers we did not write and against what the Rust framework writes."""

from __future__ import annotations

import gzip
import io
import json
import struct
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

from burn.record import (
    Absent,
    BinBytesRecorder,
    BinFileRecorder,
    BinGzFileRecorder,
    BurnpackRecorder,
    CompactRecorder,
    HalfPrecisionSettings,
    JsonGzFileRecorder,
    NamedMpkBytesRecorder,
    NamedMpkFileRecorder,
    NamedMpkGzFileRecorder,
    ParamItem,
    PrettyJsonFileRecorder,
    Record,
    SafetensorsRecorder,
    Signed,
    Some,
    Variant,
    cbor,
)
from burn.record import burnpack as burnpack_format
from burn.record.json_text import shortest

from .conftest import data, everything, schema, tensors, without_data

RUST = "burn_core::record::file::NamedMpkFileRecorder<burn_core::record::settings::HalfPrecisionSettings>"


def mlp() -> dict[str, Any]:
    """A small network in half precision, with the names and ids of the sample."""
    generator = np.random.default_rng(3)
    numbers = lambda *shape: data(generator.standard_normal(shape).astype(np.float16), "f16")  # noqa: E731
    return {
        "linear1": {
            "weight": ParamItem("v8vojso07rkks", numbers(8, 5)),
            "bias": Some(ParamItem("obe8t1h6i9h4m", numbers(5))),
        },
        "linear2": {"weight": ParamItem("72d17eukbtkma", numbers(5, 2)), "bias": Absent()},
        "activation": None,
    }


def rust_bytes(item: dict[str, Any], version: bytes) -> bytes:
    """The same network as the Rust framework writes it, byte by byte from the documented layout."""

    def text(value: str) -> bytes:
        raw = value.encode()
        return (bytes((0xA0 | len(raw),)) if len(raw) < 32 else bytes((0xD9, len(raw)))) + raw

    def param(given: ParamItem) -> bytes:
        raw = given.data.as_bytes()
        shape = bytes((0x90 | len(given.data.shape), *given.data.shape))
        blob = text("bytes") + bytes((0xC4, len(raw))) + raw
        return (
            b"\x82"
            + text("id")
            + text(given.id)
            + text("param")
            + b"\x83"
            + blob
            + text("shape")
            + shape
            + text("dtype")
            + text("F16")
        )

    head = (
        b"\x83" + text("metadata") + b"\x85" + text("float") + text("half::binary16::f16") + text("int") + text("i16")
    )
    head += text("format") + text(RUST) + text("version") + bytes((0xA0 | len(version),)) + version
    head += text("settings") + text("HalfPrecisionSettings") + text("item") + b"\x83"
    first, second = item["linear1"], item["linear2"]
    body = (
        text("linear1") + b"\x82" + text("weight") + param(first["weight"]) + text("bias") + param(first["bias"].value)
    )
    body += text("linear2") + b"\x82" + text("weight") + param(second["weight"]) + text("bias") + b"\xc0"
    return head + body + text("activation") + b"\xc0" + text("_b") + b"\x90"


# Named MessagePack


def test_named_messagepack_is_written_as_rust_writes_it(written: Any) -> None:
    assert written(CompactRecorder(), mlp()) == rust_bytes(mlp(), b"0.19.0")


def test_a_file_of_an_older_version_loads_and_is_written_again_with_the_same_bytes(written: Any) -> None:
    given = rust_bytes(mlp(), b"0.17.1")
    record = CompactRecorder().load(io.BytesIO(given))
    assert record.metadata is not None
    assert record.metadata.version == "0.17.1"
    assert written(CompactRecorder(), record) == given.replace(b"0.17.1", b"0.19.0")


def test_the_sample_that_rust_wrote_loads_and_is_written_again(shared: Path, written: Any) -> None:
    path = shared / "data" / "furnace_sample.mpk"
    record = CompactRecorder().load(path)
    assert record.metadata is not None
    assert record.metadata.format == RUST
    layers = record.item
    assert {name: tuple(layers[name]["weight"].data.shape) for name in ("linear1", "linear2")} == {
        "linear1": (784, 128),
        "linear2": (128, 10),
    }
    assert layers["linear1"]["weight"].id == "v8vojso07rkks"
    assert layers["activation"] is None
    oracle = msgpack.unpackb(path.read_bytes())["item"]["linear2"]["bias"]["param"]
    assert layers["linear2"]["bias"].data.as_bytes() == oracle["bytes"]
    full = NamedMpkFileRecorder().load(path).item["linear2"]["bias"].data
    np.testing.assert_array_equal(full.numpy(), np.frombuffer(oracle["bytes"], np.float16).astype(np.float32))
    assert written(CompactRecorder(), record) == path.read_bytes().replace(b"0.17.1", b"0.19.0")


def test_messagepack_of_every_kind_is_read_by_the_msgpack_package() -> None:
    item = everything()
    found = msgpack.unpackb(NamedMpkBytesRecorder().record(item))
    assert list(found) == ["metadata", "item", "_b"]
    assert found["_b"] == []
    assert list(found["item"]) == list(item)
    assert found["item"]["plain"]["bias"] is None
    assert found["item"]["pool"] is None
    assert found["item"]["stride"] == [None, None]
    assert found["item"]["step"] == -1
    assert found["item"]["rate"] == 0.00125
    assert list(found["item"]["choice"]) == ["Gelu"]
    assert found["item"]["indices"]["param"]["dtype"] == "I32"
    assert found["item"]["linear"]["weight"]["param"]["shape"] == [5, 3]


@pytest.mark.parametrize("value", [0, 127, 128, 255, 256, 65535, 65536, 1 << 32, (1 << 64) - 1])
def test_integers_have_their_smallest_form(value: int) -> None:
    for number in (value, Signed(-value)):
        if number >= -(1 << 63):
            raw = NamedMpkBytesRecorder().record(number)
            assert raw.endswith(b"\xa4item" + msgpack.packb(int(number)) + b"\xa2_b\x90")


def test_what_the_msgpack_package_writes_is_read_in_any_order_of_fields() -> None:
    metadata = dict(settings="S", version="0.18.0", format="f", int="i32", float="f32")
    tensor = {"dtype": "F32", "shape": [2], "bytes": struct.pack("<2f", 1.0, 2.0)}
    tree = {"item": {"w": {"param": tensor, "id": "x"}, "n": [1, -1, 2.5, None, True, "ä"]}, "metadata": metadata}
    record = NamedMpkBytesRecorder().load(msgpack.packb(tree))
    assert record.item["w"].data.tolist() == [1.0, 2.0]
    assert record.item["n"] == [1, -1, 2.5, None, True, "ä"]


# Bin


def test_bin_is_written_as_documented(written: Any) -> None:
    weight = np.arange(576, dtype=np.float32).reshape(64, 1, 3, 3)
    bias = np.arange(64, dtype=np.float32)
    item = {
        "conv": {
            "weight": ParamItem("72d17eukbtkma", data(weight)),
            "bias": Some(ParamItem("v8vojso07rkks", data(bias))),
            "stride": (None, None), "kernel_size": (None, None), "dilation": (None, None),
            "groups": None, "padding": None,
        },
        "norm": Absent(), "pool": Some(None),
    }  # fmt: skip
    name = b"burn_core::record::file::BinFileRecorder<burn_core::record::settings::FullPrecisionSettings>"
    expected = b"\x03f32\x03i32" + bytes((0x5C,)) + name + b"\x060.19.0\x15FullPrecisionSettings"
    expected += b"\x0d72d17eukbtkma" + bytes.fromhex("fb0009") + weight.tobytes() + bytes.fromhex("0440010303 01")
    expected += b"\x01\x0dv8vojso07rkks" + bytes.fromhex("fb0001") + bias.tobytes() + bytes.fromhex("0140 01")
    expected += bytes(8) + b"\x00" + b"\x01\x00"
    assert written(BinFileRecorder(), item) == expected


@pytest.mark.parametrize(
    "item, raw",
    [
        (250, "fa"), (251, "fbfb00"), (65536, "fc00000100"), (1 << 32, "fd0000000001000000"),
        (Signed(-1), "01"), (Signed(1), "02"), (Signed(-200), "fb8f01"), (True, "01"), (1.5, "000000000000f83f"),
        ("ä", "02c3a4"), ([1, 2], "020102"), ((1, 2), "0102"), (Variant("B", 1, {"x": 3}), "0103"),
    ],
)  # fmt: skip
def test_plain_values_in_bin(item: Any, raw: str) -> None:
    written = BinBytesRecorder().record(item)
    assert written.endswith(b"FullPrecisionSettings" + bytes.fromhex(raw))
    found = BinBytesRecorder().load(written).resolve(item)
    assert found == item
    assert type(found) is type(item)


@pytest.mark.parametrize(
    "version, position, name",
    [("0.14.0", 2, "f16"), ("0.15.0", 10, "u8"), ("0.16.0", 10, "u16"), ("0.17.0", 3, "f16"), ("0.19.0", 12, "u8")],
)
def test_bin_counts_element_types_as_the_version_did(version: str, position: int, name: str) -> None:
    head = b"".join(bytes((len(text),)) + text for text in (b"f32", b"i32", b"f", version.encode(), b"S"))
    raw = {"f16": np.array([1.5], np.float16), "u8": np.array([7], np.uint8), "u16": np.array([700], np.uint16)}[name]
    body = bytes((len(raw.tobytes()),)) + raw.tobytes() + bytes((1, 1, position))
    found = BinBytesRecorder().load(head + body).resolve(data([0.0]))
    assert found.to_vec() == raw.tolist()


# JSON


def test_json_is_what_the_json_package_reads(written: Any) -> None:
    item = everything()
    compact = json.loads(gzip.decompress(written(JsonGzFileRecorder(), item)))
    pretty_text = written(PrettyJsonFileRecorder(), item).decode()
    pretty = json.loads(pretty_text)
    assert compact["item"] == pretty["item"]
    assert compact["_b"] is None
    assert bytes(pretty["item"]["linear"]["weight"]["param"]["bytes"]) == item["linear"]["weight"].data.as_bytes()
    assert pretty_text == json.dumps(pretty, indent=2, ensure_ascii=False)
    assert b" " not in gzip.decompress(written(JsonGzFileRecorder(), {"x": data([1.0])}))


def test_pretty_json_reads_compressed_files(tmp_path: Path) -> None:
    JsonGzFileRecorder().record({"x": ParamItem("a", data([1.0]))}, tmp_path / "x")
    (tmp_path / "y.json").write_bytes((tmp_path / "x.json.gz").read_bytes())
    assert PrettyJsonFileRecorder().load(tmp_path / "y").item["x"].data.tolist() == [1.0]


@pytest.mark.parametrize(
    "value, text",
    [
        (0.0, "0.0"), (-0.0, "-0.0"), (1.0, "1.0"), (0.1, "0.1"), (1e15, "1000000000000000.0"), (1e16, "1e16"),
        (1.5e300, "1.5e300"), (0.00001, "0.00001"), (1.234e-5, "0.00001234"), (1e-6, "1e-6"), (1.5e-7, "1.5e-7"),
        (123456.75, "123456.75"), (5e-324, "5e-324"), (1234567890123456.0, "1234567890123456.0"),
    ],
)  # fmt: skip
def test_floats_are_spelled_as_in_rust(value: float, text: str) -> None:
    assert shortest(value) == text
    assert float(text) == value


# Compression


def test_gzip_files_are_what_the_gzip_package_reads(written: Any) -> None:
    item = everything()
    plain = NamedMpkBytesRecorder().record(item)
    raw = written(NamedMpkGzFileRecorder(), item)
    assert raw[:10] == bytes.fromhex("1f8b08000000000000ff")
    found = msgpack.unpackb(gzip.decompress(raw))
    assert found["item"] == msgpack.unpackb(plain)["item"]
    assert found["metadata"]["format"].startswith("burn_core::record::file::NamedMpkGzFileRecorder<")


def test_files_of_the_gzip_package_are_read() -> None:
    item = everything()
    raw = gzip.compress(BinBytesRecorder().record(item))
    found = BinGzFileRecorder().load(io.BytesIO(raw)).resolve(schema(item))
    assert without_data(found) == without_data(item)


# Safetensors


def test_safetensors_files_are_what_the_safetensors_package_reads(written: Any) -> None:
    package = pytest.importorskip("safetensors.numpy", reason="needs the safetensors package")
    item = everything()
    found = package.load(written(SafetensorsRecorder(), item))
    expected = {path[1:]: each.numpy() for path, _, each in tensors(item)}
    expected["choice.Gelu.slope"] = expected.pop("choice.slope")
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)
        assert found[name].dtype == values.dtype


def test_files_of_the_safetensors_package_are_read() -> None:
    package = pytest.importorskip("safetensors.numpy", reason="needs the safetensors package")
    given = {"layers.0.weight": np.ones((2, 3), np.float32), "layers.1.weight": np.arange(3), "flag": np.array([True])}
    item = SafetensorsRecorder().load(io.BytesIO(package.save(given, {"other": "text"}))).item
    assert item["layers"][0]["weight"].tolist() == np.ones((2, 3)).tolist()
    assert item["layers"][1]["weight"].dtype.name == "i64"
    assert item["flag"].tolist() == [True]


def test_the_mnist_weights_of_pytorch_load(shared: Path) -> None:
    package = pytest.importorskip("safetensors.numpy", reason="needs the safetensors package")
    path = shared / "data" / "mnist.safetensors"
    found = SafetensorsRecorder().load(path).item
    for name, values in package.load_file(path).items():
        node = found
        for part in name.split("."):
            node = node[int(part) if isinstance(node, list) else part]
        np.testing.assert_array_equal(node.numpy(), values, err_msg=name)


# Burnpack


def test_burnpack_has_its_documented_layout(written: Any) -> None:
    cbor2 = pytest.importorskip("cbor2", reason="needs the cbor2 package")
    item = {
        "b": ParamItem("v8vojso07rkks", data([1.0, 2.0, 3.0])),
        "a": ParamItem("obe8t1h6i9h4m", data([4.0])),
        "n": 3,
    }
    raw = written(BurnpackRecorder(), item)
    assert raw[:6] == b"NRUB\x01\x00"
    length = int.from_bytes(raw[6:10], "little")
    header = cbor2.loads(raw[10 : 10 + length])
    assert list(header) == ["tensors", "metadata", "scalars"]
    assert list(header["tensors"]) == ["a", "b"]
    assert header["tensors"]["b"]["data_offsets"] == [0, 12]
    assert header["tensors"]["a"]["data_offsets"] == [256, 260]
    assert header["scalars"] == {"n": {"UInt": 3}}
    assert burnpack_format.id_text(header["tensors"]["b"]["param_id"]) == "v8vojso07rkks"
    start = -(-(10 + length) // 256) * 256
    assert raw[10 + length : start] == bytes(start - 10 - length)
    assert raw[start : start + 12] == struct.pack("<3f", 1.0, 2.0, 3.0)
    assert len(raw) == start + 260


def test_burnpack_of_0_19_without_padding_is_read() -> None:
    header = {"tensors": {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
                          "b": {"dtype": "I64", "shape": [1], "data_offsets": [4, 12], "param_id": 5}}}  # fmt: skip
    text = cbor.dumps(header)
    raw = struct.pack("<IHI", 0x4255524E, 1, len(text)) + text + struct.pack("<fq", 1.5, -7)
    item = BurnpackRecorder().load(io.BytesIO(raw)).item
    assert item["a"].tolist() == [1.5]
    assert item["b"].data.tolist() == [-7]
    assert burnpack_format.id_number(item["b"].id) == 5


@pytest.mark.parametrize(
    "value", [0, 23, 24, 255, 256, 1 << 40, -1, -300, 0.5, 1e300, 3.1, True, None, "text", [], {"a": [1]}]
)
def test_cbor_agrees_with_the_cbor2_package(value: Any) -> None:
    cbor2 = pytest.importorskip("cbor2", reason="needs the cbor2 package")
    assert cbor.dumps(value) == cbor2.dumps(value, canonical=True)
    assert cbor.loads(memoryview(cbor2.dumps(value))) == value


def test_cbor_with_open_ends_is_read() -> None:
    assert cbor.loads(memoryview(bytes.fromhex("bf616101616283f5f6fbfff8000000000000ff"))) is not None


def test_bools_of_newer_versions_are_read() -> None:
    metadata = dict(float="f32", int="i32", format="f", version="0.21.0", settings="S")
    for kind, raw in (("Native", b"\1\0"), ("U8", b"\1\0"), ("U32", b"\7\0\0\0\0\0\0\0")):
        tree = {"metadata": metadata, "item": {"bytes": raw, "shape": [2], "dtype": {"Bool": kind}}, "_b": []}
        assert NamedMpkBytesRecorder().load(msgpack.packb(tree)).item.tolist() == [True, False]


# Records older than 0.14


def old(values: Any, version: str = "0.13.2", float_name: str = "f32") -> dict[str, Any]:
    metadata = dict(float=float_name, int="i32", format="f", version=version, settings="S")
    return {"metadata": metadata, "item": {"w": {"id": "x", "param": {"value": values, "shape": [len(values)]}}}}


@pytest.mark.parametrize("count", [3, 100])
@pytest.mark.parametrize("single", [True, False])
def test_records_with_lists_of_numbers_are_read(count: int, single: bool) -> None:
    values = [n + 0.25 for n in range(count)]
    record = NamedMpkBytesRecorder().load(msgpack.packb(old(values), use_single_float=single))
    assert record.item["w"].id == "x"
    assert record.item["w"].data.dtype.name == "f32"
    assert record.item["w"].data.to_vec() == values
    text = json.dumps(old(values)).encode()
    assert PrettyJsonFileRecorder().load(io.BytesIO(text)).item["w"].data.to_vec() == values


def test_old_integers_and_bools_keep_their_kind() -> None:
    assert NamedMpkBytesRecorder().load(msgpack.packb(old([1, -2]))).item["w"].data.dtype.name == "i32"
    assert NamedMpkBytesRecorder().load(msgpack.packb(old([True]))).item["w"].data.dtype.name == "bool"


def test_old_records_that_cannot_be_read_say_their_version_and_the_way_out() -> None:
    raw = msgpack.packb(old([15360, 0], float_name="half::binary16::f16"))
    with pytest.raises(ValueError, match=r"0\.13\.2 in half precision.*record-backward-compat"):
        NamedMpkBytesRecorder().load(raw)
    head = b"".join(bytes((len(text),)) + text for text in (b"f32", b"i32", b"f", b"0.13.2", b"S"))
    with pytest.raises(ValueError, match=r"a Bin record of version 0\.13\.2.*record-backward-compat"):
        BinBytesRecorder().load(head + b"\0")


def test_the_name_of_the_recorder_is_that_of_the_rust_type() -> None:
    prefix = "burn_core::record::settings::"
    found = BinBytesRecorder(HalfPrecisionSettings).metadata
    assert found is not None
    assert (
        found.format
        == f"burn_core::record::memory::BinBytesRecorder<{prefix}HalfPrecisionSettings, alloc::vec::Vec<u8>>"
    )
    assert (
        found
        == BinBytesRecorder(HalfPrecisionSettings).load(BinBytesRecorder(HalfPrecisionSettings).record(None)).metadata
    )
    assert Record({"x": None}).metadata is None
