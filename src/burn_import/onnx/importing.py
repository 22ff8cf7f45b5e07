"""From a file to source: read, prepare, write, remembering what the file said about itself on the way."""

from __future__ import annotations

from typing import Any

from burn.classes import dataclass
from burn_import.onnx.ir.model import Model
from burn_import.onnx.passes import prepare
from burn_import.onnx.passes.patterns import recover
from burn_import.onnx.reader import read
from burn_import.onnx.writer import Loading, Written, check_operators, write


@dataclass(slots=True)
class Imported:
    """A model in its canonical form, and the operator sets that its file was written in."""

    model: Model
    opset: dict[str, int]

    @property
    def version(self) -> int:
        """The standard's operator set of the file."""
        return self.opset.get("", self.opset.get("ai.onnx", 0))

    def write(self, loading: Loading | None = None) -> Written:
        """The model as source."""
        return write(self.model, loading, self.version)


def import_model(source: Any) -> Imported:
    """Read a path, bytes, an open file or a `ModelProto`, and prepare it. Unsupported operators are one error."""
    model = read(source)
    opset = dict(model.opset_imports)
    prepare(model)
    recover(model)
    check_operators(model)
    return Imported(model, opset)
