"""What stands beside the generated source: the `.json` that says where it came from and what it takes and gives.

The checksums let a second import see whether the input, the options or the source have changed since. `program` will
hold the verified program as data, for servers that run no Python; it is null in this version.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from burn.version import __version__
from burn_import.onnx.importing import Imported
from burn_import.onnx.ir.graph import Value
from burn_import.onnx.ir.types import TensorType
from burn_import.onnx.writer import Written, operators_of

FORMAT = 1


def describe(
    imported: Imported, written: Written, *, files: Mapping[str, bytes | str | None], options: Mapping[str, Any]
) -> dict[str, Any]:
    """The metadata of one import. `files` has input, code and weights: their checksums, or their bytes."""
    model = imported.model
    arguments = dict(written.inputs)
    return {
        "format": "burn-import",
        "format_version": FORMAT,
        "import_version": __version__,
        "options": dict(options),
        "producer": model.producer_name,
        "producer_version": model.producer_version,
        "ir_version": model.ir_version,
        "opset": imported.opset,
        "graph": model.graph.name,
        "inputs": [{**_value(value, value.name), "argument": arguments[value.name]} for value in model.graph.inputs],
        "outputs": [_value(value, name) for value, name in zip(model.graph.outputs, model.graph.output_names)],
        "operators": dict(sorted(operators_of(model).items())),
        "parameters": len(written.weights),
        "checksums": {name: _checksum(data) for name, data in files.items() if data is not None},
        "program": None,
    }


def to_text(metadata: Mapping[str, Any]) -> str:
    return json.dumps(metadata, indent=2) + "\n"


def load(path: Path) -> dict[str, Any] | None:
    """The metadata of a file; None when it is not there or not ours."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("format") == "burn-import" else None


def checksum(data: bytes) -> str:
    """The SHA-256 of some bytes, as the metadata writes it."""
    return hashlib.sha256(data).hexdigest()


def file_checksum(path: Path) -> str:
    """The SHA-256 of a file, read piece by piece."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checksum(data: bytes | str) -> str:
    return data if isinstance(data, str) else checksum(data)


def _value(value: Value, name: str) -> dict[str, Any]:
    type_ = value.type
    if not isinstance(type_, TensorType):
        return {"name": name, "type": str(type_)}
    shape = None if type_.shape is None else [each if isinstance(each, int) else str(each) for each in type_.shape]
    return {"name": name, "dtype": None if type_.dtype is None else str(type_.dtype), "shape": shape}
