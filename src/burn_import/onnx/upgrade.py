"""An ONNX file in another operator set, by the `onnx` package's own converter, with inferred shapes.

The importer reads every operator set, so it needs none of this; other programs may.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from burn.packages import missing
from burn_import.onnx.errors import OnnxError

TARGET = 16
FILE = Path("upgraded_model.onnx")
_INLINE = (1 << 31) - (1 << 20)  # bytes that one protobuf message may take


def upgrade(source: Path, target: Path = FILE, opset: int = TARGET) -> Path:
    """Write `source` in another operator set to `target`. The file appears whole or not at all."""
    try:
        import onnx
        from onnx import shape_inference, version_converter
    except ImportError:
        raise OnnxError("burn-import", [missing("upgrade", "onnx")]) from None
    if not source.is_file():
        raise OnnxError("upgrade", [f"{source}: there is no such file"])
    if target.is_dir():
        raise OnnxError("upgrade", [f"{target} is a folder; write {target / FILE.name}"])
    newest = onnx.defs.onnx_opset_version()
    if not 1 <= opset <= newest:
        raise OnnxError("upgrade", [f"there is no operator set {opset}; the newest one here is {newest}"])
    try:
        made = shape_inference.infer_shapes(version_converter.convert_version(onnx.load(str(source)), opset))
    except Exception as error:  # the converter raises what it likes
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise OnnxError("upgrade", [f"{source} does not convert to opset {opset}: {reason}"]) from None
    _save(onnx, made, target)
    return target


def _save(onnx: Any, model: Any, target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if model.ByteSize() > _INLINE:
            onnx.save(model, str(target), save_as_external_data=True, location=f"{target.name}.data")
            return
        handle, name = tempfile.mkstemp(prefix=".burn-import-", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(model.SerializeToString())
            os.replace(name, target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OnnxError("upgrade", [f"{target}: cannot be written: {error.strerror or error}"]) from None


__all__ = ["FILE", "TARGET", "upgrade"]
