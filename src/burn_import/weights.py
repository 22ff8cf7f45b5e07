"""`burn-import weights`: weights of PyTorch and Safetensors files as records.

    burn-import weights model.pt --output model.mpk
    burn-import weights model.safetensors --output model.mpk.gz --half
    burn-import weights model.pt --output model.bin --module net.py:Net

The ending of the output is the format. Formats with names hold the tensors as the file has them, and a module fits them
when it loads the record. Formats without names need the module's structure first: `--module` names a class of your own
file, which is run, and the weights are fitted before they are written.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from burn.errors import BurnError
from burn.record.errors import RecordError

NAMED = {
    ".mpk.gz": "NamedMpkGzFileRecorder", ".mpk": "NamedMpkFileRecorder", ".json.gz": "JsonGzFileRecorder",
    ".json": "PrettyJsonFileRecorder", ".safetensors": "SafetensorsRecorder", ".bpk": "BurnpackRecorder",
}  # fmt: skip
UNNAMED = {".bin.gz": "BinGzFileRecorder", ".bin": "BinFileRecorder"}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="burn-import weights", description="Turn weights of PyTorch or Safetensors files into a record."
    )
    made.add_argument("input", type=Path, help="a .pt, .pth or .safetensors file")
    made.add_argument("--output", "-o", type=Path, required=True, metavar="FILE", help=f"{', '.join(NAMED | UNNAMED)}")
    made.add_argument("--half", action="store_true", help="store weights as f16")
    made.add_argument("--top-level-key", metavar="KEY", help="where the weights are in the file, such as state_dict")
    made.add_argument(
        "--key-remap", nargs=2, action="append", default=[], metavar=("PATTERN", "NEW"), help="rename by a pattern"
    )
    made.add_argument("--plain", action="store_true", help="the file has our layout, not PyTorch's")
    made.add_argument("--module", metavar="FILE.py:CLASS", help="fit the weights to a module first; runs the file")
    made.add_argument("--debug", action="store_true", help="print every name and shape")
    made.add_argument("--force", action="store_true", help="replace a file that is there")
    made.add_argument("--quiet", "-q", action="store_true", help="print only what went wrong")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        convert(options)
    except BurnError as error:
        print(f"burn-import: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        raise
    except OSError as error:
        print(f"burn-import: {error.filename or options.output}: {error.strerror or error}", file=sys.stderr)
        return 1
    return 0


def convert(options: argparse.Namespace) -> None:
    """Read, fit if that is asked for, and write."""
    from burn import record as records

    ending, kind = _format(options.output)
    faults = []
    if not options.input.is_file():
        faults.append(f"{options.input}: there is no such file")
    if options.output.is_dir():
        faults.append(f"{options.output} is a folder; write {options.output / 'model.mpk'}")
    elif options.output.exists() and not options.force:
        faults.append(f"{options.output} is there already; add --force to replace it")
    if ending in UNNAMED and options.module is None:
        faults.append(f"{ending} files have no names; write .mpk, or say which module it is for: --module net.py:Net")
    if faults:
        raise RecordError("weights: " + "; ".join(faults))
    record = _read(options)
    count = len(record.tensors)
    wide = any(str(each.dtype).lower() == "f64" for each in record.tensors.values())
    settings = records.HalfPrecisionSettings if options.half else records.DoublePrecisionSettings if wide else None
    recorder = getattr(records, kind)(settings)
    recorder.record(record if options.module is None else record.for_module(_module(options.module)), options.output)
    if not options.quiet:
        print(f"wrote {count} tensors of {options.input} to {options.output}")


def _format(path: Path) -> tuple[str, str]:
    for ending, kind in (NAMED | UNNAMED).items():
        if path.name.endswith(ending):
            return ending, kind
    raise RecordError(f"weights: {path}: the ending says the format: {', '.join(NAMED | UNNAMED)}")


def _read(options: argparse.Namespace) -> Any:
    from burn_import.pytorch import AdapterType, LoadArgs, PyTorchFileRecorder
    from burn_import.safetensors import SafetensorsFileRecorder

    arguments = LoadArgs(options.input)
    if options.top_level_key is not None:
        arguments = arguments.with_top_level_key(options.top_level_key)
    for pattern, new in options.key_remap:
        arguments = arguments.with_key_remap(pattern, new)
    if options.plain:
        arguments = arguments.with_adapter_type(AdapterType.NoAdapter)
    if options.debug:
        arguments = arguments.with_debug_print()
    recorder = SafetensorsFileRecorder() if options.input.suffix == ".safetensors" else PyTorchFileRecorder()
    return recorder.load(arguments)


def _module(text: str) -> Any:
    """The module of `FILE.py:CLASS`, made by `CLASS.init(device)` or `CLASS(device)`."""
    from burn import NdArray

    file, _, name = text.rpartition(":")
    if not file or not Path(file).is_file():
        raise RecordError(f"weights: --module {text}: write FILE.py:CLASS, a file that is there and a class in it")
    found = runpy.run_path(file).get(name)
    if not isinstance(found, type):
        raise RecordError(f"weights: --module {text}: there is no class {name} in {file}")
    make: Any = getattr(found, "init", found)
    return make(NdArray())


__all__ = ["convert", "main", "parser"]
