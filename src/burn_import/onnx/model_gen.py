"""`ModelGen`: ONNX files to Python files and weights, with the names that the Rust framework uses.

    from burn_import.onnx import ModelGen, RecordType

    ModelGen().input("model/mnist.onnx").out_dir("model/").record_type(RecordType.NamedMpk).run_from_script()

    from model.mnist import Model

For each input there are `<stem>.py`, the weights, and `<stem>.json`. Nothing is written when the input, the options
and the version are those of the last time, and what was edited is never replaced without being told to.
"""

from __future__ import annotations

import contextlib
import enum
import os
import shutil
import sys
import tempfile
from base64 import b85encode
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from burn import NdArray
from burn import record as records
from burn.version import __version__
from burn_import.onnx import metadata
from burn_import.onnx.errors import OnnxError
from burn_import.onnx.importing import Imported, import_model
from burn_import.onnx.modules import compiled, fill
from burn_import.onnx.stored.encoding import store
from burn_import.onnx.versions import FORMAT
from burn_import.onnx.writer import Loading, Written


class _Format(NamedTuple):
    recorder: str
    bytes_recorder: str | None
    ending: str


class RecordType(enum.Enum):
    """The formats that weights can be written in.

    >>> from burn_import.onnx import RecordType
    >>> [kind.name for kind in RecordType]
    ['NamedMpk', 'NamedMpkGz', 'PrettyJson', 'Bincode']
    """

    NamedMpk = _Format("NamedMpkFileRecorder", "NamedMpkBytesRecorder", ".mpk")
    NamedMpkGz = _Format("NamedMpkGzFileRecorder", None, ".mpk.gz")
    PrettyJson = _Format("PrettyJsonFileRecorder", None, "_weights.json")
    Bincode = _Format("BinFileRecorder", "BinBytesRecorder", ".bin")


@dataclass(frozen=True, slots=True)
class Generated:
    """The files of one import; `changed` is False when they were up to date already."""

    source: Path
    weights: Path | None
    metadata: Path
    changed: bool = True


class EditedSource(OnnxError):
    """A file that would be replaced is not what the importer wrote."""


Progress = Callable[[str], None]


class ModelGen:
    """Writes ONNX files as Python source and weights; the command `burn-import` is the same.

    Options are methods, and four of them arguments too: `input` a file, `out_dir` the folder, `record_type` the format
    of the weights, `half_precision` stores them as f16, `embed_states` puts them into the source. `run_from_script()`
    or `run_from_cli()` writes.

    >>> import onnx, os
    >>> from burn_import.onnx import ModelGen, RecordType
    >>> text = '<ir_version: 8, opset_import: ["": 17]> graph (float[N, 2] x) => (float[N, 2] y) { y = Relu(x) }'
    >>> onnx.save(onnx.parser.parse_model(text), "relu.onnx")
    >>> files = ModelGen().input("relu.onnx").out_dir("model").record_type(RecordType.NamedMpk).run_from_cli()
    >>> sorted(os.listdir("model"))
    ['relu.json', 'relu.mpk', 'relu.py']
    """

    def __init__(
        self,
        input: str | os.PathLike[str] | None = None,
        out_dir: str | os.PathLike[str] = ".",
        record_type: RecordType = RecordType.NamedMpk,
        half_precision: bool = False,
        embed_states: bool = False,
    ) -> None:
        self._inputs = [] if input is None else [Path(input)]
        self._out_dir = Path(out_dir)
        self._record_type = record_type
        self._half_precision = half_precision
        self._embed_states = embed_states
        self._development = False
        self._overwrite = False

    def input(self, path: str | os.PathLike[str]) -> ModelGen:
        """One more file to import."""
        self._inputs.append(Path(path))
        return self

    def out_dir(self, path: str | os.PathLike[str]) -> ModelGen:
        """The folder that the files are written to."""
        self._out_dir = Path(path)
        return self

    def record_type(self, record_type: RecordType) -> ModelGen:
        """The format of the weights, `record_type`: a `RecordType`."""
        self._record_type = record_type
        return self

    def half_precision(self, half: bool) -> ModelGen:
        """Whether weights are stored as f16 (`half`); they are computed with as before."""
        self._half_precision = half
        return self

    def embed_states(self, embed: bool) -> ModelGen:
        """Whether the weights stand in the source itself (`embed`); needs `RecordType.Bincode`."""
        self._embed_states = embed
        return self

    def development(self, development: bool) -> ModelGen:
        """Whether `<stem>.graph.txt`, the canonical graph as text, is written too: with `development` True."""
        self._development = development
        return self

    def overwrite(self, overwrite: bool) -> ModelGen:
        """Whether files that were edited may be replaced: with `overwrite` True."""
        self._overwrite = overwrite
        return self

    def run_from_script(self) -> list[Generated]:
        """Write the files; paths are relative to the folder of the script that calls this."""
        file = sys._getframe(1).f_globals.get("__file__")
        return self.run(Path(file).resolve().parent if file else Path.cwd())

    def run_from_cli(self) -> list[Generated]:
        """Write the files; paths are relative to the working folder."""
        return self.run(Path.cwd())

    def run(self, base: Path, progress: Progress = lambda step: None) -> list[Generated]:
        """Write the files; paths are relative to `base`. `progress` is told each step."""
        faults = [] if self._inputs else ["there is no input; call .input(path)"]
        faults += [f"{path}: there is no such file" for path in self._inputs if not (base / path).is_file()]
        stems = [path.stem for path in self._inputs]
        for stem in sorted({each for each in stems if stems.count(each) > 1}):
            faults.append(f"{stems.count(stem)} inputs would be written as {stem}; give them other names or folders")
        if self._embed_states and self._record_type is not RecordType.Bincode:
            faults.append("embed_states needs Bincode; add .record_type(RecordType.Bincode)")
        if faults:
            raise OnnxError("ModelGen", faults)
        return [self.generate(base / path, base / self._out_dir / path.stem, progress) for path in self._inputs]

    def generate(self, source: Path, target: Path, progress: Progress = lambda step: None) -> Generated:
        """Write the files of one input (`source`) under the path and name of `target`, without an ending.

        `progress` is told each step.
        """
        kind = self._record_type.value
        code, described = target.with_name(f"{target.name}.py"), target.with_name(f"{target.name}.json")
        weights = None if self._embed_states else target.with_name(f"{target.name}{kind.ending}")
        progress("checksum")
        before, given = metadata.load(described), metadata.file_checksum(source)
        options = {
            "record_type": self._record_type.name,
            "half_precision": self._half_precision,
            "embed_states": self._embed_states,
        }
        targets = [each for each in (code, weights, described) if each is not None]
        folders = [f"{each} is a folder; choose another name" for each in targets if each.is_dir()]
        if folders:
            raise OnnxError("ModelGen", folders)
        intact = before is not None and code.is_file() and _is_ours(before, "code", code)
        if intact and before is not None and (weights is None or weights.is_file()):
            same = before["options"] == options and before["checksums"].get("input") == given
            if same and before["import_version"] == __version__ and before["format_version"] == FORMAT:
                return Generated(code, weights, described, changed=False)
        self._check_edits(before, code, weights, described)
        progress("read and prepare")
        imported = import_model(source)
        progress("write source")
        precision = self._precision(imported)
        loading = self._loading(target, weights, precision)
        stored = store(imported.model)
        imported.model = stored.model
        written = imported.write(loading)
        progress("weights")
        with _scratch(target.parent) as folder:
            program = stored.program(written)
            file = self._store(written, folder / target.name, precision)
            recorded = metadata.file_checksum(file)
            if self._embed_states:
                data = file.read_bytes()
                written = imported.write(self._loading(target, weights, precision, b85encode(data).decode()))
                file.unlink()
            (folder / code.name).write_text(written.source, encoding="utf-8")
            checksums = {
                "input": given,
                "code": metadata.file_checksum(folder / code.name),
                "weights": recorded,
            }
            described_as = metadata.describe(
                imported, written, name=target.name, files=checksums, options=options, program=program
            )
            text = metadata.to_text(described_as)
            (folder / described.name).write_text(text, encoding="utf-8")
            if self._development:
                graph = folder / f"{target.name}.graph.txt"
                graph.write_text(str(imported.model), encoding="utf-8")
            for each in sorted(folder.iterdir()):
                os.replace(each, target.parent / each.name)
        progress("done")
        return Generated(code, weights, described)

    def _check_edits(self, before: dict[str, Any] | None, code: Path, weights: Path | None, described: Path) -> None:
        """Refuse to replace what somebody else wrote: an edited source, trained weights, a file of another program."""
        if self._overwrite:
            return
        found = [code] if code.exists() and (before is None or not _is_ours(before, "code", code)) else []
        if weights is not None and weights.exists() and (before is None or not _is_ours(before, "weights", weights)):
            found.append(weights)
        if described.exists() and before is None:
            found.append(described)
        if found:
            advice = "move it away, write somewhere else, or allow it with .overwrite(True) or --force"
            raise EditedSource(
                "ModelGen", [f"{each} was edited since it was written, or is not ours; {advice}" for each in found]
            )

    def _precision(self, imported: Imported) -> str | None:
        """The settings that keep every weight: double precision where the model has f64."""
        if self._half_precision:
            return "HalfPrecisionSettings"
        wide = any(
            value.constant is not None and value.constant.dtype.name == "f64" and value.constant.size > 1
            for graph in imported.model.graphs()
            for value in graph.constants
        )
        return "DoublePrecisionSettings" if wide else None

    def _loading(
        self, target: Path, weights: Path | None, precision: str | None, embedded: str | None = None
    ) -> Loading:
        kind = self._record_type.value
        settings = f"burn.record.{precision}" if precision else ""
        return Loading(
            recorder=f"{kind.recorder}({settings})",
            bytes_recorder=None if kind.bytes_recorder is None else f"{kind.bytes_recorder}({settings})",
            file=None if weights is None else weights.name,
            embedded=embedded,
        )

    def _store(self, written: Written, path: Path, precision: str | None) -> Path:
        kind = self._record_type.value
        recorder = getattr(records, kind.recorder)(*([getattr(records, precision)] if precision else []))
        file = path.with_name(f"{path.name}{kind.ending}")
        cls: Any = compiled(written)
        model = fill(cls(NdArray()), written)
        try:
            recorder.record(model.into_record(), file)
        except OSError as error:
            raise OnnxError("ModelGen", [f"{file}: {error.strerror or error}"]) from error
        return file


def _is_ours(before: dict[str, Any], name: str, file: Path) -> bool:
    return bool(before.get("checksums", {}).get(name) == metadata.file_checksum(file))


@contextlib.contextmanager
def _scratch(folder: Path) -> Any:
    """A folder beside the target, from which finished files are moved; nothing stays when something fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".burn-import-", dir=folder))
    except OSError as error:
        raise OnnxError("ModelGen", [f"{folder}: cannot be written to: {error.strerror or error}"]) from None
    try:
        yield scratch
    except OSError as error:
        raise OnnxError("ModelGen", [f"{folder}: cannot be written to: {error.strerror or error}"]) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


__all__ = ["EditedSource", "Generated", "ModelGen", "RecordType"]
