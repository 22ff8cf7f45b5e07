"""What stands beside the generated source: the `.json` that says where it came from and what it takes and gives.

The checksums let a second import see whether the input, the options or the source have changed since. `program` has
the prepared graph as data, from which `open_program` makes the model without running the source.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from burn.version import __version__
from burn_import.onnx.importing import Imported
from burn_import.onnx.modules import ports
from burn_import.onnx.operators.missing import operators_of
from burn_import.onnx.versions import FORMAT

if TYPE_CHECKING:
    from burn_import.onnx.writer import Written


def describe(
    imported: Imported,
    written: Written | None,
    *,
    name: str,
    files: Mapping[str, bytes | str | None],
    options: Mapping[str, Any],
    program: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """The metadata of one import. `files` has input, code and weights: their checksums, or their bytes."""
    model = imported.model
    return {
        "format": "burn-import",
        "format_version": FORMAT,
        "import_version": __version__,
        "name": name,
        "source": PurePath(model.source).name if model.source else None,
        "options": dict(options),
        "producer": model.producer_name,
        "producer_version": model.producer_version,
        "ir_version": model.ir_version,
        "opset": imported.opset,
        "graph": model.graph.name,
        **ports(model),
        "operators": dict(sorted(operators_of(model).items())),
        "parameters": 0 if written is None else len(written.weights),
        "checksums": {name: _checksum(data) for name, data in files.items() if data is not None},
        "program": None if program is None else dict(program),
    }


def to_text(metadata: Mapping[str, Any]) -> str:
    """The metadata as people read it; of the program one line for each constant and node."""
    program = metadata.get("program")
    text = json.dumps({**metadata, "program": None}, indent=2) + "\n"
    if program is None:
        return text
    head, tail = text.rsplit('"program": null', 1)
    graph = {**program["graph"]}
    lines = [f'"program": {{"version": {program["version"]}, "graph": {{']
    for name in ("name", "inputs", "outputs"):
        lines.append(f"    {json.dumps(name)}: {_compact(graph.pop(name))},")
    for name, entries in graph.items():
        rows = ",\n".join(f"      {_compact(each)}" for each in entries)
        lines.append(f"    {json.dumps(name)}: [\n{rows}\n    ]," if entries else f"    {json.dumps(name)}: [],")
    lines[-1] = lines[-1][:-1]
    lines.append(f'  }}, "parameters": {_compact(program["parameters"])}}}')
    return head + "\n".join(lines) + tail


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(", ", ": "), allow_nan=False)


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
