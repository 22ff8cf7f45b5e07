"""A model from its `.json` and a record: the graph is read as data, and runs as it stands.

    from burn_import.onnx import open_program

    model = open_program("mnist_burn.json", "mnist_burn.mpk", burn.Cpu())
    answer = model.run({"input": array})

Neither the `onnx` package nor the generated `.py` is needed, and nothing of the files is executed: no text is made of
the graph to run it. A record that was trained further fits as well as the first one. Whoever asks for the module gets
what our own writer writes, looked at once more by `guard`.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import burn
from burn import Device
from burn.errors import BurnError
from burn.record import Record
from burn_import.onnx import versions
from burn_import.onnx.errors import OnnxError, TextOnly
from burn_import.onnx.ir.constant import Constant
from burn_import.onnx.ir.model import Model
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.loading import Loaded, Origin
from burn_import.onnx.modules import compiled, ports
from burn_import.onnx.operators.missing import check_operators
from burn_import.onnx.running import Runtime
from burn_import.onnx.running.checking import check_nodes
from burn_import.onnx.stored.decoding import VERSION, Records, decode
from burn_import.onnx.stored.records import Weights, find_weights
from burn_import.onnx.stored.weights import RecordWeights

if TYPE_CHECKING:
    from burn_import.onnx.writer import Written

LARGEST_FILE = 1 << 30  # bytes of a `.json`
_DENSEST = 4  # elements that a byte of a record can hold


def open_program(
    program: str | os.PathLike[str] | Mapping[str, Any],
    record: str | os.PathLike[str] | bytes | None = None,
    device: Device | None = None,
) -> Any:
    """The model of a `.json` that `burn-import` wrote (or what is in it: `program`), with the weights of a record.

    `record` is a path or the bytes of a file; without it the file beside the `.json` is taken, or what is embedded in
    the source there. The model is what `load` gives: call it, or `run` it with arrays by name. `metadata` has names,
    dtypes and shapes. The package `onnx` is not needed.

    >>> import onnx
    >>> from burn_import.onnx import ModelGen, open_program
    >>> text = '<ir_version: 8, opset_import: ["": 17]> graph (float[N, 2] x) => (float[N, 2] y) { y = Relu(x) }'
    >>> onnx.save(onnx.parser.parse_model(text), "relu.onnx")
    >>> files = ModelGen().input("relu.onnx").out_dir("model").run_from_cli()
    >>> model = open_program("model/relu.json")
    >>> print(model(burn.tensor([[1.0, -2.0]])).to_data())
    [[1.0, 0.0]]
    """
    path = None if isinstance(program, Mapping) else Path(program)
    described = read_description(path) if path is not None else dict(program)  # type: ignore[arg-type]
    place = burn.default_device() if device is None else device
    records: Records = {}
    model = program_model(described, records)
    _check_nodes(model, described)
    weights = find_weights(record, path, described)
    _check_size(model, weights)
    stated = described["program"].get("parameters")
    if not isinstance(stated, list) or not all(isinstance(each, str) for each in stated):
        raise OnnxError("open_program", [f"the program names no parameters; run: {versions.command(described)}"])
    try:
        held = weights.load(_is_wide(model), place) if stated else Record({})
        runtime = _Program(model, RecordWeights(_described(held), records, stated), place, ports(model))
    except BurnError as error:
        raise OnnxError("open_program", [f"the record does not fit the program: {error}"]) from error
    except TextOnly:
        return _module(model, described, weights, place)
    return Loaded.of(Origin(runtime, described_ports(described), lambda: _module(model, described, weights, place)))


def _check_nodes(model: Model, described: Mapping[str, Any]) -> None:
    """Refuse what rows cannot do. They may stumble over graphs that no importer makes."""
    try:
        check_operators(model)
        check_nodes(model)
    except OnnxError as error:
        raise OnnxError("open_program", error.faults) from None
    except Exception as error:
        again = versions.command(described)
        raise OnnxError("open_program", [f"the graph cannot be run ({_cause(error)}); run: {again}"]) from error


def _described(record: Any) -> Any:
    """A record that names what it holds."""
    if not record.is_described:
        raise TextOnly("a record without names")
    return record


class _Program(Runtime):
    """The graph of a program that somebody else may have written: what it cannot do is one error."""

    def _results(self, values: Sequence[Any]) -> list[Any]:
        try:
            return super()._results(values)
        except (BurnError, TextOnly):
            raise
        except (AssertionError, TypeError, ValueError, ArithmeticError, AttributeError, LookupError) as error:
            raise OnnxError("run", [f"the program cannot be run ({_cause(error)})"]) from error


def described_ports(described: Mapping[str, Any]) -> dict[str, Any]:
    """What a program says of its inputs and results."""
    return {name: described.get(name) for name in ("inputs", "outputs")}


def _module(model: Model, described: Mapping[str, Any], weights: Weights, place: Device) -> Any:
    """The module of a program: written by our writer, looked at, and loaded with the record."""
    from burn_import.onnx.stored.guard import guard

    written = _written(model, described)
    guard(written.source)
    ports = described_ports(described)
    try:
        cls: Any = compiled(written, ports)
        module = cls(place)
    except (BurnError, AssertionError, TypeError, ValueError, ArithmeticError) as error:
        raise OnnxError("open_program", [f"a layer of the program cannot be made: {_cause(error)}"]) from error
    if written.weights:
        try:
            module = module.load_record(weights.load(_is_wide(model), place))
        except BurnError as error:
            raise OnnxError("open_program", [f"the record does not fit the program: {error}"]) from error
    object.__setattr__(module, "_place", place)
    return module


def read_description(path: Path) -> dict[str, Any]:
    """What a `.json` of the importer holds, checked for being one and for its version."""
    try:
        size = path.stat().st_size
        if size > LARGEST_FILE:
            raise OnnxError("open_program", [f"{path}: {size:,} bytes are more than a program takes"])
        found = json.loads(path.read_bytes(), object_pairs_hook=_unique, parse_constant=_refuse)
    except OSError as error:
        raise OnnxError("open_program", [f"{path}: {error.strerror or error}"]) from None
    except RecursionError:
        raise OnnxError("open_program", [f"{path}: it is nested too deep"]) from None
    except (ValueError, UnicodeDecodeError) as error:
        if isinstance(error, OnnxError):
            raise
        raise OnnxError("open_program", [f"{path}: it is no JSON file: {ascii(str(error))[:120]}"]) from None
    if not isinstance(found, dict) or found.get("format") != "burn-import":
        raise OnnxError("open_program", [f"{path}: no file of burn-import"])
    return found


def program_model(described: Mapping[str, Any], records: Records | None = None) -> Model:
    """The verified graph of a description; `records` takes the paths of its constants."""
    again = versions.command(described)
    versions.check("open_program", described)
    program = described.get("program")
    if not isinstance(program, Mapping):
        raise OnnxError("open_program", [f"there is no program in it; write it with: {again}"])
    if program.get("version") != VERSION:
        found = ascii(program.get("version"))[:20]
        raise OnnxError("open_program", [f"the program has version {found}, and {VERSION} is read; run: {again}"])
    faults = [f"unknown key {ascii(key)[:40]}" for key in program if key not in ("version", "graph", "parameters")]
    try:
        model = decode(program.get("graph"), _in_record, records)
    except OnnxError as error:
        raise OnnxError("open_program", [*faults, *error.faults]) from None
    except RecursionError:
        raise OnnxError("open_program", [*faults, "the program is nested too deep"]) from None
    if faults:
        raise OnnxError("open_program", faults)
    model.source = _text(described, "source") or None
    model.producer_name, model.producer_version = _text(described, "producer"), _text(described, "producer_version")
    return model


def _written(model: Model, described: Mapping[str, Any]) -> Written:
    """The source of the model; one that the writer cannot write was not written by it."""
    from burn_import.onnx.writer import write

    again = versions.command(described)
    try:
        written = write(model, None, versions.opset(described))
    except OnnxError as error:
        raise OnnxError("open_program", error.faults) from None
    except Exception as error:  # rows may stumble over graphs that no importer makes
        raise OnnxError("open_program", [f"the graph cannot be written ({_cause(error)}); run: {again}"]) from error
    stated = described["program"].get("parameters")
    if stated != list(written.weights):
        reason = "the program names other parameters than this version of the importer"
        raise OnnxError("open_program", [f"{reason}; run: {again}"])
    return written


def _in_record(name: str, dtype: ElementType, shape: tuple[int, ...]) -> Constant:
    """A constant whose elements only the record has: the source must not depend on them."""

    def load() -> Any:
        raise OnnxError("open_program", [f"constant {ascii(name)[:60]}: its elements are needed and not there"])

    return Constant(dtype, shape, load)


def _check_size(model: Model, weights: Weights) -> None:
    """No memory is asked for that the record could not fill."""
    total = sum(math.prod(value.constant.shape) for graph in model.graphs() for value in graph.constants
                if value.constant is not None and value.constant._array is None)  # fmt: skip
    if total > weights.capacity * _DENSEST:
        raise OnnxError("open_program", [f"{weights.name} is too small for the {total:,} elements of the program"])


def _is_wide(model: Model) -> bool:
    return any(
        value.constant is not None and value.constant.dtype is ElementType.f64
        for graph in model.graphs()
        for value in graph.constants
    )


def _text(described: Mapping[str, Any], name: str) -> str:
    found = described.get(name)
    return found if isinstance(found, str) else ""


def _cause(error: Exception) -> str:
    return f"{type(error).__name__}: {ascii(str(error))[1:-1][:160]}"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return made


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


__all__ = ["open_program", "program_model", "read_description"]
