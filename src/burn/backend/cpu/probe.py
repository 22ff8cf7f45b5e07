"""Which vector instructions really run: the program of a child process.

A virtual machine may advertise an instruction set and then trap when it is used. So each set beyond
the safe level is tried once, in a process whose death costs nothing. The parent writes the names to
try to the standard input, one a line; the answer is the names that survived, one a line. Each try
is a fork of its own, so that one trap does not hide the rest.

This file is run by its path and imports nothing of this package.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import sys
from collections.abc import Callable

# One instruction of each set, with 512-bit registers where the set has them.
INSTRUCTIONS = {
    "avx512f": "vaddps %zmm0, %zmm0, %zmm0",
    "avx512bw": "vpaddw %zmm0, %zmm0, %zmm0",
    "avx512cd": "vplzcntd %zmm0, %zmm0",
    "avx512dq": "vpmullq %zmm0, %zmm0, %zmm0",
    "avx512vl": "vpternlogd $$0xff, %ymm0, %ymm0, %ymm0",
    "avx512bf16": "vdpbf16ps %zmm0, %zmm0, %zmm0",
    "avx512bitalg": "vpopcntb %zmm0, %zmm0",
    "avx512fp16": "vaddph %zmm0, %zmm0, %zmm0",
    "avx512ifma": "vpmadd52luq %zmm0, %zmm0, %zmm0",
    "avx512vbmi": "vpermb %zmm0, %zmm0, %zmm0",
    "avx512vbmi2": "vpshldw $$1, %zmm0, %zmm0, %zmm0",
    "avx512vnni": "vpdpbusd %zmm0, %zmm0, %zmm0",
    "avx512vpopcntdq": "vpopcntd %zmm0, %zmm0",
    "avxifma": "{vex} vpmadd52luq %ymm0, %ymm0, %ymm0",
    "avxneconvert": "{vex} vcvtneps2bf16 %ymm0, %xmm0",
    "avxvnni": "{vex} vpdpbusd %ymm0, %ymm0, %ymm0",
    "avxvnniint8": "vpdpbssd %ymm0, %ymm0, %ymm0",
    "avxvnniint16": "vpdpwsud %ymm0, %ymm0, %ymm0",
    "gfni": "vgf2p8mulb %ymm0, %ymm0, %ymm0",
    "vaes": "vaesenc %ymm0, %ymm0, %ymm0",
    "vpclmulqdq": "vpclmulqdq $$0, %ymm0, %ymm0, %ymm0",
    "amx-tile": "tilezero %tmm0",
    "amx-int8": "tdpbssd %tmm0, %tmm1, %tmm2",
    "amx-bf16": "tdpbf16ps %tmm0, %tmm1, %tmm2",
    "amx-fp16": "tdpfp16ps %tmm0, %tmm1, %tmm2",
}

_ARCH_REQUEST_PERMISSION = (158, 0x1023, 18)
"""arch_prctl, ARCH_REQ_XCOMP_PERM, tile data: Linux wants to be asked before tiles are used."""

_FUNCTION = """
define void @{symbol}() #0 {{
  call void asm sideeffect "{text}", "~{{xmm0}},~{{memory}}"()
  ret void
}}
"""
_TILE_FUNCTION = """
@{symbol}_tiles = private constant [64 x i8] c"\\01\\00{zeros14}{widths}{zeros16}{rows}{zeros8}", align 64
define void @{symbol}() #0 {{
  call void asm sideeffect "ldtilecfg ($0)\\0A{text}\\0Atilerelease", "r,~{{memory}}"(ptr @{symbol}_tiles)
  ret void
}}
"""


def source(names: list[str]) -> str:
    """LLVM IR with one function per instruction set."""
    text = []
    for number, name in enumerate(names):
        instruction = INSTRUCTIONS[name]
        if name.startswith("amx"):
            template = _TILE_FUNCTION
        else:
            template, instruction = _FUNCTION, f"{instruction}\\0Avzeroupper"
        text.append(
            template.format(
                symbol=f"try{number}",
                text=instruction,
                zeros14="\\00" * 14,
                widths="\\40\\00" * 8,
                zeros16="\\00" * 16,
                rows="\\10" * 8,
                zeros8="\\00" * 8,
            )
        )
    features = ",".join(f"+{name}" for name in {"avx2", "avx512f", "avx512vl", *names})
    return "\n".join(text) + f'\nattributes #0 = {{ nounwind "target-features"="{features}" }}\n'


def survives(function: Callable[[], None]) -> bool:
    """Whether a fork that calls `function` ends by itself."""
    import resource  # not on Windows, where nothing is tried

    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.alarm(5)
        function()
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def main() -> int:
    """Try the sets named on the standard input."""
    llvm = importlib.import_module("llvmlite.binding")
    names = [name for name in sys.stdin.read().split() if name in INSTRUCTIONS]
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=0)
    module = llvm.parse_assembly(source(names))
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    if any(name.startswith("amx") for name in names):
        ctypes.CDLL(None).syscall(*_ARCH_REQUEST_PERMISSION)
    prototype = ctypes.CFUNCTYPE(None)
    for number, name in enumerate(names):
        if survives(prototype(engine.get_function_address(f"try{number}"))):
            print(name, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
