"""The stream that an evaluation is recorded in: what it runs is written on a tape.

It runs when somebody reads, as every stream does, and what has run by then is a segment: a program whose inputs are
slots of the tape and constants, made ready by the engine for constants that never change. What depends on constants
and shapes alone is computed apart and never asked again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import call
from typing import Any, ClassVar

import numpy as np

from burn.backend.fusion import Fusion
from burn.backend.fusion.cuts import MOST_ENTRIES
from burn.backend.fusion.handle import Lazy, Storage
from burn.backend.fusion.stream import MOST_CAPTURED, Draw, Stream
from burn.engine.runtime import Engine, Fixed, NodeByNode
from burn.program import Program
from burn.program.composites import Slots as Places
from burn.program.composites import slot_values
from burn.program.passes import Explanation, remove_dead
from burn.program.periods import period_of
from burn.symbolic import is_symbolic
from burn_import.onnx.running.tape import (
    LONGEST_ANSWER,
    HostStep,
    Segment,
    Slots,
    Tape,
    Writer,
    content,
    kinds,
    kinds_of,
)

MOST_READY = 64


def _number(scalar: Any) -> Any:
    return scalar if scalar.__class__ is float else scalar.value


def _is_drawn(scalar: Any) -> bool:
    """Whether a number is the place of a draw in the device's stream, which is another one in each run."""
    return isinstance(scalar, Draw) and scalar.what != "fixed"


class Drawing:
    """A program that draws random numbers: each run takes the next ones of the device's generator."""

    def __init__(
        self, device: Fusion[Any], program: Program, slots: Places, constants: dict[int, Any], scalars: list[Any]
    ) -> None:
        self._device = device
        self._slots = slots
        self._scalars = scalars
        self._plan = device.prepare(program, (False,) * program.inputs)
        self._held = [Storage(constants[number]) if number in constants else None for number in range(program.inputs)]

    def __call__(self, given: Sequence[Any]) -> list[Any]:
        numbers: list[Any] = []
        for each in self._scalars:
            if not _is_drawn(each):
                numbers.append(_number(each))
            elif each.what == "seed":  # the first block of the draw follows
                numbers += self._device.generator().reserve(each.count)
        return self.first(given, numbers)

    def first(self, given: Sequence[Any], numbers: list[Any]) -> list[Any]:
        """Run with the numbers that were recorded."""
        others = iter(given)
        inputs = [Storage(next(others)) if each is None else each for each in self._held]
        return self._plan(inputs, slot_values(self._slots, numbers))


class Ready:
    """Programs made ready, by what they do and the memory of their constants: the turns of a loop share them."""

    def __init__(self) -> None:
        self._known: OrderedDict[Any, tuple[Fixed, list[Any]]] = OrderedDict()

    def get(self, key: Any, constants: list[Any], prepare: Callable[[], Fixed]) -> Fixed:
        """What runs a program."""
        key = (key, tuple(map(id, constants)))
        try:
            found = self._known.get(key)
        except TypeError:  # something unhashable among the attributes
            return prepare()
        if found is None:
            found = self._known[key] = (prepare(), constants)
            while len(self._known) > MOST_READY:
                self._known.popitem(last=False)
        return found[0]


class Recorder(Stream):
    """Records one evaluation of a model on a `Fusion` device whose handles are NumPy arrays."""

    is_kept: ClassVar[bool] = True

    def __init__(self, device: Fusion[Any], tape: Tape, inputs: Sequence[Lazy], ready: Ready) -> None:
        super().__init__(device)
        self.tape = tape
        self.ready = ready
        self.writer = Writer(tape, len(inputs))
        self.numbers_of: dict[int, int] = {}  # slots by storage
        self.kept: list[Storage] = []
        self.asked: set[int] = set()
        self._varying: list[bool] = []  # of the results so far
        self._looked = 0  # entries that are in it
        for number, handle in enumerate(inputs):
            self._place(handle.force(), number)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """A block in which this thread records here."""
        streams = self.device._streams
        before, streams.stream = streams.stream, self
        try:
            yield
        finally:
            streams.stream = before

    def _reset(self) -> None:
        super()._reset()
        self._varying, self._looked = [], 0

    def _place(self, storage: Storage, number: int) -> None:
        if id(storage) not in self.numbers_of:
            self.numbers_of[id(storage)] = number
            self.kept.append(storage)

    def slot(self, handle: Lazy) -> int | None:
        """The slot of a value that exists; None where it is a constant."""
        return None if handle.storage is None else self.numbers_of.get(id(handle.storage))

    def cut(self) -> None:
        """A loop that was unrolled becomes segments that are alike, so that few of them are compiled."""
        operations = [op for op, _, given in self.entries for _ in range(op.outputs or op.result_count(given))]
        if len(operations) < MOST_CAPTURED and not self.cuts.period and not period_of(operations):
            self.last += MOST_ENTRIES
            return
        super().cut()

    # What depends on the inputs

    def _varies(self, operand: Any) -> bool:
        if operand.__class__ is int:
            if operand >= 0:
                return self._varying[operand]
            return id(self.inputs[-1 - operand]) in self.numbers_of
        return operand.__class__ is tuple and any(map(self._varies, operand))

    def _is_varying(self, handle: Lazy) -> bool:
        """Whether a value may be another one in the next run."""
        if handle.stream is not self:
            return self.slot(handle) is not None
        for op, operands, attributes in self.entries[self._looked :]:
            found = op.family == "random" or any(map(self._varies, operands))
            results = op.outputs or op.result_count(attributes)
            described = self.descriptions[len(self._varying) : len(self._varying) + results]
            self._varying += [found or any(is_symbolic(shape) for shape, _ in described)] * results
        self._looked = len(self.entries)
        return self._varying[handle.number]

    def _settle(self, handle: Lazy) -> None:
        """Compute a value that depends on constants alone."""
        program = remove_dead(self.program((handle.number,)), Explanation())
        (made,) = NodeByNode(program, self.device.below)(self.inputs, self.numbers())
        handle.storage, handle.stream = Storage(made), None

    # Segments

    def flush(self, cut: bool = False) -> None:
        with self.lock:
            if not self.entries:
                return
            found = enumerate(map(call, self.results))
            waiting = [(number, each) for number, each in found if each is not None and each.storage is None]
            wanted, handles = tuple([number for number, _ in waiting]), [handle for _, handle in waiting]
            if not wanted:
                self._reset()
                return
            step, sources = self._segment(wanted)
            try:
                given = [self.inputs[place].value for place in sources]
                outputs = step.run.first(given, self.numbers()) if isinstance(step.run, Drawing) else step.run(given)
            except Exception as error:
                for handle in handles:
                    handle.error, handle.stream = error, None
                self._reset()
                raise
            for handle, output, number in zip(handles, outputs, self.writer.add(step, len(wanted)), strict=True):
                handle.storage, handle.stream = Storage(output, shared=True), None
                self._place(handle.storage, number)
            self._reset()

    def _segment(self, wanted: tuple[int, ...]) -> tuple[Segment, list[int]]:
        """The segment of what was recorded, and which inputs it is given."""
        slots = [self.numbers_of.get(id(each)) for each in self.inputs]
        given = [place for place, slot in enumerate(slots) if slot is not None]
        constants = tuple([_Constant(each.value) for each, slot in zip(self.inputs, slots) if slot is None])
        numbers = tuple([("draw", each.count) if _is_drawn(each) else repr(_number(each)) for each in self.scalars])
        key = (tuple(self.entries), tuple(self.input_descriptions), tuple(slots), constants, wanted, numbers)
        found = self.writer.known(key)
        if isinstance(found, Segment):
            return found, given
        known = {place: self.inputs[place].value for place, slot in enumerate(slots) if slot is None}
        run = self.ready.get(
            (tuple(self.entries), tuple(self.input_descriptions), (*known,), wanted, numbers),
            [*known.values()],
            lambda: self._prepared(wanted, known),
        )
        return Segment(key, run, tuple([slot for slot in slots if slot is not None])), given

    def _prepared(self, wanted: tuple[int, ...], constants: dict[int, Any]) -> Fixed:
        device = self.device
        recorded = self.program(wanted)
        program, more = device.expanded(recorded)
        if any(map(_is_drawn, self.scalars)):
            return Drawing(device, program, more, constants, list(self.scalars))
        numbers = self.numbers()
        if program.scalars > recorded.scalars:
            numbers = slot_values(more, numbers)
        return device.prepare_fixed(program, constants, numbers)

    # Reads

    def look(self, handle: Lazy) -> None:
        if handle.stream is self:
            if not self._is_varying(handle):
                self._settle(handle)
                return
            self.flush()
        number = self.slot(handle)
        if number is None or number in self.asked:
            return
        assert handle.storage is not None
        self.asked.add(number)
        value = handle.storage.value
        if value.nbytes > LONGEST_ANSWER or value.dtype.hasobject:
            self.tape.is_plain = True
            return
        self.writer.ask(("read", number), content(number), value.tobytes())

    def at_once(self, op: Any, kernel: Any, args: tuple[Any, ...]) -> Any:
        handles = [*_handles(args)]
        for handle in handles:
            if handle.stream is self and not self._is_varying(handle):
                self._settle(handle)
        if any(handle.stream is self for handle in handles):
            self.flush()
        for handle in handles:
            handle.force()
        slots = [self.slot(handle) for handle in handles]
        values = iter([handle.storage.value for handle in handles])  # type: ignore[union-attr]
        result = kernel(*_replaced(args, lambda handle: next(values)))
        several = isinstance(result, tuple)
        wrapped = [self.device._wrap(each, shared=True) for each in (result if several else (result,))]
        if op.family == "random":
            self.tape.is_plain = True
        if any(slot is not None for slot in slots):
            self._written(op, kernel, args, [each.force() for each in wrapped])
        return tuple(wrapped) if several else wrapped[0]

    def _written(self, op: Any, kernel: Any, args: tuple[Any, ...], storages: list[Storage]) -> None:
        """A step of the host on the tape, and the question which shapes it gave."""
        places: list[Any] = []

        def kept(handle: Lazy) -> Any:
            slot = self.slot(handle)
            places.append(slot)
            assert handle.storage is not None
            return _Slot(slot) if slot is not None else handle.storage.value

        template = _replaced(args, kept)
        key = (op.name, tuple(places), repr([each for each in args if each.__class__ not in (Lazy, list)]))
        wrap, made = self.device._wrap, [each.value for each in storages]

        def run(*given: Any) -> Any:
            result = kernel(*given)
            return tuple([wrap(each).force().value for each in (result if isinstance(result, tuple) else (result,))])

        found = self.writer.known(key)
        step = found if isinstance(found, HostStep) else HostStep(key, run, _filler(template))
        numbers = self.writer.add(step, len(made))
        for storage, number in zip(storages, numbers, strict=True):
            self._place(storage, number)
        self.writer.ask(("kinds", numbers.start), kinds(numbers.start, len(made)), kinds_of(made))


class _Constant:
    """A constant as a part of a key: the same memory, or a few equal elements."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Constant):
            return False
        one, two = self.value, other.value
        if one is two:
            return True
        same = one.shape == two.shape and one.dtype == two.dtype
        return bool(same and (one.ctypes.data == two.ctypes.data or one.tobytes() == two.tobytes()))

    __hash__ = None  # type: ignore[assignment]


class _Slot:
    """Where an operand of a step is found."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


def _handles(args: Sequence[Any]) -> Iterator[Lazy]:
    for each in args:
        if each.__class__ is Lazy:
            yield each
        elif each.__class__ is list:
            yield from _handles(each)


def _replaced(args: Sequence[Any], change: Any) -> list[Any]:
    found: list[Any] = []
    for each in args:
        if each.__class__ is Lazy:
            found.append(change(each))
        else:
            found.append(_replaced(each, change) if each.__class__ is list else each)
    return found


def _filler(template: list[Any]) -> Any:
    """From slots to the operands of a step."""

    def fill(slots: Slots, parts: Sequence[Any] = template) -> list[Any]:
        return [
            slots[each.number] if each.__class__ is _Slot else fill(slots, each) if each.__class__ is list else each
            for each in parts
        ]

    return fill


def is_recorded(device: Any) -> bool:
    """Whether evaluations on a device are recorded: it records, and its handles are NumPy arrays."""
    return isinstance(device, Fusion) and (
        device.takes_arrays or (not isinstance(device.below, Engine) and _computes_with_arrays(device.below))
    )


def _computes_with_arrays(device: Any) -> bool:
    return device.from_host(np.zeros(1, np.float32)).__class__ is np.ndarray
