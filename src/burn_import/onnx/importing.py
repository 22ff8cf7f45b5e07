"""From a file to a graph, and to source: read, prepare, write, and remember what the file said about itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.classes import dataclass
from burn.collecting import collector_waits
from burn_import.onnx.ir.model import Model
from burn_import.onnx.operators.missing import check_operators
from burn_import.onnx.passes import prepare
from burn_import.onnx.passes.patterns import recover
from burn_import.onnx.reader import read

if TYPE_CHECKING:
    from burn_import.onnx.writer import Loading, Written


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
        from burn_import.onnx.writer import write

        return write(self.model, loading, self.version)


def import_model(source: Any) -> Imported:
    """Read a path, bytes, an open file or a `ModelProto`, and prepare it. Unsupported operators are one error."""
    with collector_waits():
        model = read(source)
        opset = dict(model.opset_imports)
        prepare(model)
        recover(model)
        check_operators(model)
    return Imported(model, opset)
