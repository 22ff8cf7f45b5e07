"""What every loop is made of: arguments, addresses of elements, values of nodes."""

from __future__ import annotations

from typing import Any

from burn.cube.ir import Buffer, Value
from burn.dtype import DType, bool_, f32, f64, i64, u64
from burn.engine.lower.elements import computed
from burn.engine.lower.loop import Argument
from burn.engine.lower.masks import Mask
from burn.engine.lower.writer import Dim, KernelWriter, Steps, merged, plus, times
from burn.engine.schedule.access import Access, whole
from burn.engine.schedule.units import Schedule, Unit, is_mask
from burn.engine.target import target, tile_sizes
from burn.program.program import Constant, Node, Program, Scalar
from burn.symbolic import is_symbolic, likely, room

Key = tuple[str, int]  # "load", "store" or "draw", and the number of a value


class LoopParts(KernelWriter):
    """A loop under construction: what it reads, writes and computes."""

    def __init__(self, program: Program, schedule: Schedule, unit: Unit) -> None:
        super().__init__(program, schedule)
        self.unit = unit
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
        self.scalars: dict[Any, Value] = {}
        self.row_results: dict[int, Value] = {}
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

    def _accesses(self) -> dict[Key, Access]:
        """Everything that is walked through with the loop."""
        kinds = (("load", self.loads), ("store", self.stores), ("draw", self.draws))
        return {(kind, number): access for kind, each in kinds for number, access in each.items()}

    def _merged(self, dims: range) -> list[Dim]:
        """The dims in `dims` as few loops."""
        strides = {key: access.strides[dims.start : dims.stop] for key, access in self._accesses().items()}
        return merged(self.unit.shape[dims.start : dims.stop], strides)

    def _lanes_last(self, dims: list[Dim]) -> list[Dim]:
        """The dim along which lanes run best, last: long, with few accesses that jump. Draws go in order."""
        if self.draws:
            return dims

        costs = target().costs
        apart = {"load": costs.load_apart, "store": costs.store_apart}

        def cost(dim: Dim) -> float:
            size, strides = dim
            jumps = sum(apart[kind] for (kind, _), stride in strides.items() if stride not in (0, 1))
            return jumps + costs.iteration / max(likely(size), 1)

        best = min(reversed(range(len(dims))), key=lambda position: cost(dims[position]), default=0)
        return [*dims[:best], *dims[best + 1 :], *dims[best : best + 1]]

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

    def _constant(self, operand: Constant, dtype: DType) -> Value:
        """A number of the program; a size is an argument, since it may be another one."""
        if is_symbolic((operand.value,)) and dtype in (f32, f64, i64):
            return self.b.cast(self.size(operand.value), dtype)
        return self.b.const(dtype, operand.value)

    # Draws

    def _declare_draws(self, length: int) -> None:
        """What each draw needs, if an iteration of the grid reads `length` elements of it."""
        for number in self.draws:
            kept = room(length, tile_sizes().shortest_kept)
            seed, offset, probability = self.made[number].operands[:3]
            given = (self._given(seed, u64), self._given(offset, u64), self._given(probability, f64))
            self.masks[number] = Mask(self.b, self.program.values[number].dtype, kept, *given)

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

    def _bases(self, i: Value, outer: list[tuple[Value, Steps]]) -> Steps:
        """Where each access of an outer iteration begins."""
        return {**dict.fromkeys(self._accesses(), 0), **self.bases(i, outer)}

    def _index(self, key: tuple[str, int], bases: dict[Any, Any], steps: dict[Any, Any], j: Value | None) -> Any:
        base = bases.get(key, 0)
        if j is None:
            return base
        if not self.inner_dims:
            return plus(base, times(j, steps.get(key, 0)))
        return self.position(j, self.inner_dims, key, base)

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
            return self.row_results[number] if number in self.row_results else known.get(number)

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
                operands.append(self._constant(operand, dtype))
        assert node.op.element is not None
        value: Value = node.op.element(self.b, *operands, *node.attributes)
        wanted = computed(self.program.values[node.results[0]].dtype)
        assert value.dtype is wanted or wanted is bool_, f"{node.op.name}: {value.dtype} is not {wanted}"
        return value
