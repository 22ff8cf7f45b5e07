"""The record of imported weights: tensors under the names of their file, fitted when a module loads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.dtype import DType
from burn.record import Record
from burn.record.items import Item
from burn.record.layouts import Deferred, Tensors, marked
from burn.record.matching import Matched, match
from burn.record.settings import Settings, in_precision
from burn.record.tensors import NAMES
from burn.tensor import TensorData
from burn_import.common.arguments import LoadArgs
from burn_import.common.renaming import rename

if TYPE_CHECKING:
    from burn.device import Device


class ImportedRecord(Record):
    """Weights of another framework, as a recorder of this package loads them; made by its `load`.

    `model.load_record(record)` fits them to the model and reads what it needs. A recorder of a named format writes
    them as they are, and a model fits them when it loads that file. `for_module` fits them now.

    >>> from safetensors.numpy import save_file
    >>> from burn_import.safetensors import SafetensorsFileRecorder
    >>> save_file({"weight": np.ones((3, 2), np.float32), "bias": np.zeros(3, np.float32)}, "linear.safetensors")
    >>> record = SafetensorsFileRecorder().load("linear.safetensors")
    >>> sorted(record.for_module(nn.Linear(2, 3)).item)
    ['bias', 'weight']
    """

    def __init__(self, tensors: Tensors, layout: str, source: str, device: Device | None = None) -> None:
        super().__init__()
        self.tensors = tensors
        self.layout = layout
        self.source = source
        self.device = device

    @property
    def item(self) -> Item:
        """The tensors as a tree of their names, under the mark of their layout; reads all of them."""
        return marked(self.layout, self.tensors)

    def for_module(self, module: Any, *, strict: bool = True) -> Record:
        """The record of a module of this structure: our names, our layout, readable by every recorder and in Rust.

        With `strict=False` what the file does not have is taken from the module.
        """
        return module.load_record(self, strict=strict).into_record()  # type: ignore[no-any-return]

    def match(self, like: Item) -> Matched:
        """The tensors in the kinds of a schema (`like`), without any change of names or layout."""
        tree = marked(self.layout, self.tensors)
        assert isinstance(tree, dict)
        found = match(tree[self.layout], like)
        self.extra, self.missing = found.extra, found.missing
        return found

    def item_for(self, like: Item) -> Item:
        """The tree that a recorder writes; the schema (`like`) changes nothing."""
        return self.item

    def __repr__(self) -> str:
        return f"ImportedRecord({len(self.tensors)} tensors of {self.source})"


class InPrecision(Deferred):
    """A tensor in the element type of some settings."""

    def __init__(self, tensor: TensorData | Deferred, settings: Settings) -> None:
        self.tensor, self.settings = tensor, settings
        self.shape, self.dtype = tuple(tensor.shape), dtype_name(tensor.dtype)
        self.fault = getattr(tensor, "fault", "")

    def read(self) -> TensorData:
        """The values, converted."""
        data = self.tensor.read() if isinstance(self.tensor, Deferred) else self.tensor
        return in_precision(data, self.settings)


def imported(tensors: Tensors, args: LoadArgs, settings: Settings | None, device: Device | None) -> ImportedRecord:
    """The record of some tensors: renamed, shown if that was asked for, and in a precision."""
    names = rename(list(tensors), args.key_remap)
    if args.debug:
        print(describe(tensors, names))
    kept: Tensors = {}
    for name, tensor in tensors.items():
        if name.rpartition(".")[2] != "num_batches_tracked":
            kept[names[name]] = tensor if settings is None else InPrecision(tensor, settings)
    return ImportedRecord(kept, args.adapter.value, args.name, device)


def describe(tensors: Tensors, names: dict[str, str]) -> str:
    """Every tensor before and after renaming, in the order of the names in the file."""
    lines = ["Debug information of keys and tensor shapes:", "---"]
    for name in sorted(tensors):
        tensor = tensors[name]
        lines += [f"Original Key: {name}", f"Remapped Key: {names[name]}"]
        lines += [f"Shape: {list(tensor.shape)}", f"Dtype: {dtype_name(tensor.dtype)}", "---"]
    return "\n".join(lines)


def dtype_name(dtype: DType | str) -> str:
    """The name of an element type in records and messages."""
    return dtype if isinstance(dtype, str) else NAMES.get(dtype, dtype.name.upper())
