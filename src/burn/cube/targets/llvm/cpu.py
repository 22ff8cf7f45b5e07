"""What a processor can do: its name and features, as LLVM spells them, and what follows for code generation."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from burn.cube.lowering import Abilities
from burn.errors import MissingOperation

BASELINE = frozenset("64bit cmov cx8 fxsr mmx sse sse2".split())
SSE4 = BASELINE | frozenset("crc32 cx16 popcnt sahf sse3 sse4.1 sse4.2 ssse3".split())
AVX2 = SSE4 | frozenset("avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave".split())
AVX512 = AVX2 | frozenset("avx512f avx512bw avx512cd avx512dq avx512vl".split())
LEVELS = {"x86-64": BASELINE, "x86-64-v2": SSE4, "x86-64-v3": AVX2, "x86-64-v4": AVX512}
"""The features that a name implies, for names that imply any we use."""

OLDEST = 20
"""The first LLVM whose textual form we write (llvmlite 0.45)."""


class Cpu(NamedTuple):
    """A processor by LLVM's name and features, such as `Cpu("x86-64-v3")` or `Cpu("znver4", "+avx2,-avx512f")`."""

    name: str
    features: str = ""

    def has(self, feature: str) -> bool:
        """Whether a feature is there, by name or by listing."""
        return feature in _enabled(self)

    @property
    def is_arm(self) -> bool:
        return self.has("neon")

    @property
    def triple(self) -> str:
        """What LLVM calls machines of its architecture, for objects that are made elsewhere."""
        return f"{'aarch64' if self.is_arm else 'x86_64'}-unknown-linux-gnu"

    @property
    def vector_bits(self) -> int:
        """The width of vector registers."""
        if all(self.has(each) for each in ("avx512f", "avx512bw", "avx512vl", "avx512dq")):
            return 512
        return 256 if self.has("avx2") else 128

    @property
    def abilities(self) -> Abilities:
        """What its instructions do by themselves."""
        if self.is_arm:
            return Abilities(fma=True, rounding=True, f16=True)
        wide = self.vector_bits == 512
        return Abilities(fma=self.has("fma"), rounding=self.has("sse4.1"), f16=self.has("f16c"), ldexp=wide)


@functools.cache
def _enabled(cpu: Cpu) -> frozenset[str]:
    found = set(LEVELS.get(cpu.name, ()))
    for each in filter(None, cpu.features.split(",")):
        if each[0] == "+":
            found.add(each[1:])
        else:
            found.discard(each[1:])
    return frozenset(found)


@functools.cache
def binding() -> Any:
    """llvmlite's binding, loaded and initialised on first use."""
    try:
        import llvmlite.binding as llvm
    except ImportError:
        raise MissingOperation(
            "llvm: compiling kernels needs llvmlite; install it with: pip install burn-dl[cpu]"
        ) from None
    if llvm.llvm_version_info[0] < OLDEST:
        found = ".".join(str(each) for each in llvm.llvm_version_info)
        raise MissingOperation(f"llvm: llvmlite brings LLVM {found}, and kernels need {OLDEST} or later; upgrade it")
    llvm.initialize_all_targets()  # objects for other architectures are made here too
    llvm.initialize_all_asmprinters()
    return llvm


@functools.cache
def host_cpu() -> Cpu:
    """This machine's processor."""
    llvm = binding()
    return Cpu(llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
