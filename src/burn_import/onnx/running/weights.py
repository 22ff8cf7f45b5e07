"""What stays the same from run to run: constants on a device, layers with their weights, the order of nodes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from burn import Device, Tensor, nn
from burn.module import State
from burn.tensor import TensorData
from burn_import.onnx.code.expression import Argument
from burn_import.onnx.code.fields import Array, Source, Weight, array_of, is_learnt
from burn_import.onnx.code.live import plain
from burn_import.onnx.errors import TextOnly
from burn_import.onnx.ir.graph import Graph, Node, Value
from burn_import.onnx.ir.model import Model
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.operators import Row, rows

MOST_TABLES = 4096


class Weights(Protocol):
    """Where the elements of constants come from."""

    def count(self, model: Model) -> int:
        """How many numbers are learnt."""

    def has(self, source: Source) -> bool:
        """Whether a constant may have other elements than the graph says."""

    def parameter(self, source: Source) -> Array:
        """The elements of a constant, or of a table that a row computed."""

    def layer(self, sources: Mapping[str, Source]) -> dict[str, Array]:
        """The elements of a layer's parameters by their paths in it."""


class FileWeights:
    """The constants of the graph itself: slices of the file, where that is a file."""

    def count(self, model: Model) -> int:
        learnt = {value for graph in model.graphs() for value in graph.constants if is_learnt(value)}
        return sum(value.constant.size for value in learnt if value.constant is not None)

    def has(self, source: Source) -> bool:
        return False

    def parameter(self, source: Source) -> Array:
        return array_of(source)

    def layer(self, sources: Mapping[str, Source]) -> dict[str, Array]:
        return {path: array_of(source) for path, source in sources.items()}


@dataclass(slots=True)
class Step:
    """A node, its row, and the values that nobody needs after it."""

    node: Node
    row: Row
    dropped: tuple[Value, ...] = ()


class Held:
    """Constants and layers of one model on one device. Whoever evaluates holds the lock of the runtime."""

    def __init__(self, device: Device, weights: Weights) -> None:
        self.device = device
        self.weights = weights
        self._shared = bool(getattr(device, "takes_arrays", False))
        self.memory: list[Array] = []
        """What constants lie in, which no result may share."""
        self._constants: dict[Value, Tensor] = {}
        self._tables: dict[Hashable, Tensor] = {}
        self._layers: dict[Node, Any] = {}
        self._orders: dict[Graph, list[Step]] = {}

    def constant(self, value: Value) -> Tensor:
        """A constant of the graph as a tensor."""
        found = self._constants.get(value)
        if found is None:
            found = self._constants[value] = self._placed(self.weights.parameter(Weight(value)))
        return found

    def parameter(self, weight: Weight) -> Tensor:
        """A constant as a layer would store it."""
        return self.constant(weight.value) if weight.change is None else self._kept(self.weights.parameter(weight))

    def table(self, array: Array) -> Tensor:
        """A table that a row computed."""
        return self._kept(self.weights.parameter(array))

    def _kept(self, array: Array) -> Tensor:
        """A tensor of some elements; equal ones are one."""
        made = np.ascontiguousarray(array).reshape(array.shape)
        key = (made.dtype.str, made.shape, made.tobytes())
        found = self._tables.get(key)
        if found is None:
            if len(self._tables) >= MOST_TABLES:
                self._tables.clear()
            found = self._tables[key] = self._placed(made)
        return found

    def layer(
        self,
        node: Node,
        kind: str,
        settings: Sequence[Argument],
        keywords: Mapping[str, Argument],
        weights: Mapping[str, Source],
        mode: str | None,
    ) -> Any:
        """The layer of a node, made when it is first met."""
        found = self._layers.get(node)
        if found is None:
            found = self._layers[node] = self._made(kind, settings, keywords, weights, mode)
        return found

    def _made(
        self,
        kind: str,
        settings: Sequence[Argument],
        keywords: Mapping[str, Argument],
        weights: Mapping[str, Source],
        mode: str | None,
    ) -> Any:
        package, _, name = kind.rpartition(".")
        where: Any = nn if not package else getattr(nn, package)
        config = getattr(where, f"{name}Config")(
            *map(plain, settings), **{key: plain(each) for key, each in keywords.items()}
        )
        made = config.init(self.device) if weights else config.init()
        arrays = self.weights.layer(weights) if weights else {}
        dtypes = {ElementType.from_numpy(array.dtype) for array in arrays.values()} - {ElementType.f32}
        if dtypes:
            made = made.cast(sorted(dtypes, key=lambda each: each.value)[0].burn)
        if mode is not None:
            made = made.mode(mode)
        if not weights:
            return made
        leaves = list(made.leaves())
        if mode is None and any(isinstance(leaf, State) for _, leaf in leaves):
            raise TextOnly(f"{name}: statistics that move while the model runs")
        arrays_of = {id(leaf): arrays[path] for path, leaf in leaves}

        def filled(leaf: Any) -> Any:
            return leaf.loaded(TensorData.give(self._settled(arrays_of[id(leaf)])))

        return made._with(filled, filled)

    def order(self, graph: Graph) -> list[Step]:
        """The nodes of a graph, and after which of them its values are not needed any more."""
        found = self._orders.get(graph)
        if found is None:
            found = self._orders[graph] = _ordered(graph)
        return found

    def _placed(self, array: Array) -> Tensor:
        return Tensor.from_data(TensorData.give(self._settled(array)), self.device)

    def _settled(self, array: Array) -> Array:
        """An array as plans read it; the file's own memory where that will do."""
        flags = array.flags
        if self._shared and flags.c_contiguous and flags.aligned and array.dtype.isnative:
            made = array
        else:
            made = np.array(array, array.dtype.newbyteorder("="), order="C")
        self.memory.append(made)
        return made


def _ordered(graph: Graph) -> list[Step]:
    nodes = list(graph)
    places = {node: index for index, node in enumerate(nodes)}
    last: dict[Value, int] = {}
    for index, node in enumerate(nodes):
        for value in (*node.inputs, *node.captures()):
            if value is not None:
                last[value] = index
        for value in node.outputs:
            last.setdefault(value, index)
    for node in nodes:  # recurrent layers look through the transposition in front of them
        if node.op_type == "Transpose" and node.inputs[0] is not None:
            users = [places[user] for user, _ in node.output.uses if isinstance(user, Node) and user in places]
            last[node.inputs[0]] = max(last[node.inputs[0]], *users, 0)
    kept = set(graph.outputs)
    steps = [Step(node, rows()[node.domain, node.op_type]) for node in nodes]
    dropped: list[list[Value]] = [[] for _ in nodes]
    for value, index in last.items():
        if value not in kept and value.constant is None:
            dropped[index].append(value)
    for step, values in zip(steps, dropped):
        step.dropped = tuple(values)
    return steps


__all__ = ["FileWeights", "Held", "Step", "Weights"]
