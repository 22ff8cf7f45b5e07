"""The standard's own tests, run through generated source: `python -m tools.onnx_report`.

Each case is written as Python, executed on a device, and compared with the expected results. The table has a line
for each operator; `--operator Conv` shows single cases with the reasons of what fails, `--device cpu` runs on `Cpu()`.
The `onnx` package must be installed: the cases come from it.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from burn import Device
from burn_import.onnx.check import device_of
from burn_import.onnx.errors import OnnxError
from burn_import.onnx.loading import load

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "real")
BFLOAT16 = 2.0**-6  # two units in the last place: what the standard's own runner allows


@dataclass(frozen=True, slots=True)
class Outcome:
    """One case: `status` is "pass", "unsupported" (the importer refuses), "wrong" (other results) or "error"."""

    name: str
    operators: tuple[str, ...]
    status: str
    reason: str = ""


def cases(*kinds: str) -> list[Any]:
    """The cases of the installed `onnx` package."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test import loader

        return [case for kind in kinds or KINDS for case in loader.load_model_tests(kind=kind)]


def run_case(case: Any, device: Device) -> Outcome:
    """Import, run and compare one case."""
    model, data_sets = opened(case)
    names = tuple(sorted({_operator(node) for node in model.graph.node}))
    try:
        loaded = load(model, device)
    except OnnxError as error:
        return Outcome(case.name, names, "unsupported", str(error))
    except Exception as error:
        return Outcome(case.name, names, "error", f"import: {type(error).__name__}: {error}")
    for inputs, expected in data_sets:
        try:
            given = {value.name: _value(each) for value, each in zip(_given(model, len(inputs)), inputs)}
            results = loaded.run({name: given.get(name) for name in loaded.input_names})
        except Exception as error:
            return Outcome(case.name, names, "error", f"run: {type(error).__name__}: {error}")
        drawn = "Bernoulli" in names or case.name.startswith("test_bernoulli")
        for name, wanted in zip(loaded.output_names, expected):
            if drawn:
                difference = compare_draws(results[name], _value(wanted))
            else:
                difference = compare(results[name], _value(wanted), case.rtol, case.atol)
            if difference:
                return Outcome(case.name, names, "wrong", f"{name}: {difference}")
    return Outcome(case.name, names, "pass")


def _given(model: Any, count: int) -> list[Any]:
    """The inputs that a case has values for: old files list weights as inputs too."""
    every = list(model.graph.input)
    if count == len(every):
        return every
    initialised = {each.name for each in model.graph.initializer}
    return [each for each in every if each.name not in initialised]


def _operator(node: Any) -> str:
    return f"{node.domain}.{node.op_type}" if node.domain not in ("", "ai.onnx") else str(node.op_type)


def opened(case: Any) -> tuple[Any, list[tuple[list[Any], list[Any]]]]:
    """The model and data of a case, from memory or from the folder that it names."""
    if case.model is not None:
        return case.model, list(case.data_sets)
    import glob
    import os

    import onnx

    if case.model_dir is None:
        return _light(case)
    model = onnx.load(os.path.join(case.model_dir, "model.onnx"))
    sets = []
    for folder in sorted(glob.glob(os.path.join(case.model_dir, "test_data_set_*"))):
        sides: list[list[Any]] = []
        for side, formal in (("input", model.graph.input), ("output", model.graph.output)):
            values = []
            for index in range(len(glob.glob(os.path.join(folder, f"{side}_*.pb")))):
                with open(os.path.join(folder, f"{side}_{index}.pb"), "rb") as file:
                    values.append(_parsed(file.read(), formal[index].type))
            sides.append(values)
        sets.append((sides[0], sides[1]))
    return model, sets


def _light(case: Any) -> tuple[Any, list[tuple[list[Any], list[Any]]]]:
    """A real network without its weights: they are constants inside, the input is a ramp from 0 to 1, and the expected
    results lie beside the file."""
    from pathlib import Path

    import onnx

    path = Path(onnx.__file__).parent.parent / case.url
    model = onnx.load(path)
    initialised = {each.name for each in model.graph.initializer}
    inputs = []
    for value in model.graph.input:
        if value.name not in initialised:
            shape = [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]
            inputs.append((np.arange(np.prod(shape)).reshape(shape) / np.prod(shape)).astype(np.float32))
    results = [path.with_name(f"{path.stem}_output_{index}.pb") for index in range(len(model.graph.output))]
    expected = [_parsed(each.read_bytes(), value.type) for each, value in zip(results, model.graph.output)]
    return model, [(inputs, expected)]


def _parsed(data: bytes, of: Any) -> Any:
    import onnx

    if of.HasField("sequence_type"):
        return onnx.numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if of.HasField("optional_type"):
        return onnx.numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return onnx.numpy_helper.to_array(onnx.TensorProto.FromString(data))


def _value(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_value(each) for each in value]
    if hasattr(value, "SerializeToString"):
        import onnx

        return onnx.numpy_helper.to_array(value)
    return value


def compare(actual: Any, expected: Any, rtol: float = 1e-3, atol: float = 1e-7) -> str:
    """What is different, in a few words; the empty string when nothing is."""
    if expected is None:
        return "" if actual is None else "expected nothing"
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            return f"expected a list of {len(expected)}"
        return next(filter(None, (compare(*pair, rtol, atol) for pair in zip(actual, expected))), "")
    if isinstance(expected, dict):
        return "" if actual == expected else "another dict"
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.shape != expected.shape:
        return f"shape {actual.shape}, expected {expected.shape}"
    if expected.dtype.kind in "OUS":
        same = [str(each) for each in actual.reshape(-1)] == [_text(each) for each in expected.reshape(-1)]
        return "" if same else "other strings"
    if actual.dtype != expected.dtype:
        return f"dtype {actual.dtype}, expected {expected.dtype}"
    if expected.dtype.name == "bfloat16":
        rtol = max(rtol, BFLOAT16)
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    one, other = actual.astype(wide), expected.astype(wide)
    if np.allclose(one, other, rtol, atol, equal_nan=True):
        return ""
    with np.errstate(all="ignore"):
        return f"max difference {np.nanmax(np.abs(one - other)):.3g} of values up to {np.nanmax(np.abs(other)):.3g}"


def compare_draws(actual: Any, expected: Any) -> str:
    """What the standard fixes of draws of 0 and 1: shape, dtype and range. It says of these cases that the elements
    may differ from one implementation to the next, with a seed too."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    if (actual.shape, actual.dtype) != (expected.shape, expected.dtype):
        return f"{actual.dtype} {actual.shape}, expected {expected.dtype} {expected.shape}"
    return "" if np.isin(actual, (0, 1)).all() else "other elements than 0 and 1"


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def run(chosen: Sequence[Any], device: Device) -> Iterator[Outcome]:
    """The outcomes of some cases."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in chosen:
            yield run_case(case, device)


def table(outcomes: Sequence[Outcome]) -> str:
    """A line for each operator: cases, passes, and what keeps the others."""
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(_subject(outcome), []).append(outcome)
    lines = [f"{'operator':<40} {'cases':>5} {'pass':>5}  first reason"]
    for name, found in sorted(groups.items()):
        failed = [outcome for outcome in found if outcome.status != "pass"]
        reason = f"{failed[0].name}: {failed[0].status}: {failed[0].reason}".replace("\n", " ") if failed else ""
        lines.append(f"{name:<40} {len(found):>5} {len(found) - len(failed):>5}  {reason[:150]}")
    count = Counter(outcome.status for outcome in outcomes)
    lines.append(f"total {len(outcomes)}: " + ", ".join(f"{number} {status}" for status, number in count.most_common()))
    return "\n".join(lines)


def _subject(outcome: Outcome) -> str:
    return outcome.operators[0] if len(outcome.operators) == 1 else "(several)"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.onnx_report", description=__doc__)
    parser.add_argument("--device", default="ndarray")
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--operator", action="append", help="only cases with this operator, one line each")
    parser.add_argument("--case", action="append", help="only cases whose name contains this, one line each")
    parser.add_argument("--failed", action="store_true", help="list what does not pass instead of the table")
    parser.add_argument("--source", action="store_true", help="print the generated source of the chosen cases")
    options = parser.parse_args(arguments)
    chosen = cases(*(options.kind or KINDS))
    if options.operator:
        wanted = set(options.operator)
        chosen = [case for case in chosen if wanted & {_operator(node) for node in opened(case)[0].graph.node}]
    if options.case:
        chosen = [case for case in chosen if any(word in case.name for word in options.case)]
    start = time.perf_counter()
    device = device_of(options.device)
    if options.source:
        for case in chosen:
            print(f"# {case.name}\n{load(opened(case)[0], device).source}")
    outcomes = list(run(chosen, device))
    if options.operator or options.case or options.failed:
        for outcome in outcomes:
            if not (options.failed and outcome.status == "pass"):
                print(f"{outcome.status:<12} {outcome.name:<60} {outcome.reason[:400]}".rstrip())
        count = Counter(outcome.status for outcome in outcomes)
        print(", ".join(f"{number} {status}" for status, number in count.most_common()))
    else:
        print(table(outcomes))
    print(f"{time.perf_counter() - start:.1f} s on {device}")
    return 0 if all(outcome.status == "pass" for outcome in outcomes) else 1


if __name__ == "__main__":
    raise SystemExit(main())
