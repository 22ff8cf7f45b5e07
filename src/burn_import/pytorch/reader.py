"""Looking into a file of PyTorch without PyTorch.

reader = PytorchReader("model.pt")
reader.keys(), reader.get("conv1.weight")
"""

from __future__ import annotations

from typing import Any, NamedTuple

from burn.errors import ArgumentError
from burn.record.errors import RecordError
from burn.record.layouts import Deferred, Tensors, read
from burn.record.source import Source, open_source
from burn.tensor import TensorData
from burn_import.common.arguments import as_load_args
from burn_import.pytorch.containers import Contents, read_contents

MAX_DEPTH = 64
MAX_VISITED = 1_000_000
MAX_NAME = 4096


class FileMetadata(NamedTuple):
    """What a file is: its container (zip, legacy, tar or pickle) and the order of its bytes."""

    container: str
    byte_order: str


class PytorchReader:
    """The tensors of a `file` by dotted name, and its other values. Tensors are read when they are asked for.

    `top_level_key` says where they stand; `mapped=False` reads the file instead of mapping it.

    >>> import torch
    >>> from burn_import.pytorch import PytorchReader
    >>> torch.save({"state_dict": torch.nn.Linear(2, 3).state_dict(), "epoch": 7}, "checkpoint.pt")
    >>> reader = PytorchReader("checkpoint.pt", top_level_key="state_dict")
    >>> reader.keys(), reader.get("weight").shape
    (['weight', 'bias'], Shape([3, 2]))
    """

    def __init__(self, file: Any, *, top_level_key: str | None = None, mapped: bool = True) -> None:
        contents = open_contents(file, mapped)
        self.metadata = FileMetadata(contents.container, "big" if contents.big_endian else "little")
        self.value = under(contents.value, top_level_key)
        self.tensors = named_tensors(self.value)

    def keys(self) -> list[str]:
        """The names of the tensors, in the order of the file."""
        return list(self.tensors)

    def get(self, name: str) -> TensorData:
        """The values of the tensor of this `name`, in its own element type."""
        if name not in self.tensors:
            raise ArgumentError(f"get: no tensor is called {name!r}; there are {some(self.keys())}")
        return read(self.tensors[name])

    def __len__(self) -> int:
        return len(self.tensors)

    def __repr__(self) -> str:
        return f"PytorchReader({len(self.tensors)} tensors, {self.metadata.container})"


def open_contents(file: Any, mapped: bool = True) -> Contents:
    """What a path or an open binary file holds."""
    name = as_load_args("load", file).name
    try:
        if hasattr(file, "read"):
            data = file.read()
            if not isinstance(data, bytes | bytearray | memoryview):
                raise ArgumentError("load: the file has to be opened in binary mode: open(path, 'rb')")
            return read_contents(Source(data))
        return read_contents(open_source(name, mapped))
    except RecordError as error:
        raise type(error)(f"load: {name}: {error}") from error.__cause__


def under(value: Any, key: str | None) -> Any:
    """What stands under a key of the file."""
    if key is None:
        return value
    if not isinstance(value, dict) or key not in value:
        found = some([str(each) for each in value]) if isinstance(value, dict) else f"a {type(value).__name__}"
        raise RecordError(f"load: the file has no top-level key {key!r}; it has {found}")
    return value[key]


def named_tensors(value: Any) -> Tensors:
    """Every tensor under a value. Dicts and lists inside it add their keys to the names."""
    found: Tensors = {}
    visited = 0
    waiting: list[tuple[str, Any, int]] = [("", value, 0)]
    while waiting:
        name, each, depth = waiting.pop()
        visited += 1
        if depth > MAX_DEPTH or visited > MAX_VISITED or len(name) > MAX_NAME:
            raise RecordError(
                f"load: containers of more than {MAX_DEPTH} levels or {MAX_VISITED:,} entries, or a name of more than "
                f"{MAX_NAME:,} characters"
            )
        if isinstance(each, Deferred):
            if name in found:
                raise RecordError(f"load: two tensors are called {name[:200]}")
            found[name] = each
        elif isinstance(each, dict):
            pairs = [(str(key), part) for key, part in each.items() if isinstance(key, str | int)]
            waiting += [(f"{name}.{key}" if name else key, part, depth + 1) for key, part in reversed(pairs)]
        elif type(each) in (list, tuple):
            waiting += [
                (f"{name}.{index}" if name else str(index), part, depth + 1)
                for index, part in reversed(list(enumerate(each)))
                if isinstance(part, dict | list | tuple | Deferred)
            ]
    return found


def some(names: list[str]) -> str:
    """The first of some names, for messages."""
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return (", ".join(name[:80] for name in names[:12]) or "none") + more
