"""The kernel language: typed kernels over axes, and what runs them.

`KernelBuilder` writes kernels, `interpret` runs them in NumPy, `compile_object` and `load_object` through LLVM, and
`emit_c` prints them as freestanding C11.
"""

from __future__ import annotations

from burn.cube.builder import KernelBuilder
from burn.cube.errors import KernelError
from burn.cube.interpreter import interpret
from burn.cube.ir import PARTIALS, Buffer, Kernel, Value
from burn.cube.targets.c import emit_c
from burn.cube.targets.llvm import (
    CompiledKernel,
    assemble_object,
    compile_object,
    emit_llvm,
    host_cpu,
    load_object,
    load_objects,
)
from burn.cube.verifier import verify

__all__ = [
    "Buffer",
    "CompiledKernel",
    "Kernel",
    "KernelBuilder",
    "KernelError",
    "PARTIALS",
    "assemble_object",
    "Value",
    "compile_object",
    "emit_c",
    "emit_llvm",
    "host_cpu",
    "interpret",
    "load_object",
    "load_objects",
    "verify",
]
