"""The recorder that reads safetensors files of other frameworks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from burn.errors import ArgumentError, MissingOperation
from burn.record.errors import RecordError
from burn.record.layouts import Tensors
from burn.record.recorder import P, Recorder
from burn.record.safetensors import read_entries
from burn.record.source import Source, open_source
from burn.tensor import TensorData
from burn_import.common.arguments import LoadArgs, as_load_args
from burn_import.common.imported import ImportedRecord, imported

if TYPE_CHECKING:
    from burn.device import Device


class SafetensorsFileRecorder(Recorder[P]):
    """Reads the weights of a `.safetensors` file, in PyTorch's layout unless the arguments say otherwise.

    Tensors keep their element types unless a `precision` is given; a module takes them in its own.
    Files that a module of ours wrote with `burn.record.SafetensorsRecorder` are read by that one.

    >>> from safetensors.numpy import save_file
    >>> from burn_import.safetensors import SafetensorsFileRecorder
    >>> save_file({"weight": np.ones((3, 2), np.float32), "bias": np.zeros(3, np.float32)}, "linear.safetensors")
    >>> model = nn.Linear(2, 3).load_record(SafetensorsFileRecorder().load("linear.safetensors"))
    >>> print(model(burn.tensor([[1.0, 2.0]])).to_data())
    [[3.0, 3.0, 3.0]]
    """

    default_precision = None

    def load(self, args: Any, device: Device | None = None) -> ImportedRecord:
        """The record of `args`: a path, an open file or `LoadArgs`. Tensors are read when a module takes them."""
        args = as_load_args("load", args)
        try:
            tensors = _tensors(args, self.mapped)
        except RecordError as error:
            raise RecordError(f"load: {args.name}: {error}") from error.__cause__
        return imported(tensors, args, self.precision, device)

    def record(self, record: Any, path: Any) -> NoReturn:
        """Not available here: `burn.record.SafetensorsRecorder` writes."""
        raise MissingOperation("record: write SafetensorsRecorder().record(model, path); it is in burn.record")


def _tensors(args: LoadArgs, mapped: bool) -> Tensors:
    if hasattr(args.file, "read"):
        data = args.file.read()
        if not isinstance(data, bytes | bytearray | memoryview):
            raise ArgumentError("load: the file has to be opened in binary mode: open(path, 'rb')")
        source = Source(data)
    else:
        source = open_source(args.name, mapped)
    if bytes(source.view[:4]) == b"PK\x03\x04":
        raise RecordError("this is a file of PyTorch; read it with burn_import.pytorch.PyTorchFileRecorder")
    try:
        entries = read_entries(source, None)
    except RecordError as error:
        raise RecordError(f"damaged or no safetensors file: {error}") from None
    found: Tensors = {entry.path: entry.value for entry in entries if isinstance(entry.value, TensorData)}
    if not found:
        raise RecordError("it holds no tensors")
    return found if args.top_level_key is None else _under(found, args.top_level_key)


def _under(tensors: Tensors, key: str) -> Tensors:
    found = {name[len(key) + 1 :]: each for name, each in tensors.items() if name.startswith(key + ".")}
    if not found:
        tops = ", ".join(list(dict.fromkeys(name.partition(".")[0] for name in tensors))[:12])
        raise RecordError(f"no name begins with {key!r}; they begin with {tops}")
    return found
