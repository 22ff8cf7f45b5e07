"""What the host CPU can do, in LLVM's words, and nothing it only claims.

    features = host_features()
    compile_object(kernel, features.name, features.target)

Instruction sets up to x86-64-v3 (AVX2) are taken from the CPU's flags. Everything above is used only
after it ran in a child process (`probe.py`), because virtual machines advertise sets and then trap;
the answer is kept in the disk cache, so only the first process on a machine pays for it.
`BURN_CPU_FEATURES` is an upper bound for tests and users: `baseline`, `avx2`, `avx512` or `native`.
On other architectures LLVM's own description of the host is used.
"""

from __future__ import annotations

import importlib
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from burn.backend.cpu.cache import ObjectCache, default_cache, kernel_key
from burn.backend.cpu.probe import INSTRUCTIONS
from burn.errors import ArgumentError, MissingOperation

LEVELS = ("baseline", "avx2", "avx512", "native")

BASELINE = frozenset("64bit cmov cx8 fxsr mmx sse sse2".split())
AVX2 = BASELINE | frozenset(
    "avx avx2 bmi bmi2 crc32 cx16 f16c fma lzcnt movbe popcnt sahf sse3 sse4.1 sse4.2 ssse3 xsave".split()
)
AVX512 = AVX2 | frozenset("avx512f avx512bw avx512cd avx512dq avx512vl".split())
SAFE = AVX2 | frozenset(
    "adx aes clflushopt clwb clzero fsgsbase invpcid pclmul prfchw rdpid rdrnd rdseed sha sse4a xsavec xsaveopt "
    "xsaves".split()
)
"""Sets that are believed without a trial: scalar ones, and vectors up to 256 bits."""

_X86 = frozenset(("x86_64", "AMD64", "i386", "i686"))


@dataclass(frozen=True)
class Features:
    """A CPU as a compilation target."""

    name: str
    """LLVM's name of the CPU model: `znver4`, `x86-64`, `generic`."""

    enabled: frozenset[str]
    disabled: frozenset[str]

    x86: bool = True

    @property
    def target(self) -> str:
        """LLVM's feature string: every set named, on or off, so that the model's name decides nothing."""
        return ",".join([f"+{each}" for each in sorted(self.enabled)] + [f"-{each}" for each in sorted(self.disabled)])

    @property
    def key(self) -> str:
        """What a cache key must contain for code made for this CPU."""
        return f"{self.name}:{self.target}"

    @property
    def level(self) -> str:
        """The name of the highest level reached: `baseline`, `avx2`, `avx512`; `generic` where those mean nothing."""
        if not self.x86:
            return "generic"
        if self.enabled >= AVX512:
            return "avx512"
        return "avx2" if self.enabled >= AVX2 else "baseline"

    @property
    def vector_bits(self) -> int:
        """The width of the widest vector register."""
        if "avx512f" in self.enabled:
            return 512
        return 256 if "avx" in self.enabled else 128


def select(
    name: str,
    claims: Mapping[str, bool],
    level: str = "native",
    prove: Callable[[list[str]], Iterable[str]] = lambda names: names,
    x86: bool = True,
) -> Features:
    """The target for a CPU that claims `claims`, held to `level`; `prove` gives those of the named sets that run."""
    if level not in LEVELS:
        raise ArgumentError(f"BURN_CPU_FEATURES: {level!r} is not a level; write one of {', '.join(LEVELS)}")
    claimed = {each for each, present in claims.items() if present}
    if not x86:
        if level == "baseline":
            return Features("generic", frozenset(), frozenset(), x86=False)
        return Features(name, frozenset(claimed), frozenset(claims) - claimed, x86=False)
    bound = {"baseline": BASELINE, "avx2": SAFE, "avx512": SAFE | AVX512, "native": SAFE | INSTRUCTIONS.keys()}[level]
    enabled = claimed & bound
    doubtful = sorted(enabled - SAFE)
    if doubtful:
        enabled = _closed(enabled & SAFE | set(prove(doubtful)) & set(doubtful))
    # Below the CPU's own level its name would only bring scheduling that belongs to code never emitted.
    model = "x86-64" if level == "baseline" else name
    return Features(model, frozenset(enabled), frozenset(claims) - enabled)


def _closed(enabled: set[str]) -> set[str]:
    """Without sets whose foundation is missing: AVX-512 extensions need avx512f, AMX types need tiles."""
    if "avx512f" not in enabled:
        enabled = {each for each in enabled if not each.startswith("avx512")}
    if "amx-tile" not in enabled:
        enabled = {each for each in enabled if not each.startswith("amx")}
    return enabled


def require_llvm() -> Any:
    """llvmlite's binding module, with the host's target ready; without it there is no engine."""
    try:
        llvm: Any = importlib.import_module("llvmlite.binding")
    except ImportError:
        raise MissingOperation(
            "Cpu(): kernels are compiled with llvmlite, which is not installed; write pip install 'burn-dl[cpu]'"
        ) from None
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    return llvm


def probe(names: list[str]) -> list[str] | None:
    """Those of `names` that a child process could execute; None where no child could tell."""
    if getattr(sys, "frozen", False) or not sys.executable or not hasattr(os, "fork"):
        return None
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONFAULTHANDLER"}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    try:
        answer = subprocess.run(
            [sys.executable, "-P", str(Path(__file__).with_name("probe.py"))],
            input="\n".join(names),
            capture_output=True,
            text=True,
            timeout=60,
            env=environment,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.split()


def _cpu_model() -> str:
    """The CPU and the kernel that runs it, as far as the system tells."""
    lines: set[str] = set()
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            wanted = ("vendor_id", "cpu family", "model", "model name", "stepping", "microcode", "hypervisor")
            lines = {line.strip() for line in file if line.partition(":")[0].strip() in wanted}
    except OSError:
        lines = {platform.processor()}
    return "\n".join([*sorted(lines), platform.machine(), platform.system(), platform.release(), platform.version()])


def proven(names: list[str], store: ObjectCache) -> list[str]:
    """`probe`, remembered on disk for this CPU model and kernel; nothing where no child could tell."""
    key = kernel_key("features\n" + _cpu_model(), ",".join(names))
    known = store.load(key)
    if known is not None:
        return known.decode().split()
    answer = probe(names)
    if answer is None:
        return []
    store.store(key, "\n".join(answer).encode())
    return answer


@cache
def host_features() -> Features:
    """The CPU of this process, as far as `BURN_CPU_FEATURES` lets it be used."""
    llvm = require_llvm()
    level = os.environ.get("BURN_CPU_FEATURES") or "native"
    x86 = platform.machine() in _X86
    try:
        name, claims = str(llvm.get_host_cpu_name()), dict(llvm.get_host_cpu_features())
    except RuntimeError:  # LLVM cannot tell on some systems
        name, claims = ("x86-64" if x86 else "generic"), {}
    return select(name, claims, level, lambda names: proven(names, default_cache()), x86)
