"""What importing an ONNX file costs: `python -m benches.importing`.

Every figure comes from fresh processes, one thread each, in turns with its peer; medians and quartiles are printed.

- *import*: `burn-import` of MobileNetV2 and of a graph of 6,000 nodes, from the call to the files.
- *memory*: the peak of anonymous memory (`RssAnon`) of an import and of `load`, above the start, for each byte of
  the file; what is mapped from the file does not count, since the system may drop it.
- *first result*: `load()` and one run of MobileNetV2 with a warm cache of kernels, against onnxruntime's session and
  one run. The packages, and the device, are there before the clock starts, on both sides.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

IMAGE = (1, 3, 224, 224)
BUDGETS = {"MobileNetV2": 3.0, "6000 nodes": 60.0}
FIRST_BUDGET, MEMORY_BUDGET = 1.5, 3.0
SAMPLE_SECONDS = 0.001


# The files


def write_nodes(path: Path, count: int = 6000, size: int = 16) -> None:
    """A graph of `count` nodes: blocks of a product, a sum, a norm by hand and an activation, with residuals."""
    import onnx
    from onnx import helper, numpy_helper

    generator = np.random.default_rng(0)
    nodes: list[Any] = []
    weights: list[Any] = []

    def weight(name: str, *shape: int) -> str:
        values = (generator.standard_normal(shape) / max(shape[0], 1) ** 0.5).astype(np.float32)
        weights.append(numpy_helper.from_array(values, name))
        return name

    def node(kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(nodes)}"
        nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    x = "x"
    weights.append(numpy_helper.from_array(np.array(1e-5, np.float32), "eps"))
    weights.append(numpy_helper.from_array(np.array(2.0, np.float32), "two"))
    block = 0
    while len(nodes) + 12 <= count:
        y = node("Add", node("MatMul", x, weight(f"w{block}", size, size)), weight(f"b{block}", size))
        y = node("Tanh", y) if block % 3 else node("Relu", y)
        centred = node("Sub", y, node("ReduceMean", y, axes=[-1], keepdims=1))
        spread = node("ReduceMean", node("Pow", centred, "two"), axes=[-1], keepdims=1)
        y = node("Div", centred, node("Sqrt", node("Add", spread, "eps")))
        y = node("Mul", y, weight(f"g{block}", size))
        x = node("Add", y, x)
        block += 1
    while len(nodes) < count:
        x = node("Sigmoid", x)
    shape: list[Any] = ["batch", size]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "nodes", [value("x", 1, shape)], [value(x, 1, shape)], weights
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def write_large(path: Path, megabytes: int) -> None:
    """Linear layers without activations: a file that is nothing but weights."""
    import onnx
    from onnx import helper, numpy_helper

    weight = np.random.default_rng(0).standard_normal((1024, 1024), np.float32)
    nodes, weights = [], []
    for index in range(megabytes // 4):
        weights.append(numpy_helper.from_array(weight + np.float32(index), f"w{index}"))
        nodes.append(helper.make_node("MatMul", [f"x{index}", f"w{index}"], [f"x{index + 1}"]))
    value = helper.make_tensor_value_info
    ends = [value("x0", 1, [1, 1024])], [value(f"x{len(nodes)}", 1, [1, 1024])]
    onnx.save(helper.make_model(helper.make_graph(nodes, "large", *ends, weights)), path)


def prepare(folder: Path, megabytes: int) -> dict[str, Path]:
    """The files, written once for a folder."""
    from burn_bench.suite import inference

    paths = {"MobileNetV2": folder / "mobilenet_v2.onnx", "ResNet-18": folder / "resnet18.onnx",
             "6000 nodes": folder / "nodes.onnx", f"{megabytes} MB": folder / f"large-{megabytes}.onnx"}  # fmt: skip
    for name in ("mobilenet_v2", "resnet18"):
        if not (folder / f"{name}.onnx").exists():
            inference.export(name, IMAGE, folder / f"{name}.onnx")
    if not paths["6000 nodes"].exists():
        write_nodes(paths["6000 nodes"])
    if not paths[f"{megabytes} MB"].exists():
        write_large(paths[f"{megabytes} MB"], megabytes)
    return paths


# Children


def anonymous() -> int:
    """Bytes of anonymous memory of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024
    return 0


def with_peak(call: Callable[[], Any]) -> tuple[float, int]:
    """Seconds of a call, and how far anonymous memory rose above the start."""
    before = peak = anonymous()
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(SAMPLE_SECONDS):
            peak = max(peak, anonymous())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    start = time.perf_counter()
    kept = call()
    taken = time.perf_counter() - start
    peak = max(peak, anonymous())
    done.set()
    watcher.join()
    del kept
    return taken, peak - before


def import_child(path: str) -> dict[str, float]:
    """`ModelGen` from the file to its three files."""
    from burn_import.onnx.model_gen import ModelGen

    with tempfile.TemporaryDirectory() as folder:
        seconds, peak = with_peak(lambda: ModelGen(path, folder).run(Path(folder)))
    return {"seconds": seconds, "memory": peak / os.path.getsize(path)}


def load_child(path: str) -> dict[str, float]:
    """`load` on `Cpu()`: the weights that stay in memory count too."""
    import burn
    from burn_import.onnx import load

    _warm_up()
    seconds, peak = with_peak(lambda: load(path, burn.Cpu()))
    return {"seconds": seconds, "memory": peak / os.path.getsize(path)}


def _warm_up() -> None:
    """A model of one node: afterwards the packages are imported and the device is there."""
    import burn
    from burn_import.onnx import load

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "one.onnx"
        _write_one(path)
        load(path, burn.Cpu()).run({"x": np.ones((1, 4, 8, 8), np.float32)})


def _write_one(path: Path) -> None:
    import onnx
    from onnx import helper, numpy_helper

    weight = numpy_helper.from_array(np.ones((4, 4, 3, 3), np.float32), "w")
    value = helper.make_tensor_value_info
    ends = [value("x", 1, [1, 4, 8, 8])], [value("y", 1, [1, 4, 6, 6])]
    graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"])], "one", *ends, [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), path)


def first_child(path: str) -> dict[str, float]:
    """Load and one run of ours."""
    import burn
    from burn_import.onnx import load

    _warm_up()
    x = np.random.default_rng(0).standard_normal(IMAGE, np.float32)
    start = time.perf_counter()
    model = load(path, burn.Cpu())
    loaded = time.perf_counter()
    model.run({model.input_names[0]: x})
    return {"seconds": time.perf_counter() - start, "load": loaded - start}


def session_child(path: str) -> dict[str, float]:
    """A session of onnxruntime, and one run."""
    import onnxruntime  # type: ignore[import-untyped]

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        one = Path(folder) / "one.onnx"
        _write_one(one)
        onnxruntime.InferenceSession(str(one), options, providers=["CPUExecutionProvider"])
    x = np.random.default_rng(0).standard_normal(IMAGE, np.float32)
    start = time.perf_counter()
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    made = time.perf_counter()
    session.run(None, {session.get_inputs()[0].name: x})
    return {"seconds": time.perf_counter() - start, "load": made - start}


CHILDREN = {"import": import_child, "load": load_child, "first": first_child, "session": session_child}


def in_child(kind: str, path: Path, cache: Path) -> dict[str, float]:
    """What a fresh process measured. Its bytecode and kernels are kept in `cache`, as they are for a user."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPYCACHEPREFIX": str(cache / "bytecode"),
                   "BURN_CACHE": str(cache / "kernels")}  # fmt: skip
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "benches.importing", "--child", kind, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


# The report


def spread(values: list[float], unit: str = "") -> str:
    low, middle, high = (
        (values[0],) * 3 if len(values) == 1 else statistics.quantiles(values, n=4, method="inclusive")
    )  # fmt: skip
    return f"{middle:7.3f}{unit} ({low:.3f} to {high:.3f})"


def verdict(value: float, budget: float) -> str:
    return "kept" if value <= budget else f"missed by {value / budget:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=9, help="pairs of processes for the first result")
    parser.add_argument("--megabytes", type=int, default=256, help="size of the file that memory is measured with")
    parser.add_argument("--folder", type=Path, help="keep files and caches here; a temporary folder by default")
    parser.add_argument("--child", nargs=2, metavar=("KIND", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        kind, path = options.child
        print(json.dumps(CHILDREN[kind](path)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder: Path = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        report(prepare(folder, options.megabytes), folder, options.blocks)


def report(paths: dict[str, Path], folder: Path, blocks: int) -> None:
    for kind in ("import", "first"):
        in_child(kind, paths["MobileNetV2"], folder)  # fills the caches
    print("import to files, seconds")
    for name, budget in BUDGETS.items():
        times = [in_child("import", paths[name], folder)["seconds"] for _ in range(3)]
        print(f"  {name:12} {spread(times, ' s')}  {verdict(statistics.median(times), budget)} ({budget:g} s)")
    print("peak of anonymous memory for each byte of the file")
    for kind in ("import", "load"):
        for name in paths:
            if name != "6000 nodes":
                ratio = in_child(kind, paths[name], folder)["memory"]
                print(f"  {kind:6} {name:12} {ratio:6.2f}  {verdict(ratio, MEMORY_BUDGET)} ({MEMORY_BUDGET:g})")
    print("MobileNetV2, load to first result")
    pairs = [
        (in_child("first", paths["MobileNetV2"], folder), in_child("session", paths["MobileNetV2"], folder))
        for _ in range(blocks)
    ]
    ratios = [one["seconds"] / other["seconds"] for one, other in pairs]
    print(f"  ours         {spread([one['seconds'] for one, _ in pairs], ' s')}")
    print(f"  onnxruntime  {spread([other['seconds'] for _, other in pairs], ' s')}")
    print(f"  ratio        {spread(ratios)}  {verdict(statistics.median(ratios), FIRST_BUDGET)} ({FIRST_BUDGET:g})")


if __name__ == "__main__":
    main()
