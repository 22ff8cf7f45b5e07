"""Kernels to machine code, once per process and once per machine.

A kernel that was compiled before, by this process or an earlier one, is found by its key: in memory,
or in the cache on disk, whose files are checked before they are loaded.
"""

from __future__ import annotations

import threading

from burn.backend.cpu.cache import default_cache, kernel_key
from burn.backend.cpu.features import host_features
from burn.cube import CompiledKernel, Kernel, compile_object, load_object

_compiled: dict[str, CompiledKernel] = {}
_lock = threading.Lock()


def compiled(kernel: Kernel) -> CompiledKernel:
    """The machine code of a kernel for this processor."""
    features = host_features()
    key = kernel_key(kernel.key(), features.key)
    found = _compiled.get(key)
    if found is None:
        contents = default_cache().load_or_build(key, lambda: compile_object(kernel, features.name, features.target))
        with _lock:
            found = _compiled.setdefault(key, load_object(contents))
    return found


def count() -> int:
    """How many kernels this process holds."""
    return len(_compiled)
