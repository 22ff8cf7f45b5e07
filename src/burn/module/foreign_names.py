"""The names of a foreign file as a tree: `layers.0.weight` is a tensor two levels below the root."""

from __future__ import annotations

from collections.abc import Iterator

from burn.record.errors import RecordError
from burn.record.layouts import Deferred, Tensors
from burn.tensor import TensorData

MAX_DEPTH = 128
MAX_NODES = 4_000_000


class Node:
    """A place in the tree. `names` are the names in the file that its tensor comes from."""

    __slots__ = ("below", "names", "tensor")

    def __init__(self, tensor: TensorData | Deferred | None = None, names: tuple[str, ...] = ()) -> None:
        self.below: dict[str, Node] = {}
        self.tensor = tensor
        self.names = names

    def walk(self) -> Iterator[Node]:
        """This node and everything below it."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.below.values())

    def first(self) -> str:
        """The name of the first tensor at or below this node."""
        return next((each.names[0] for each in self.walk() if each.names), "")


def tree_of(tensors: Tensors) -> Node:
    """The tree of all names."""
    root = Node()
    if sum(name.count(".") + 1 for name in tensors) > MAX_NODES:
        raise RecordError(f"load_record: names of more than {MAX_NODES:,} parts")
    for name, tensor in tensors.items():
        parts = name.split(".")
        if len(parts) > MAX_DEPTH:
            raise RecordError(f"load_record: {name[:80]}...: more than {MAX_DEPTH} levels")
        node = root
        for part in parts:
            node = node.below.setdefault(part, Node())
        node.tensor, node.names = tensor, (name,)
    return root
