"""Freezing: from a plan and its constants to a form."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from burn.backend.cpu.compiler import compiled, load_together, object_of, symbol_of
from burn.backend.cpu.frozen.constants import Split, bits_of, compute
from burn.backend.cpu.frozen.expressions import only_name
from burn.backend.cpu.frozen.form import (
    CONSTANT,
    PLACE,
    ROOM,
    STATUS,
    WORD,
    Bytes,
    Check,
    Described,
    Form,
    Found,
    Frozen,
    Slot,
    Step,
)
from burn.backend.cpu.frozen.rooms import Life, Room, arrange
from burn.backend.cpu.plan import Plan
from burn.cube.images import link
from burn.dim import Dim
from burn.engine.lower.loop import Argument, Loop, Routine
from burn.engine.plan import HostCall
from burn.program.program import Program
from burn.symbolic import NotForSizes, Size, Symbolic, linear, value_of
from burn.symbolic import is_symbolic as symbolic_sizes

Array = np.ndarray[Any, Any]


def obstacle(plan: Plan, constants: Collection[int]) -> str | None:
    """Why a plan cannot be frozen: it has to be kernels alone, each output made by them or an input handed back."""
    program = plan.program
    if plan.device.settings.sanitize:
        return "the device looks at what its kernels touch"
    hosted = [str(work) for work in plan.works if isinstance(work, HostCall)]
    if hosted:
        return f"there is no kernel for {hosted[0]}"
    found = {number for number, *_ in plan.allocations}.union(range(program.inputs)).difference(constants)
    if plan.reused or not found.issuperset(program.outputs):
        return "an output is a constant, or written over an input"
    return None


def is_symbolic(program: Program) -> bool:
    """Whether a program is for inputs of several shapes."""
    return any(symbolic_sizes(value.shape) for value in program.values[: program.inputs])


def freeze(plan: Plan, constants: Mapping[int, Array], numbers: Sequence[float] = ()) -> Frozen:
    """A plan whose inputs in `constants`, by number, and whose run-time numbers never change.

    What follows from them alone is computed here. There is an `obstacle` for some plans.
    """
    plan.device.settings.refuse_elsewhere()
    return _Freezing(plan, constants, numbers).made()


class _Freezing:
    """The parts of a form, as they are found."""

    def __init__(self, plan: Plan, constants: Mapping[int, Array], numbers: Sequence[float]) -> None:
        self.plan, self.arrays, self.numbers = plan, constants, numbers
        self.program = plan.program
        split = Split(plan, constants)
        self.computed = compute(split, constants, numbers, plan.features)
        self.loops = [loop for loop in split.steady() if linear(loop.extent) != 0]
        self.given = [n for n in range(self.program.inputs) if n not in constants]
        self.results = [number for number, *_ in plan.allocations]
        self.places = {number: place for place, number in enumerate([*self.given, *self.results])}
        self.constants: dict[int, int] = {}  # id of an array → its number
        self.contents: list[Bytes] = []
        self.checks: list[Check] = []

    def made(self) -> Frozen:
        plan = self.plan
        rooms, self.where = self._rooms()
        load_together([loop.kernel for loop in self.loops], plan.features)
        kernels: dict[str, int] = {}
        addresses: dict[str, int] = {}
        codes: list[Any] = []
        steps: list[Step] = []
        slots: list[Slot] = []
        for loop in self.loops:
            code = compiled(loop.kernel, plan.features)
            codes.append(code)
            symbol = symbol_of(loop.kernel, plan.features)
            addresses[symbol] = int(code.address)
            index = kernels.setdefault(symbol, len(kernels))
            steps.append(Step(index, len(slots), linear(loop.extent), linear(loop.grain), str(loop.label)))
            slots += [self._slot(loop, argument) for argument in loop.arguments]
        sizes, assumptions = self._sizes()
        form = Form(
            kernels=tuple(kernels),
            steps=tuple(steps),
            slots=tuple(slots),
            given=tuple(self._described(number) for number in self.given),
            results=tuple(self._described(number) for number in self.results),
            outputs=tuple(self.places[number] for number in self.program.outputs),
            constants=tuple(each.nbytes for each in self.contents),
            rooms=rooms,
            checks=tuple(self.checks),
            sizes=sizes,
            assumptions=assumptions,
            threads=plan.threads,
        )
        loops, features = {loop.kernel: None for loop in self.loops}, plan.features
        return Frozen(
            form,
            [addresses[symbol] for symbol in kernels],
            self.contents,
            lambda: link(dict(object_of(kernel, features) for kernel in loops)),
            codes,
        )

    def _described(self, number: int) -> Described:
        value = self.program.values[number]
        return Described(tuple(linear(dim) for dim in value.shape), value.dtype.name)

    def _rooms(self) -> tuple[tuple[Room, ...], dict[int, tuple[int, int]]]:
        """Rooms for what is neither given nor made nor constant."""
        lives: dict[int, list[int]] = {}
        for position, loop in enumerate(self.loops):
            for argument in loop.arguments:
                number = argument.value
                if argument.kind == "buffer" and not self._is_elsewhere(number):
                    lives.setdefault(number, [position, position])[1] = position
        sizes = {number: self.plan.bytes(number) for number in lives}
        return arrange([Life(n, linear(sizes[n]), value_of(sizes[n]), *life) for n, life in lives.items()])

    def _is_elsewhere(self, number: int) -> bool:
        return number in self.places or number in self.computed or number in self.arrays

    def _slot(self, loop: Loop, argument: Argument) -> Slot:
        number, offset = argument.value, linear(argument.offset)
        if argument.kind == "size":
            return Slot(WORD, 0, linear(number))
        if argument.kind == "scalar":
            assert argument.dtype is not None
            return Slot(WORD, 0, bits_of(self.numbers[number], argument.dtype))
        if argument.kind == "status":
            assert isinstance(loop, Routine)
            assert loop.check is not None
            check = loop.check
            self.checks.append(Check(check.operation, check.dim, linear(check.size)))
            return Slot(STATUS, len(self.checks) - 1, 0)
        if number in self.places:
            return Slot(PLACE, self.places[number], offset)
        if number in self.computed or number in self.arrays:
            return Slot(CONSTANT, self._constant(number), offset)
        room, start = self.where[number]
        return Slot(ROOM, room, start + offset)

    def _constant(self, number: int) -> int:
        """The number of a constant that a step reads."""
        held = self.computed.get(number)
        array = self.arrays[number] if held is None else held
        found = self.constants.get(id(array))  # two inputs may be one array
        if found is None:
            found = self.constants[id(array)] = len(self.contents)
            self.contents.append(bytes_in(array))
        return found

    def _sizes(self) -> tuple[tuple[Found, ...], tuple[tuple[str, Dim], ...]]:
        """Where the named sizes are read, and what was taken for granted about them.

        Assumptions that name others are left out: they are about parts of the recording of which this is none.
        """
        assumptions = {id(size.assumptions): size.assumptions for size in self._symbolic()}
        wanted = dict.fromkeys(name for size in self._symbolic() for name in size.dim.symbols())
        found: dict[str, Found] = {}
        shapes = [tuple(linear(dim) for dim in self.program.values[number].shape) for number in self.given]
        for plain in (True, False):  # a dim that is a size and nothing else, or one from which it follows
            for index, shape in enumerate(shapes):
                for position, dim in enumerate(shape):
                    name = only_name(dim)
                    if name is not None and (not plain or dim == Dim(name)):
                        found.setdefault(name, Found(name, index, position))
        if not found.keys() >= wanted.keys():
            unknown = " or ".join(name for name in wanted if name not in found)
            raise NotForSizes(f"no input has {unknown} for one of its dims")
        given = [each for one in assumptions.values() for each in one.found if found.keys() >= set(each[1].symbols())]
        return tuple(found.values()), tuple(given)

    def _symbolic(self) -> Iterator[Symbolic]:
        """Every size of the program and of what it became that may be another one."""
        for value in self.program.values:
            yield from _only_symbolic(value.shape)
        for loop in self.loops:
            yield from _only_symbolic([loop.extent, loop.grain])
            for argument in loop.arguments:
                yield from _only_symbolic([argument.value if argument.kind == "size" else 0, argument.offset])


def _only_symbolic(sizes: Iterable[Size]) -> Iterator[Symbolic]:
    return (size for size in sizes if type(size) is Symbolic)


def bytes_in(array: Array) -> Bytes:
    """The bytes of an array, which they keep alive."""
    return array.reshape(-1).view(np.uint8)
