"""The fixed set of programs: benchmarks, rows of the op table, random programs and networks, imported models."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benches.kernel_diff.recording import Run

RANDOM_PROGRAMS = 250
RANDOM_NETWORKS = 40
CALLS = 3
"""A capture records two calls and replays the third."""

LIGHT = ("squeezenet", "shufflenet", "densenet121", "resnet50", "inception_v1", "inception_v2")
"""Architectures of the model zoo that the `onnx` package brings along without weights."""


def programs() -> dict[str, Run]:
    """All of them, by name."""
    groups = (benchmarks(), rows(), random_programs(), random_networks(), imported_models())
    return {name: run for group in groups for name, run in group}


def benchmarks() -> Iterator[tuple[str, Run]]:
    """What `burn-bench` measures of ours: eager, captured and written with modules."""
    from burn_bench.benchmark import Builder, Setting
    from burn_bench.suite import benchmarks as suite

    def run(builder: Builder, device: Any) -> None:
        with tempfile.TemporaryDirectory() as folder:
            setting = Setting(1, Path(folder))
            setting.device = device
            work = builder(setting)
            for _ in range(CALLS):
                work.run()

    for benchmark in suite():
        if not benchmark.name.startswith("imported"):  # their files are exported anew each time
            for family in ("burn", "captured", "modules"):
                if family in benchmark.builders:
                    name = f"benchmark/{benchmark.title}/{family}"
                    yield name, functools.partial(run, benchmark.builders[family])


def rows() -> Iterator[tuple[str, Run]]:
    """Every row of the op table on the samples of its tests, with gradients where it has them."""
    import burn_import.rows  # noqa: F401
    import tests.ops.samples  # noqa: F401
    from burn.ops.op import TABLE, Op
    from tests.ops.check import function_of, on_device, results
    from tests.ops.sample import SAMPLES

    def run(op: Op, width: str, device: Any) -> None:
        tracked = device.autodiff()
        for sample in SAMPLES[op.name]():
            if not sample.half and width == "f16":
                continue
            function = function_of(op, device)
            results(function(*on_device(device, sample, width), **sample.kwargs))
            if sample.grad and width == "f32" and (op.vjp or (op.kind == "composite" and op.operand_count)):
                leaves: list[Any] = []
                arguments = on_device(tracked, sample, width, leaves=leaves)
                _read(_gradients(function_of(op, tracked)(*arguments, **sample.kwargs), leaves))

    for op in TABLE.values():
        if op.name in SAMPLES and op.kind != "hosted":
            for width in ("f32", "f16"):
                yield f"row/{op.family}/{op.name}/{width}", functools.partial(run, op, width)


def random_programs() -> Iterator[tuple[str, Run]]:
    """Programs that `tests.fuzz` makes up; some of them differentiate."""
    from tests.fuzz.programs.reference import gradients
    from tests.fuzz.programs.running import run as values
    from tests.fuzz.programs.seeds import draw

    def run(seed: int, device: Any) -> None:
        program = draw(seed)
        if program.gradients:
            gradients(program, device.autodiff())
        else:
            values(program, device)

    for seed in range(RANDOM_PROGRAMS):
        yield f"random/program-{seed}", functools.partial(run, seed)


def random_networks() -> Iterator[tuple[str, Run]]:
    """Networks that `tests.fuzz` makes up: training, and inference."""
    from tests.fuzz.networks.recipes import draw
    from tests.fuzz.networks.running import build

    def run(seed: int, device: Any) -> None:
        from burn import Tensor

        network = draw(seed)
        model = build(network, device.autodiff())
        arrays = network.input_arrays()
        inputs = [Tensor.from_data(array, device.autodiff()) for array in arrays]
        leaves = [x.require_grad() if x.dtype.is_float else x for x in inputs]
        outputs = model.forward(*leaves)
        wanted = [leaf for leaf in (*leaves, *model.parameters()) if leaf.dtype.is_float]
        _read([*(output.inner() for output in outputs), *_gradients(outputs, wanted)])
        _read(model.valid().forward(*(Tensor.from_data(array, device) for array in arrays)))

    for seed in range(RANDOM_NETWORKS):
        yield f"random/network-{seed}", functools.partial(run, seed)


def imported_models() -> Iterator[tuple[str, Run]]:
    """ONNX models: the examples of the documentation, architectures of the model zoo, a transformer of the tests."""
    import onnx

    from tests.onnx.example_models import MODELS

    def run(model: Any, device: Any) -> None:
        from burn_import.onnx import load

        proto = model() if callable(model) else onnx.load(str(model))
        loaded = load(proto, device)
        feed = _zeros(proto, loaded.input_names)
        for _ in range(CALLS):
            loaded.run(feed)

    light = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    models = {**MODELS, "transformer": _transformer, **{name: light / f"light_{name}.onnx" for name in LIGHT}}
    for name, model in models.items():
        yield f"imported/{name}", functools.partial(run, model)


def _transformer() -> Any:
    import onnx
    import torch

    from tests.onnx.networks import Transformer, exported

    torch.manual_seed(0)
    inputs = [torch.zeros(2, 12, dtype=torch.int64), torch.ones(2, 12)]
    return onnx.load_from_string(exported(Transformer().eval(), inputs, ["tokens", "mask"]))


def _zeros(proto: Any, names: Iterable[str]) -> dict[str, Any]:
    """Zeros for the inputs of a graph; sizes that are free are 2."""
    from onnx import helper

    types = {info.name: info.type.tensor_type for info in proto.graph.input}
    return {
        name: np.zeros(
            [dim.dim_value or 2 for dim in types[name].shape.dim],
            helper.tensor_dtype_to_np_dtype(types[name].elem_type),
        )
        for name in names
    }


def _gradients(outputs: Any, leaves: Iterable[Any]) -> list[Any]:
    """Of the sum of squares of what is float and tracked."""
    total: Any = None
    for output in outputs if isinstance(outputs, list | tuple) else [outputs]:
        if output.dtype.is_float and output.is_require_grad():
            part = (output * output).sum()
            total = part if total is None else total + part
    if total is None:
        return []
    grads = total.backward()
    return [leaf.grad(grads) for leaf in leaves]


def _read(values: Iterable[Any]) -> None:
    for value in values:
        if value is not None:
            np.asarray(value)
