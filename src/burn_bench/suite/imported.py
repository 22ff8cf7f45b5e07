"""Imported models: an ONNX file through `burn_import.onnx.load` and captured, against onnxruntime on the same file."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from burn_bench.benchmark import Array, Benchmark, Setting, Target, Work
from burn_bench.suite import inference


def benchmarks() -> list[Benchmark]:
    """imported_resnet18, imported_mobilenet_v2 and imported_encoder."""
    image = (1, 3, 224, 224)
    return [
        imported("resnet18", image, 1.4, 1.6),
        imported("mobilenet_v2", image, 1.2, 1.4),
        imported("encoder", (1, 128, 384), 1.0, 1.3),
    ]


def imported(network: str, shape: tuple[int, ...], at_least: float, aim: float) -> Benchmark:
    """`model.run({name: array})` of an imported file, from a NumPy array to a NumPy array."""
    builders: dict[str, Callable[[Setting], Work]] = {
        "captured": lambda setting: _ours(setting, network, shape),
        "onnxruntime": lambda setting: inference.onnxruntime_work(setting, network, shape),
    }

    def reference(setting: Setting) -> list[Array]:
        work = inference.numpy_work(network, shape, np.float64)
        assert work.result is not None
        return list(work.result())

    return Benchmark(
        f"imported_{network}",
        f"batch {shape[0]}",
        builders,
        reference,
        f"an ONNX file, {'x'.join(str(each) for each in shape)}, NumPy in and out",
        tolerance=1e-4,
        targets=(Target("cpu-captured", ("onnxruntime",), at_least, aim),),
    )


def _ours(setting: Setting, network: str, shape: tuple[int, ...]) -> Work:
    path: Path = inference.exported_file(setting, network, shape)
    model: Any = importlib.import_module("burn_import.onnx").load(path, setting.device)
    (source,), (result,) = model.input_names, model.output_names
    feed = {source: inference.values(shape)}

    def run() -> Array:
        found: Array = model.run(feed)[result]
        return found

    return Work(run, lambda: [run()])
