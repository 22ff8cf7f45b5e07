"""Quantised tensors in records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

from burn.backend import NdArray
from burn.record import (
    BinFileRecorder,
    CompactRecorder,
    NamedMpkBytesRecorder,
    NamedMpkFileRecorder,
    NamedMpkGzFileRecorder,
    ParamItem,
    PrettyJsonFileRecorder,
    QuantizedItem,
    RecordError,
    SafetensorsRecorder,
)
from burn.tensor import Tensor
from burn.tensor.quantization import QuantizationMode, QuantizationScheme, QuantizationType, QuantizedTensor

SYMMETRIC = QuantizationMode.Symmetric
SCHEMES = [
    QuantizationScheme.PerTensor(SYMMETRIC, QuantizationType.QInt8),
    QuantizationScheme.PerTensor(SYMMETRIC, QuantizationType.Q4S),
    QuantizationScheme.PerChannel(SYMMETRIC, QuantizationType.Q8S, 1),
    QuantizationScheme.PerBlock(SYMMETRIC, QuantizationType.Q8F, (5,)),
]


def quantised(scheme: Any) -> QuantizedTensor:
    values = np.random.default_rng(1).standard_normal((3, 5)).astype(np.float32)
    return Tensor.from_data(values, NdArray()).quantize_dynamic(scheme)


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@pytest.mark.parametrize(
    "recorder", [NamedMpkFileRecorder(), NamedMpkGzFileRecorder(), PrettyJsonFileRecorder(), CompactRecorder()]
)
def test_quantised_tensors_come_back_whatever_the_precision(scheme: Any, recorder: Any, tmp_path: Path) -> None:
    given = quantised(scheme)
    recorder.record({"w": ParamItem("v8vojso07rkks", given)}, tmp_path / "x")
    found = recorder.load(tmp_path / "x").resolve({"w": ParamItem("", None)})["w"]
    assert found.id == "v8vojso07rkks"
    assert isinstance(found.data, QuantizedTensor)
    assert found.data.scheme == scheme
    assert found.data.values.to_data() == given.values.to_data()
    assert found.data.scale.to_data() == given.scale.to_data()
    assert found.data.dequantize().to_data() == given.dequantize().to_data()


def test_the_layout_is_that_of_0_18() -> None:
    given = quantised(SCHEMES[0])
    found = msgpack.unpackb(NamedMpkBytesRecorder().record(given))["item"]
    assert found["shape"] == [3, 5]
    scheme = found["dtype"]["QFloat"]
    assert list(scheme) == ["level", "mode", "q_type", "acc_precision", "propagation"]
    assert (scheme["level"], scheme["mode"], scheme["q_type"]) == ("Tensor", "Symmetric", "QInt8")
    raw = found["bytes"]
    assert len(raw) == 16 + 4
    assert np.frombuffer(raw[:15], np.int8).tolist() == given.values.to_data().to_vec()
    assert raw[15] == 0
    assert np.frombuffer(raw[16:], "<f4").tolist() == given.scale.to_data().to_vec()


def test_an_unknown_scheme_stays_as_the_file_has_it() -> None:
    metadata = dict(float="f32", int="i32", format="f", version="0.19.0", settings="S")
    tensor = {"bytes": b"12345678", "shape": [4], "dtype": {"QFloat": {"mode": "Strange"}}}
    raw = msgpack.packb({"metadata": metadata, "item": tensor, "_b": []})
    record = NamedMpkBytesRecorder().load(raw)
    assert isinstance(record.item, QuantizedItem)
    assert msgpack.unpackb(NamedMpkBytesRecorder().record(record))["item"] == tensor


def test_a_quantised_tensor_of_the_wrong_length_is_refused() -> None:
    metadata = dict(float="f32", int="i32", format="f", version="0.18.0", settings="S")
    for shape in ([5], [1 << 40], [9]):
        scheme = {"level": "Tensor", "mode": "Symmetric", "q_type": "QInt8"}
        tensor = {"bytes": b"12345678", "shape": shape, "dtype": {"QFloat": scheme}}
        raw = msgpack.packb({"metadata": metadata, "item": tensor, "_b": []})
        with pytest.raises(RecordError, match="cannot have 8 bytes"):
            NamedMpkBytesRecorder().load(raw)


@pytest.mark.parametrize("recorder", [BinFileRecorder(), SafetensorsRecorder()])
def test_formats_without_quantised_tensors_say_which_has_them(recorder: Any, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="quantised tensor.*use NamedMpkFileRecorder"):
        recorder.record({"w": quantised(SCHEMES[0])}, tmp_path / "x")
    assert list(tmp_path.iterdir()) == []
