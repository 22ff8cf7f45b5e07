"""Units of work: which nodes share a loop, and when it runs.

Time is counted in steps: what a unit makes is there for units of later steps, and inside a loop a
value is there at once. Elementwise nodes of one step and one shape that are connected by values share
a loop. A reduction along the trailing dims shares it too: its result is one number per row, known to
the rest of the same row (softmax and layer norm become one loop). Everything else (matmul, a
reduction along other dims, an operation without a kernel) is a unit of its own. A random mask that only
elementwise nodes of its shape read is drawn in their loop.

Nodes are first placed as early as they can run; then elementwise nodes sink to the loops that read
them, so that `m * b1` is computed where the optimizer's update needs it and not in a loop of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from burn.classes import dataclass
from burn.dtype import bool_, f32, i32, i64
from burn.engine.schedule.access import Access, viewed, whole
from burn.engine.schedule.images import is_last
from burn.engine.target import computes
from burn.ops.op import Op
from burn.program.periods import period_of
from burn.program.program import Constant, Node, Program
from burn.symbolic import alike

MOST_NODES = 256
"""Nodes that one loop computes, counted in each of its passes. Compiling takes longer than in proportion to them."""

LONG = 16
"""The code of a costly operation is as long as that of so many others."""


Shape = tuple[int, ...]
LoopKey = tuple[int, Shape]


@dataclass
class Unit:
    """Nodes that run together. `rows` is the number of leading dims over which a row loop goes, if any."""

    kind: str  # "loop", "column" or "call"
    step: int
    shape: Shape
    nodes: list[int] = field(default_factory=list)
    rows: int | None = None


@dataclass
class Schedule:
    """Units in the order in which they run, how each value is read, and which values need memory."""

    units: list[Unit]
    accesses: dict[int, Access]
    constants: dict[int, Constant]
    stored: set[int]
    row_values: set[int]
    row_views: dict[int, int]


def is_map(op: Op) -> bool:
    """Whether an operation works element by element."""
    return op.group == "elementwise"


def is_mask(program: Program, node: Node) -> bool:
    """Whether a node is a draw, in row-major order, that a loop can hold."""
    if node.op.name != "random_bernoulli" or is_last(node):
        return False
    dtype = program.values[node.results[0]].dtype
    return dtype in (f32, i32, i64, bool_) and computes(dtype)


def trailing_split(shape: Shape, dims: tuple[int, ...]) -> int | None:
    """The number of leading dims if `dims` are the trailing ones (dims of size 1 count for nothing)."""
    split = len(shape)
    while split > 0 and (split - 1 in dims or shape[split - 1] == 1):
        split -= 1
    long = [dim for dim in dims if shape[dim] != 1]
    return split if long and all(dim >= split for dim in long) else None


class Scheduler:
    """Assigns every node of a program to a unit."""

    def __init__(self, program: Program, fits: Callable[[Program, Node], bool]) -> None:
        self.program = program
        self.fits = fits
        self.uses = program.uses()
        self.kinds: list[str] = []  # of each node: constant, view, row view, map, row, column, call
        self.step: dict[int, int] = {}  # the step in which a value is made; inputs: -1
        self.home: dict[int, Shape] = {}  # the shape of the loop in which a value is made
        self.row_values: set[int] = set()
        self.row_views: dict[int, int] = {}  # a row's number repeated along the row → that number
        self.splits: dict[LoopKey, int] = {}
        self.accesses: dict[int, Access] = {}
        self.constants: dict[int, Constant] = {}
        self.stored: set[int] = set()

    def schedule(self) -> Schedule:
        """Place every node early, sink what can wait, then gather the units."""
        program = self.program
        for number in range(program.inputs):
            self.step[number] = -1
            self.accesses[number] = whole(number, tuple(program.values[number].shape))
        for node in program.nodes:
            self.kinds.append(self._place(node))
        self._sink()
        self._find_stored()
        units = self._loops()
        units += [
            Unit(kind, self.step[node.results[0]], self._source_shape(node), [position])
            for position, (node, kind) in enumerate(zip(program.nodes, self.kinds, strict=True))
            if kind in ("column", "call")
        ]
        units.sort(key=lambda unit: (unit.step, unit.nodes[0]))
        return Schedule(units, self.accesses, self.constants, self.stored, self.row_values, self.row_views)

    def _source_shape(self, node: Node) -> Shape:
        first = node.operands[0] if node.operands else None
        return tuple(self.program.values[first if isinstance(first, int) else node.results[0]].shape)

    # As early as possible

    def _place(self, node: Node) -> str:
        name = node.op.name
        if name == "full" and isinstance(node.operands[0], Constant):
            self.constants[node.results[0]] = node.operands[0]
            return "constant"
        if node.op.group == "view":
            kind = self._place_view(node)
            if kind is not None:
                return kind
        if is_mask(self.program, node) and self._joins_readers(node):
            return self._place_map(node)
        if self.fits(self.program, node):
            if is_map(node.op):
                return self._place_map(node)
            return self._place_reduction(node)
        return self._place_call(node)

    def _joins_readers(self, node: Node) -> bool:
        """Whether everything that reads a draw is elementwise and of its shape."""
        shape = self.program.values[node.results[0]].shape
        readers = [self.program.nodes[position] for position in self.uses[node.results[0]]]
        joining = [
            is_map(reader.op)
            and self.fits(self.program, reader)
            and alike(self.program.values[reader.results[0]].shape, shape)
            for reader in readers
        ]
        return bool(joining) and all(joining)

    def _place_view(self, node: Node) -> str | None:
        source, result = node.operands[0], node.results[0]
        shape = tuple(self.program.values[result].shape)
        assert isinstance(source, int)
        if source in self.constants:
            self.constants[result] = self.constants[source]
            return "constant"
        if source in self.row_values and node.op.name == "expand" and alike(shape, self.home[source]):
            self.row_values.add(result)
            self.row_views[result] = source
            self.home[result], self.step[result] = shape, self.step[source]
            return "row view"
        access = viewed(node, self._access(source), shape)
        if access is None:
            return None
        self.accesses[result] = access
        self.step[result] = self.step[source]
        return "view"

    def _access(self, number: int) -> Access:
        found = self.accesses.get(number)
        if found is None:
            shape = tuple(self.program.values[number].shape)
            if number in self.row_views:  # read by another loop: from the memory of the number itself
                found = self._access(self.row_views[number]).broadcast(shape)
            else:
                found = whole(number, shape)
            self.accesses[number] = found
        return found

    def _ready(self, number: int, home: Shape | None) -> int:
        """The first step in which a loop of shape `home` (or another unit) can read a value."""
        if number in self.constants:
            return 0
        return self.step[number] if home is not None and alike(self.home.get(number), home) else self.step[number] + 1

    def _place_map(self, node: Node) -> str:
        result = node.results[0]
        shape = tuple(self.program.values[result].shape)
        rows = self._rows_of(node, shape)
        if rows is not None:
            home, split = rows
            step = max(self._ready(number, home) for number in node.reads())
            if self.splits.get((step, home)) == split:  # a later loop of this shape may have other rows
                self.row_values.add(result)
                self.home[result], self.step[result] = home, step
                return "row"
        self.home[result] = shape
        self.step[result] = max([self._ready(number, shape) for number in node.reads()], default=0)
        return "map"

    def _rows_of(self, node: Node, shape: Shape) -> tuple[Shape, int] | None:
        """The shape of the loop whose rows a node works on, and its leading dims, if it works on rows."""
        for number in node.reads():
            if number in self.row_values:
                home = self.home[number]
                split = self.splits.get((self.step[number], home))
                rows = (*home[:split], *(1 for _ in home[split:]))
                if split is not None and alike(shape, rows) and not alike(rows, home):
                    return home, split
        return None

    def _place_reduction(self, node: Node) -> str:
        source, result = node.operands[0], node.results[0]
        assert isinstance(source, int)
        shape = tuple(self.program.values[source].shape)
        (dims,) = node.attributes
        if source in self.constants or all(shape[dim] == 1 for dim in dims) or 0 in shape:
            return self._place_call(node)
        split = trailing_split(shape, dims)
        if split is None:
            self.step[result] = self._ready(source, None)
            return "column"
        step = self._ready(source, shape) if source not in self.row_values else self._ready(source, None)
        while self.splits.get((step, shape), split) != split:
            step += 1
        self.splits[step, shape] = split
        self.row_values.add(result)
        self.home[result], self.step[result] = shape, step
        return "row"

    def _place_call(self, node: Node) -> str:
        step = max([self._ready(number, None) for number in node.reads()], default=0)
        for result in node.results:
            self.step[result] = step
        return "call"

    # As late as useful

    def _sink(self) -> None:
        """Move a map that is only read by loops of its own shape to the first of them."""
        program = self.program
        uses = self.uses
        outputs = set(program.outputs)
        for position in range(len(program.nodes) - 1, -1, -1):
            if self.kinds[position] != "map":
                continue
            result = program.nodes[position].results[0]
            readers = uses[result]
            if result in outputs or not readers:
                continue
            if all(alike(self._loop_of_reader(reader), self.home[result]) for reader in readers):
                self.step[result] = min(self.step[program.nodes[reader].results[0]] for reader in readers)

    def _loop_of_reader(self, position: int) -> Shape | None:
        if self.kinds[position] not in ("map", "row"):
            return None
        return self.home[self.program.nodes[position].results[0]]

    # What needs memory

    def _key(self, number: int) -> LoopKey | None:
        """The loop in which a value is made; None for inputs, views and the results of calls."""
        return (self.step[number], self.home[number]) if number in self.home else None

    def _find_stored(self) -> None:
        program = self.program
        for node, kind in zip(program.nodes, self.kinds, strict=True):
            if kind == "view":
                self.stored.add(self.accesses[node.results[0]].value)
            elif kind in ("call", "column"):
                self.stored.update(node.results)
                self._store_all(node.reads())
            elif kind in ("map", "row"):
                key = self._key(node.results[0])
                self._store_all([number for number in node.reads() if self._key(number) != key])
        self._store_all(list(program.outputs))
        self.stored.update(number for number in program.outputs if number not in self.constants)

    def _store_all(self, numbers: list[int]) -> None:
        for number in numbers:
            if number not in self.constants:
                self.stored.add(self._access(number).value)

    # Loops

    def _loops(self) -> list[Unit]:
        """The nodes of each (step, shape), split into parts that no value connects."""
        members: dict[LoopKey, list[int]] = {}
        for position, (node, kind) in enumerate(zip(self.program.nodes, self.kinds, strict=True)):
            if kind in ("map", "row"):
                key = self._key(node.results[0])
                assert key is not None
                members.setdefault(key, []).append(position)
        units = []
        for (step, shape), nodes in members.items():
            for part in self._parts(nodes, (step, shape)):
                for piece in self._pieces(part):
                    rows = any(self.kinds[position] == "row" for position in piece)
                    units.append(Unit("loop", step, shape, piece, self.splits[step, shape] if rows else None))
        return units

    def _pieces(self, part: list[int]) -> list[list[int]]:
        """A loop of more nodes than compile in good time as several, one after the other."""
        has_rows = any(self.kinds[position] == "row" for position in part)
        pieces = self._by_passes(part) if has_rows else self._by_weight(part)
        made: set[int] = set()
        for piece in pieces[1:] and pieces:
            for position in piece:
                reads = self.program.nodes[position].reads()
                self._store_all([number for number in reads if self.row_views.get(number, number) in made])
            made.update(number for position in piece for number in self.program.nodes[position].results)
        return pieces

    def _weight(self, position: int) -> int:
        return LONG if self.program.nodes[position].op.is_costly else 1

    def _by_weight(self, part: list[int]) -> list[list[int]]:
        """Pieces of a loop without reductions. What repeats itself is cut in the same places: kernels are equal."""
        weights = [self._weight(position) for position in part]
        if sum(weights) <= MOST_NODES:
            return [part]
        period = period_of([self.program.nodes[position].op for position in part])
        cycle = period * max(1, MOST_NODES // sum(weights[-period:])) if period else len(part)
        pieces: list[list[int]] = []
        total = 0
        for index, (position, weight) in enumerate(zip(part, weights, strict=True)):
            if index % cycle == 0 or total + weight > MOST_NODES:
                pieces.append([])
                total = 0
            pieces[-1].append(position)
            total += weight
        return pieces

    def _by_passes(self, part: list[int]) -> list[list[int]]:
        """Pieces of a loop with reductions, each of which is a pass that computes what it reads."""
        pieces: list[list[int]] = [[]]
        behind: dict[int, int] = {}  # what a piece makes → the nodes that a pass computes for it, at most
        total = whole = 0
        for position in part:
            node = self.program.nodes[position]
            known = behind.keys() & set(node.reads())
            weight = self._weight(position)
            needed = min(weight + sum(behind[number] for number in known), whole + weight)
            cost = needed if node.op.group == "reduction" else weight
            if pieces[-1] and total + cost > MOST_NODES:
                pieces.append([])
                behind, total, whole, needed, cost = {}, 0, 0, weight, weight
            pieces[-1].append(position)
            total, whole = total + cost, whole + weight
            is_row = self.kinds[position] == "row"
            behind.update((number, 0 if is_row else needed) for number in node.results)
        return pieces

    def _parts(self, nodes: list[int], key: LoopKey) -> list[list[int]]:
        program = self.program
        parent = {position: position for position in nodes}

        def find(position: int) -> int:
            while parent[position] != position:
                parent[position] = parent[parent[position]]  # shorter paths, or long chains take for ever
                position = parent[position]
            return position

        maker = {number: position for position in nodes for number in program.nodes[position].results}
        readers: dict[int, int] = {}
        for position in nodes:
            for number in program.nodes[position].reads():
                other = maker.get(self.row_views.get(number, number))
                if other is None:
                    if number in self.constants:
                        continue
                    other = readers.setdefault(self._access(number).value, position)
                parent[find(other)] = find(position)
        parts: dict[int, list[int]] = {}
        for position in nodes:
            parts.setdefault(find(position), []).append(position)
        return list(parts.values())
