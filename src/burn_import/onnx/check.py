"""A generated model against ONNX Runtime: the same inputs, the outputs side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import burn
from burn import Device
from burn.dim import Dim
from burn.packages import missing
from burn_import.onnx.errors import OnnxError
from burn_import.onnx.importing import Imported
from burn_import.onnx.ir.types import TensorType


@dataclass(frozen=True, slots=True)
class Closeness:
    """How far one output is from ONNX Runtime's, absolutely and relative to its largest element."""

    name: str
    shape: tuple[int, ...]
    absolute: float
    relative: float
    close: bool


def device_of(name: str) -> Device:
    """`ndarray`, `cpu` or `torch`, as the command line writes devices."""
    if name == "ndarray":
        return burn.NdArray()
    if name == "cpu":
        return burn.Cpu()
    if name == "torch":
        return burn.LibTorch()
    raise OnnxError("device", [f"{name!r} is not known; write ndarray, cpu or torch"])


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


def check(model: Any, source: Path | bytes, inputs: Mapping[str, Any], half: bool = False) -> list[Closeness]:
    """Run a loaded model and the file that it came from, and compare every output; `half` if weights were rounded."""
    try:
        import onnxruntime  # type: ignore[import-untyped]
    except ImportError:
        raise OnnxError("check", [missing("--check", "onnxruntime")]) from None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    data = source if isinstance(source, bytes) else str(source)
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        expected = session.run(None, dict(inputs))
    except Exception as error:  # its faults share no class of their own
        raise OnnxError("check", [f"onnxruntime cannot run the model: {error}"]) from error
    results = model.run(inputs)
    names = [output.name for output in session.get_outputs()]
    return [closeness(name, results[name], wanted, half) for name, wanted in zip(names, expected)]


def closeness(name: str, actual: Any, wanted: Any, half: bool = False) -> Closeness:
    """One output beside ONNX Runtime's. Floats may differ by a part of themselves and of the largest element, which
    follows from their dtype; all other types, NaN and infinities must be equal."""
    if isinstance(wanted, list | dict):
        return _of_container(name, actual, wanted, half)
    one, other = np.asarray(actual), np.asarray(wanted)
    if one.shape != other.shape or (one.dtype != other.dtype and other.dtype.kind not in "OUS"):
        return Closeness(name, other.shape, np.inf, np.inf, False)
    if other.dtype.kind in "OUSb":
        same = bool((one == other).all())
        return Closeness(name, other.shape, 0.0 if same else np.inf, 0.0 if same else np.inf, same)
    with np.errstate(all="ignore"):
        equal = (one == other) | ((one != one) & (other != other))
        difference = np.where(equal, 0.0, np.abs(one.astype(np.float64) - other.astype(np.float64)))
        difference = np.where(np.isnan(difference), np.inf, difference)  # NaN on one side
        magnitude = np.abs(np.where(np.isfinite(other), other, 0).astype(np.float64))
    largest = float(difference.max(initial=0.0))
    scale = float(magnitude.max(initial=0.0))
    part = _PART.get("float16" if half else other.dtype.name, 0.0) if other.dtype.kind == "f" else 0.0
    close = bool(equal.all() or (part and (difference <= part * (magnitude + 1e-2 * scale)).all()))
    return Closeness(name, other.shape, largest, largest / (scale or 1.0), close)


_PART = {"float64": 1e-3 * 2.0**-29, "float32": 1e-3, "float16": 1e-2}


def _of_container(name: str, actual: Any, wanted: Any, half: bool) -> Closeness:
    keys = list(wanted) if isinstance(wanted, dict) else list(range(len(wanted)))
    shape = (len(keys),)
    fits = isinstance(actual, dict) and set(actual) == set(keys) if isinstance(wanted, dict) else (
        isinstance(actual, list) and len(actual) == len(keys)
    )  # fmt: skip
    if not fits:
        return Closeness(name, shape, np.inf, np.inf, False)
    found = [closeness(name, actual[key], wanted[key], half) for key in keys]
    worst = [max((getattr(each, side) for each in found), default=0.0) for side in ("absolute", "relative")]
    return Closeness(name, shape, worst[0], worst[1], all(each.close for each in found))


def table(found: list[Closeness]) -> str:
    """The comparison as people read it."""
    width = max([len(each.name) for each in found] + [6])
    lines = [f"{'output':<{width}}  {'shape':<20} {'max difference':>15} {'relative':>10}"]
    for each in found:
        verdict = "close" if each.close else "DIFFERENT"
        shape = str(list(each.shape))
        lines.append(f"{each.name:<{width}}  {shape:<20} {each.absolute:>15.3g} {each.relative:>10.2g}  {verdict}")
    return "\n".join(lines)
