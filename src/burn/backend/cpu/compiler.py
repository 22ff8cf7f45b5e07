"""Kernels to machine code, once per process and once per machine.

A kernel that was compiled before, by this process or an earlier one, is found by its key: in memory,
or in the cache on disk, whose files are checked before they are loaded.
"""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from burn import cube
from burn.backend.cpu.cache import default_cache, kernel_key
from burn.backend.cpu.compiling import compile_together
from burn.backend.cpu.features import Features
from burn.checkout import state_of
from burn.cube import CompiledKernel, Kernel, assemble_object, emit_llvm, load_objects
from burn.engine.lower import recipe
from burn.engine.lower.recipe import Recipe

_compiled: dict[str, CompiledKernel] = {}
_lock = threading.Lock()


def compiled(kernel: Kernel | Recipe, features: Features, checked: bool = False) -> CompiledKernel:
    """The machine code of a kernel, in memory. A recipe is written out only if there is none yet."""
    key = _key(kernel, features, checked)
    found = _compiled.get(key)
    if found is None:
        load_together([kernel], features, checked)
        found = _compiled[key]
    return found


def load_together(kernels: Iterable[Kernel | Recipe], features: Features, checked: bool = False) -> None:
    """Have the code of all these kernels in memory: those on disk are loaded at once."""
    keyed = ((_key(each, features, checked), each) for each in kernels)
    missing = {key: kernel for key, kernel in keyed if key not in _compiled}
    if not missing:
        return
    contents = _objects(missing, features, checked)
    with _lock:
        wanted = {_symbol(key): key for key in missing if key not in _compiled}  # another thread may have been faster
        loaded = load_objects({symbol: contents[symbol] for symbol in wanted}) if wanted else {}
        _compiled.update({wanted[symbol]: code for symbol, code in loaded.items()})


def object_of(kernel: Kernel | Recipe, features: Features) -> tuple[str, bytes]:
    """The machine code of a kernel as an object file, and its function: whether this processor could run it or not."""
    key = _key(kernel, features, False)
    return _symbol(key), _objects({key: kernel}, features, False)[_symbol(key)]


def symbol_of(kernel: Kernel | Recipe, features: Features) -> str:
    """The name of a kernel's function."""
    return _symbol(_key(kernel, features, False))


def _key(kernel: Kernel | Recipe, features: Features, checked: bool) -> str:
    build = "checked\n" if checked else ""
    if isinstance(kernel, Recipe):
        return kernel_key(f"{build}{generator()}\n{lowering()}\n{kernel.key_parts}", features.key)
    return kernel_key(f"{build}{generator()}\n{kernel.key()}", features.key)


def _symbol(key: str) -> str:
    """The name of a kernel's function: kernels that are loaded together need different ones."""
    return f"kernel_{key[:32]}"


def _objects(kernels: Mapping[str, Kernel | Recipe], features: Features, checked: bool) -> dict[str, bytes]:
    """The machine code of kernels by their keys, as object files by their functions: from disk, or compiled."""
    store = default_cache()
    found = {key: data for key in kernels if (data := store.load(key)) is not None}

    def writer(key: str, kernel: Kernel | Recipe) -> Callable[[], str]:
        def write() -> str:
            written = kernel.kernel() if isinstance(kernel, Recipe) else kernel
            return emit_llvm(written, features.name, features.target, symbol=_symbol(key), checked=checked)

        return write

    missing = {key: writer(key, kernel) for key, kernel in kernels.items() if key not in found}
    if missing:
        assemble = functools.partial(assemble_object, cpu=features.name, features=features.target, checked=checked)
        found |= compile_together(missing, assemble, store.store)
    return {_symbol(key): found[key] for key in kernels}


@functools.cache
def lowering() -> str:
    """The state of what writes kernels: the engine, and the kernels of the CPU alone."""
    folder = state_of(Path(__file__).parent / "lower")
    return hashlib.sha256(f"{recipe.lowering()} {folder}".encode()).hexdigest()


@functools.cache
def generator() -> str:
    """The state of the code generator: the same kernel gives other code after an expansion or an emitter changed."""
    return state_of(Path(cube.__file__).parent)


def count() -> int:
    """How many kernels this process holds."""
    return len(_compiled)
