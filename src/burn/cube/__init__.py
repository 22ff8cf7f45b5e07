"""The kernel language: typed kernels over axes, and what runs them.

`KernelBuilder` writes kernels, `interpret` runs them in NumPy, `compile_object` and `load_object` through LLVM, and
`emit_c` prints them as freestanding C11.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_LATER = {
    "Buffer": "burn.cube.ir",
    "CompiledKernel": "burn.cube.targets.llvm",
    "Kernel": "burn.cube.ir",
    "KernelBuilder": "burn.cube.builder",
    "KernelError": "burn.cube.errors",
    "PARTIALS": "burn.cube.ir",
    "Value": "burn.cube.ir",
    "assemble_object": "burn.cube.targets.llvm",
    "compile_object": "burn.cube.targets.llvm",
    "emit_c": "burn.cube.targets.c",
    "emit_llvm": "burn.cube.targets.llvm",
    "host_cpu": "burn.cube.targets.llvm",
    "interpret": "burn.cube.interpreter",
    "load_object": "burn.cube.targets.llvm",
    "load_objects": "burn.cube.targets.llvm",
    "verify": "burn.cube.verifier",
}
"""From name to module: who only runs code that is there loads nothing that writes any."""

if not TYPE_CHECKING:  # checkers know the names, and find those that are not there

    def __getattr__(name: str) -> Any:
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(importlib.import_module(_LATER[name]), name)
        return found
