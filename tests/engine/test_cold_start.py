"""A process that finds its kernels on disk: it needs no compiler, and gives what a process with one gives."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest

from burn.backend.cpu.features import runnable
from burn.cube.images import is_supported
from tests.engine.hand_written import run_program

pytest.importorskip("llvmlite")
on_linux = pytest.mark.skipif(not is_supported(), reason="images are for Linux")

WORK = """
import hashlib, sys
import numpy as np
import burn

found = []
rng = np.random.default_rng(0)
device = burn.Cpu()
x = burn.tensor(rng.standard_normal((33, 65)).astype(np.float32), device=device)
w = burn.tensor(rng.standard_normal((65, 65)).astype(np.float32), device=device)
image = burn.tensor(rng.standard_normal((1, 3, 20, 20)).astype(np.float32), device=device)
weights = burn.tensor(rng.standard_normal((8, 3, 3, 3)).astype(np.float32), device=device)
found.append((x + 1.0).numpy())
found.append((x.exp() + x.sin() * x).softmax(1).numpy())
found.append(x.matmul(w).relu().sum_dim(1).numpy())
found.append(x.sort(1).cumsum(1).argmax(1).numpy())
found.append(burn.tensor.module.conv2d(image, weights).relu().numpy())
step = burn.compile(lambda x, w: (x.matmul(w).tanh() / 3.0).mean_dim(0))
for _ in range(3):
    found.append(step(x, w).numpy())
print(hashlib.sha256(b"".join(each.tobytes() for each in found)).hexdigest())
"""

ENDING = """
from pathlib import Path

maps = [line.split()[1] for line in Path("/proc/self/maps").read_text().splitlines()]
print(any("w" in each and "x" in each for each in maps), any(name.startswith("llvmlite") for name in sys.modules))
"""

WITH_LLVM = """
from burn.backend.cpu import compiler, native
from burn.cube.targets.llvm.compile import load_with_llvm

compiler.load_objects = load_with_llvm
native.is_supported = lambda: False
"""


@on_linux
@pytest.mark.parametrize("name", runnable())
def test_a_warm_process_loads_no_compiler_and_finds_the_same(name: str, tmp_path: Path) -> None:
    first, *_ = run_program(WORK, tmp_path, BURN_FEATURES=name).split("\n")
    second, told, *_ = run_program(WORK + ENDING, tmp_path, BURN_FEATURES=name).split("\n")
    assert told == "False False", "memory that is written and run, or the compiler"
    by_llvm, *_ = run_program(WITH_LLVM + WORK, tmp_path, BURN_FEATURES=name).split("\n")
    assert first == second == by_llvm


@on_linux
@pytest.mark.skipif(platform.machine() != "x86_64", reason="about CPUID")
def test_what_the_processor_says_of_itself_is_the_same_each_time(tmp_path: Path) -> None:
    program = """
import os
from burn.backend.cpu.identity import identity

found = set()
for core in sorted(os.sched_getaffinity(0)):
    os.sched_setaffinity(0, {core})
    found.add(identity.__wrapped__())
(only,) = found
print(only)
"""
    first = run_program(program, tmp_path)
    assert len(first.splitlines()) > 5
    assert first == run_program(program, tmp_path)


@on_linux
def test_claims_that_are_kept_are_those_that_the_compiler_tells(tmp_path: Path) -> None:
    program = """
import sys
from burn.backend.cpu.features import host_features

print(host_features().key, "llvmlite.binding" in sys.modules)
"""
    first, second = (run_program(program, tmp_path).strip() for _ in range(2))
    assert first == second.removesuffix("False") + "True"
    assert second.endswith("False")


def test_the_version_of_the_compiler_is_known_without_it() -> None:
    from burn.backend.cpu import cache

    held = {name: each for name, each in sys.modules.items() if name.partition(".")[0] == "llvmlite"}
    try:
        for name in held:
            del sys.modules[name]
        told = cache._llvm_version.__wrapped__()
        assert "llvmlite" not in sys.modules
    finally:
        sys.modules.update(held)
    import llvmlite

    assert told == llvmlite.__version__


@on_linux
def test_a_model_from_a_file_runs_without_the_compiler(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    kind = onnx.TensorProto.FLOAT
    nodes = [
        onnx.helper.make_node("MatMul", ["x", "w"], ["a"]),
        onnx.helper.make_node("Relu", ["a"], ["b"]),
        onnx.helper.make_node("Softmax", ["b"], ["y"]),
    ]
    graph = onnx.helper.make_graph(
        nodes,
        "graph",
        [onnx.helper.make_tensor_value_info("x", kind, [2, 33])],
        [onnx.helper.make_tensor_value_info("y", kind, [2, 5])],
        [onnx.helper.make_tensor("w", kind, [33, 5], [0.25] * 165)],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(tmp_path / "model.onnx"))
    program = f"""
import sys
import numpy as np
import burn
from burn_import.onnx import load

model = load({str(tmp_path / "model.onnx")!r}, burn.Cpu())
for _ in range(3):
    print(np.asarray(model.run({{"x": np.ones((2, 33), np.float32)}})).tolist())
print(any(name.startswith("llvmlite") for name in sys.modules))
"""
    first, second = (run_program(program, tmp_path / "cache").split("\n") for _ in range(2))
    assert first[:-2] == second[:-2]
    assert (first[-2], second[-2]) == ("True", "False")
