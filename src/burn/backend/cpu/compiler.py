"""Kernels to machine code, once per process and once per machine.

A kernel that was compiled before, by this process or an earlier one, is found by its key: in memory,
or in the cache on disk, whose files are checked before they are loaded.
"""

from __future__ import annotations

import functools
import threading
from pathlib import Path

from burn import cube
from burn.backend.cpu.cache import default_cache, kernel_key
from burn.backend.cpu.features import host_features
from burn.backend.cpu.recipe import Recipe, lowering, state_of
from burn.cube import CompiledKernel, Kernel, compile_object, load_object

_compiled: dict[str, CompiledKernel] = {}
_lock = threading.Lock()


def compiled(kernel: Kernel | Recipe) -> CompiledKernel:
    """The machine code of a kernel for this processor. A recipe is written out only if there is none yet."""
    features = host_features()
    if isinstance(kernel, Recipe):
        key = kernel_key(f"{generator()}\n{lowering()}\n{kernel.key_parts}", features.key)
    else:
        key = kernel_key(f"{generator()}\n{kernel.key()}", features.key)
    found = _compiled.get(key)
    if found is None:
        contents = default_cache().load_or_build(key, lambda: _object(kernel))
        with _lock:
            found = _compiled.setdefault(key, load_object(contents))
    return found


def _object(kernel: Kernel | Recipe) -> bytes:
    features = host_features()
    written = kernel.kernel() if isinstance(kernel, Recipe) else kernel
    return compile_object(written, features.name, features.target)


@functools.cache
def generator() -> str:
    """The state of the code generator: the same kernel gives other code after an expansion or an emitter changed."""
    return state_of(Path(cube.__file__).parent)


def count() -> int:
    """How many kernels this process holds."""
    return len(_compiled)
