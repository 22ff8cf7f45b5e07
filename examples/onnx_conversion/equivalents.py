"""Stand-ins for models that cannot be downloaded: real architectures in the zoo's operator sets, with random weights.

`light` gives the graphs that the `onnx` package brings for its own tests; the others are put together here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def light(name: str) -> bytes:
    """A model of the `onnx` package's tests: the zoo's graph, with constants for weights."""
    import onnx.backend.test

    return (Path(onnx.backend.test.__file__).parent / "data" / "light" / f"light_{name}.onnx").read_bytes()


class Builder:
    """A graph in opset 7, layer after layer. Methods take and give names of values."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        name = f"{operator.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], name=name, **attributes))
        return name

    def weight(self, values: np.ndarray[Any, Any]) -> str:
        name = f"weight{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def convolution(self, x: str, inputs: int, outputs: int, size: int, stride: int = 1, groups: int = 1) -> str:
        """A convolution without bias and a batch norm."""
        fan_in = inputs // groups * size * size
        kernel = self.rng.standard_normal((outputs, inputs // groups, size, size)) * (2 / fan_in) ** 0.5
        x = self.node("Conv", x, self.weight(kernel), kernel_shape=[size] * 2, strides=[stride] * 2,
                      pads=[size // 2] * 4, group=groups)  # fmt: skip
        scale, shift = self.rng.uniform(0.6, 1.0, outputs), self.rng.standard_normal(outputs) * 0.1
        mean, variance = self.rng.standard_normal(outputs) * 0.1, self.rng.uniform(0.8, 1.2, outputs)
        statistics = [self.weight(each) for each in (scale, shift, mean, variance)]
        return self.node("BatchNormalization", x, *statistics, epsilon=1e-5)

    def classifier(self, x: str, inputs: int) -> str:
        x = self.node("Flatten", self.node("GlobalAveragePool", x), axis=1)
        weight = self.rng.standard_normal((1000, inputs)) * inputs**-0.5
        return self.node("Gemm", x, self.weight(weight), self.weight(np.zeros(1000)), transB=1)

    def finish(self, name: str, result: str) -> bytes:
        x = helper.make_tensor_value_info("data", TensorProto.FLOAT, ["N", 3, 224, 224])
        y = helper.make_tensor_value_info(result, TensorProto.FLOAT, ["N", 1000])
        graph = helper.make_graph(self.nodes, name, [x], [y], self.weights)
        # files of that time name their weights among the inputs too
        graph.input.extend(helper.make_tensor_value_info(each.name, each.data_type, each.dims) for each in self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 7)], ir_version=3)
        onnx.checker.check_model(model)
        return bytes(model.SerializeToString())


def resnet18() -> bytes:
    """ResNet-18: a stem, four stages of two residual blocks, a classifier."""
    build = Builder()
    x = build.node("Relu", build.convolution("data", 3, 64, 7, 2))
    x = build.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for stage, width in enumerate((64, 128, 256, 512)):
        for block in range(2):
            stride = 2 if stage and not block else 1
            y = build.node("Relu", build.convolution(x, channels, width, 3, stride))
            y = build.convolution(y, width, width, 3)
            shortcut = x if channels == width else build.convolution(x, channels, width, 1, stride)
            x, channels = build.node("Relu", build.node("Add", y, shortcut)), width
    return build.finish("resnet18", build.classifier(x, channels))


def mobilenet_v2() -> bytes:
    """MobileNetV2: inverted residuals with capped rectifiers, which opset 7 writes as Clip with attributes."""
    build = Builder(1)

    def capped(x: str) -> str:
        return build.node("Clip", x, min=0.0, max=6.0)

    x, channels = capped(build.convolution("data", 3, 32, 3, 2)), 32
    stages = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for expansion, width, count, first in stages:
        for block in range(count):
            stride, hidden = first if not block else 1, channels * expansion
            y = x if expansion == 1 else capped(build.convolution(x, channels, hidden, 1))
            y = capped(build.convolution(y, hidden, hidden, 3, stride, hidden))
            y = build.convolution(y, hidden, width, 1)
            x, channels = build.node("Add", x, y) if stride == 1 and channels == width else y, width
    x = capped(build.convolution(x, channels, 1280, 1))
    return build.finish("mobilenetv2", build.classifier(x, 1280))
