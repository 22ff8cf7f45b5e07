"""Inference: a tiny MLP, a transformer encoder, five networks for images and a detector.

onnxruntime gets a model that torch exports from the same network, in a process of its own.
"""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from burn_bench.benchmark import Array, Benchmark, Missing, Setting, Target, Work
from burn_bench.expression import compiler, usable_tinygrad
from burn_bench.suite import detector, networks
from burn_bench.suite.functions import (
    BurnFunctions,
    JaxFunctions,
    NumpyFunctions,
    TinygradFunctions,
    TorchFunctions,
    Weights,
    drawn_weights,
)

NETWORKS = {
    "tiny_mlp": networks.tiny_mlp,
    "encoder": networks.encoder,
    "resnet18": networks.resnet18,
    "resnet50": networks.resnet50,
    "mobilenet_v2": networks.mobilenet_v2,
    "efficientnet_b0": networks.efficientnet_b0,
    "squeezenet": networks.squeezenet,
    "yolo_n": detector.yolo_n,
}


def benchmarks() -> list[Benchmark]:
    """tiny_mlp_inference, transformer_encoder, and the networks for images under their own names."""

    def target(at_least: float, aim: float) -> tuple[Target, ...]:
        return (Target("cpu-captured", ("onnxruntime",), at_least, aim),)

    image = (1, 3, 224, 224)
    return [
        inference("tiny_mlp_inference", "tiny_mlp", (1, 16), target(1.3, 2.0)),
        inference("transformer_encoder", "encoder", (1, 128, 384), target(1.0, 1.3)),
        inference("transformer_encoder", "encoder", (8, 128, 384), target(1.0, 1.3)),
        inference("resnet18", "resnet18", image, target(1.4, 1.6)),
        inference("resnet50", "resnet50", image, target(1.2, 1.4)),
        inference("mobilenet_v2", "mobilenet_v2", image, target(1.2, 1.4)),
        inference("efficientnet_b0", "efficientnet_b0", image, target(1.1, 1.3)),
        inference("squeezenet", "squeezenet", image, target(1.2, 1.4)),
        inference("yolo_n", "yolo_n", (1, 3, 640, 640), target(1.1, 1.3)),
    ]


def values(shape: tuple[int, ...]) -> Array:
    """The input."""
    return np.random.default_rng(11).standard_normal(shape, dtype=np.float32)


def inference(name: str, network: str, shape: tuple[int, ...], targets: tuple[Target, ...]) -> Benchmark:
    """A forward pass from a NumPy array to a NumPy array, in every engine."""
    builders: dict[str, Callable[[Setting], Work]] = {
        "burn": lambda setting: _ours(setting, network, shape, captured=False),
        "captured": lambda setting: _ours(setting, network, shape, captured=True),
        "torch": lambda setting: _torch(network, shape),
        "torch-compile": lambda setting: _torch(network, shape, compile=True),
        "jax": lambda setting: _jax(network, shape),
        "tinygrad": lambda setting: _tinygrad(network, shape),
        "onnxruntime": lambda setting: onnxruntime_work(setting, network, shape),
    }
    if len(shape) == 4:
        builders["torch-channels-last"] = lambda setting: _torch(network, shape, channels_last=True)
    if network == "tiny_mlp":
        builders["numpy"] = lambda setting: numpy_work(network, shape, np.float32)

    def reference(setting: Setting) -> list[Array]:
        work = numpy_work(network, shape, np.float64)
        assert work.result is not None
        return list(work.result())

    return Benchmark(
        name,
        f"batch {shape[0]}",
        builders,
        reference,
        f"{'x'.join(str(each) for each in shape)}, NumPy in and out",
        tolerance=1e-4,
        targets=targets,
    )


def _work(run: Callable[[], Any]) -> Work:
    return Work(run, lambda: listed(run()))


def listed(result: Any) -> list[Any]:
    """The results of a network, of which a detector has several."""
    return list(result) if isinstance(result, list | tuple) else [result]


def numpy_work(name: str, shape: tuple[int, ...], dtype: Any) -> Work:
    """A network in NumPy: the reference of the others, in f64."""
    f, network, x = NumpyFunctions(dtype), NETWORKS[name], values(shape)
    given = drawn_weights(f, network, x).values
    wide = x.astype(dtype)
    return _work(lambda: network(f, Weights.given(given), wide))


def _ours(setting: Setting, name: str, shape: tuple[int, ...], captured: bool) -> Work:
    device = setting.device
    f, network, x = BurnFunctions(device), NETWORKS[name], values(shape)
    given = drawn_weights(f, network, x).values

    def forward(given: Any, x: Any) -> Any:
        return network(f, Weights.given(given), x)

    if captured:
        call: Any = compiler()(forward)
        return _work(lambda: call.numpy(given, x))

    def run() -> list[Array]:
        return [each.numpy() for each in listed(forward(given, f.tensor(x, device=device)))]

    return _work(run)


def _torch(name: str, shape: tuple[int, ...], compile: bool = False, channels_last: bool = False) -> Work:
    f, network, x = TorchFunctions(channels_last), NETWORKS[name], values(shape)
    torch = f.torch
    with torch.inference_mode():
        given = drawn_weights(f, network, x).values

    def forward(x: Any) -> Any:
        return network(f, Weights.given(given), x)

    call = torch.compile(forward) if compile else forward

    def run() -> Any:
        with torch.inference_mode():
            image = torch.from_numpy(x)
            if channels_last:
                image = image.contiguous(memory_format=torch.channels_last)
            return [each.numpy() for each in listed(call(image))]

    return _work(run)


def _jax(name: str, shape: tuple[int, ...]) -> Work:
    f, network, x = JaxFunctions(), NETWORKS[name], values(shape)
    given = drawn_weights(f, network, x).values
    call = f.jax.jit(lambda given, x: network(f, Weights.given(given), x))
    return _work(lambda: [np.asarray(each) for each in listed(call(given, x))])


def _tinygrad(name: str, shape: tuple[int, ...]) -> Work:
    tinygrad = usable_tinygrad()
    f, network, x = TinygradFunctions(tinygrad), NETWORKS[name], values(shape)
    given = drawn_weights(f, network, x).values
    call = tinygrad.TinyJit(lambda x: [each.realize() for each in listed(network(f, Weights.given(given), x))])
    return _work(lambda: [each.numpy() for each in call(tinygrad.Tensor(x).realize())])


def exported_file(setting: Setting, name: str, shape: tuple[int, ...]) -> Path:
    """The ONNX file of a network, exported on first use."""
    path = setting.folder / f"{name}-{'x'.join(map(str, shape))}.onnx"
    if not path.exists():
        export(name, shape, path)
    return path


def onnxruntime_work(setting: Setting, name: str, shape: tuple[int, ...]) -> Work:
    """The file of a network in onnxruntime."""
    path = exported_file(setting, name, shape)
    runtime: Any = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = setting.threads, 1
    session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: values(shape)}
    return _work(lambda: session.run(None, feed))


# The models for onnxruntime


def export(name: str, shape: tuple[int, ...], path: Path) -> None:
    """Write a network as an ONNX file, in another process: torch's threads stay out of this one."""
    missing = [each for each in ("torch", "onnx", "onnxscript") if importlib.util.find_spec(each) is None]
    if missing:
        raise Missing(f"the model is exported by torch.onnx; not installed: {', '.join(missing)}")
    command = [sys.executable, "-m", __name__, name, "x".join(map(str, shape)), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        lines = done.stderr.strip().splitlines()
        raise RuntimeError(f"the export of {name} failed: {lines[-1] if lines else ''}")


def write_onnx(name: str, shape: tuple[int, ...], path: Path) -> None:
    """Export by torch: the same functions around the same weights, as a module."""
    f, network, x = TorchFunctions(), NETWORKS[name], values(shape)
    torch = f.torch
    given = drawn_weights(f, network, x).values

    class Model(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.weights = torch.nn.ParameterList(given)

        def forward(self, x: Any) -> Any:
            return network(f, Weights.given(list(self.weights)), x)

    program = torch.onnx.export(Model().eval(), (torch.from_numpy(x),), dynamo=True, verbose=False)
    program.save(path, external_data=False)


if __name__ == "__main__":
    write_onnx(sys.argv[1], tuple(int(each) for each in sys.argv[2].split("x")), Path(sys.argv[3]))
