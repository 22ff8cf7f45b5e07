"""Whole networks: architectures of the model zoo, exports of PyTorch, real models where they were fetched."""

from __future__ import annotations

import io
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch

from burn_import.onnx.ir import Dim, TensorType
from tests.onnx.exporting import apart
from tests.onnx.running import assert_inference_tells_the_truth

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet", "densenet121", "resnet50", "inception_v1"])
def test_architectures_of_the_model_zoo(name: str) -> None:
    data = (LIGHT / f"light_{name}.onnx").read_bytes()
    proto = onnx.load_from_string(data)
    constants = {each.name for each in proto.graph.initializer}
    (info,) = [info for info in proto.graph.input if info.name not in constants]
    shape = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
    feed = {info.name: np.random.default_rng(0).standard_normal(shape).astype(np.float32)}
    model = assert_inference_tells_the_truth(data, feed)
    assert all(
        isinstance(value.type, TensorType) and value.type.is_static for node in model.graph for value in node.outputs
    )


class Encoder(torch.nn.Module):
    """Embedding, position slice, attention, layer norm, convolution and a recurrent layer."""

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(50, 16)
        self.places = torch.nn.Parameter(torch.randn(1, 32, 16))
        self.query, self.key, self.value = (torch.nn.Linear(16, 16) for _ in range(3))
        self.norm = torch.nn.LayerNorm(16)
        self.convolution = torch.nn.Conv1d(16, 16, 3, padding=1, stride=2)
        self.recurrent = torch.nn.LSTM(16, 8, batch_first=True, bidirectional=True)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        batch, length = tokens.shape
        x = self.words(tokens) + self.places[:, :length]
        heads = [each(x).view(batch, length, 4, 4).transpose(1, 2) for each in (self.query, self.key, self.value)]
        scores = torch.softmax(heads[0] @ heads[1].transpose(-1, -2) / 2, -1) @ heads[2]
        x = self.norm(x + scores.transpose(1, 2).reshape(batch, length, 16))
        x = torch.nn.functional.gelu(self.convolution(x.transpose(1, 2))).transpose(1, 2)
        found: torch.Tensor = self.recurrent(x)[0]
        return found[:, -1]


def exported(dynamo: bool) -> bytes:
    """An encoder with both sizes open."""
    torch.manual_seed(0)
    module = Encoder().eval()
    tokens = torch.randint(0, 50, (2, 7))
    buffer: Any = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if dynamo:
            sizes = ({0: torch.export.Dim("batch"), 1: torch.export.Dim("length", min=4, max=30)},)
            program = torch.onnx.export(module, (tokens,), dynamo=True, dynamic_shapes=sizes, verbose=False)
            assert program is not None
            return bytes(program.model_proto.SerializeToString())
        axes = {"tokens": {0: "batch", 1: "length"}}
        torch.onnx.export(
            module, (tokens,), buffer, dynamo=False, dynamic_axes=axes, input_names=["tokens"], opset_version=16
        )
    return bytes(buffer.getvalue())


@pytest.mark.parametrize("dynamo", [False, True], ids=["tracing exporter", "graph exporter"])
def test_exports_of_pytorch_with_open_sizes(dynamo: bool) -> None:
    data = apart(exported, True) if dynamo else exported(False)
    name = onnx.load_from_string(data).graph.input[0].name
    for shape in ((2, 7), (3, 12)):
        other = torch.randint(0, 50, shape)
        model = assert_inference_tells_the_truth(data, {name: other.numpy()})
        (output,) = model.graph.outputs
        assert isinstance(output.type, TensorType)
        assert output.type.shape is not None
        assert output.type.shape[-1] == 16
        assert isinstance(output.type.shape[0], Dim)


def feed_of(proto: onnx.ModelProto, shapes: dict[str, Any]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    feed = {}
    for info in proto.graph.input:
        if info.name not in shapes:
            continue
        dtype = onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
        values = rng.standard_normal(shapes[info.name]) if dtype.kind == "f" else np.ones(shapes[info.name])
        feed[info.name] = values.astype(dtype)
    return feed


def test_real_models_that_were_fetched(shared: Path) -> None:
    """Every `.onnx` file below the folder of models, with inputs of the shapes listed beside it."""
    rows = {row["path"].split("/")[-1]: row for row in json.loads((shared / "models" / "real_models.json").read_text())}
    found = [path for path in sorted((shared / "models").rglob("*.onnx")) if rows.get(path.name, {}).get("ort") == "ok"]
    if not found:
        pytest.skip("no model lies there")
    for path in found[:20]:
        proto = onnx.load(path)
        assert_inference_tells_the_truth(proto, feed_of(proto, rows[path.name]["in_shapes"]))
