"""From ONNX files to served models, checked at every step: the conversion guide as one command.

    python -m examples.onnx_conversion                           # every model
    python -m examples.onnx_conversion mnist squeezenet          # some of them
    python -m examples.onnx_conversion --models DIR --offline    # your files; nothing is downloaded

For each model: 1 get the file, 2 run it with onnxruntime, 3 convert it with `burn-import` and compare, 4 serve it with
a `furnace` process and compare what `/predict` answers, 5 report. Where the zoo cannot be reached an equivalent takes
the model's place, and the report says so. The exit code is 1 when a step failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run as a file

from examples.onnx_conversion import serving
from examples.onnx_conversion.models import MODELS, NotAvailable, ZooModel, get

STEPS = ("get", "onnxruntime", "burn-import", "run", "furnace")
TOLERANCE = 1e-3  # of the largest output
HINTS = (
    ("is not supported", "burn-import --input FILE --list-ops shows every operator; --plugin FILE.py adds one"),
    ("no equivalent", "put the file into a folder and add --models FOLDER"),
    ("No module named 'onnxruntime'", "pip install onnxruntime"),
    ("edited", "choose another --output, or add --force to burn-import"),
    ("No space left", "free some disk space, or choose another --output"),
    ("differ", "compare single outputs with burn-import --input FILE --output NAME --check"),
    ("did not answer", "run furnace --model-path FILE.mpk by hand and read what it prints"),
    ("furnace ended", "run furnace --model-path FILE.mpk by hand and read what it prints"),
)
Arrays = dict[str, np.ndarray[Any, Any]]


@dataclass(slots=True)
class Step:
    """What one step did: "ok", "failed" or "skipped", how long it took, and how far it was from onnxruntime."""

    name: str
    status: str = "ok"
    seconds: float = 0.0
    error: float | None = None
    said: str = ""


@dataclass(slots=True)
class Journey:
    """One model on its way."""

    name: str
    origin: str = ""
    steps: list[Step] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        return any(step.status == "failed" for step in self.steps)

    @contextmanager
    def step(self, name: str) -> Iterator[Step]:
        """A step; what goes wrong in it is kept, and later steps are not taken."""
        made = Step(name)
        self.steps.append(made)
        begin = time.perf_counter()
        try:
            yield made
        except serving.NotThere as error:
            made.status, made.said = "skipped", str(error)
        except Exception as error:
            made.status, made.said = "failed", f"{type(error).__name__}: {error}"
        made.seconds = time.perf_counter() - begin


def travel(model: ZooModel, options: argparse.Namespace, folder: Path) -> Journey:
    """Take one model through the steps, as far as it goes."""
    journey = Journey(model.name)
    file = folder / "none"
    with journey.step("get"):
        file, journey.origin = get(model, options.models, options.cache, download=not options.offline)
    if journey.failed:
        return journey
    inputs: Arrays = {}
    expected: Arrays = {}
    with journey.step("onnxruntime"):
        inputs, expected = with_onnxruntime(file)
    if journey.failed:
        return journey
    target = folder / f"{model.name}_burn"
    with journey.step("burn-import"):
        convert(file, target)
    if journey.failed:
        return journey
    with journey.step("run") as step:
        step.error = difference(with_burn(target, inputs, options.device), expected)
    with journey.step("furnace") as step, serving.served(target.with_suffix(".mpk")) as address:
        step.error = difference(serving.predict(address, inputs), expected)
    return journey


def with_onnxruntime(file: Path) -> tuple[Arrays, Arrays]:
    """Random inputs for a model, and its outputs."""
    import onnxruntime  # type: ignore[import-untyped]

    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(file), settings, providers=["CPUExecutionProvider"])
    weights = {each.name for each in session.get_overridable_initializers()}
    rng = np.random.default_rng(0)
    inputs = {}
    for each in session.get_inputs():
        if each.name not in weights:
            shape = [size if isinstance(size, int) and size > 0 else 1 for size in each.shape]
            inputs[each.name] = rng.uniform(0, 1, shape).astype(np.float32)
    names = [each.name for each in session.get_outputs()]
    return inputs, dict(zip(names, session.run(names, inputs)))


def convert(file: Path, target: Path) -> None:
    """`burn-import --input FILE --output TARGET`, as a process of its own."""
    arguments = ["--input", str(file), "--output", str(target)]
    done = subprocess.run(
        [sys.executable, "-m", "burn_import.onnx.command", *arguments],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or f"burn-import ended with code {done.returncode}")


def with_burn(target: Path, inputs: Arrays, device: str) -> Arrays:
    """The outputs of what was written: the program of the `.json` with the record beside it."""
    import burn
    from burn_import.onnx import open_program

    place = burn.NdArray() if device == "ndarray" else burn.Cpu()
    found: Arrays = open_program(target.with_suffix(".json"), target.with_suffix(".mpk"), place).run(inputs)
    return found


def difference(actual: Arrays, expected: Arrays) -> float:
    """The largest difference of any output; an error when it is more than rounding."""
    largest = 0.0
    for name, wanted in expected.items():
        found = np.asarray(actual[name]).reshape(wanted.shape)
        apart = float(np.abs(found - wanted).max(initial=0.0))
        if not apart <= TOLERANCE * max(1.0, float(np.abs(wanted).max(initial=0.0))):
            raise RuntimeError(f"output {name} and onnxruntime's differ by {apart:.3g}")
        largest = max(largest, apart)
    return largest


def table(journeys: Sequence[Journey]) -> str:
    """Model, step, time and largest error as text, with a hint for each failure."""
    lines = [f"{'model':<12} {'step':<12} {'status':<8} {'seconds':>8} {'max error':>10}"]
    for journey in journeys:
        lines.append(f"{journey.name:<12} {journey.origin}")
        for step in journey.steps:
            error = "" if step.error is None else f"{step.error:.2e}"
            lines.append(f"{'':<12} {step.name:<12} {step.status:<8} {step.seconds:>8.2f} {error:>10}".rstrip())
            if step.said:
                lines.append(f"{'':<25} {step.said.splitlines()[0][:200]}")
            if step.status == "failed":
                lines.append(f"{'':<25} hint: {hint(step)}")
    failed = sum(journey.failed for journey in journeys)
    lines.append(f"{len(journeys) - failed} of {len(journeys)} models went the whole way")
    return "\n".join(lines)


def hint(step: Step) -> str:
    """What to try after a failure."""
    return next((text for words, text in HINTS if words in step.said), f"read the message of {step.name} above")


def main(arguments: Sequence[str] | None = None, show: Callable[[str], None] = print) -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.onnx_conversion", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="MODEL", help=f"{', '.join(each.name for each in MODELS)}")
    parser.add_argument("--models", type=Path, metavar="DIR", help="a folder with the files, looked at first")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "burn" / "onnx", metavar="DIR")
    parser.add_argument("--offline", action="store_true", help="download nothing")
    parser.add_argument("--output", type=Path, metavar="DIR", help="keep the converted models here")
    parser.add_argument("--device", default="cpu", choices=("cpu", "ndarray"))
    options = parser.parse_args(arguments)
    known = {each.name: each for each in MODELS}
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"there is no model {', '.join(unknown)}; there are {', '.join(known)}")
    journeys = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) if options.output is None else options.output
        folder.mkdir(parents=True, exist_ok=True)
        for name in options.names or known:
            show(f"{name} ...")
            journeys.append(travel(known[name], options, folder))
    show(table(journeys))
    return int(any(journey.failed for journey in journeys))


__all__ = ["NotAvailable", "main"]

if __name__ == "__main__":
    raise SystemExit(main())
