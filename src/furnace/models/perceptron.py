"""The two-layer network of the Rust server's records: sizes in a small JSON of its own, weights in the record.

{"model_type": "mlp", "input_size": 784, "hidden_size": 128, "output_size": 10}
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from burn import Device, Module, Tensor
from burn.nn import Linear, LinearConfig
from burn.record import HalfPrecisionSettings, NamedMpkFileRecorder, NamedMpkGzFileRecorder
from furnace.errors import ModelError
from furnace.models.served import ServedModel
from furnace.models.serving import serve_module
from furnace.signature import Signature, TensorSpec

SIZES = ("input_size", "hidden_size", "output_size")


class Perceptron(Module):
    """Two linear layers with a relu between them, as the record names them."""

    linear1: Linear
    linear2: Linear
    activation: object

    def forward(self, x: Tensor) -> Tensor:
        """Rows of inputs to rows of scores."""
        scores: Tensor = self.linear2(self.linear1(x).relu())
        return scores


def open_perceptron(path: Path, described: dict[str, Any], device: Device, *, name: str, version: str) -> ServedModel:
    """The network of a record and its sizes."""
    faults = [f"{key} is {described.get(key)!r}" for key in SIZES if not _is_size(described.get(key))]
    if faults:
        raise ModelError(f"model {name!r}: the metadata needs whole sizes above 0: {', '.join(faults)}")
    inputs, hidden, outputs = (int(described[key]) for key in SIZES)
    empty = Perceptron(LinearConfig(inputs, hidden).init(device), LinearConfig(hidden, outputs).init(device), None)
    recorder: Any = NamedMpkGzFileRecorder if path.name.endswith(".gz") else NamedMpkFileRecorder
    module = empty.load_record(recorder(HalfPrecisionSettings).load(path, device))
    signature = Signature(
        (TensorSpec("input", "FP32", ("batch", inputs)),), (TensorSpec("output", "FP32", ("batch", outputs)),)
    )
    kept = {key: value for key, value in described.items() if isinstance(value, str | int | float)}
    return serve_module(module, device, signature, name=name, version=version, metadata=kept)


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
