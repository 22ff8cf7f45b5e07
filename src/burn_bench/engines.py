"""The engines: our devices, and the peers that may be installed beside us."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from burn.errors import ArgumentError

if TYPE_CHECKING:
    from burn.device import Device


class Engine(NamedTuple):
    """A name on the command line, the family of builders it uses, and the packages without which it is absent."""

    name: str
    family: str
    packages: tuple[str, ...] = ()
    device: str = ""

    @property
    def is_ours(self) -> bool:
        """Whether it is one of our devices."""
        return bool(self.device)

    def absent(self) -> str | None:
        """Why the engine is not here, or None; nothing is imported for the answer."""
        missing = [name for name in self.packages if importlib.util.find_spec(name) is None]
        return f"not installed ({', '.join(missing)})" if missing else None

    def version(self) -> str:
        """The version of the engine's package."""
        from burn.version import __version__

        if self.is_ours or not self.packages:
            return __version__
        try:
            return importlib.metadata.version(self.packages[0])
        except importlib.metadata.PackageNotFoundError:
            return "unknown"


DEVICES = {
    "ndarray": Engine("ndarray", "burn", (), "NdArray()"),
    "libtorch": Engine("libtorch", "burn", ("torch",), "LibTorch('cpu')"),
    "cpu-unfused": Engine("cpu-unfused", "burn", ("llvmlite",), "Cpu(fusion=False)"),
    "cpu": Engine("cpu", "burn", ("llvmlite",), "Cpu()"),
    "cpu-captured": Engine("cpu-captured", "captured", ("llvmlite",), "Cpu()"),
    "cpu-modules": Engine("cpu-modules", "modules", ("llvmlite",), "Cpu()"),
}
"""Our devices. `cpu-captured` is the same work under `burn.compile`, `cpu-modules` the same written with modules and
optimizers, captured too; both come along with `cpu`."""

PEERS = {
    "torch": Engine("torch", "torch", ("torch",)),
    "torch-fused-adam": Engine("torch-fused-adam", "torch-fused-adam", ("torch",)),
    "torch-compile": Engine("torch-compile", "torch-compile", ("torch",)),
    "torch-channels-last": Engine("torch-channels-last", "torch-channels-last", ("torch",)),
    "jax": Engine("jax", "jax", ("jax",)),
    "onnxruntime": Engine("onnxruntime", "onnxruntime", ("onnxruntime",)),
    "numpy": Engine("numpy", "numpy", ("numpy",)),
    "tinygrad": Engine("tinygrad", "tinygrad", ("tinygrad",)),
    "copy": Engine("copy", "copy", ("numpy",)),
}
"""Everybody else. `copy` moves as many bytes as the benchmark must: the limit that memory sets."""

DEFAULT_DEVICES = ("cpu", "libtorch", "ndarray")
DEFAULT_PEERS = tuple(PEERS)


def chosen_devices(names: list[str]) -> list[Engine]:
    """Our devices by name. The captured forms of a device follow it."""
    found = _chosen("devices", names, DEVICES)
    followers = [DEVICES["cpu-captured"], DEVICES["cpu-modules"]]
    plain = [each for each in found if each not in followers]
    captured = any(each.name == "cpu" or each in followers for each in found)
    engines = plain + (followers if captured else [])
    return sorted(engines, key=lambda each: not each.name.startswith("cpu"))


def chosen_peers(names: list[str]) -> list[Engine]:
    """Peers by name. The modes of torch that a benchmark may have come along with `torch`."""
    found = _chosen("peers", names, PEERS)
    if any(each.name == "torch" for each in found):
        found.append(PEERS["torch-channels-last"])
    if found:
        found.append(PEERS["copy"])
    return list(dict.fromkeys(found))


def chosen_workloads(names: list[str], known: Iterable[str]) -> list[str]:
    """Workloads by name, all of them where none is named."""
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ArgumentError(f"burn-bench: {', '.join(unknown)} is not known; choose from {', '.join(known)}")
    return list(dict.fromkeys(names)) or list(known)


def _chosen(option: str, names: list[str], known: dict[str, Engine]) -> list[Engine]:
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ArgumentError(f"--{option}: {', '.join(unknown)} is not known; choose from {', '.join(known)}")
    return [known[name] for name in names]


def make_device(source: str) -> Device:
    """A device of ours from its source, such as `Cpu(fusion=False)`."""
    from burn.backend import NdArray

    if source == "NdArray()":
        return NdArray()
    if source == "LibTorch('cpu')":
        from burn.backend import LibTorch

        return LibTorch("cpu")
    from burn.backend.cpu.device import Cpu

    return Cpu() if source == "Cpu()" else Cpu(fusion=False)


def environment(engine: Engine, threads: int, keep_memory: bool = False, tune: str = "") -> dict[str, str]:
    """The environment of an engine's process: the same number of threads for everybody.

    `keep_memory` asks the C library to keep what was freed. By default it gives large blocks back to the
    system, and a library that allocates anew in each call then spends its time on page faults.
    `tune` tells our devices whether to use, or to find out, what is fastest on this machine.
    """
    changed = {name: value for name, value in os.environ.items() if name not in UNWANTED}
    for name in THREAD_COUNTS:
        changed[name] = str(threads)
    if keep_memory:
        changed["MALLOC_TRIM_THRESHOLD_"] = changed["MALLOC_MMAP_THRESHOLD_"] = str(1 << 33)
    if tune and engine.is_ours:
        changed["BURN_TUNE"] = tune
    if engine.name == "torch-compile":
        changed["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # no helpers that outlive the compilation
    if engine.name == "jax":
        changed["JAX_PLATFORMS"] = "cpu"
    if engine.name == "tinygrad":
        changed.setdefault("DEV", "CPU")
    return changed


THREAD_COUNTS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUM_CPU_THREADS")
UNWANTED = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY")
"""Bindings of threads to cores are inherited by pools that do not expect them: onnxruntime then shares one core."""


def set_threads(engine: Engine, threads: int) -> None:
    """What has to be said in the engine's process; the cores it may use are limited too."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        if threads < len(cores):
            os.sched_setaffinity(0, cores[:threads])
    if "torch" in engine.packages:
        importlib.import_module("torch").set_num_threads(threads)
