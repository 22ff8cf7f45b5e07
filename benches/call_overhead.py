"""What a call of a loaded model costs beside its kernels, for models of 10, 100 and 1,000 layers.

    python -m benches.call_overhead

A layer is a Gemm of 16 by 16 and a Relu. `native` is the one native call that runs all kernels; what `run` takes more
is Python: finding the recording by shapes, memory for results, names.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from burn.backend import Cpu
from burn_import.onnx.importing import import_model
from burn_import.onnx.modules import runtime_for

WIDTH = 16


def chain(layers: int, inputs: int = 1) -> Any:
    """A model of so many layers, whose first one adds several inputs."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    generator = np.random.default_rng(layers)
    names = [f"x{number}" for number in range(inputs)]
    nodes = [helper.make_node("Sum", names, ["h0"])]
    weights = []
    for layer in range(layers):
        weight = generator.standard_normal((WIDTH, WIDTH)).astype(np.float32) / np.float32(WIDTH**0.5)
        weights.append(numpy_helper.from_array(weight, f"w{layer}"))
        nodes.append(helper.make_node("Gemm", [f"h{layer}", f"w{layer}"], [f"g{layer}"]))
        nodes.append(helper.make_node("Relu", [f"g{layer}"], [f"h{layer + 1}"]))
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", WIDTH]) for name in names]
    made = [helper.make_tensor_value_info(f"h{layers}", TensorProto.FLOAT, ["batch", WIDTH])]
    graph = helper.make_graph(nodes, "chain", given, made, weights)
    return onnx.helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def median(run: Callable[[], Any], seconds: float = 0.5) -> float:
    """Of the times of a call."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def main() -> None:
    """Measure and print."""
    import onnxruntime  # type: ignore[import-untyped]

    print("layers inputs   run, µs   native, µs   beside it, µs   ONNX Runtime, µs")
    for layers, inputs in ((10, 1), (10, 6), (100, 1), (1000, 1)):
        data = chain(layers, inputs)
        given = {f"x{number}": np.ones((1, WIDTH), np.float32) for number in range(inputs)}
        runtime = runtime_for(import_model(data), Cpu())
        runtime.run(given)
        (tape,) = runtime._tapes.values()
        segment, _ = tape.whole()  # type: ignore[misc]
        runner: Any = segment.run
        alone = runner.runner.native_seconds([given[name] for name in runtime.input_names])
        session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
        ours, theirs = median(partial(runtime.run, given)), median(partial(session.run, None, given))
        times = "".join(f"{each * 1e6:>12.2f}" for each in (ours, alone, ours - alone, theirs))
        print(f"{layers:>6}{inputs:>7}{times}")


if __name__ == "__main__":
    main()
