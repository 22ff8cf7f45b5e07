"""The `burn-import` command.

    burn-import --input mnist-8.onnx --output mnist_burn            # mnist_burn.py, .mpk and .json
    burn-import --input mnist-8.onnx --output mnist_burn --check    # and compare with ONNX Runtime
    burn-import --input mnist-8.onnx --list-ops                     # what the model needs, and what is supported
    burn-import --input mnist-8.onnx --opset 16                     # upgraded_model.onnx, in another operator set
    burn-import weights model.pt --output model.mpk                 # weights of PyTorch or Safetensors as a record

Exit codes: 0 done, 1 the model cannot be imported or a file cannot be written, 2 wrong arguments, 3 the check found a
difference, 4 a file that was edited would have been replaced.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burn.errors import BurnError
from burn.packages import missing
from burn.tools.entry import command
from burn.version import __version__
from burn_import.onnx.errors import OnnxError

if TYPE_CHECKING:
    from burn_import.onnx.model_gen import Generated

STEPS = ("checksum", "read and prepare", "write source", "weights", "done")


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="burn-import",
        description="Turn an ONNX model into readable, trainable Python.",
        epilog="burn-import weights --help: weights of PyTorch and Safetensors. "
        "exit codes: 0 done, 1 not importable, 2 wrong arguments, 3 check failed, 4 edited file kept",
    )
    made.add_argument("--version", action="version", version=f"burn-dl {__version__}")
    made.add_argument("--input", "-i", type=Path, required=True, metavar="FILE", help="the ONNX file")
    made.add_argument("--output", "-o", type=Path, metavar="NAME", help="path and name of the files, without an ending")
    made.add_argument(
        "--record-type", default="NamedMpk", choices=("NamedMpk", "NamedMpkGz", "PrettyJson", "Bincode"),
        help="format of the weights",
    )  # fmt: skip
    made.add_argument("--half", action="store_true", help="store weights as f16")
    made.add_argument("--embed", action="store_true", help="put the weights into the source (with Bincode)")
    made.add_argument("--force", action="store_true", help="replace files that were edited")
    made.add_argument("--development", action="store_true", help="also write the canonical graph as text")
    made.add_argument("--check", action="store_true", help="compare with ONNX Runtime")
    made.add_argument("--inputs", type=Path, metavar="FILE.npz", help="inputs for --check; random ones by default")
    made.add_argument("--size", action="append", default=[], metavar="NAME=N", help="a named size for --check")
    made.add_argument("--device", default="ndarray", help="for --check: ndarray, cpu or torch")
    made.add_argument("--list-ops", action="store_true", help="print what the model needs, and write nothing")
    made.add_argument("--opset", type=int, metavar="N", help="write the ONNX file in another operator set instead")
    made.add_argument(
        "--plugin",
        action="append",
        type=Path,
        default=[],
        metavar="FILE.py",
        help="run a file that registers operators",
    )
    made.add_argument("--quiet", "-q", action="store_true", help="print only what went wrong")
    return made


@command("burn-import")
def main(arguments: Sequence[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == ["weights"]:
        from burn_import import weights

        return weights.main(given[1:])
    options = parser().parse_args(given)
    try:
        return run(options)
    except BurnError as error:
        from burn_import.onnx.model_gen import EditedSource

        print(f"burn-import: {str(error).removeprefix('burn-import: ')}", file=sys.stderr)
        return 4 if isinstance(error, EditedSource) else 1
    except BrokenPipeError:
        raise
    except OSError as error:
        print(f"burn-import: {error.filename or options.input}: {error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("burn-import: interrupted; nothing was written", file=sys.stderr)
        return 130


def run(options: argparse.Namespace) -> int:
    if not options.input.is_file():
        raise OnnxError("burn-import", [f"{options.input}: there is no such file"])
    for plugin in options.plugin:
        load_plugin(plugin)
    if options.list_ops:
        return list_operators(options.input)
    if options.opset is not None:
        from burn_import.onnx.upgrade import FILE, upgrade

        target = upgrade(options.input, options.output if options.output is not None else FILE, options.opset)
        if not options.quiet:
            print(f"wrote {target}")
        return 0
    if options.check and find_spec("onnxruntime") is None:
        raise OnnxError("burn-import", [missing("--check", "onnxruntime")])
    output = options.output if options.output is not None else Path(options.input.stem)
    if output.suffix == ".py":
        output = output.with_suffix("")
    if output.is_dir():
        raise OnnxError("burn-import", [f"{output} is a folder; write {output / options.input.stem}"])
    from burn_import.onnx.model_gen import ModelGen, RecordType

    generator = ModelGen(
        record_type=RecordType[options.record_type], half_precision=options.half, embed_states=options.embed
    )
    generator.overwrite(options.force).development(options.development)
    if options.embed and options.record_type != "Bincode":
        raise OnnxError("burn-import", ["--embed needs --record-type Bincode"])
    bar = Bar(options.quiet)
    try:
        made = generator.generate(options.input, output, bar.step)
    finally:
        bar.close()
    if not options.quiet:
        names = ", ".join(str(each) for each in (made.source, made.weights, made.metadata) if each is not None)
        print(f"wrote {names}" if made.changed else f"up to date: {names}")
    return compare(options, made) if options.check else 0


def compare(options: argparse.Namespace, made: Generated) -> int:
    """Compare what was written with ONNX Runtime; 3 when something is different."""
    from burn_import.onnx import metadata
    from burn_import.onnx.check import check, device_of, random_inputs, table
    from burn_import.onnx.importing import import_model
    from burn_import.onnx.modules import open_files

    imported = import_model(options.input)
    sizes = {}
    for each in options.size:
        name, _, number = each.partition("=")
        if not number.isdigit():
            raise OnnxError("burn-import", [f"--size {each}: write NAME=N"])
        sizes[name] = int(number)
    if options.inputs is not None:
        inputs = _arrays(options.inputs)
    else:
        inputs = random_inputs(imported, sizes)
    described = metadata.load(made.metadata)
    assert described is not None
    model = open_files(made.source, made.weights, described, device_of(options.device))
    found = check(model, options.input, inputs, options.half)
    if not options.quiet:
        print(table(found))
    return 0 if all(each.close for each in found) else 3


def _arrays(path: Path) -> dict[str, Any]:
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, AttributeError, TypeError) as error:
        raise OnnxError("burn-import", [f"--inputs {path}: it is no .npz file of arrays: {error}"]) from None


def list_operators(path: Path) -> int:
    """Every operator of a model, how often it occurs, and whether it can be written."""
    from burn_import.onnx.operators import rows
    from burn_import.onnx.passes import prepare
    from burn_import.onnx.reader import read
    from burn_import.onnx.writer import operators_of

    model = read(path)
    opset = model.opset_imports.get("", 0)
    prepare(model)
    supported = {node.operator: (node.domain, node.op_type) in rows() for node in model.graph.walk()}
    print(f"{path.name}: opset {opset}, {sum(len(graph) for graph in model.graphs())} nodes after preparation")
    for name, count in sorted(operators_of(model).items(), key=lambda each: (-each[1], each[0])):
        print(f"{count:6}  {name:<32} {'' if supported[name] else 'not supported'}".rstrip())
    return 0 if all(supported.values()) else 1


def load_plugin(path: Path) -> None:
    """Run a user's file, which registers operators with `register_op`."""
    if not path.is_file():
        raise OnnxError("burn-import", [f"{path}: there is no such file"])
    try:
        runpy.run_path(str(path))
    except Exception as error:
        raise OnnxError("burn-import", [f"--plugin {path}: {type(error).__name__}: {error}"]) from error


class Bar:
    """A bar on a terminal; nothing elsewhere."""

    def __init__(self, quiet: bool) -> None:
        self.shown = not quiet and sys.stderr.isatty()

    def step(self, name: str) -> None:
        if self.shown:
            done = STEPS.index(name) + 1
            print(f"\r[{'#' * 4 * done:<{4 * len(STEPS)}}] {name:<18}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self.shown:
            print("\r" + " " * 44 + "\r", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
