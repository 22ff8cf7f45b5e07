"""Running frozen plans: one function for a plan, one for each binding, both written for it.

A run takes an instance, which is an arena and what was bound to it, and gives it back; so threads may share a runner.
An instance remembers its last bindings, all on the one arena. After an exception it is dropped.
"""

from __future__ import annotations

import collections
import time
import weakref
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from burn.backend.cpu.addresses import ADDRESS_OF_DATA, KNOWN_LAYOUT, address_of
from burn.backend.cpu.faults import NO_FAULT, raise_first
from burn.backend.cpu.frozen.binding import THREADS, Arena, Template, Words, arranged
from burn.backend.cpu.frozen.expressions import Numbers
from burn.backend.cpu.frozen.form import Check, Frozen
from burn.backend.cpu.frozen.owner import Owner
from burn.backend.cpu.memory import LARGE
from burn.backend.cpu.native import native
from burn.backend.cpu.pool import pool
from burn.dtype import DType
from burn.dtype import dtype as as_dtype
from burn.errors import too_large
from burn.symbolic import DoesNotFit

RUNNERS: weakref.WeakSet[Any] = weakref.WeakSet()
"""Every runner of this process, for who measures."""

Array = np.ndarray[Any, Any]
Launch = Callable[[Sequence[Array]], list[Array]]
Maker = Callable[[Any, Any], Array]
Shapes = tuple[tuple[int, ...], ...]

MOST_INSTANCES = 4
MOST_BINDINGS = 64
"""What an instance remembers of the sizes that it has run for."""
SPARSE = 4
"""An arena this many times larger than what every remembered binding needs is given up, from so many bytes on:"""
WORTH = 1 << 20
ROOMY = 4
"""One that grows again grows by a part of it more than it has to."""


class Runner:
    """A frozen plan, ready to be called with the arrays of its inputs. Several threads may do so at once.

    Before every run `renewed` takes over where one of `conditions`, Python expressions over `known`, tells that another
    plan would be made now.
    """

    def __init__(
        self,
        frozen: Frozen,
        owner: Owner,
        conditions: Sequence[str] = (),
        renewed: Launch | None = None,
        **known: Any,
    ) -> None:
        self.frozen, self.form = frozen, frozen.form
        self._ground = _Ground(frozen, owner)
        RUNNERS.add(self)
        self.run: Launch = _running(self._ground, conditions, known | {"renewed": renewed})
        """Runs the plan; what calling the runner does, without looking for it."""

    def __call__(self, given: Sequence[Array]) -> list[Array]:
        return self.run(given)

    def release(self) -> None:
        """Give back the memory that waits for the next run."""
        self._ground.waiting.clear()

    def native_seconds(self, given: Sequence[Array], repeats: int = 200) -> float:
        """The median time of the native call alone, for inputs of these shapes: what is beside it is Python."""
        instance = self._ground.another()
        key = tuple(each.shape for each in given) if self.form.is_symbolic else ()
        made = (instance.bound(key) if key else instance.launch)(given)  # alive: the call writes there again
        record = address_of(instance.bindings[key].words) + 8 * self._ground.template.record
        run, times = native().run_record, []
        for _ in range(repeats):
            begin = time.perf_counter()
            run(record)
            times.append(time.perf_counter() - begin)
        del made
        return sorted(times)[repeats // 2]

    def describe(self) -> str:
        """The steps, a line each."""
        return self.frozen.describe()


class _Ground:
    """What the instances of a plan have in common."""

    def __init__(self, frozen: Frozen, owner: Owner) -> None:
        self.frozen, self.form, self.owner = frozen, frozen.form, owner
        self.template = Template(frozen)
        self.launching = _launching(frozen, self.template, owner)
        self.waiting: collections.deque[Instance] = collections.deque(maxlen=MOST_INSTANCES)
        self.numbers = None if self.form.is_symbolic else self.template.numbers_for(_shapes(frozen))

    def another(self) -> Instance:
        """An instance that nobody has had."""
        made = Instance(self)
        if self.numbers is not None:
            made.launch = made.bind(self.numbers)
        return made


class Bound(NamedTuple):
    """A binding: what runs it, its words, and the bytes of arena that it needs."""

    launch: Launch
    words: Words
    size: int


class Instance:
    """What one run at a time needs for itself: an arena, and what is bound to it."""

    used = 0
    """When it was given back, by the clock of `KeptMemory`."""
    launch: Launch
    """The binding that ran last."""
    key: Shapes | None = None
    """The shapes that it is for."""

    def __init__(self, ground: _Ground) -> None:
        form = ground.form
        self._ground = weakref.ref(ground)
        self.arena = Arena()
        self.cells = np.zeros(len(form.given) + len(form.results) + 1, np.int64)
        begin = address_of(self.cells)
        self.places = array("q", range(begin, begin + self.cells.nbytes, 8))  # the addresses of addresses
        self.status = np.empty((len(form.checks), 2), np.int64)
        self.status[:] = NO_FAULT
        self.bindings: collections.OrderedDict[Shapes, Bound] = collections.OrderedDict()

    @property
    def bytes(self) -> int:
        """What it keeps from run to run."""
        return self.arena.memory.nbytes

    def let_go(self) -> bool:
        """Have nobody keep it for a next run; False where nobody does."""
        ground = self._ground()
        try:
            if ground is not None:
                ground.waiting.remove(self)
        except ValueError:
            return False
        return ground is not None

    def bound(self, key: Shapes) -> Launch:
        """The binding for inputs of these shapes, which is the last one from now on."""
        found = self.bindings.get(key)
        if found is None:
            launch = self.bind(self._of().template.numbers_for(key), key)
        else:
            self.bindings.move_to_end(key)
            launch = found.launch
        self.launch, self.key = launch, key
        return launch

    def bind(self, numbers: Numbers, key: Shapes = ()) -> Launch:
        """Write down the plan for some numbers."""
        ground = self._of()
        rooms, size = arranged(numbers)
        arena, bound = self.arena, self.bindings.values()
        most = max([size, *(each.size for each in bound)])
        if size > arena.size or (arena.size > WORTH and arena.size > SPARSE * most):
            # Sizes that grow, as those of a text, grow on: not with a new arena for each.
            distance = arena.resize(most + most // ROOMY if 0 < arena.size < size else most)
            for each in bound:
                ground.template.move(each.words, distance)
            ground.owner.kept.add(self)
        at = self.places.buffer_info()[0], address_of(self.status)
        words = ground.template.bind(numbers, rooms + self.arena.address, *at)
        launch = ground.launching(self, words, numbers)
        self.bindings[key] = Bound(launch, words, size)
        if len(self.bindings) > MOST_BINDINGS:
            self.bindings.popitem(last=False)
        return launch

    def _of(self) -> _Ground:
        ground = self._ground()
        assert ground is not None
        return ground


def _shapes(frozen: Frozen) -> Shapes:
    """The shapes of the inputs of a plan without named sizes."""
    return tuple(tuple(int(dim) for dim in each.shape) for each in frozen.form.given)  # type: ignore[arg-type]


def _makers(shapes: Shapes, dtypes: Sequence[DType], large: Maker) -> list[tuple[Maker, Any]]:
    """For each result what makes it, and of which kind."""
    found: list[tuple[Maker, Any]] = []
    for shape, dtype in zip(shapes, dtypes, strict=True):
        size = dtype.size
        for each in shape:
            size *= each
        found.append((np.empty, dtype.numpy) if size < LARGE else (large, dtype))
    return found


def _launching(frozen: Frozen, template: Template, owner: Owner) -> Callable[[Instance, Any, Numbers], Launch]:
    """What makes the function of a binding: everything in it but the numbers is written once for a plan."""
    form = frozen.form
    calm = np.array([NO_FAULT] * len(form.checks), np.int64).tobytes()
    space = {"native": native().run_record, "running": pool().running, "address_of": address_of, "calm": calm}
    exec(compile(f"{_text(template, False)}\n{_text(template, True)}", "<frozen plan>", "exec"), space)
    made, shared = space.pop("made"), space.pop("made_shared")
    record, checks = 8 * template.record, form.checks
    dtypes = [as_dtype(each.dtype) for each in form.results]

    def large(shape: tuple[int, ...], dtype: DType) -> Array:
        try:
            return owner.allocate(shape, dtype)
        except MemoryError:
            raise too_large("plan", shape, dtype, owner) from None

    def launching(instance: Instance, words: Words, numbers: Numbers) -> Launch:
        _, _, shapes, sizes = numbers
        places, status = instance.places, instance.status

        def fault() -> None:
            raise_first(status, [Check(each.operation, each.dim, size) for each, size in zip(checks, sizes)])

        makers = _makers(shapes, dtypes, large)
        keep = words, places, instance.cells, status, instance.arena, frozen
        at = address_of(words) + record
        make = shared if template.is_shared(words) else made
        launch: Launch = make(at, words, places, instance.cells, makers, shapes, status, fault, keep)
        return launch

    return launching


def _text(template: Template, shared: bool) -> str:
    """The source of what makes the function of a binding, whose steps may be shared among threads or not."""
    form = template.form
    given = [f"x{i}" for i in range(len(form.given))]
    made = range(len(form.results))
    names = [*given, *(f"y{i}" for i in made)]
    lines = [
        f"def {'made_shared' if shared else 'made'}(record, words, places, cells, makers, shapes, status, fault, keep):"
    ]
    lines.append(f"    {_tuple(f'(make{i}, kind{i})' for i in made)} = makers")
    lines.append(f"    {_tuple(f'shape{i}' for i in made)} = shapes")
    lines += ["    last = 1", "    def launch(given, keep=keep):"]
    if shared:
        lines.append("        nonlocal last")
    lines.append(f"        {_tuple(given)} = given")
    lines += [f"        {_put(place, name)}" for place, name in enumerate(given)]
    for i in made:
        lines += [f"        y{i} = make{i}(shape{i}, kind{i})", f"        {_put(len(given) + i, f'y{i}')}"]
    if shared:
        lines += ["        now = running()", "        if now != last:"]
        lines.append(f"            words[{template.record + THREADS}] = last = now")
    if form.steps:
        lines.append("        native(record)")
    if form.checks:
        lines += ["        if status.tobytes() != calm:", "            fault()"]
    lines += [f"        return [{', '.join(names[place] for place in form.outputs)}]", "    return launch"]
    return "\n".join(lines)


def _put(place: int, name: str) -> str:
    """Say which array a value is. It must live until the run has ended."""
    if KNOWN_LAYOUT:
        return f"places[{place}] = id({name}) + {ADDRESS_OF_DATA}"
    return f"cells[{place}] = address_of({name})"


def _running(ground: _Ground, conditions: Sequence[str], known: dict[str, Any]) -> Launch:
    """What takes an instance, runs it and gives it back."""
    lines = ["def run(given):"]
    if conditions:
        lines += [f"    if {' or '.join(conditions)}:", "        return renewed(given)"]
    lines += ["    try:", "        instance = pop()", "    except IndexError:", "        instance = another()"]
    if ground.form.is_symbolic:
        names = [f"x{i}" for i in range(len(ground.form.given))]
        lines += [
            f"    {_tuple(names)} = given",
            f"    key = {_tuple(f'{name}.shape' for name in names)}",
            "    if key == instance.key:",
            "        made = instance.launch(given)",
            "    else:",
            "        try:",
            "            launch = instance.bound(key)",
            "        except DoesNotFit:",
            "            push(instance)",
            "            raise",
            "        made = launch(given)",
        ]
    else:
        lines.append("    made = instance.launch(given)")
    lines += ["    instance.used = clock()", "    push(instance)", "    return made"]
    space = known | {
        "pop": ground.waiting.pop, "push": ground.waiting.append, "another": ground.another,
        "clock": ground.owner.kept.clock, "DoesNotFit": DoesNotFit,
    }  # fmt: skip
    exec(compile("\n".join(lines), "<frozen plan>", "exec"), space)
    run: Launch = space.pop("run")
    return run


def _tuple(texts: Iterable[str]) -> str:
    return f"({''.join(f'{each}, ' for each in texts)})"
