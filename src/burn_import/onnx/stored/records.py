"""Where the weights of a program are: a file, bytes, or the source that they are embedded in.

The ending of a file says its format, as recorders write it; bytes are in the format that the import was asked for. An
embedded record is cut out of the source as text: the source does not run.
"""

from __future__ import annotations

import os
import re
from base64 import b85decode
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from burn import Device
from burn import record as records
from burn.record import Record
from burn_import.onnx.errors import OnnxError

ENDINGS = {
    ".mpk.gz": "NamedMpkGzFileRecorder", ".mpk": "NamedMpkFileRecorder", ".bin.gz": "BinGzFileRecorder",
    ".bin": "BinFileRecorder", ".json.gz": "JsonGzFileRecorder", ".json": "PrettyJsonFileRecorder",
    ".safetensors": "SafetensorsRecorder", ".bpk": "BurnpackRecorder",
}  # fmt: skip
_BY_OPTION = {
    "NamedMpk": ".mpk", "NamedMpkGz": ".mpk.gz", "PrettyJson": ".json", "Bincode": ".bin",
}  # fmt: skip
FILES = {**_BY_OPTION, "PrettyJson": "_weights.json"}  # what the importer appends to the name of a model
_EXPANDS = 1032  # the most that deflate makes of a byte
_EMBEDDED = re.compile(rb'^_WEIGHTS = \(\n((?:    "[!-~]*"\n)*)\)$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Weights:
    """A record that was found and not read yet."""

    name: str
    ending: str
    data: Path | bytes
    size: int

    @property
    def capacity(self) -> int:
        """The bytes that can be in it at the most."""
        return self.size * (_EXPANDS if self.ending.endswith(".gz") else 1)

    def load(self, wide: bool, device: Device) -> Record:
        """The record. `wide` keeps numbers of 64 bits."""
        kind = getattr(records, ENDINGS[self.ending])
        recorder = kind(records.DoublePrecisionSettings) if wide else kind()
        found: Record = recorder.load(BytesIO(self.data) if isinstance(self.data, bytes) else self.data, device)
        return found


def find_weights(
    record: str | os.PathLike[str] | bytes | None, program: Path | None, described: Mapping[str, Any]
) -> Weights:
    """The weights that were given, or those beside the program."""
    options = described.get("options")
    option = options.get("record_type") if isinstance(options, Mapping) else None
    if isinstance(record, bytes | bytearray | memoryview):
        ending = _BY_OPTION.get(option if isinstance(option, str) else "", ".mpk")
        return Weights("the record", ending, bytes(record), len(record))
    if record is None:
        if program is None:
            raise OnnxError("open_program", ["a program without a path needs a record: give its path or its bytes"])
        embedded = isinstance(options, Mapping) and options.get("embed_states") is True
        ending = ".py" if embedded else FILES.get(option if isinstance(option, str) else "", ".mpk")
        record = program.with_name(f"{program.stem}{ending}")
    path = Path(record)
    if not path.is_file():
        raise OnnxError("open_program", [f"{path}: there is no such record"])
    if path.suffix == ".py":
        data = _embedded(path)
        return Weights(str(path), ".bin", data, len(data))
    found = next((each for each in ENDINGS if path.name.endswith(each)), None)
    if found is None:
        raise OnnxError("open_program", [f"{path}: records end in {', '.join(ENDINGS)}"])
    return Weights(str(path), found, path, path.stat().st_size)


def _embedded(path: Path) -> bytes:
    match = _EMBEDDED.search(path.read_bytes())
    if match is None:
        raise OnnxError("open_program", [f"{path}: no weights are in it"])
    text = b"".join(line.strip()[1:-1] for line in match.group(1).splitlines())
    try:
        return b85decode(text)
    except ValueError:
        raise OnnxError("open_program", [f"{path}: the weights in it are damaged"]) from None


__all__ = ["FILES", "Weights", "find_weights"]
