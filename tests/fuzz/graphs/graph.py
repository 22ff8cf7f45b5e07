"""A random ONNX graph that grows node by node; ONNX Runtime says what each node gives, or that it cannot be."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import onnx
import onnx.printer
import onnxruntime  # type: ignore[import-untyped]
from onnx import helper, numpy_helper

Array = np.ndarray[Any, Any]
T = TypeVar("T")
OPSET = 21
MOST = 20_000


class Unfit(Exception):
    """A node that cannot be, or whose numbers leave the range worth testing."""


@dataclass
class Graph:
    """Nodes, weights and inputs, as the protobuf classes have them."""

    inputs: dict[str, Array] = field(default_factory=dict)
    weights: dict[str, Array] = field(default_factory=dict)
    nodes: list[Any] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    def proto(self) -> onnx.ModelProto:
        """The model. Its inputs and outputs have types; sizes are those of the inputs."""
        inputs = [helper.make_tensor_value_info(n, _element(a), a.shape) for n, a in self.inputs.items()]
        outputs = [helper.make_empty_tensor_value_info(name) for name in self.outputs]
        weights = [numpy_helper.from_array(a, n) for n, a in self.weights.items()]
        graph = helper.make_graph(self.nodes, "random", inputs, outputs, weights)
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
        return onnx.shape_inference.infer_shapes(proto)

    def pruned(self) -> Graph:
        """Without what no output needs."""
        needed = set(self.outputs)
        nodes = []
        for node in reversed(self.nodes):
            if needed.intersection(node.output):
                nodes.insert(0, node)
                needed.update(node.input)
        inputs = {name: array for name, array in self.inputs.items() if name in needed}
        weights = {name: array for name, array in self.weights.items() if name in needed}
        return Graph(inputs, weights, nodes, self.outputs)

    def __str__(self) -> str:
        return onnx.printer.to_text(self.proto())


def _element(array: Array) -> int:
    return int(helper.np_dtype_to_tensor_dtype(array.dtype))


def runtime(proto: onnx.ModelProto, feed: dict[str, Array]) -> list[Any]:
    """What ONNX Runtime computes without its optimizations."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, feed))


class Writer:
    """Draws one node after the other and keeps their values."""

    def __init__(self, chooser: random.Random, seed: int) -> None:
        self.random = chooser
        self.numbers = np.random.default_rng(seed)
        self.graph = Graph()
        self.values: dict[str, Array] = {}
        self.exact: dict[str, bool] = {}
        self.live: list[str] = []
        self.used: set[str] = set()
        self.count = 0

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def one(self, choices: Sequence[T]) -> T:
        return self.random.choice(choices)

    def name(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def dim(self, name: str, negative: bool = True) -> int:
        """An axis, sometimes counted from the end."""
        rank = self.values[name].ndim
        axis = self.random.randrange(rank)
        return axis - rank if negative and self.chance(0.3) else axis

    def pick(self, kinds: str = "f", least: int = 0, most: int = 6, exact: bool = False) -> str:
        """A live value of some kinds and ranks, the newest ones most often."""
        fits = [
            n for n in self.live
            if self.values[n].dtype.kind in kinds and least <= self.values[n].ndim <= most
            and (self.exact[n] or not exact) and self.values[n].size
        ]  # fmt: skip
        if not fits:
            raise Unfit
        return self.one(fits[-4:])

    def add_input(self, array: Array) -> str:
        name = self.name("x")
        self.graph.inputs[name] = self.values[name] = array
        self.exact[name] = True
        self.live.append(name)
        return name

    def weight(self, array: Any) -> str:
        """An initializer."""
        name = self.name("w")
        self.graph.weights[name] = self.values[name] = np.asarray(array)
        self.exact[name] = True
        return name

    def floats(self, *shape: int, scale: float = 1.0) -> Array:
        return np.asarray(self.numbers.uniform(-1.7, 1.7, shape) * scale, np.float32)

    def ints(self, *values: int) -> str:
        return self.weight(np.array(values, np.int64))

    def add(
        self, kind: str, inputs: Sequence[str], exact: bool = False, outputs: int = 1, **attributes: Any
    ) -> list[str]:
        """A node, if ONNX Runtime runs it and its numbers stay in range; "" is an input that is left out."""
        names = [self.name("y") for _ in range(outputs)]
        given = {k: v for k, v in attributes.items() if v is not None}
        node = helper.make_node(kind, list(inputs), names, **given)
        feed = {n: self.values[n] for n in inputs if n}
        try:
            found = runtime(Graph(feed, {}, [node], names).proto(), feed)
        except Exception as refused:  # its classes are made by pybind and share no base of their own
            raise Unfit(str(refused)) from refused
        for value in found:
            if not isinstance(value, np.ndarray) or not value.size or value.size > MOST:
                raise Unfit
            if value.dtype.kind == "f" and not np.abs(value).max() < 1e4:
                raise Unfit
        exact = exact and all(self.exact[n] for n in inputs if n)
        self.graph.nodes.append(node)
        for name, value in zip(names, found, strict=True):
            self.values[name], self.exact[name] = value, exact or value.dtype.kind in "iub"
            self.live.append(name)
        self.used.update(inputs)
        return names

    def try_one(self, families: Sequence[Callable[[Writer], Any]]) -> None:
        for _ in range(15):
            before = len(self.graph.nodes), list(self.live), dict(self.graph.weights)
            try:
                self.one(families)(self)
                return
            except Unfit:
                del self.graph.nodes[before[0] :]
                self.live, self.graph.weights = before[1], before[2]

    def finished(self) -> Graph:
        """The graph, giving out what no node uses."""
        loose = [n for n in self.live if n not in self.used and n not in self.graph.inputs]
        self.graph.outputs = loose[-4:]
        return self.graph.pruned()
