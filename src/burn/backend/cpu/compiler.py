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
from burn.cube import CompiledKernel, Kernel, compile_object, load_object

_compiled: dict[str, CompiledKernel] = {}
_lock = threading.Lock()


def compiled(kernel: Kernel) -> CompiledKernel:
    """The machine code of a kernel for this processor."""
    features = host_features()
    key = kernel_key(f"{generator()}\n{kernel.key()}", features.key)
    found = _compiled.get(key)
    if found is None:
        contents = default_cache().load_or_build(key, lambda: compile_object(kernel, features.name, features.target))
        with _lock:
            found = _compiled.setdefault(key, load_object(contents))
    return found


@functools.cache
def generator() -> str:
    """What tells one state of the code generator from another, where the version of the package does not.

    The same kernel gives other code after an expansion or an emitter was changed in a checkout.
    """
    folder = Path(cube.__file__).parent
    try:
        states = [(path, path.stat()) for path in sorted(folder.rglob("*.py"))]
    except OSError:
        return ""
    return "\n".join(f"{path.relative_to(folder)} {state.st_size} {state.st_mtime_ns}" for path, state in states)


def count() -> int:
    """How many kernels this process holds."""
    return len(_compiled)
