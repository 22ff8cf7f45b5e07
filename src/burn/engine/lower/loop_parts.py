"""What every loop is made of: arguments, addresses of elements, values of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from burn.cube import KernelBuilder
from burn.cube.ir import Buffer, Kernel, Value
from burn.dtype import DType, bool_, f64, u64
from burn.engine.lower.elements import computed
from burn.engine.lower.masks import Mask
from burn.engine.lower.recipe import Recipe
from burn.engine.schedule.access import Access, whole
from burn.engine.schedule.units import Schedule, Unit, is_mask
from burn.engine.target import tile_sizes
from burn.program.program import Constant, Node, Program, Scalar

JUMP = {"load": 4.0, "store": 6.0}
"""What an access costs in a lane whose neighbours are not its neighbours in memory, in operations."""

OUTER = 40.0
"""What an iteration of the grid costs before its first lane, in operations."""

Dim = tuple[int, dict[tuple[str, int], int]]  # size, stride of each access


@dataclass
class Argument:
    """What a slot of a kernel holds: a buffer (at an offset), a size, or a number given at run time."""

    kind: str  # "buffer", "size", "scalar"
    value: int  # value number, the size itself, or the slot of the scalar
    offset: int = 0  # bytes
    dtype: DType | None = None
    written: bool = False


@dataclass
class Loop:
    """A kernel with its arguments, and how many iterations its grid has."""

    kernel: Kernel | Recipe
    arguments: list[Argument]
    extent: int
    grain: int
    label: str
    in_step: bool = False  # every element is read where it is written, so a result may overwrite an operand
    joins: bool = False  # operands are only put side by side
    repeats: bool = False  # some places are written by several iterations, with the same value
    kept: bool = True  # what it writes may stay from run to run, if small and made of inputs alone
    constant: Prepared | None = None

    def loops(self) -> list[Loop]:
        """Every kernel that may run in its place."""
        return [self] if self.constant is None else [self, self.constant.pack, self.constant.call]


@dataclass
class Prepared:
    """How a kernel runs when an operand is the same as in the run before: the operand packed once, then read so."""

    pack: Loop
    call: Loop


class LoopParts:
    """A loop under construction: what it reads, writes and computes."""

    def __init__(self, program: Program, schedule: Schedule, unit: Unit) -> None:
        self.program, self.schedule, self.unit = program, schedule, unit
        self.b = KernelBuilder()
        self.arguments: list[Argument] = []
        self.nodes = [program.nodes[position] for position in unit.nodes]
        self.made = {number: node for node in self.nodes for number in node.results}
        self.views = {
            number: schedule.row_views[number]
            for node in self.nodes
            for number in node.reads()
            if number in schedule.row_views and schedule.row_views[number] in self.made
        }
        self.draws = {
            node.results[0]: whole(node.results[0], unit.shape) for node in self.nodes if is_mask(program, node)
        }
        self.masks: dict[int, Mask] = {}
        self.loads: dict[int, Access] = {}
        self.stores: dict[int, Access] = {}
        self._collect()
        self.buffers: dict[Any, Any] = {}
        self.sizes: dict[int, Value] = {}
        self.scalars: dict[Any, Value] = {}
        self.rows: dict[int, Value] = {}
        self.inner_dims: list[tuple[Value, dict[Any, Any]]] = []  # of a row that is not one run of memory
        self.kept: dict[int, Buffer] = {}  # values of a row that a later pass needs again
        self.held: set[int] = set()  # those of them that a pass has written

    def _computing(self) -> list[Node]:
        """The nodes that are computed here, and not read from what another kernel made of them."""
        return self.nodes

    def _collect(self) -> None:
        shape = self.unit.shape
        for node in self._computing():
            for number in node.reads():
                if number in self.made or number in self.views or number in self.schedule.constants:
                    continue
                access = self.schedule.accesses[number]
                self.loads[number] = access.broadcast(shape)
        for number in self.made:
            if number in self.schedule.stored:
                own = whole(number, tuple(self.program.values[number].shape))
                self.stores[number] = own.broadcast(shape)

    # Geometry

    def _merged(self, dims: range) -> list[Dim]:
        """The dims in `dims` as few loops: (size, stride of each access)."""
        everything = {
            (kind, number): access
            for kind, each in (("load", self.loads), ("store", self.stores), ("draw", self.draws))
            for number, access in each.items()
        }
        merged: list[Dim] = []
        for dim in dims:
            size = self.unit.shape[dim]
            if size == 1:
                continue
            strides = {key: access.strides[dim] for key, access in everything.items()}
            if merged:
                outer_size, outer = merged[-1]
                if all(outer[key] == strides[key] * size for key in strides):
                    merged[-1] = (outer_size * size, strides)
                    continue
            merged.append((size, strides))
        return merged

    def _lanes_last(self, dims: list[Dim]) -> list[Dim]:
        """The dim along which lanes run best, last: long, with few accesses that jump. Draws go in order."""
        if self.draws:
            return dims

        def cost(dim: Dim) -> float:
            size, strides = dim
            jumps = sum(JUMP[kind] for (kind, _), stride in strides.items() if stride not in (0, 1))
            return jumps + OUTER / max(size, 1)

        best = min(reversed(range(len(dims))), key=lambda position: cost(dims[position]), default=0)
        return [*dims[:best], *dims[best + 1 :], *dims[best : best + 1]]

    def _size(self, value: int) -> Value:
        """A size or stride as an argument of the kernel (equal ones need not share a slot)."""
        self.arguments.append(Argument("size", value))
        return self.b.size()

    def _buffer(self, key: tuple[str, int]) -> Any:
        found = self.buffers.get(key)
        if found is None:
            kind, number = key
            access = (self.loads if kind == "load" else self.stores)[number]
            dtype = self.program.values[number].dtype
            found = self.buffers[key] = self.b.buffer(dtype, write=kind == "store")
            self.arguments.append(Argument("buffer", access.value, access.offset * dtype.size, written=kind == "store"))
        return found

    def _declare_scalars(self) -> None:
        for node in self.nodes:
            if node.results[0] in self.draws:
                continue
            for operand in node.operands:
                if isinstance(operand, Scalar):
                    self._scalar(operand, self._operand_dtype(node))

    def _scalar(self, operand: Scalar, dtype: DType) -> Value:
        """A number given at run time."""
        key = (operand.slot, dtype)
        if key not in self.scalars:
            self.scalars[key] = self.b.scalar(dtype)
            self.arguments.append(Argument("scalar", operand.slot, dtype=dtype))
        return self.scalars[key]

    # Draws

    def _declare_draws(self, length: int) -> None:
        """What each draw needs, if an iteration of the grid reads `length` elements of it."""
        room = max(tile_sizes().shortest_kept, 1 << max(length - 1, 0).bit_length())
        for number in self.draws:
            seed, offset, probability = self.made[number].operands[:3]
            given = (self._given(seed, u64), self._given(offset, u64), self._given(probability, f64))
            self.masks[number] = Mask(self.b, self.program.values[number].dtype, room, *given)

    def _given(self, operand: Any, dtype: DType) -> Value:
        if isinstance(operand, Scalar):
            return self._scalar(operand, dtype)
        assert isinstance(operand, Constant)
        return self.b.const(dtype, operand.value)

    def _draw(self, bases: dict[Any, Any], length: Value) -> None:
        """Draw what one iteration reads."""
        for number, mask in self.masks.items():
            mask.begin(bases.get(("draw", number), 0), length)

    def _operand_dtype(self, node: Node) -> DType:
        """The dtype in which a node computes: that of its first tensor operand."""
        for number in node.reads():
            return computed(self.program.values[number].dtype)
        return computed(self.program.values[node.results[0]].dtype)

    # Indices

    def _outer_sizes(self, outer: list[Any]) -> list[tuple[Value, dict[Any, Any]]]:
        """The sizes and strides of the outer dims as arguments."""
        return [(self._size(size), self._strides(strides)) for size, strides in outer]

    def _strides(self, strides: dict[tuple[str, int], int]) -> dict[tuple[str, int], Any]:
        """Strides of 0 and 1 are part of the kernel, others are arguments."""
        return {key: stride if stride in (0, 1) else self._size(stride) for key, stride in strides.items()}

    def _bases(self, i: Value, outer: list[Any], decomposed: list[Any]) -> dict[tuple[str, int], Any]:
        """Where each access of an outer iteration begins."""
        keys = [*(("load", n) for n in self.loads), *(("store", n) for n in self.stores)]
        keys += [("draw", n) for n in self.draws]
        bases: dict[tuple[str, int], Any] = dict.fromkeys(keys, 0)
        rest = i
        for position in range(len(outer) - 1, -1, -1):
            size, strides = decomposed[position]
            index = rest if position == 0 else rest % size
            if position:
                rest = rest // size
            for key in keys:
                bases[key] = self._plus(bases[key], self._times(index, strides[key]))
        return bases

    def _times(self, index: Any, stride: Any) -> Any:
        if isinstance(stride, int):
            return 0 if stride == 0 else index if stride == 1 else index * stride
        return index * stride

    def _plus(self, x: Any, y: Any) -> Any:
        if isinstance(x, int) and x == 0:
            return y
        return x if isinstance(y, int) and y == 0 else x + y

    def _index(self, key: tuple[str, int], bases: dict[Any, Any], steps: dict[Any, Any], j: Value | None) -> Any:
        base = bases.get(key, 0)
        if j is None:
            return base
        if not self.inner_dims:
            return self._plus(base, self._times(j, steps.get(key, 0)))
        rest = j
        for position in range(len(self.inner_dims) - 1, -1, -1):
            size, strides = self.inner_dims[position]
            index = rest if position == 0 else rest % size
            if position:
                rest = rest // size
            base = self._plus(base, self._times(index, strides[key]))
        return base

    def _element(self, bases: dict[Any, Any], steps: dict[Any, Any], j: Value) -> None:
        known: dict[int, Value] = {}
        for node in self.nodes:
            self._value(node.results[0], bases, steps, j, known)
        for number in self.stores:
            index = self._index(("store", number), bases, steps, j)
            self.b.store(self._buffer(("store", number)), index, known[number])

    def _value(self, number: int, bases: Any, steps: Any, j: Value | None, known: dict[int, Value]) -> Value:
        """A value at lane `j` (or of the row): computed, loaded, or known already, with everything it is made of."""

        def found(number: int) -> Value | None:
            number = self.views.get(number, number)
            return self.rows[number] if number in self.rows else known.get(number)

        waiting = [number]
        while waiting:
            current = self.views.get(waiting[-1], waiting[-1])
            node = self.made.get(current)
            if found(current) is not None:
                waiting.pop()
            elif current in self.masks and j is not None:
                known[current] = self.masks[current].at(j)
            elif current in self.held and j is not None:
                known[current] = self.b.load(self.kept[current], j)
            elif node is None:
                index = self._index(("load", current), bases, steps, j)
                known[current] = self.b.load(self._buffer(("load", current)), index)
            else:
                missing = [n for n in node.reads() if n not in self.schedule.constants and found(n) is None]
                if missing:
                    waiting += reversed(missing)
                else:
                    known[current] = self._apply(node, found)
        value = found(number)
        assert value is not None
        return value

    def _apply(self, node: Node, read: Any) -> Value:
        """The code of one node, its operands read by `read`."""
        dtype = self._operand_dtype(node)
        operands: list[Any] = []
        for operand in node.operands:
            if isinstance(operand, int) and operand in self.schedule.constants:
                held = computed(self.program.values[operand].dtype)
                operands.append(self.b.const(held, self.schedule.constants[operand].value))
            elif isinstance(operand, int):
                operands.append(read(operand))
            elif isinstance(operand, Scalar):
                operands.append(self.scalars[operand.slot, dtype])
            else:
                assert isinstance(operand, Constant)
                operands.append(self.b.const(dtype, operand.value))
        assert node.op.element is not None
        value: Value = node.op.element(self.b, *operands, *node.attributes)
        wanted = computed(self.program.values[node.results[0]].dtype)
        assert value.dtype is wanted or wanted is bool_, f"{node.op.name}: {value.dtype} is not {wanted}"
        return value
