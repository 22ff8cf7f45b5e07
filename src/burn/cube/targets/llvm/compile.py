"""From a kernel to machine code: text, object file, and code in memory, each usable alone."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from typing import Any

from burn.cube.errors import KernelError
from burn.cube.images import Unlinkable, is_supported, link, map_image
from burn.cube.ir import Kernel
from burn.cube.targets.llvm.cpu import Cpu, binding, host_cpu
from burn.cube.targets.slots import CompiledKernel

SYMBOL = "kernel"


def _cpu(name: str | None, features: str | None) -> Cpu:
    if name is None and features is None:
        return host_cpu()
    return Cpu(name or host_cpu().name, features or "")


def emit_llvm(
    kernel: Kernel,
    cpu: str | None = None,
    features: str | None = None,
    *,
    symbol: str = SYMBOL,
    checked: bool = False,
) -> str:
    """The kernel as LLVM IR for a processor (this machine's, unless told); `checked`, it looks before it touches memory
    (see `burn.cube.targets.llvm.checked`)."""
    from burn.cube.lowering import lower  # all this is of no use to those who only load
    from burn.cube.targets.llvm.checked import CheckedEmitter
    from burn.cube.targets.llvm.emitter import Emitter

    processor = _cpu(cpu, features)
    emitter = CheckedEmitter if checked else Emitter
    return emitter(lower(kernel, processor.abilities), processor, symbol).run()


@functools.cache
def _machine(cpu: Cpu, opt: int) -> Any:
    llvm = binding()
    foreign = cpu.is_arm != host_cpu().is_arm
    target = llvm.Target.from_triple(cpu.triple) if foreign else llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu.name, features=cpu.features, opt=opt, reloc="pic", codemodel="default")


def compile_object(
    kernel: Kernel,
    cpu: str | None = None,
    features: str | None = None,
    *,
    symbol: str = SYMBOL,
    checked: bool = False,
) -> bytes:
    """The kernel as a relocatable object file for a processor (this machine's, unless told)."""
    text = emit_llvm(kernel, cpu, features, symbol=symbol, checked=checked)
    return assemble_object(text, cpu, features, checked=checked)


def assemble_object(text: str, cpu: str | None = None, features: str | None = None, *, checked: bool = False) -> bytes:
    """What `emit_llvm` wrote for a processor as a relocatable object file for it."""
    llvm, processor = binding(), _cpu(cpu, features)
    machine = _machine(processor, 0 if checked else 3)  # checked code is long, and seldom run twice
    context = llvm.create_context()
    try:
        module = llvm.parse_assembly(text, context)
        module.verify()
    except RuntimeError as error:
        raise KernelError(f"llvm: the emitted text is not valid: {error}") from None
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    result: bytes = machine.emit_object(module)
    module.close()
    return result


@functools.cache
def _loader() -> Any:
    """Links objects into this process, each into a library of its own; a linker for each object takes four times as
    long. JITLink keeps the sections of an object together: the older linker puts them gigabytes apart in a large
    process, and aborts when code cannot reach its constants."""
    return binding().create_lljit_compiler(use_jit_link=True)


_numbers = itertools.count()


def load_object(contents: bytes, symbol: str = SYMBOL) -> CompiledKernel:
    """Code in memory from an object file. Only load what `compile_object` made on a machine like this one."""
    return load_objects({symbol: contents})[symbol]


def load_objects(contents: Mapping[str, bytes]) -> dict[str, CompiledKernel]:
    """Code in memory from object files, each under the symbol it defines: together they load four times as fast.

    Most are linked here; LLVM loads those that are not understood, and all of them on systems other than Linux.
    """
    found = _linked(contents)
    rest = {symbol: each for symbol, each in contents.items() if symbol not in found}
    return found | load_with_llvm(rest) if rest else found


def _linked(contents: Mapping[str, bytes]) -> dict[str, CompiledKernel]:
    """Those of the objects that can be linked without LLVM."""
    if not contents or not is_supported():
        return {}
    try:
        mapped = map_image(link(contents))
    except (Unlinkable, OSError):
        if len(contents) == 1:
            return {}
        return {symbol: code for symbol, each in contents.items() for code in _linked({symbol: each}).values()}
    return {symbol: CompiledKernel(mapped.addresses[symbol], mapped) for symbol in contents}


def load_with_llvm(contents: Mapping[str, bytes]) -> dict[str, CompiledKernel]:
    """The same as `load_objects`, by LLVM's loader."""
    builder = binding().JITLibraryBuilder()
    for symbol, each in contents.items():
        builder.add_object_img(each).export_symbol(symbol)
    try:
        library = builder.add_current_process().link(_loader(), f"kernels {next(_numbers)}")
    except RuntimeError as error:
        names = " or ".join(map(repr, contents))
        raise KernelError(f"llvm: the object files have no function {names}: {error}") from None
    return {symbol: CompiledKernel(library[symbol], library) for symbol in contents}
