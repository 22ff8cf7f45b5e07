"""The native part of the plan runner, as LLVM IR.

No C compiler is at hand where this package runs, so the few functions that must not be Python are
written in LLVM IR, compiled once for any CPU of the architecture, and kept in the disk cache:

- `run_steps(context, steps, count, threads)` walks an array of steps in one call, each shared among the threads of
  the run (`team_code.py`);
- `run_record(record)` takes the same four from memory, after a `bind(binding)` that writes the addresses and numbers
  of this run to where kernels read them;
- `repeat(turns, count)` does that again and again, for the steps of a loop (`repeating_code.py`).

A step is a kernel `void(slots, first, last)` and the extent that it is run over. The number of threads comes with the
call, never from the step, so one array serves serial and parallel runs at once.
"""

from __future__ import annotations

import ctypes
from dataclasses import field
from functools import cache
from typing import Any

from burn.backend.cpu.cache import default_cache, kernel_key
from burn.backend.cpu.llvm import require_llvm
from burn.backend.cpu.repeating_code import REPEATING
from burn.backend.cpu.team_code import TEAM_SYMBOLS, has_threads, team_code
from burn.classes import dataclass
from burn.cube.images import Unlinkable, is_supported, link, map_image

WORDS = 4
"""Words of eight bytes in a step: kernel, slots, extent, grain."""

SOURCE = """
%Step = type { ptr, ptr, i64, i64 } ; kernel, slots, extent, grain
%Context = type { ptr }             ; see Context below

declare i64 @llvm.smin.i64(i64, i64)

define void @run_steps(ptr %context, ptr %steps, i64 %count, i64 %threads) nounwind {
entry:
  %crew = alloca %Crew, align 8
  %team = load ptr, ptr %context
  %nobody = icmp eq ptr %team, null
  %wanted = select i1 %nobody, i64 1, i64 %threads
  store ptr %team, ptr %crew
  %wantedp = getelementptr %Crew, ptr %crew, i64 0, i32 1
  store i64 %wanted, ptr %wantedp
  %hiredp = getelementptr %Crew, ptr %crew, i64 0, i32 2
  store i64 0, ptr %hiredp
  %nothing = icmp sle i64 %count, 0
  br i1 %nothing, label %end, label %step
step:
  %index = phi i64 [ 0, %entry ], [ %next, %step ]
  %at = getelementptr %Step, ptr %steps, i64 %index
  %kernel = load ptr, ptr %at
  %slotsp = getelementptr %Step, ptr %at, i64 0, i32 1
  %slots = load ptr, ptr %slotsp
  %extentp = getelementptr %Step, ptr %at, i64 0, i32 2
  %extent = load i64, ptr %extentp
  %grainp = getelementptr %Step, ptr %at, i64 0, i32 3
  %grain = load i64, ptr %grainp
  call void @spread(ptr %crew, ptr %kernel, ptr %slots, i64 %extent, i64 %grain)
  %next = add nuw i64 %index, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %step, label %end
end:
  call void @dismiss(ptr %crew)
  ret void
}

; The same with its arguments in memory, since ctypes takes 70 ns to convert each, after `bind` if there is a binding.
define void @run_record(ptr %record) nounwind {
entry:
  %bindingp = getelementptr i64, ptr %record, i64 4
  %binding = load ptr, ptr %bindingp
  %bound = icmp eq ptr %binding, null
  br i1 %bound, label %run, label %bind
bind:
  call void @bind(ptr %binding)
  br label %run
run:
  %context = load ptr, ptr %record
  %stepsp = getelementptr i64, ptr %record, i64 1
  %steps = load ptr, ptr %stepsp
  %countp = getelementptr i64, ptr %record, i64 2
  %count = load i64, ptr %countp
  %threadsp = getelementptr i64, ptr %record, i64 3
  %threads = load i64, ptr %threadsp
  call void @run_steps(ptr %context, ptr %steps, i64 %count, i64 %threads)
  ret void
}

; Before the steps of a run: where its buffers are, and its numbers. `places` are addresses of addresses.
%Binding = type { ptr, ptr, ptr, i64, ptr, ptr, i64 }  ; see Binding below

define internal void @bind(ptr %binding) nounwind {
entry:
  %places = load ptr, ptr %binding
  %slotsp = getelementptr %Binding, ptr %binding, i64 0, i32 1
  %slots = load ptr, ptr %slotsp
  %rowsp = getelementptr %Binding, ptr %binding, i64 0, i32 2
  %rows = load ptr, ptr %rowsp
  %countp = getelementptr %Binding, ptr %binding, i64 0, i32 3
  %count = load i64, ptr %countp
  %numbersp = getelementptr %Binding, ptr %binding, i64 0, i32 4
  %numbers = load ptr, ptr %numbersp
  %number.rowsp = getelementptr %Binding, ptr %binding, i64 0, i32 5
  %number.rows = load ptr, ptr %number.rowsp
  %number.countp = getelementptr %Binding, ptr %binding, i64 0, i32 6
  %number.count = load i64, ptr %number.countp
  br label %slot.loop
slot.loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %slot.one ]
  %more.slots = icmp slt i64 %i, %count
  br i1 %more.slots, label %slot.one, label %number.loop
slot.one:
  %row = mul i64 %i, 3
  %row.0 = getelementptr i64, ptr %rows, i64 %row
  %position = load i64, ptr %row.0
  %row.1 = getelementptr i64, ptr %row.0, i64 1
  %value = load i64, ptr %row.1
  %row.2 = getelementptr i64, ptr %row.0, i64 2
  %offset = load i64, ptr %row.2
  %placep = getelementptr ptr, ptr %places, i64 %value
  %place = load ptr, ptr %placep
  %begin = load i64, ptr %place
  %address = add i64 %begin, %offset
  %slot = getelementptr i64, ptr %slots, i64 %position
  store i64 %address, ptr %slot
  %i.next = add nuw i64 %i, 1
  br label %slot.loop
number.loop:
  %k = phi i64 [ 0, %slot.loop ], [ %k.next, %number.next ]
  %more.numbers = icmp slt i64 %k, %number.count
  br i1 %more.numbers, label %number.one, label %done
number.one:
  %nrow = mul i64 %k, 3
  %nrow.0 = getelementptr i64, ptr %number.rows, i64 %nrow
  %nposition = load i64, ptr %nrow.0
  %nrow.1 = getelementptr i64, ptr %nrow.0, i64 1
  %nindex = load i64, ptr %nrow.1
  %nrow.2 = getelementptr i64, ptr %nrow.0, i64 2
  %double = load i64, ptr %nrow.2
  %numberp = getelementptr double, ptr %numbers, i64 %nindex
  %number = load double, ptr %numberp
  %nslot = getelementptr i64, ptr %slots, i64 %nposition
  %is.double = icmp ne i64 %double, 0
  br i1 %is.double, label %number.double, label %number.single
number.double:
  store double %number, ptr %nslot
  br label %number.next
number.single:
  %single = fptrunc double %number to float
  %bits = bitcast float %single to i32
  %wide = zext i32 %bits to i64
  store i64 %wide, ptr %nslot
  br label %number.next
number.next:
  %k.next = add nuw i64 %k, 1
  br label %number.loop
done:
  ret void
}
"""


class Context(ctypes.Structure):
    """Who shares the kernels of a run: a team of threads (`burn.backend.cpu.team`), or null for nobody."""

    _fields_ = (("team", ctypes.c_void_p),)


class Record(ctypes.Structure):
    """The arguments of `run_steps`, and the binding to do before, or null."""

    _fields_ = (
        ("context", ctypes.c_void_p),
        ("steps", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("threads", ctypes.c_int64),
        ("binding", ctypes.c_void_p),
    )


class Binding(ctypes.Structure):
    """What changes from run to run, and where it is written.

    `places[value]` is the address of the address of a value. Rows are words: (slot, value, offset) for buffers, and
    for numbers (slot, index, whether it is a double).
    """

    _fields_ = (
        ("places", ctypes.c_void_p),
        ("slots", ctypes.c_void_p),
        ("rows", ctypes.c_void_p),
        ("row_count", ctypes.c_int64),
        ("numbers", ctypes.c_void_p),
        ("number_rows", ctypes.c_void_p),
        ("number_count", ctypes.c_int64),
    )


@dataclass
class Loaded:
    """Machine code in memory: the addresses of its functions."""

    addresses: dict[str, int]
    engine: Any = field(repr=False)


def assemble(source: str, name: str) -> bytes:
    """`source` as an object file for any CPU of this architecture, from the disk cache where possible."""

    def build() -> bytes:
        llvm = require_llvm()
        machine = llvm.Target.from_default_triple().create_target_machine(opt=2, reloc="pic")
        module = llvm.parse_assembly(source)
        module.verify()
        return bytes(machine.emit_object(module))

    return default_cache().load_or_build(kernel_key(f"{name}\n{source}", "any"), build)


def keep_for_ever(value: object) -> None:
    """Never free `value`: threads outside Python may use it while the interpreter shuts down."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))


def load(code: bytes, symbols: list[str]) -> Loaded:
    """Map an object file for the life of the process and find its functions."""
    try:
        mapped = map_image(link({symbols[0]: code})) if is_supported() else None
    except (Unlinkable, OSError):
        mapped = None
    if mapped is not None and mapped.addresses.keys() >= set(symbols):
        keep_for_ever(mapped)
        return Loaded({symbol: mapped.addresses[symbol] for symbol in symbols}, mapped)
    llvm = require_llvm()
    machine = llvm.Target.from_default_triple().create_target_machine(reloc="pic")
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    keep_for_ever(engine)
    return Loaded({symbol: int(engine.get_function_address(symbol)) for symbol in symbols}, engine)


@dataclass
class Native:
    """The functions of `SOURCE`, ready to be called; each call releases the interpreter's lock."""

    run_steps: Any
    run_record: Any
    repeat: Any
    loaded: Loaded = field(repr=False)


@cache
def native() -> Native:
    """The plan runner of this process."""
    symbols = ["run_steps", "run_record", "repeat", *(TEAM_SYMBOLS if has_threads() else [])]
    loaded = load(assemble(team_code(has_threads()) + SOURCE + REPEATING, "runner"), symbols)
    word, pointer = ctypes.c_int64, ctypes.c_void_p
    return Native(
        run_steps=ctypes.CFUNCTYPE(None, pointer, pointer, word, word)(loaded.addresses["run_steps"]),
        run_record=ctypes.CFUNCTYPE(None, pointer)(loaded.addresses["run_record"]),
        repeat=ctypes.CFUNCTYPE(word, pointer, word)(loaded.addresses["repeat"]),
        loaded=loaded,
    )
