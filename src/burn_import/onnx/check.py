"""A generated model against ONNX Runtime: the same inputs, the outputs side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from burn_import.onnx.errors import OnnxError
from burn_import.onnx.importing import Imported
from burn_import.onnx.ir.dim import Dim
from burn_import.onnx.ir.types import TensorType


@dataclass(frozen=True, slots=True)
class Closeness:
    """How far one output is from ONNX Runtime's, absolutely and relative to its largest element."""

    name: str
    shape: tuple[int, ...]
    absolute: float
    relative: float
    close: bool


def random_inputs(imported: Imported, sizes: Mapping[str, int], seed: int = 0) -> dict[str, np.ndarray[Any, Any]]:
    """Inputs for a model: normal floats, small ints; named sizes as given, else 2."""
    generator = np.random.default_rng(seed)
    found: dict[str, np.ndarray[Any, Any]] = {}
    for value in imported.model.graph.inputs:
        type_ = value.type
        if not isinstance(type_, TensorType) or type_.dtype is None or type_.shape is None or type_.dtype.burn is None:
            raise OnnxError("check", [f"input {value.name!r} is {type_}; give inputs with --inputs FILE.npz"])
        shape = tuple(_size(size, sizes) for size in type_.shape)
        if type_.dtype.is_float:
            array: Any = generator.standard_normal(shape).astype(type_.dtype.numpy)
        elif type_.dtype.name == "bool_":
            array = generator.integers(0, 2, shape).astype(bool)
        else:
            array = generator.integers(0, 3, shape).astype(type_.dtype.numpy)
        found[value.name] = np.asarray(array)
    return found


def _size(size: Any, sizes: Mapping[str, int]) -> int:
    if not isinstance(size, Dim):
        return 2 if size is None else int(size)
    known = {symbol: sizes.get(symbol, 2) for symbol in size.symbols()}
    found = size.substitute(known)
    return found if isinstance(found, int) else 2


def check(
    model: Any,
    source: Path | bytes,
    inputs: Mapping[str, Any],
    *,
    rtol: float = 1e-3,
    atol: float = 1e-5,
) -> list[Closeness]:
    """Run a loaded model and the file that it came from, and compare every output."""
    try:
        import onnxruntime  # type: ignore[import-untyped]
    except ImportError:
        raise OnnxError("check", ["onnxruntime is not installed; pip install onnxruntime"]) from None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    data = source if isinstance(source, bytes) else str(source)
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    expected = session.run(None, dict(inputs))
    results = model.run(inputs)
    found = []
    for output, wanted in zip(session.get_outputs(), expected):
        actual = results[output.name]
        one, other = np.asarray(actual), np.asarray(wanted)
        if one.shape != other.shape or one.dtype.kind in "OUS" or isinstance(wanted, list):
            same = one.shape == other.shape and bool((one == other).all())
            found.append(Closeness(output.name, other.shape, 0.0 if same else np.inf, 0.0 if same else np.inf, same))
            continue
        with np.errstate(all="ignore"):
            difference = np.abs(one.astype(np.float64) - other.astype(np.float64))
            difference = np.where(one == other, 0.0, difference)
            largest = float(np.nanmax(difference, initial=0.0))
            scale = float(np.nanmax(np.abs(np.where(np.isfinite(other), other, 0)), initial=0.0)) or 1.0
        close = bool(np.allclose(one, other, rtol, max(atol, rtol * 1e-2 * scale), equal_nan=True))
        found.append(Closeness(output.name, other.shape, largest, largest / scale, close))
    return found


def table(found: list[Closeness]) -> str:
    """The comparison as people read it."""
    width = max([len(each.name) for each in found] + [6])
    lines = [f"{'output':<{width}}  {'shape':<20} {'max difference':>15} {'relative':>10}"]
    for each in found:
        verdict = "close" if each.close else "DIFFERENT"
        shape = str(list(each.shape))
        lines.append(f"{each.name:<{width}}  {shape:<20} {each.absolute:>15.3g} {each.relative:>10.2g}  {verdict}")
    return "\n".join(lines)
