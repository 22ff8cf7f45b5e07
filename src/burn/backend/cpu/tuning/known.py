"""The answers of this process about the processor here, kept in the folder of the kernel cache."""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Mapping
from functools import cache

from burn.backend.cpu.cache import cache_directory
from burn.backend.cpu.compiler import lowering
from burn.backend.cpu.features import host_features
from burn.backend.cpu.listed import described
from burn.backend.cpu.pool import pool
from burn.engine.tuning import asking
from burn.engine.tuning.answers import Answers
from burn.engine.tuning.asking import Asked
from burn.engine.tuning.question import Question
from burn.engine.tuning.store import Store
from burn.version import __version__


@cache
def machine() -> str:
    """The processor, what of it is used, and which kernels were measured: answers hold for nothing else."""
    wanted = ("vendor_id", "cpu family", "model")
    found: dict[str, str] = {}
    for line in described(*wanted):
        name, _, value = line.partition(":")
        found.setdefault(name.strip(), value.strip())
    processor = " ".join(found[name] for name in wanted if name in found) or platform.processor() or platform.machine()
    return f"{processor}; {host_features().key}; burn {__version__} {lowering()[:16]}"


def default_store() -> Store:
    """The store of this user."""
    return Store(cache_directory(), machine())


@cache
def answers() -> Answers:
    """Those of this process."""
    return Answers(default_store)


def asking_here(
    accuracy: str, features: str, fixed: Mapping[Question, str] | None = None
) -> contextlib.AbstractContextManager[Asked]:
    """Note what is asked in this thread, for the threads of this moment, and answer what is known here."""
    return asking(Asked(pool().threads, accuracy, features, answers(), fixed or {}))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: answers().after_fork())
