"""The recorder that reads files of PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from burn.errors import MissingOperation
from burn.record.errors import RecordError
from burn.record.recorder import P, Recorder
from burn_import.common.arguments import as_load_args
from burn_import.common.imported import ImportedRecord, imported
from burn_import.pytorch.reader import PytorchReader, some

if TYPE_CHECKING:
    from burn.device import Device


class PyTorchFileRecorder(Recorder[P]):
    """Reads the weights of a `.pt` or `.pth` file. Neither PyTorch nor anything in the file is run.

    Tensors keep their element types unless a `precision` is given; a module takes them in its own.

    >>> import torch
    >>> from burn_import.pytorch import PyTorchFileRecorder
    >>> torch.save(torch.nn.Linear(2, 3).state_dict(), "linear.pt")
    >>> model = nn.Linear(2, 3).load_record(PyTorchFileRecorder().load("linear.pt"))
    >>> model(Tensor.ones([1, 2])).shape
    Shape([1, 3])
    """

    default_precision = None

    def load(self, args: Any, device: Device | None = None) -> ImportedRecord:
        """The record of `args`: a path, an open file or `LoadArgs`. Tensors are read when a module takes them."""
        args = as_load_args("load", args)
        reader = PytorchReader(args.file, top_level_key=args.top_level_key, mapped=self.mapped)
        if "" in reader.tensors:
            raise RecordError(f"load: {args.name}: it holds one tensor without a name; save a dict of tensors")
        if not reader.tensors:
            value = reader.value
            found = f"a dict of {some(list(map(str, value)))}" if isinstance(value, dict) else type(value).__name__
            raise RecordError(f"load: {args.name}: it holds no tensors; there is {found}")
        return imported(reader.tensors, args, self.precision, device)

    def record(self, record: Any, path: Any) -> NoReturn:
        """Not available: files of PyTorch are read only. A `record` is written by those of `burn.record`."""
        raise MissingOperation(
            "record: files of PyTorch are read only; write SafetensorsRecorder().record(model, path) for PyTorch, or "
            "NamedMpkFileRecorder().record(model, path)"
        )
