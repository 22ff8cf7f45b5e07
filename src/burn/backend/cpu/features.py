"""Instruction sets: those that a device is told to use, and what the processor here can do.

    features = named("avx2")
    compile_object(kernel, features.name, features.target)

`baseline`, `sse4`, `avx2`, `avx512` and `neon` mean the same on every machine, so kernels can be lowered and compiled
for processors that are elsewhere; `native` is the processor of this process. Running code is another matter: `lacking`
tells what this one does not have.

Of the host's sets, those up to x86-64-v3 (AVX2) are taken from the CPU's flags. Everything above is used only
after it ran in a child process (`probe.py`), because virtual machines advertise sets and then trap;
the answer is kept in the disk cache, so only the first process on a machine pays for it, and so are the flags, under
what the processor says of itself (`identity.py`): later processes need no LLVM to know where they are.
On other architectures LLVM's own description of the host is used.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from pathlib import Path

from burn.backend.cpu.cache import ObjectCache, default_cache, kernel_key
from burn.backend.cpu.identity import identity
from burn.backend.cpu.listed import described
from burn.backend.cpu.llvm import require_llvm
from burn.backend.cpu.probe import INSTRUCTIONS
from burn.classes import dataclass
from burn.cube.targets.llvm.cpu import AVX2, AVX512, BASELINE, SSE4

NATIVE = "native"
SETS = ("baseline", "sse4", "avx2", "avx512", "neon", NATIVE)
"""What a device may be told to use."""

SAFE = AVX2 | frozenset(
    "adx aes clflushopt clwb clzero fsgsbase invpcid pclmul prfchw rdpid rdrnd rdseed sha sse4a xsavec xsaveopt "
    "xsaves".split()
)
"""Sets that are believed without a trial: scalar ones, and vectors up to 256 bits."""

X86, ARM = "x86_64", "aarch64"
_SPELLINGS = {"AMD64": X86, "arm64": ARM, "ARM64": ARM}


@dataclass(frozen=True)
class Features:
    """A CPU as a compilation target."""

    name: str
    """LLVM's name of the CPU model: `znver4`, `x86-64`, `generic`."""

    enabled: frozenset[str]
    disabled: frozenset[str] = frozenset()
    architecture: str = X86

    @property
    def target(self) -> str:
        """LLVM's feature string: every set named, on or off, so that the model's name decides nothing."""
        return ",".join([f"+{each}" for each in sorted(self.enabled)] + [f"-{each}" for each in sorted(self.disabled)])

    @cached_property
    def key(self) -> str:
        """What a cache key must contain for code made for this CPU."""
        return f"{self.architecture} {self.name}:{self.target}"

    @property
    def level(self) -> str:
        """The name of the highest set reached: `baseline` to `avx512`, `neon`; `generic` where those mean nothing."""
        if self.architecture == ARM:
            return "neon"
        if self.architecture != X86:
            return "generic"
        return next(name for name, needed in reversed(_X86_SETS.items()) if self.enabled >= needed)

    @property
    def vector_bits(self) -> int:
        """The width of the widest vector register."""
        if "avx512f" in self.enabled:
            return 512
        return 256 if "avx" in self.enabled else 128

    @property
    def registers(self) -> int:
        """How many vector registers there are."""
        return 32 if self.vector_bits == 512 or self.architecture == ARM else 16

    @property
    def fused(self) -> bool:
        """Whether one instruction multiplies and adds."""
        return self.architecture != X86 or "fma" in self.enabled

    @property
    def lacking(self) -> list[str]:
        """What this processor does not have; code for these features runs where nothing is lacking."""
        host = host_features()
        if self.architecture != host.architecture:
            return [self.architecture]
        return sorted(self.enabled - host.enabled)


_X86_SETS = {"baseline": BASELINE, "sse4": SSE4, "avx2": AVX2, "avx512": AVX512}
_MODELS = {"baseline": "x86-64", "sse4": "x86-64-v2", "avx2": "x86-64-v3", "avx512": "x86-64-v4"}
_NEON = Features("generic", frozenset(("neon", "fp-armv8")), architecture=ARM)


def named(name: str) -> Features:
    """The instruction sets of a name in `SETS`; `baseline` is the least that processors of this architecture have."""
    if name == NATIVE:
        return host_features()
    if name == "neon" or (name == "baseline" and machine() == ARM):
        return _NEON
    return Features(_MODELS[name], _X86_SETS[name])


def runnable() -> list[str]:
    """The names in `SETS` whose code runs here."""
    return [name for name in SETS if not named(name).lacking]


def machine() -> str:
    """The architecture of this process, as LLVM spells it."""
    found = platform.machine()
    return _SPELLINGS.get(found, found)


def select(
    name: str,
    claims: Mapping[str, bool],
    prove: Callable[[list[str]], Iterable[str]] = lambda names: names,
    architecture: str = X86,
) -> Features:
    """The target for a CPU that claims `claims`; `prove` gives those of the named sets that run."""
    claimed = {each for each, present in claims.items() if present}
    if architecture != X86:
        return Features(name, frozenset(claimed), frozenset(claims) - claimed, architecture)
    enabled = BASELINE | claimed & (SAFE | INSTRUCTIONS.keys())
    doubtful = sorted(enabled - SAFE)
    if doubtful:
        enabled = _closed(enabled & SAFE | set(prove(doubtful)) & set(doubtful))
    return Features(name, frozenset(enabled), frozenset(claims) - enabled)


def _closed(enabled: frozenset[str]) -> frozenset[str]:
    """Without sets whose foundation is missing: AVX-512 extensions need avx512f, AMX types need tiles."""
    if "avx512f" not in enabled:
        enabled = frozenset(each for each in enabled if not each.startswith("avx512"))
    if "amx-tile" not in enabled:
        enabled = frozenset(each for each in enabled if not each.startswith("amx"))
    return enabled


def probe(names: list[str]) -> list[str] | None:
    """Those of `names` that a child process could execute; None where no child could tell."""
    if getattr(sys, "frozen", False) or not sys.executable or not hasattr(os, "fork"):
        return None
    import subprocess  # for one process in many

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
    wanted = ("vendor_id", "cpu family", "model", "model name", "stepping", "microcode", "hypervisor")
    lines = list(described(*wanted)) or [platform.processor()]
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
    """The CPU of this process."""
    name, claims = claimed(default_cache())
    return select(name, claims, lambda names: proven(names, default_cache()), machine())


def claimed(store: ObjectCache) -> tuple[str, dict[str, bool]]:
    """LLVM's name of this processor, and the sets that it claims or not, remembered on disk."""
    key = ""
    if store.directory is not None:
        told = identity()
        key = kernel_key(f"claims\n{told}", machine()) if told else ""
    known = store.load(key) if key else None
    if known is not None:
        name, _, text = known.decode().partition("\n")
        return name, {each[1:]: each[0] == "+" for each in text.split(",")}
    llvm = require_llvm()
    try:
        name, claims = str(llvm.get_host_cpu_name()), dict(llvm.get_host_cpu_features())
    except RuntimeError:  # LLVM cannot tell on some systems
        return ("x86-64" if machine() == X86 else "generic"), {}
    if key and claims:
        text = ",".join(f"{'+' if present else '-'}{each}" for each, present in sorted(claims.items()))
        store.store(key, f"{name}\n{text}".encode())
    return name, claims
