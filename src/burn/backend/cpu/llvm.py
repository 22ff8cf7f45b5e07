"""The compiler: imported when something must be compiled, and not before."""

from __future__ import annotations

import importlib
import os
from functools import cache, partial
from typing import Any

from burn.errors import MissingOperation


def require_llvm() -> Any:
    """llvmlite's binding module, with the host's target ready; without it there is no engine."""
    try:
        llvm: Any = importlib.import_module("llvmlite.binding")
    except ImportError:
        raise MissingOperation(
            "Cpu(): kernels are compiled with llvmlite, which is not installed; write pip install 'burn-dl[cpu]'"
        ) from None
    _hold_across_forks()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    return llvm


@cache
def _hold_across_forks() -> None:
    """A fork waits until no thread is in the compiler: its lock would stay closed in the child for ever."""
    lock: Any = getattr(importlib.import_module("llvmlite.binding.ffi").lib, "_lock", None)
    if hasattr(os, "register_at_fork") and hasattr(lock, "__enter__"):
        release = partial(lock.__exit__, None, None, None)
        os.register_at_fork(before=lock.__enter__, after_in_parent=release, after_in_child=release)
