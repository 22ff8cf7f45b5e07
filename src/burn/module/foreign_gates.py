"""Layers whose matrices PyTorch keeps in one piece: recurrent layers and multi-head attention.

PyTorch stacks the gates of a recurrent layer on each other (an LSTM: input, forget, cell, output; a GRU: reset,
update, new) and so it does with the queries, keys and values of attention. Here each is a layer of its own, so
the rows of such a matrix become tensors under the names that we have.
"""

from __future__ import annotations

from typing import Any

from burn.module.foreign_names import Node
from burn.record.layouts import Deferred, read
from burn.tensor import TensorData

GATES = {
    "Lstm": ("input_gate", "forget_gate", "cell_gate", "output_gate"),
    "Gru": ("reset_gate", "update_gate", "new_gate"),
    "Rnn": ("gate",),
}
SIDES = {"ih": "input_transform", "hh": "hidden_transform"}


class Rows(Deferred):
    """Some rows of a tensor."""

    def __init__(self, tensor: TensorData | Deferred, part: int, parts: int) -> None:
        count = tensor.shape[0] // parts
        self.tensor, self.rows = tensor, slice(part * count, (part + 1) * count)
        self.shape = (count, *tensor.shape[1:])
        self.dtype = str(tensor.dtype)
        self.fault = getattr(tensor, "fault", "")

    def read(self) -> TensorData:
        """The values of these rows."""
        data = read(self.tensor)
        return TensorData.adopt(data.numpy()[self.rows], data.dtype)


def split(module: Any, node: Node) -> Node:
    """The node with the parts that this module looks for; the node itself where PyTorch keeps nothing together."""
    for base in type(module).__mro__:
        if base.__module__.split(".")[:2] == ["burn", "nn"]:
            if base.__name__ in GATES and "weight_ih_l0" in node.below:
                return _gates(node, GATES[base.__name__])
            if base.__name__ == "Bidirectional" and "weight_ih_l0_reverse" in node.below:
                return _directions(node)
            if base.__name__ == "MultiHeadAttention" and "in_proj_weight" in node.below:
                return _attention(node)
    return node


def _gates(node: Node, gates: tuple[str, ...]) -> Node:
    made = Node()
    for side, transform in SIDES.items():
        for kind in ("weight", "bias"):
            _share(node.below.get(f"{kind}_{side}_l0"), made, [f"{gate}.{transform}.{kind}" for gate in gates])
    return made


def _directions(node: Node) -> Node:
    made = Node()
    made.below = {"forward": Node(), "reverse": Node()}
    for name, each in node.below.items():
        if name.endswith("_l0"):
            made.below["forward"].below[name] = each
        elif name.endswith("_l0_reverse"):
            made.below["reverse"].below[name.removesuffix("_reverse")] = each
    return made


def _attention(node: Node) -> Node:
    made = Node()
    for kind in ("weight", "bias"):
        _share(node.below.get(f"in_proj_{kind}"), made, [f"{part}.{kind}" for part in ("query", "key", "value")])
    if "out_proj" in node.below:
        made.below["output"] = node.below["out_proj"]
    return made


def _share(node: Node | None, made: Node, paths: list[str]) -> None:
    """Give equal shares of the rows of a tensor to several paths."""
    if node is None or node.tensor is None or not node.tensor.shape or node.tensor.shape[0] % len(paths):
        return
    for part, path in enumerate(paths):
        place = made
        for name in path.split("."):
            place = place.below.setdefault(name, Node())
        place.tensor, place.names = Rows(node.tensor, part, len(paths)), node.names
