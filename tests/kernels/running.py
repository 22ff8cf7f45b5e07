"""Running one kernel everywhere: the interpreter, LLVM for several processors, and C where gcc is installed."""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burn.cube import Kernel, KernelBuilder, Value, compile_object, emit_c, interpret, load_object
from burn.cube.targets.c import C_FLAGS
from burn.cube.targets.llvm.cpu import LEVELS, Cpu, host_cpu
from burn.cube.targets.slots import pack_slots
from burn.dtype import DType

Array = Any
COMPILED: dict[Any, Any] = {}
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


@functools.cache
def processors() -> list[Cpu]:
    """Baseline x86-64, AVX2 and AVX-512 as far as this machine runs them, and the machine itself."""
    host = host_cpu()
    if host.is_arm:
        return [host]
    found = [Cpu(name) for name, features in LEVELS.items() if name != "x86-64-v2" and all(map(host.has, features))]
    return [*found, host]


@functools.cache
def compiled_c(source: str, fma: bool) -> Any:
    folder = Path(tempfile.mkdtemp(prefix="burn-kernel-"))
    (folder / "kernel.c").write_text(source)
    flags = [*C_FLAGS, "-Wall", "-Werror", "-Wno-unused-variable", *(["-mfma"] if fma else [])]
    library = folder / "kernel.so"
    command = ["gcc", *flags, "-shared", "-fPIC", "-o", str(library), str(folder / "kernel.c")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    loaded = ctypes.CDLL(str(library))
    shutil.rmtree(folder)
    return loaded


def on_llvm(cpu: Cpu) -> Callable[..., None]:
    def run(kernel: Kernel, buffers: Any, sizes: Any, scalars: Any, first: int, last: int) -> None:
        key = (kernel.key(), cpu)
        if key not in COMPILED:
            COMPILED[key] = load_object(compile_object(kernel, cpu.name, cpu.features))
        COMPILED[key](pack_slots(kernel, buffers, sizes, scalars), first, last)

    return run


def on_c(fma: bool) -> Callable[..., None]:
    def run(kernel: Kernel, buffers: Any, sizes: Any, scalars: Any, first: int, last: int) -> None:
        function = compiled_c(emit_c(kernel, fma=fma), fma).kernel
        function(pack_slots(kernel, buffers, sizes, scalars), ctypes.c_int64(first), ctypes.c_int64(last))

    return run


def runners(c: bool = True) -> dict[str, tuple[Callable[..., None], bool]]:
    """Every way to run a kernel, with whether its mathematics is fused."""
    found: dict[str, tuple[Callable[..., None], bool]] = {"interpreter": (interpret, True)}
    for cpu in processors():
        found[f"llvm {cpu.name}"] = (on_llvm(cpu), cpu.abilities.fma)
    if c and shutil.which("gcc") is not None:
        found["c"] = (on_c(fma=False), False)
        if host_cpu().has("fma"):
            found["c fma"] = (on_c(fma=True), True)
    return found


def same_bits(x: Array, y: Array) -> bool:
    """Equal to the last bit; any NaN equals any other."""
    if x.dtype.kind not in "iub":
        nan_x, nan_y = x != x, y != y
        whole = f"u{x.dtype.itemsize}"
        return bool(np.array_equal(nan_x, nan_y) and np.array_equal(x.view(whole)[~nan_x], y.view(whole)[~nan_x]))
    return bool(np.array_equal(x, y))


def run_everywhere(
    kernel: Kernel,
    inputs: Sequence[Array],
    outputs: Sequence[tuple[int | tuple[int, ...], DType]],
    sizes: Sequence[int] = (),
    scalars: Sequence[float] = (),
    last: int = 1,
    *,
    exact: bool = True,
    c: bool = True,
) -> list[Array]:
    """Run a kernel in every way and compare: bit for bit, with fused and with plain mathematics apart.

    Without `exact`, results with plain mathematics are not compared with the fused ones. Gives the interpreter's.
    """
    first_of: dict[bool, tuple[str, list[Array]]] = {}
    for name, (run, fused) in runners(c).items():
        made = [np.zeros(shape, dtype.numpy) for shape, dtype in outputs]
        run(kernel, [*(each.copy() for each in inputs), *made], sizes, scalars, 0, last)
        key = True if exact else fused
        if key not in first_of:
            first_of[key] = (name, made)
            continue
        other, expected = first_of[key]
        for position, (x, y) in enumerate(zip(made, expected)):
            if not same_bits(x, y):
                wrong = np.flatnonzero((x != y) & ~((x != x) & (y != y)))[:5]
                raise AssertionError(
                    f"output {position} differs between {name} and {other} at {wrong}: "
                    f"{x.reshape(-1)[wrong]} and {y.reshape(-1)[wrong]}"
                )
    return first_of[True][1]


def elementwise(inputs: Sequence[DType], body: Callable[..., Sequence[Value]]) -> tuple[Kernel, list[DType]]:
    """A kernel over one lane axis: loads, some operations, and one store for each result."""
    b = KernelBuilder()
    buffers = [b.buffer(each) for each in inputs]
    # The results' dtypes are known only once the body has run, and buffers are parameters: run it twice.
    trial = KernelBuilder()
    given = [trial.load(trial.buffer(each), 0, raw=True) for each in inputs]
    dtypes = [each.dtype for each in body(trial, *given)]
    outputs = [b.buffer(each, write=True) for each in dtypes]
    count = b.size()
    with b.lane(count) as i:
        for output, value in zip(outputs, body(b, *(b.load(each, i, raw=True) for each in buffers))):
            b.store(output, i, value)
    return b.finish(), dtypes
