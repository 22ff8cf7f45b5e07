"""The LLVM target: a kernel as LLVM IR with explicit vectors, an object file, and code in memory.

`compile_object` and `load_object` are separate, so that objects can be kept on disk between them.
"""

from __future__ import annotations

from burn.cube.targets.llvm.compile import assemble_object, compile_object, emit_llvm, load_object, load_objects
from burn.cube.targets.llvm.cpu import Cpu, host_cpu
from burn.cube.targets.slots import CompiledKernel

__all__ = [
    "CompiledKernel",
    "Cpu",
    "assemble_object",
    "compile_object",
    "emit_llvm",
    "host_cpu",
    "load_object",
    "load_objects",
]
