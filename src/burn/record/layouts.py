"""Layouts of other frameworks: records whose tensors still have the names and the order of a foreign file.

Weights of PyTorch can be fitted only to a module, because a transposed matrix looks like any other. Until then
they stand under a mark, a name that no field can have, and a named format keeps them as they are: the module
that loads the record does the rest.
"""

from __future__ import annotations

from burn.record.errors import RecordError
from burn.record.flat import Entry, flatten, nest
from burn.record.items import Item
from burn.tensor import TensorData

PYTORCH, PLAIN = "pytorch-layout", "plain-layout"
"""The marks: tensors as PyTorch has them, and tensors as we have them, under names only."""


class Deferred:
    """A tensor of a file that is read when it is needed. `fault` says why that is impossible, if it is."""

    shape: tuple[int, ...]
    dtype: str
    fault: str = ""

    def read(self) -> TensorData:
        """The values."""
        raise NotImplementedError


Tensors = dict[str, "TensorData | Deferred"]
"""Tensors by dotted name."""


def layout_of(item: Item) -> str | None:
    """The mark of a foreign item; None for a record of our own."""
    if isinstance(item, dict) and len(item) == 1:
        (name,) = item
        return name if name in (PYTORCH, PLAIN) else None
    return None


def marked(layout: str, tensors: Tensors) -> Item:
    """The item of foreign tensors, all of them read."""
    faults = [f"{name}: {each.fault}" for name, each in tensors.items() if isinstance(each, Deferred) and each.fault]
    if faults:
        raise RecordError("record: some tensors cannot be kept:\n" + "\n".join(f"  {fault}" for fault in faults))
    return {layout: nest([Entry(name, None, read(each)) for name, each in tensors.items()])}


def unmarked(item: Item) -> Tensors:
    """The tensors of a foreign item."""
    assert isinstance(item, dict)
    (tree,) = item.values()
    return {entry.path: entry.value for entry in flatten(tree) if isinstance(entry.value, TensorData)}


def read(tensor: TensorData | Deferred) -> TensorData:
    """The values of a tensor that may not have been read yet."""
    return tensor.read() if isinstance(tensor, Deferred) else tensor
