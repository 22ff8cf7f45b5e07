"""One model, in a process of its own: ONNX Runtime and the import on the same inputs, results as lines of JSON.

Two answers are asked of ONNX Runtime: the reference (no graph optimisations) and its own spread, the largest change
of an output when its optimisations are switched on, when the inputs move by 1 to 16 units in the last place, or when
the weights move by one. A model that rounds activations to int8 can turn one unit into a whole step; its spread says
so, and an import cannot be closer to the reference than the runtime is to itself.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from burn_bench.model_inputs import inputs_for

Arrays = Mapping[str, Any]

ABSOLUTE = 1e-4  # of the largest element of an output
RELATIVE = 1e-3  # of the element itself
HALF = 10.0  # times as much for a model that computes in float16
SIGMOID = 2.0**-22  # more for a sigmoid: ONNX Runtime's is off by up to 1.4e-7, and gives 0 below -18
MOVES = (1, 1, 1, 4, 4, 16, 16)  # units in the last place by which inputs move, to see how far outputs move


def moved(inputs: Arrays, units: int, seed: int = 0) -> dict[str, Any]:
    """The inputs with every float up or down by some units in its last place."""
    generator = np.random.default_rng(seed)
    return {name: _moved(np.asarray(array), units, generator) for name, array in inputs.items()}


def _moved(array: Any, units: int, generator: np.random.Generator) -> Any:
    if array.dtype.kind != "f":
        return array
    factor = 1.0 + units * np.finfo(array.dtype).eps * generator.choice((-1.0, 1.0), array.shape)
    return np.asarray(array * factor, array.dtype)


def without_dropout(path: Path) -> bytes:
    """The model with dropout switched off."""
    import onnx

    model = onnx.load(path)
    for node in model.graph.node:
        if node.op_type == "Dropout":
            del node.input[1:]
    return bytes(model.SerializeToString())


def with_moved_weights(source: Path | bytes) -> bytes:
    """The model with every float weight (of two or more elements) up or down by a unit in the last place."""
    import onnx

    model = onnx.load_from_string(source) if isinstance(source, bytes) else onnx.load(source)
    generator = np.random.default_rng(0)
    for tensor in model.graph.initializer:
        if tensor.data_type in (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16) and np.prod(tensor.dims) > 1:
            array = onnx.numpy_helper.to_array(tensor)
            tensor.CopyFrom(onnx.numpy_helper.from_array(_moved(array, 1, generator), tensor.name))
    return bytes(model.SerializeToString())


def session_of(model: Path | bytes, optimise: bool) -> Any:
    """A session of ONNX Runtime on one thread."""
    import onnxruntime  # type: ignore[import-untyped]

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimise else level.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(
        model if isinstance(model, bytes) else str(model), options, providers=["CPUExecutionProvider"]
    )


def difference(actual: Any, expected: Any, floor: float = 0.0, half: bool = False) -> dict[str, float | str]:
    """`absolute`, `relative` (to the largest element) and `excess`: how many times the tolerance; `fault` in words."""
    if isinstance(expected, list | dict):
        return _of_containers(actual, expected)
    one, other = np.asarray(actual), np.asarray(expected)
    if one.shape != other.shape:
        return {"fault": f"shape {one.shape}, expected {other.shape}"}
    if other.dtype.kind in "OUS":
        same = [str(each) for each in one.reshape(-1)] == [str(each) for each in other.reshape(-1)]
        return {"absolute": 0.0, "relative": 0.0, "excess": 0.0} if same else {"fault": "other strings"}
    if one.dtype != other.dtype:
        return {"fault": f"dtype {one.dtype}, expected {other.dtype}"}
    ours, theirs = one.astype(np.float64), other.astype(np.float64)
    if (np.isnan(ours) != np.isnan(theirs)).any():
        return {"fault": f"{np.isnan(ours).sum()} NaN, expected {np.isnan(theirs).sum()} of {ours.size}"}
    with np.errstate(invalid="ignore"):
        apart = np.where(ours == theirs, 0.0, np.abs(ours - theirs))
    finite = np.abs(theirs[np.isfinite(theirs)])
    scale = float(finite.max(initial=0.0)) or 1.0
    wide = HALF if half or other.dtype == np.float16 else 1.0
    bound = floor + wide * (ABSOLUTE * scale + RELATIVE * np.abs(np.where(np.isfinite(theirs), theirs, 0.0)))
    if other.dtype.kind in "iub":
        bound = np.full(apart.shape, 0.5)
    apart = np.nan_to_num(apart, nan=0.0)
    largest = float(apart.max(initial=0.0))
    return {"absolute": largest, "relative": largest / scale, "excess": float((apart / bound).max(initial=0.0))}


def _of_containers(actual: Any, expected: Any) -> dict[str, float | str]:
    keys = list(expected) if isinstance(expected, dict) else range(len(expected))
    if type(actual) is not type(expected) or len(actual) != len(expected):
        return {"fault": f"{type(actual).__name__}, expected {type(expected).__name__} of {len(expected)}"}
    if isinstance(expected, dict) and set(actual) != set(expected):
        return {"fault": "other keys"}
    found = [difference(_plain(actual[key]), _plain(expected[key])) for key in keys]
    return worst(found)


def _plain(value: Any) -> Any:
    return np.float32(value) if isinstance(value, float) else value


def worst(found: Sequence[Mapping[str, Any]]) -> dict[str, float | str]:
    """The largest of some differences; a fault in words wins."""
    for each in found:
        if "fault" in each:
            return dict(each)
    return {key: max((each[key] for each in found), default=0.0) for key in ("absolute", "relative", "excess")}


def compare(
    actual: Sequence[Any],
    expected: Sequence[Any],
    names: Sequence[str],
    sigmoids: Collection[str] = (),
    half: bool = False,
) -> dict[str, float | str]:
    """The worst output, by name; those in `sigmoids` come straight from one; `half` models compute in float16."""
    found = []
    for name, one, other in zip(names, actual, expected):
        each = difference(one, other, SIGMOID if name in sigmoids else 0.0, half)
        if "fault" in each:
            each["fault"] = f"{name}: {each['fault']}"
        found.append(each)
    return worst(found)


def sigmoid_outputs(graph: Any) -> set[str]:
    """The outputs of an imported graph that are sigmoids, perhaps in another shape."""
    moves = ("Reshape", "Transpose", "Squeeze", "Unsqueeze", "Identity", "Slice")
    found = set()
    for name, value in zip(graph.output_names, graph.outputs):
        node = value.node
        while node is not None and node.op_type in moves:
            node = node.inputs[0].node
        if node is not None and node.op_type == "Sigmoid":
            found.add(name)
    return found


def uses_half(graph: Any) -> bool:
    """Whether a graph computes in float16."""
    types = (value.tensor.dtype for node in graph.walk() for value in node.outputs)
    return any(dtype is not None and dtype.name == "f16" for dtype in types)


def reference(session: Any, shapes: Mapping[str, Sequence[int]]) -> tuple[dict[str, Any], list[Any], str]:
    """Inputs, the results for them, and in words which inputs they are.

    Where a root or logarithm of a normal number gives NaN, numbers from 0 to 1 say more. An index into one element
    must be 0.
    """
    inputs, how = inputs_for(session, shapes), "normal"
    try:
        expected = session.run(None, inputs)
    except Exception:
        inputs = {name: np.zeros_like(array) if array.dtype.kind == "i" else array for name, array in inputs.items()}
        expected, how = session.run(None, inputs), "normal, whole numbers 0"
    if any(np.asarray(each).dtype.kind == "f" and np.isnan(each).any() for each in expected):
        other = inputs_for(session, shapes, positive=True)
        results = session.run(None, other)
        if not any(np.asarray(each).dtype.kind == "f" and np.isnan(each).any() for each in results):
            return other, results, "from 0 to 1"
    return inputs, expected, how


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """A result, and the seconds that it took."""
    start = time.perf_counter()
    return call(), time.perf_counter() - start


def examine(path: Path, shapes: Mapping[str, Sequence[int]] | None, devices: Sequence[str], tell: Any) -> None:
    """Import a model and compare it; `tell` gets what is known as soon as it is."""
    from burn_import.onnx.check import device_of
    from burn_import.onnx.importing import import_model
    from burn_import.onnx.modules import instantiate

    (imported, written), seconds = timed(lambda: _written(import_model, path))
    tell(import_s=seconds, opset=imported.version, nodes=len(list(imported.model.graph)))
    if shapes is None:
        for device in devices:
            instantiate(written, device_of(device))
            tell(**{device: {"status": "imports"}})
        return
    session = session_of(path, optimise=False)
    names = [each.name for each in session.get_outputs()]
    kinds: dict[str, Any] = {"sigmoids": sigmoid_outputs(imported.model.graph), "half": uses_half(imported.model.graph)}
    inputs, expected, how = reference(session, shapes)
    source: Path | bytes = path
    if compare(session.run(None, inputs), expected, names).get("excess", 1.0):
        source = without_dropout(path)  # exported in training mode: the runtime is not even the same as itself
        session = session_of(source, optimise=False)
        inputs, expected, how = reference(session, shapes)
        how += "; random, so without dropout"
        written = import_model(source).write()
    others = [session.run(None, moved(inputs, units, seed)) for seed, units in enumerate(MOVES)]
    try:
        others.append(session_of(with_moved_weights(source), optimise=False).run(None, inputs))
    except Exception as error:  # a file in the runtime's own format
        how += f"; weights not moved: {type(error).__name__}"
    try:
        session = session_of(source, optimise=True)
        others.append(session.run(None, inputs))
    except Exception as error:  # some files run only as they are
        how += f"; not optimised: {type(error).__name__}: {error}"[:200]
    _, runtime = timed(lambda: session.run(None, inputs))
    spread = worst([compare(each, expected, names, **kinds) for each in others])
    tell(spread=spread, ort_s=runtime, inputs=how, half=kinds["half"])
    for device in devices:
        try:
            module = instantiate(written, device_of(device))
            results = []
            for _ in range(2):  # the second run is the captured one
                found, seconds = timed(lambda module=module: module.run(inputs))  # type: ignore[misc]
                results.append(compare([found[name] for name in names], expected, names, **kinds))
            row = {"run_s": seconds, **worst(results)}
            row["status"] = verdict(row, spread)
        except Exception as error:
            row = {"status": "error", "fault": f"{type(error).__name__}: {error}"[:600], "at": _last_line(error)}
        tell(**{device: row})


def verdict(row: Mapping[str, Any], spread: Mapping[str, Any]) -> str:
    """`match`, `spread` (not closer than the runtime is to itself), or `differs`."""
    if "fault" not in row and row["excess"] <= 1.0:
        return "match"
    if "fault" not in row and row["excess"] <= 2.0 * spread.get("excess", 0.0):
        return "spread"
    return "differs"


def _written(import_model: Any, path: Path) -> Any:
    imported = import_model(path)
    return imported, imported.write()


def _last_line(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    written = [frame for frame in frames if frame.filename.startswith("<onnx model")]
    return (
        f"{written[-1].lineno}: {written[-1].line}"[:200] if written else f"{frames[-1].filename}:{frames[-1].lineno}"
    )


def main(arguments: Sequence[str]) -> int:
    """A child process: `PATH SHAPES DEVICES GIGABYTES`."""
    path, shapes, devices, gigabytes = arguments
    limit = int(float(gigabytes) * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    warnings.simplefilter("ignore")

    def tell(**known: Any) -> None:
        print(json.dumps(known), flush=True)

    try:
        examine(Path(path), json.loads(shapes), devices.split(","), tell)
    except Exception as error:
        from burn_import.onnx.errors import OnnxError

        status = "refused" if isinstance(error, OnnxError) else "error"
        words = f"{type(error).__name__}: {error}"[:1500]
        notes = " ".join(getattr(error, "__notes__", []))[:300]
        tell(
            **{
                device: {"status": status, "fault": words, "at": f"{_last_line(error)} {notes}"}
                for device in devices.split(",")
            }
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
