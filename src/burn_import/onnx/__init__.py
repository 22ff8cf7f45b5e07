"""ONNX models as modules: readable, trainable source, or the same at run time.

from burn_import.onnx import load

model = load("mobilenetv2.onnx", burn.Cpu())
scores = model(images)

`reader` turns a file into `ir` objects, `passes` bring them to one canonical form, `operators` say how each node is
written, `writer` puts the source together. Protobuf is known to `reader` alone.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from burn_import.onnx.errors import OnnxError

if TYPE_CHECKING:
    from burn_import.onnx.loading import load
    from burn_import.onnx.model_gen import ModelGen, RecordType
    from burn_import.onnx.operators.registry import register_op
    from burn_import.onnx.stored.opening import open_program

__all__ = ["ModelGen", "OnnxError", "RecordType", "load", "open_program", "register_op"]

_LATER = {
    "load": "loading", "open_program": "stored.opening", "ModelGen": "model_gen", "RecordType": "model_gen",
    "register_op": "operators.registry",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """What needs the writer and the framework is loaded when it is asked for."""
    if name in _LATER:
        return getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
