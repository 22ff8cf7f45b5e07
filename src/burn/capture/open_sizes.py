"""Captures for every size: a function that was called with several sizes is recorded with sizes that may be any.

The recording is made twice, with `Symbolic` sizes in the place of those that differ between calls, so what the
function's Python asks about a size becomes an assumption of the capture. A call of new sizes for which the assumptions
hold gets the same program and the same plan, bound to its numbers; one for which they do not is recorded again.
"""

from __future__ import annotations

import contextlib
import copy
import gc
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from burn.backend.autodiff.graph import Variable
from burn.backend.fusion import Fusion
from burn.backend.fusion.handle import Lazy, Storage
from burn.backend.fusion.stream import Draw, Stream
from burn.capture.call import Call
from burn.capture.leaves import bottom_handle, layers_above, lazy_handle, wrapped
from burn.capture.recording import Capture, Recording
from burn.capture.replay import is_donated
from burn.engine.plan import program_at
from burn.errors import ArgumentError
from burn.shape import Shape
from burn.symbolic import Assumptions, Sizes, Symbolic, is_symbolic, linear
from burn.tensor import Tensor
from burn.tree import Structure

if TYPE_CHECKING:
    from burn.capture.trust import Ignore

MOST_OPENED = 8
"""Captures of one kind of call that hold for many sizes; where sizes decide more than that, each has its own."""

MOST_FAILURES = 3
"""Recordings that need a size as a number, before each size gets a capture of its own."""

MOST_FAMILIES = 256

Dynamic = bool | Mapping[Any, Any] | None
"""Which sizes may change: those that did (None), all (True), none (False), or some dims of some arguments."""

Place = tuple[int, int]  # a leaf, and one of its dims


class Opened:
    """A capture that holds for every size for which its assumptions do."""

    def __init__(self, capture: Capture, assumptions: Assumptions, places: list[list[Place]], call: Call) -> None:
        self.capture, self.assumptions = capture, assumptions
        self._places, self._holds = places, assumptions.function()
        self._open = {place for together in places for place in together}
        self._closed = self._closed_sizes(call)

    def _closed_sizes(self, call: Call) -> list[int]:
        """The sizes of a call that are the same in every call which this capture serves."""
        return [
            size
            for leaf, tensor in enumerate(call.leaves)
            if isinstance(tensor, Tensor)
            for dim, size in enumerate(tensor.shape)
            if (leaf, dim) not in self._open
        ]

    def at(self, call: Call) -> Capture | None:
        """The capture for the sizes of a call of the same kind; None where it does not hold for them."""
        if self._closed_sizes(call) != self._closed:
            return None
        numbers: list[int] = []
        for places in self._places:
            found = {call.leaves[leaf].shape[dim] for leaf, dim in places}
            if len(found) != 1:
                return None
            numbers += found
        if not self._holds(*numbers):
            return None
        whole = self.capture
        if not whole.takes(call.numbers(), whole.fixed) or whole.guards.moved(
            call.surroundings, call.args, call.kwargs
        ):
            return None
        return bound(whole, Sizes(self.assumptions.names, numbers))

    def explain(self) -> str:
        """Which sizes are open, and what needed one of them to be a number."""
        values = self.capture.program.values
        lines = [f"for many sizes: {', '.join(self.assumptions.names)} of the inputs"]
        for source, value in zip(self.capture.sources, values, strict=False):
            shape = [str(linear(each)) for each in value.shape]
            if is_symbolic(value.shape):
                lines.append(f"  input {source}: [{', '.join(shape)}]")
        lines += [
            f"  {condition} since {place} needs the number" for condition, place in self.assumptions.fixed().items()
        ]
        return "\n".join(lines)


def bound(whole: Capture, sizes: Sizes) -> Capture:
    """A capture with numbers in the place of its sizes. Nothing is lowered or compiled."""
    made = copy.copy(whole)
    made.program = program_at(whole.program, sizes)
    made.scalars = [
        Draw(each.what, each.value, sizes.number(each.count)) if isinstance(each, Draw) else each
        for each in whole.scalars
    ]
    made.bind_plan(sizes)
    made.idle = deque()
    return made


class Family:
    """Calls that differ in nothing but sizes."""

    def __init__(self) -> None:
        self.shapes: list[tuple[Any, ...]] = []  # of two calls at most, and that tells which sizes change
        self.opened: list[Opened] = []
        self.failures = 0
        self.is_captured = False
        """Whether the last plain recording could be replayed."""
        self.is_closed = False
        """Whether each size has a capture of its own: the function cannot be recorded with open ones."""


class OpenSizes:
    """The captures of one function that hold for many sizes."""

    def __init__(self, function: Any, dynamic: Dynamic, ignore: Ignore, donate: tuple[int, ...]) -> None:
        self.dynamic, self._function, self._ignore, self._donate = dynamic, function, ignore, donate
        self._families: OrderedDict[Any, Family] = OrderedDict()

    def capture(self, device: Fusion[Any], call: Call) -> Capture | None:
        """The capture for a call of sizes that have not been seen; None where it has to be recorded as it is."""
        if self.dynamic is False:
            return None
        family = self._family(call)
        for opened in family.opened:
            found = opened.at(call)
            if found is not None:
                return found
        places = self._changing(family, call)
        if family.is_closed or not family.is_captured or not places:
            return None
        opened_now = self._record(device, call, places)
        if opened_now is None or opened_now.assumptions.pinned():  # perhaps by chance, where a size equals another one
            family.failures += 1
            family.is_closed = family.failures >= MOST_FAILURES
        if opened_now is None:
            return None
        family.opened.append(opened_now)
        family.is_closed |= len(family.opened) >= MOST_OPENED
        return opened_now.at(call)

    def tell(self, call: Call, is_captured: bool) -> None:
        """Whether a plain recording of a call can be replayed. Only where one could is the function run to open sizes:
        what it does beside computing would be done again."""
        if self.dynamic is False:
            return
        self._family(call).is_captured = is_captured  # the last one decides: a cache is filled once

    def opened(self) -> list[Opened]:
        """The captures that hold for many sizes."""
        return [each for family in self._families.values() for each in family.opened]

    def _family(self, call: Call) -> Family:
        *rest, described = call.key
        alike = tuple([(*each[:2], len(each[2]), *each[3:]) if each[0] is Tensor else each for each in described])
        key = (*rest, alike)
        found = self._families.get(key)
        if found is None:
            found = self._families[key] = Family()
            while len(self._families) > MOST_FAMILIES:
                self._families.popitem(last=False)
        return found

    def _changing(self, family: Family, call: Call) -> list[list[Place]]:
        """The sizes that may be others in later calls: those that always were equal are one."""
        shapes = tuple([tuple(leaf.shape) if isinstance(leaf, Tensor) else () for leaf in call.leaves])
        if shapes not in family.shapes:
            family.shapes = [*family.shapes[-1:], shapes]
        if self.dynamic is not None:
            wanted = set(_named_places(self.dynamic, call))
        elif len(family.shapes) > 1:
            wanted = set(_places(family.shapes[-2:]))
        else:
            return []
        together: dict[tuple[int, ...], list[Place]] = {}
        for leaf, dim in sorted(wanted):
            values = tuple(each[leaf][dim] for each in family.shapes)
            if leaf >= call.given:  # in the closure or a mutable object: of one size for good
                return []
            if shapes[leaf][dim] < 2:  # one broadcasts, and nothing is empty: each has a capture of its own
                return []
            together.setdefault(values, []).append((leaf, dim))
        return list(together.values())

    def _record(self, device: Fusion[Any], call: Call, places: list[list[Place]]) -> Opened | None:
        """Record a call twice with open sizes, and put everything back to what it was."""
        assumptions = Assumptions()
        opened: dict[int, dict[int, Symbolic]] = {}
        for together in places:
            leaf, dim = together[0]
            size = assumptions.symbol(call.leaves[leaf].shape[dim])
            for leaf, dim in together:
                opened.setdefault(leaf, {})[dim] = size
        leaves = [_opened(each, opened.get(number)) for number, each in enumerate(call.leaves)]
        try:
            first = self._recording(device, call, leaves, None)
            if first is None:
                return None
            capture, read = first
            second = self._recording(device, call, leaves, read)
            if second is None or capture.same_as(second[0]) is not None:
                return None
            found = second[0]
            found.prepare(tuple(is_donated(source, self._donate, call.structure) for source in found.sources))
            return Opened(found, assumptions, places, call)
        except Exception:  # what cannot be done with sizes that may be any, or what the call itself raises once more
            return None

    def _recording(
        self, device: Fusion[Any], call: Call, leaves: list[Any], read: set[int] | None
    ) -> tuple[Capture, set[int]] | None:
        """One recording, of which nothing stays; and the numbers that it read."""
        state, stream = device.generator().state(), device.stream
        try:
            return self._recorded(device, call, leaves, read)
        finally:
            call.restore()
            device.generator().restore(state)
            _settle(stream, leaves)

    def _recorded(
        self, device: Fusion[Any], call: Call, leaves: list[Any], read: set[int] | None
    ) -> tuple[Capture, set[int]] | None:
        recording = Recording(device, call, read, self._ignore, leaves)
        after = recording.run(self._function)
        capture = recording.capture(after)
        if recording.watch.names_classes or any(_keeps_a_size(part.structure) for part in after.parts):
            return None
        del after
        return None if capture is None or recording.leaked_number() else (capture, set(recording.read))


def _settle(stream: Stream, leaves: list[Any]) -> None:
    """Give up what was recorded. A value that somebody still holds, in a cache perhaps, is computed first."""
    held = [handle for each in stream.results if (handle := each()) is not None]
    shapes: list[Any] = [size for leaf in leaves if isinstance(leaf, Tensor) for size in leaf.shape]
    sizes = [size for size in shapes if type(size) is Symbolic]
    if held and sizes:
        with contextlib.suppress(Exception):  # whoever reads it is told
            assumptions = sizes[0].assumptions
            now = Sizes(assumptions.names, assumptions.values)
            device: Fusion[Any] = stream.device
            program, slots = device.expanded(stream.program(tuple(handle.number for handle in held)))
            plan = device.prepare(program_at(program, now), (False,) * program.inputs)
            made = plan(stream.inputs, stream.numbers(slots))
            open_ones = [handle for handle in held if is_symbolic(handle.shape)]
            for handle, value in zip(held, made, strict=True):
                handle.storage, handle.stream, handle.shape = Storage(value), None, Shape(now.all(tuple(handle.shape)))
            _reshape_holders(open_ones)
    stream.discard()


def _reshape_holders(handles: list[Any]) -> None:
    """Tensors of handles, with or without a graph, know their shapes, too."""
    holders = gc.get_referrers(*handles) if handles else []
    variables = [each for each in holders if isinstance(each, Variable)]
    for each in [*holders, *(gc.get_referrers(*variables) if variables else ())]:
        if isinstance(each, Tensor):
            each.shape = bottom_handle(each).shape


def _opened(leaf: Any, sizes: dict[int, Symbolic] | None) -> Any:
    """A tensor of the same memory whose sizes may be any."""
    if sizes is None:
        return leaf
    handle = lazy_handle(leaf)
    shape = Shape([sizes.get(dim, size) for dim, size in enumerate(leaf.shape)])
    twin = Lazy(shape, handle.dtype, handle.device, handle.force(), None, -1)
    layers = layers_above(leaf.device)
    return wrapped(twin, leaf.device, layers, bool(layers) and leaf.handle.node is not None)


def _places(shapes: Iterable[tuple[Any, ...]]) -> Iterable[Place]:
    """Where the shapes of two calls differ."""
    one, other = shapes
    for leaf, (mine, theirs) in enumerate(zip(one, other, strict=True)):
        for dim, (before, now) in enumerate(zip(mine, theirs, strict=True)):
            if before != now:
                yield leaf, dim


def _named_places(dynamic: Any, call: Call) -> Iterable[Place]:
    """The dims that `dynamic` says may change: of all tensors among the arguments, or of those that it names."""
    if isinstance(dynamic, Mapping):
        _check_names(dynamic, call)
    first, by_name = 0, isinstance(dynamic, Mapping)
    positional, named = call.structure.children
    children = [(call.surroundings.parameter(number), child) for number, child in enumerate(positional.children)]
    children += list(zip(call.kwargs, named.children, strict=True))
    for number, (name, child) in enumerate(children):
        count = child.leaf_count()
        dims = dynamic.get(name, dynamic.get(number)) if by_name else None
        for leaf in range(first, first + count):
            if isinstance(call.leaves[leaf], Tensor) and (not by_name or dims is not None):
                rank = len(call.leaves[leaf].shape)
                chosen = range(rank) if dims is None else [dims] if isinstance(dims, int) else list(dims)
                for dim in chosen:
                    if not -rank <= dim < rank:
                        raise ArgumentError(f"compile: dynamic names dim {dim} of {name}, which has {rank} dims")
                yield from ((leaf, dim % rank) for dim in chosen if by_name or call.leaves[leaf].shape[dim] > 1)
        first += count


def _check_names(dynamic: Mapping[Any, Any], call: Call) -> None:
    known = [call.surroundings.parameter(number) for number in range(len(call.args))]
    for name in dynamic:
        if name not in known and name not in call.kwargs and name not in range(len(known)):
            arguments = ", ".join([*known, *call.kwargs])
            raise ArgumentError(f"compile: dynamic names {name!r}, and the arguments are {arguments}")


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _keeps_a_size(structure: Any) -> bool:
    """Whether a tree has a size that may be any among its plain values: it would outlive the call."""
    if type(structure) is Symbolic:
        return True
    if isinstance(structure, Structure):
        token = getattr(structure.token, "value", structure.token)  # of values that are told by other data
        return any(map(_keeps_a_size, (*structure.children, token)))
    return isinstance(structure, tuple | list | frozenset) and any(map(_keeps_a_size, structure))


def checked_dynamic(dynamic: Any) -> Dynamic:
    """What `burn.compile(dynamic=...)` takes."""
    if dynamic is None or isinstance(dynamic, bool):
        return dynamic
    if isinstance(dynamic, Mapping) and all(
        isinstance(name, str | int)
        and (_is_int(dims) or (isinstance(dims, list | tuple | set | range) and all(map(_is_int, dims))))
        for name, dims in dynamic.items()
    ):
        return dict(dynamic)
    raise ArgumentError(
        f"compile: dynamic is {dynamic!r}; write True, False, or the dims that change by argument, such as "
        '{"x": 0} or {"x": [0, 1]}'
    )
