"""Streams: the queue between eager calls and plans.

A stream belongs to one device and one thread. Each operation becomes an entry; the values they will
make are known to the outside only through weak references, so that at a flush the stream knows which
of them somebody still wants. Equal entries with equal wishes find the same plan by one dictionary
look-up: entries refer to earlier ones by number, and numbers that change from step to step (a
learning rate) are kept beside the entries, not in them.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from itertools import compress
from operator import call
from typing import TYPE_CHECKING, Any, ClassVar

from burn.backend.fusion.cuts import MOST_ENTRIES, Cuts
from burn.backend.fusion.handle import Lazy, Storage
from burn.backend.fusion.interruption import HeldBack
from burn.engine.runtime import Plan, Refused
from burn.errors import BurnError, DeviceError
from burn.program.composites import Slots, slot_values
from burn.program.interpreter import run_guarded
from burn.program.program import Constant, Node, Program, Scalar, Value
from burn.scalar import Scalar as Number
from burn.shape import Shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from burn.backend.fusion.device import Fusion
    from burn.dtype import DType
    from burn.ops.op import Op

ref = weakref.ref

MOST_CAPTURED = 20_000
"""Results of a function under capture, which is one program or none."""

MOST_PLANS = 512


class PlanCache:
    """Plans by what they do, the least recently used dropped first.

    Beside each stands where its numbers come from, if it has more of them than were recorded (`expand_composites`).
    Recordings that differ in the numbers of composites alone, such as a slope, are one program and share its plan.
    """

    def __init__(self, most: int = MOST_PLANS) -> None:
        self.most = most
        self._plans: OrderedDict[Any, Plan] = OrderedDict()
        self._slots: dict[Any, Slots] = {}
        self._by_program: weakref.WeakValueDictionary[Any, Plan] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()
        self._last: tuple[Any, tuple[Plan, Slots | None] | None] = (None, None)

    def get(self, key: Any) -> tuple[Plan | None, Slots | None]:
        """The plan of `key`, or None, and where its numbers come from."""
        last, found = self._last
        if last == key and found is not None:  # as in the step before: comparing is cheaper than hashing
            return found
        with self._lock:
            plan, slots = self._plans.get(key), self._slots.get(key)
            if plan is not None:
                self._plans.move_to_end(key)
                self._last = (key, (plan, slots))
            return plan, slots

    def made(self, program: Program, free: tuple[bool, ...], prepare: Callable[..., Plan]) -> Plan:
        """The plan of a program: one that is there, or a new one."""
        plan = self._by_program.get((program, free))
        if plan is None:
            plan = self._by_program[program, free] = prepare(program, free)
        return plan

    def put(self, key: Any, plan: Plan, slots: Slots | None = None) -> None:
        """Remember a plan."""
        with self._lock:
            self._plans[key] = plan
            if slots is not None:
                self._slots[key] = slots
            self._last = (key, (plan, slots))
            while len(self._plans) > self.most:
                dropped, _ = self._plans.popitem(last=False)
                self._slots.pop(dropped, None)

    def release(self) -> None:
        """Let every plan give back the memory that it keeps for its next run."""
        with self._lock:
            for plan in self._plans.values():
                plan.release()

    def latest(self) -> Any:
        """The plan that was used last, or None."""
        with self._lock:
            return next(reversed(self._plans.values()), None)

    def __len__(self) -> int:
        return len(self._plans)


class Draw:
    """The seed, or the first block, of a random draw of `count` words: a later run draws anew.

    What is "fixed" was given by the caller, not taken from the device's generator, and stays the same.
    """

    __slots__ = ("count", "value", "what")

    def __init__(self, what: str, value: int, count: int) -> None:
        self.what, self.value, self.count = what, value, count


def as_storages(outputs: list[Any], inputs: list[Storage]) -> list[Any]:
    """Outputs as storages (errors stay errors). Memory that two of them share is never written to again."""
    seen = {id(storage.value): storage for storage in inputs}
    found: list[Any] = []
    for output in outputs:
        if isinstance(output, BaseException):
            found.append(output)
            continue
        twin = seen.get(id(output))
        if twin is not None:
            twin.shared = True
        storage = Storage(output, shared=twin is not None)
        seen[id(output)] = storage
        found.append(storage)
    return found


class Stream:
    """What one thread has asked of a `Fusion` device and has not run yet."""

    is_kept: ClassVar[bool] = False
    """Whether what runs is written down, to run again: then reads and what runs at once are told."""

    def look(self, handle: Lazy) -> None:
        """Somebody is about to read a value."""

    def at_once(self, op: Op, kernel: Any, args: tuple[Any, ...]) -> Any:
        """Run an operation that needs values."""
        raise NotImplementedError

    def __init__(self, device: Fusion[Any]) -> None:
        self.device = device
        self.lock = threading.RLock()
        self.on_flush: Callable[[], None] | None = None  # told before anything runs, while a function is captured
        self.cuts = Cuts()
        self._reset()

    def _reset(self) -> None:
        self.last = MOST_ENTRIES - 1  # the number of the result after which it is cut
        self.entries: list[tuple[Any, ...]] = []
        self.results: list[weakref.ref[Lazy]] = []
        self.descriptions: list[tuple[Shape, DType]] = []
        self.inputs: list[Storage] = []
        self.input_owners: list[weakref.ref[Lazy]] = []
        self.input_descriptions: list[tuple[Shape, DType]] = []
        self.input_numbers: dict[int, int] = {}
        self.scalars: list[Any] = []
        self.fallbacks: dict[int, int] = {}  # results that are an earlier value if their plan fails
        self.failures: list[tuple[int, Callable[[], None]]] = []  # told if an entry before this number fails

    # Recording

    def reference(self, handle: Lazy) -> int:
        """How entries name a handle: results count from 0 up, inputs from -1 down."""
        if handle.stream is self:
            return handle.number
        storage = handle.storage
        if storage is None:
            storage = handle.force()
        number = self.input_numbers.get(id(storage))
        if number is None:
            number = -1 - len(self.inputs)
            self.input_numbers[id(storage)] = number
            self.inputs.append(storage)
            self.input_owners.append(weakref.ref(handle))
            self.input_descriptions.append((handle.shape, handle.dtype))
        return number

    def fall_back(self, new: Lazy, old: Lazy) -> None:
        """If the plan that makes `new` fails, `new` is `old`. Values that no entry reads are not kept for that."""
        if old.stream is self:
            self.fallbacks[new.number] = old.number
        elif old.storage is not None and id(old.storage) in self.input_numbers:
            self.fallbacks[new.number] = self.input_numbers[id(old.storage)]

    def operand(self, value: Any) -> Any:
        """An operand as an entry holds it."""
        kind = value.__class__
        if kind is Lazy:
            return self.reference(value)
        if kind is float or kind is Number:
            self.scalars.append(value)
            return FLOAT
        if kind is list:
            return tuple(self.reference(each) for each in value)
        return None if value is None else Constant(value)

    def draw(self, seed: int, offset: int, count: int) -> tuple[str, str]:
        """The place of a random draw in its stream: two numbers given at run time."""
        if self.device.generator().state() == (seed, offset + (count + 3) // 4):  # just taken from there
            self.scalars += (Draw("seed", seed, count), Draw("offset", offset, count))
        else:
            self.scalars += (Draw("fixed", seed, count), Draw("fixed", offset, count))
        return FLOAT, FLOAT

    def record(
        self, op: Op, operands: tuple[Any, ...], attributes: tuple[Any, ...], shape: Shape, dtype: DType
    ) -> Lazy:
        """Add an operation with one result."""
        results = self.results
        number = len(results)
        handle = Lazy(shape, dtype, self.device, None, self, number)
        self.entries.append((op, operands, attributes))
        results.append(ref(handle))
        self.descriptions.append((shape, dtype))
        if number >= self.last:
            self.cut()
        return handle

    def record_several(
        self, op: Op, operands: tuple[Any, ...], attributes: tuple[Any, ...], shapes: Any, dtypes: Any
    ) -> tuple[Lazy, ...]:
        """Add an operation with several results."""
        self.entries.append((op, operands, attributes))
        handles = []
        for shape, dtype in zip(shapes, dtypes, strict=True):
            handle = Lazy(Shape(shape), dtype, self.device, None, self, len(self.results))
            self.results.append(weakref.ref(handle))
            self.descriptions.append((handle.shape, dtype))
            handles.append(handle)
        if len(self.results) > self.last:
            self.cut()
        return tuple(handles)

    def discard(self) -> None:
        """Forget what was recorded: it never runs, and whoever still holds a value of it is told."""
        for each in self.results:
            handle = each()
            if handle is not None:
                handle.error, handle.stream = DeviceError("this value was recorded and given up"), None
        self._reset()

    def repair(self) -> None:
        """After an exception in the middle of recording an operation, Ctrl-C too: forget what there is of it."""
        known = min(len(self.results), len(self.descriptions))
        whole = count = numbers = 0
        for op, operands, attributes in self.entries:
            results = op.outputs or op.result_count(attributes)
            if count + results > known:
                break
            whole, count = whole + 1, count + results
            numbers += sum(each is FLOAT for each in operands)
        del self.entries[whole:], self.results[count:], self.descriptions[count:], self.scalars[numbers:]
        inputs = min(len(self.inputs), len(self.input_owners), len(self.input_descriptions))
        del self.inputs[inputs:], self.input_owners[inputs:], self.input_descriptions[inputs:]
        self.input_numbers = {key: number for key, number in self.input_numbers.items() if -1 - number < inputs}

    # Running

    def cut(self) -> None:
        """Run what was recorded, since it has become long; a function under capture stays whole."""
        if self.on_flush is not None and self.last < MOST_CAPTURED:
            self.last = MOST_CAPTURED
            return
        operations = [op for op, _, given in self.entries for _ in range(op.outputs or op.result_count(given))]
        self.flush(cut=True)
        self.last = self.cuts.after(operations) - 1

    def flush(self, cut: bool = False) -> None:
        """Run everything that was recorded and that somebody still wants.

        Ctrl-C while a plan is made leaves everything as it was: the next read makes it again. A run that may write
        over its inputs is not cut in two.
        """
        if not cut:
            self.cuts.forget()
        with self.lock:
            if not self.entries:
                return
            if self.on_flush is not None:
                self.on_flush()
            found = [*map(call, self.results)]
            wanted = tuple(compress(range(len(found)), [each is not None for each in found]))
            if not wanted:
                self._reset()
                return
            handles = [found[number] for number in wanted]
            plan, slots, writes = self._plan(wanted)
            error, first, failures = None, -1, self.failures
            with HeldBack() if writes else self.lock:  # the lock is ours already: a plain run holds nothing back
                try:
                    try:
                        outputs = plan(self.inputs, self.numbers(slots) if self.scalars or slots else [])
                    except Exception as failure:
                        error, first = self._failed(failure, wanted, handles)
                    else:
                        self._hand_out(plan, outputs, handles)
                except Exception as unexpected:
                    self._lose(handles, unexpected)
                    raise
                except BaseException:
                    if writes:  # a second Ctrl-C, a signal that raises: nobody knows what is written
                        text = "the run that makes this value was interrupted while it wrote; compute it again"
                        self._lose(handles, DeviceError(text))
                    raise
            if error is not None:
                for number, tell in reversed(failures):
                    if number > first:
                        tell()
                raise error  # once, here: what fell back raises nothing when it is read

    def _plan(self, wanted: tuple[int, ...]) -> tuple[Plan, Slots | None, bool]:
        """The plan of what was recorded, where its numbers come from, and whether it may write over inputs.

        Where none is made, it is one that raises the reason.
        """
        owners = map(call, self.input_owners)
        free = tuple([owner is None and not each.shared for each, owner in zip(self.inputs, owners, strict=True)])
        key = (tuple(self.entries), tuple(self.input_descriptions), wanted, free)
        plans = self.device.plans
        plan, slots = plans.get(key)
        if plan is None:
            try:
                recorded = self.program(wanted)
                program, found = self.device.expanded(recorded)
                slots = found if program.scalars > recorded.scalars else None
                plan = plans.made(program, free, self.device.prepare)
                plans.put(key, plan, slots)
            except Exception as error:
                return Refused(error), None, False
        return plan, slots, True in free

    def _hand_out(self, plan: Plan, outputs: list[Any], handles: list[Any]) -> None:
        """Give the handles what was made."""
        storages = [*map(Storage, outputs)] if plan.distinct else as_storages(outputs, self.inputs)
        for handle, storage in zip(handles, storages, strict=True):
            handle.storage = storage
            handle.stream = None
        self._reset()

    def _lose(self, handles: list[Any], error: Exception) -> None:
        """Give up the values that are not there."""
        for handle in handles:
            if handle.storage is None:
                handle.error, handle.stream = error, None
        self._reset()

    def _failed(
        self, error: Exception, wanted: tuple[int, ...], handles: list[Any]
    ) -> tuple[BaseException | None, int]:
        earlier = tuple({each for each in self.fallbacks.values() if each >= 0}.difference(wanted))
        outputs, first = self._rescued((*wanted, *earlier), error)
        made = dict(zip((*wanted, *earlier), as_storages(outputs, self.inputs), strict=True))
        lost = self._recover(made, wanted, handles, first, isinstance(error, BurnError))
        self._reset()
        return error if lost else None, first

    def _recover(
        self, made: dict[int, Any], wanted: tuple[int, ...], handles: list[Any], first: int, whole: bool
    ) -> bool:
        """After a plan failed: what it made, what was before where somebody said so, the error for the rest.

        As if it had run entry by entry and had ended with the `first` result that failed: updates after it are not
        done, also those that do not depend on it. Inputs that may not be `whole` are no values from before. Gives
        whether anything fell back.
        """
        lost, fallbacks = False, self.fallbacks if whole else {}
        for number, handle in zip(wanted, handles, strict=True):
            before, storage = number, made[number]
            while before in fallbacks and (before > first or isinstance(storage, BaseException)):
                before = fallbacks[before]
                storage = made[before] if before >= 0 else self.inputs[-1 - before]
            if isinstance(storage, BaseException):
                handle.error = storage
            else:
                handle.storage = storage
                if before != number:
                    storage.shared = lost = True
            handle.stream = None
        return lost

    def numbers(self, slots: Slots | None = None) -> list[Any]:
        """The run-time numbers of this run; those of a plan that has more of them, too, by its slots."""
        found = [each if each.__class__ is float else each.value for each in self.scalars]
        return found if slots is None else slot_values(slots, found)

    def _rescued(self, wanted: tuple[int, ...], error: BaseException) -> tuple[list[Any], int]:
        """After a plan failed: every output that does not depend on the fault, the error for the others, and the first
        result that failed (-1 if nobody knows).

        A plan writes over its inputs only after all that may be wrong with the data was checked, so an error of ours
        leaves them whole. With another one, or where the device cannot run plans at all, every output gets the error.
        """
        if not isinstance(error, BurnError) or isinstance(error, DeviceError):
            return [error] * len(wanted), -1
        outputs, first = run_guarded(self.program(wanted), self.device.below, self.inputs, self.numbers())
        return outputs, -1 if first is None else first - len(self.inputs)

    def program(self, wanted: tuple[int, ...]) -> Program:
        """What was recorded as a program whose outputs are the wanted results."""
        count = len(self.inputs)
        slot = 0

        def number(reference: int) -> int:
            return reference + count if reference >= 0 else -1 - reference

        def operand(value: Any, kind: str) -> Any:
            nonlocal slot
            if value is FLOAT:
                slot += 1
                return Scalar(slot - 1, kind)
            if value.__class__ is int:
                return number(value)
            return tuple(number(each) for each in value) if value.__class__ is tuple else value

        nodes = []
        made = 0
        for op, operands, attributes in self.entries:
            results = tuple(count + made + i for i in range(op.outputs or op.result_count(attributes)))
            made += len(results)
            kind = "int" if op.family == "random" else "float"  # the seed and the first block of a draw
            nodes.append(Node(op, tuple(operand(each, kind) for each in operands), attributes, results))
        values = tuple(Value(shape, dtype) for shape, dtype in (*self.input_descriptions, *self.descriptions))
        return Program(values, count, slot, tuple(nodes), tuple(count + each for each in wanted))


FLOAT = "float"
"""Stands in an entry for a number that is given at run time."""
