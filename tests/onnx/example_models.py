"""The three models whose generated source stands in docs/onnx-examples, made without any exporter.

    python -m tests.onnx.example_models        # writes the sources again, for a person to read

They are built node by node, so that what is written depends on the importer alone: an MNIST network as its authors
would export it, a residual network whose names an optimiser removed, and a voice detector that branches.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from burn_import.onnx.importing import import_model

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "onnx-examples"


class Builder:
    """Collects nodes and weights."""

    def __init__(self, named: bool = True) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.numbers = itertools.count()
        self.named = named
        self.random = np.random.default_rng(0)

    def weight(self, name: str, *shape: int, positive: bool = False) -> str:
        values = self.random.standard_normal(shape).astype(np.float32) * np.float32(0.3)
        label = name if self.named else f"{next(self.numbers)}"
        self.weights.append(numpy_helper.from_array(np.abs(values) + 0.5 if positive else values, label))
        return label

    def constant(self, value: Any) -> str:
        label = f"constant_{next(self.numbers)}"
        self.weights.append(numpy_helper.from_array(np.array(value, np.int64), label))
        return label

    def node(self, kind: str, *inputs: str, outputs: Sequence[str] = (), name: str = "", **attributes: Any) -> str:
        results = list(outputs) or [f"{kind.lower()}_{next(self.numbers)}" if self.named else f"{next(self.numbers)}"]
        self.nodes.append(helper.make_node(kind, inputs, results, name=name if self.named else "", **attributes))
        return results[0]

    def model(self, name: str, inputs: dict[str, Any], outputs: dict[str, Any], opset: int = 17) -> onnx.ModelProto:
        def info(key: str, value: Any) -> onnx.ValueInfoProto:
            dtype, shape = value
            return helper.make_tensor_value_info(key, dtype, shape)

        graph = helper.make_graph(
            self.nodes, name, [info(*each) for each in inputs.items()], [info(*each) for each in outputs.items()],
            self.weights,
        )  # fmt: skip
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        made.producer_name, made.producer_version = "example", "1"
        return made


def mnist() -> onnx.ModelProto:
    """Two convolutions with norms, a pool and two linear layers."""
    b = Builder()
    x = "image"
    for number, (before, after) in enumerate([(1, 8), (8, 16)], 1):
        x = b.node("Conv", x, b.weight(f"conv{number}.weight", after, before, 3, 3), kernel_shape=[3, 3])
        norm = [b.weight(f"norm{number}.{part}", after, positive=part == "running_var") for part in
                ("weight", "bias", "running_mean", "running_var")]  # fmt: skip
        x = b.node("Relu", b.node("BatchNormalization", x, *norm))
    x = b.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = b.node("Flatten", x)
    x = b.node("Relu", b.node("Gemm", x, b.weight("fc1.weight", 32, 2304), b.weight("fc1.bias", 32), transB=1))
    x = b.node("Gemm", x, b.weight("fc2.weight", 10, 32), b.weight("fc2.bias", 10), transB=1)
    b.node("LogSoftmax", x, outputs=["scores"], axis=1)
    shapes = {"image": (TensorProto.FLOAT, ["batch", 1, 28, 28])}, {"scores": (TensorProto.FLOAT, ["batch", 10])}
    return b.model("mnist", *shapes)


def residual() -> onnx.ModelProto:
    """A small residual network in the state that optimisers leave networks in: norms folded, no names."""
    b = Builder(named=False)

    def conv(x: str, before: int, after: int, size: int, stride: int = 1) -> str:
        around = [size // 2] * 4
        return b.node(
            "Conv", x, b.weight("w", after, before, size, size), b.weight("b", after), kernel_shape=[size, size],
            strides=[stride, stride], pads=around,
        )  # fmt: skip

    x = b.node("Relu", conv("pixels", 3, 16, 3))
    width = 16
    for wider in (16, 32, 64):
        for _ in range(3):
            stride = 2 if wider > width else 1
            y = conv(b.node("Relu", conv(x, width, wider, 3, stride)), wider, wider, 3)
            x = b.node("Relu", b.node("Add", y, conv(x, width, wider, 1, stride) if wider > width else x))
            width = wider
    x = b.node("Flatten", b.node("GlobalAveragePool", x))
    b.node("Gemm", x, b.weight("w", 10, 64), b.weight("b", 10), outputs=["logits"], transB=1)
    shapes = {"pixels": (TensorProto.FLOAT, ["n", 3, 32, 32])}, {"logits": (TensorProto.FLOAT, ["n", 10])}
    return b.model("residual", *shapes)


def voice() -> onnx.ModelProto:
    """A detector of voice: two sampling rates choose between two encoders, then an LSTM that keeps its state."""
    b = Builder()

    def encoder(name: str, window: int) -> onnx.GraphProto:
        inner = Builder()
        inner.numbers = itertools.count(1000 if name == "wide" else 2000)
        frames = inner.node("Unsqueeze", "samples", inner.constant([1]))
        x = inner.node(
            "Conv", frames, inner.weight(f"{name}.basis.weight", 32, 1, window), kernel_shape=[window],
            strides=[window // 2],
        )  # fmt: skip
        x = inner.node("Relu", x)
        weights = inner.weight(f"{name}.conv.weight", 24, 32, 3), inner.weight(f"{name}.conv.bias", 24)
        inner.node("Relu", inner.node("Conv", x, *weights, kernel_shape=[3], pads=[1, 1]), outputs=[f"{name}_out"])
        shape = helper.make_tensor_value_info(f"{name}_out", TensorProto.FLOAT, None)
        return helper.make_graph(inner.nodes, name, [], [shape], inner.weights)

    rate = b.node("Equal", "rate", b.constant(16000))
    x = b.node("If", rate, then_branch=encoder("wide", 128), else_branch=encoder("narrow", 64))
    x = b.node("Transpose", x, perm=[2, 0, 1])
    weights = [b.weight("rnn.w", 1, 64, 24), b.weight("rnn.r", 1, 64, 16), b.weight("rnn.b", 1, 128)]
    b.node("LSTM", x, *weights, "", "h", "c", outputs=["y", "h_out", "c_out"], hidden_size=16)
    y = b.node("ReduceMean", b.node("Squeeze", "y", b.constant([1])), axes=[0], keepdims=0)
    y = b.node("MatMul", y, b.weight("head.weight", 16, 1))
    b.node("Sigmoid", b.node("Add", y, b.weight("head.bias", 1)), outputs=["probability"])
    state = (TensorProto.FLOAT, [1, "batch", 16])
    inputs = {"samples": (TensorProto.FLOAT, ["batch", 512]), "rate": (TensorProto.INT64, []), "h": state, "c": state}
    outputs = {"probability": (TensorProto.FLOAT, ["batch", 1]), "h_out": state, "c_out": state}
    return b.model("voice", inputs, outputs)


MODELS: dict[str, Callable[[], onnx.ModelProto]] = {"mnist": mnist, "residual": residual, "voice": voice}


def source_of(name: str) -> str:
    """The source of a model, as a file beside weights has it."""
    from burn_import.onnx.writer import Loading

    return import_model(MODELS[name]()).write(Loading(file=f"{name}.mpk")).source


if __name__ == "__main__":
    for each in MODELS:
        (FOLDER / f"{each}.py").write_text(source_of(each), encoding="utf-8")
        print(f"wrote {FOLDER / each}.py")
