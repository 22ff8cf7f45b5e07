"""What follows from constants alone, computed once: packed weights, the factors of a batch norm."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from ctypes import c_float
from typing import Any

import numpy as np

from burn.backend.cpu.addresses import address_of, word
from burn.backend.cpu.compiler import compiled, load_together
from burn.backend.cpu.features import Features
from burn.backend.cpu.frozen.form import Bytes
from burn.backend.cpu.runner import StepArray
from burn.dtype import DType
from burn.engine.lower.loop import Loop
from burn.engine.plan import HostCall, Lowered
from burn.symbolic import Size, Symbolic

Array = np.ndarray[Any, Any]


class Split:
    """The works of a plan by whether they run once or every time, when some of its inputs are constants."""

    def __init__(self, plan: Lowered, constants: Iterable[int]) -> None:
        self.plan = plan
        self.inputs = frozenset(constants)
        fixed = self.inputs | {-1 - slot for slot in range(plan.program.scalars)}
        prologue = plan.prologue
        self.once = {
            position
            for position, sources in prologue.sources.items()
            if sources <= fixed and not _is_symbolic(plan, plan.works[position])
        }
        while not self._settle():
            pass
        self.packed: set[int] = set()
        """Products whose constant operand is packed once."""
        for position, sources in prologue.constants.items():
            pack = _pack(plan.works[position])
            if sources <= fixed and self.is_constant(pack.arguments[0].value) and not _is_symbolic(plan, pack):
                self.packed.add(position)

    def _settle(self) -> bool:
        """Leave out works whose value is written by others too, at every run, and what reads such; whether none was."""
        always: set[int] = set()
        self.values: set[int] = set()
        """What works that run once write."""
        for position, work in enumerate(self.plan.works):
            (self.values if position in self.once else always).update(self.plan._writes(work))
        self.values -= always
        known = self.inputs | self.values
        wrong = {p for p in self.once if not (_values(self.plan.works[p]) <= known)}
        self.once -= wrong
        return not wrong

    def is_constant(self, number: int) -> bool:
        """Whether a value never changes."""
        return number in self.inputs or number in self.values

    def steady(self) -> list[Loop]:
        """The kernels of every run."""
        found = []
        for position, work in enumerate(self.plan.works):
            assert isinstance(work, Loop)
            if position in self.packed:
                assert work.constant is not None
                found.append(work.constant.call)
            elif position not in self.once:
                found.append(work)
        return found

    def first(self) -> list[Loop]:
        """The kernels that run once."""
        found = []
        for position, work in enumerate(self.plan.works):
            if position in self.packed:
                found.append(_pack(work))
            elif position in self.once:
                assert isinstance(work, Loop)
                found.append(work)
        return found


def compute(
    split: Split, constants: Mapping[int, Array], numbers: Sequence[float], features: Features
) -> dict[int, Bytes]:
    """Run what runs once: the memory of each value that the other kernels read of it."""
    loops = split.first()
    written = dict.fromkeys(a.value for loop in loops for a in loop.arguments if a.written)
    wanted = {a.value for loop in split.steady() for a in loop.arguments if a.kind == "buffer"}
    made = _block({n: split.plan.bytes(n) for n in written if n in wanted})
    known = made | _block({n: split.plan.bytes(n) for n in written if n not in wanted})

    def address(value: int) -> int:
        return address_of(known[value] if value in known else constants[value])

    load_together([loop.kernel for loop in loops if loop.extent], features)
    slots = np.zeros(sum(len(loop.arguments) for loop in loops) + 1, np.int64)
    steps, position = StepArray(), 0
    for loop in loops:
        if loop.extent:
            kernel = compiled(loop.kernel, features)
            steps.keep(kernel)
            steps.add_kernel(kernel.address, slots.ctypes.data + 8 * position, loop.extent, loop.grain, loop.label)
        slots[position : position + len(loop.arguments)] = [_slot(a, address, numbers) for a in loop.arguments]
        position += len(loop.arguments)
    if len(steps):
        steps.run()
    return made


def _slot(argument: Any, address: Callable[[int], int], numbers: Sequence[float]) -> int:
    if argument.kind == "buffer":
        return address(argument.value) + int(argument.offset)
    if argument.kind == "scalar":
        return bits_of(numbers[argument.value], argument.dtype)
    assert argument.kind == "size", argument.kind
    return int(argument.value)


def bits_of(number: Any, dtype: DType) -> int:
    """A run-time number as kernels read it from a slot."""
    if dtype.name == "f64":
        return int(struct.unpack("<q", struct.pack("<d", number))[0])
    if dtype.name == "f32":
        return int.from_bytes(bytes(c_float(number)), "little")
    return word(number)


def _block(sizes: Mapping[int, int]) -> dict[int, Bytes]:
    """Memory for values on lines of 64 bytes: one block, which the system gives in large pages."""
    rounded = {number: -(-size // 64) * 64 for number, size in sizes.items()}
    raw = np.empty(sum(rounded.values()) + 64, np.uint8)
    start = -raw.ctypes.data % 64
    found: dict[int, Bytes] = {}
    for number, size in rounded.items():
        found[number] = raw[start : start + size]
        start += size
    return found


def _pack(work: Loop | HostCall) -> Loop:
    assert isinstance(work, Loop)
    assert work.constant is not None
    return work.constant.pack


def _values(work: Loop | HostCall) -> set[int]:
    """Every value that a kernel touches."""
    assert isinstance(work, Loop)
    return {argument.value for argument in work.arguments if argument.kind == "buffer"}


def _is_symbolic(plan: Lowered, work: Loop | HostCall) -> bool:
    """Whether anything of a work depends on named sizes: then it runs at every run."""
    if not isinstance(work, Loop):
        return True
    sizes: list[Size] = [work.extent, work.grain, *(plan.bytes(n) for n in _values(work))]
    for argument in work.arguments:
        sizes += [argument.offset, argument.value if argument.kind == "size" else 0]
    return any(type(each) is Symbolic for each in sizes)
