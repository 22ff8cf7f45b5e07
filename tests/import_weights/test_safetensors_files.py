"""Safetensors files of other frameworks."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burn.backend import NdArray
from burn.nn import BatchNormConfig, LinearConfig
from burn.record import RecordError, SafetensorsRecorder
from burn_import.safetensors import AdapterType, LoadArgs, SafetensorsFileRecorder

DEVICE = NdArray()
DTYPES = {"float32": "F32", "float64": "F64", "float16": "F16", "int64": "I64", "bool": "BOOL", "uint8": "U8"}


def written(tensors: dict[str, Any]) -> bytes:
    """A file, made as the format's description says."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, array in tensors.items():
        header[name] = {
            "dtype": DTYPES[str(array.dtype)],
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        at += array.nbytes
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + b"".join(array.tobytes() for array in tensors.values())


def loaded(model: Any, tensors: dict[str, Any], path: Path, change: Any = lambda args: args) -> Any:
    path.write_bytes(written(tensors))
    return model.load_record(SafetensorsFileRecorder().load(change(LoadArgs(path)), DEVICE))


RNG = np.random.default_rng(0)
LINEAR = {"weight": RNG.normal(size=(3, 2)).astype(np.float32), "bias": np.ones(3, np.float32)}


def test_weights_of_pytorch_are_the_default(tmp_path: Path) -> None:
    made = loaded(LinearConfig(2, 3).init(DEVICE), LINEAR, tmp_path / "x.safetensors")
    np.testing.assert_array_equal(made.weight.to_data().numpy(), LINEAR["weight"].T)
    norm = {name: RNG.normal(size=3).astype(np.float32) for name in ("weight", "bias", "running_mean", "running_var")}
    made = loaded(
        BatchNormConfig(3).init(DEVICE), {**norm, "num_batches_tracked": np.array(5)}, tmp_path / "n.safetensors"
    )
    np.testing.assert_array_equal(made.gamma.to_data().numpy(), norm["weight"])
    np.testing.assert_array_equal(made.running_var.value.to_data().numpy(), norm["running_var"])


def test_without_an_adapter_tensors_are_taken_as_they_are(tmp_path: Path) -> None:
    model = LinearConfig(3, 2).init(DEVICE)
    made = loaded(
        model, {"weight": LINEAR["weight"], "bias": np.ones(2, np.float32)}, tmp_path / "x.safetensors",
        lambda args: args.with_adapter_type(AdapterType.NoAdapter),
    )  # fmt: skip
    np.testing.assert_array_equal(made.weight.to_data().numpy(), LINEAR["weight"])


def test_names_are_remapped_printed_and_found_under_a_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tensors = {f"model.fc.{name}": each for name, each in LINEAR.items()} | {"other": np.ones(1)}
    loaded(
        LinearConfig(2, 3).init(DEVICE), tensors, tmp_path / "x.safetensors",
        lambda args: args.with_top_level_key("model").with_key_remap(r"fc\.(.*)", "$1").with_debug_print(),
    )  # fmt: skip
    assert "Original Key: fc.bias\nRemapped Key: bias\nShape: [3]\nDtype: F32\n---\n" in capsys.readouterr().out
    with pytest.raises(RecordError, match="no name begins with 'net'; they begin with model, other"):
        SafetensorsFileRecorder().load(LoadArgs(tmp_path / "x.safetensors").with_top_level_key("net"))


def test_every_missing_field_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="Missing source values for the 'weight' field of type 'Param'"):
        loaded(LinearConfig(2, 3).init(DEVICE), {"bias": LINEAR["bias"]}, tmp_path / "x.safetensors")


def test_what_a_module_of_ours_wrote_is_read_without_an_adapter(tmp_path: Path) -> None:
    model = LinearConfig(2, 3).init(DEVICE)
    SafetensorsRecorder().record(model, tmp_path / "x")
    args = LoadArgs(tmp_path / "x.safetensors").with_adapter_type(AdapterType.NoAdapter)
    made = LinearConfig(2, 3).init(DEVICE).load_record(SafetensorsFileRecorder().load(args))
    assert made.weight.to_data() == model.weight.to_data()


def test_a_file_of_pytorch_is_recognised() -> None:
    with pytest.raises(RecordError, match="this is a file of PyTorch; read it with burn_import.pytorch"):
        SafetensorsFileRecorder().load(io.BytesIO(b"PK\x03\x04" + bytes(40)))


@settings(max_examples=300)
@given(st.data())
def test_a_damaged_file_is_an_error_or_is_read(data: st.DataObject) -> None:
    sample = bytearray(written(LINEAR))
    for _ in range(data.draw(st.integers(1, 3))):
        sample[data.draw(st.integers(0, len(sample) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.none(), st.integers(0, len(sample))))
    with contextlib.suppress(RecordError):
        _ = SafetensorsFileRecorder().load(io.BytesIO(bytes(sample[:cut]))).item
