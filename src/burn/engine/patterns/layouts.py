"""Layouts: images stay channels-last between convolutions.

Our convolutions want the channels of an image next to each other. This pass rewrites a program so
that they are: a convolution makes a value of the shape (batch, *spatial, channels), row-major as every
value, and what follows it (elementwise operations, reductions, slices, pooling) is done on that value,
with its operands and dims permuted. Whoever needs the logical order reads a `permute`, which is a view;
nothing else in the engine knows about layouts.

Elementwise operations with one number a channel need a word more. If there are few channels, rows of
them are too short to be worth a loop: such operands are repeated along the last spatial dim first, which
costs a row, and the loop runs over whole rows of pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from burn.engine.lower.draws_last import DRAWS, is_drawn_last
from burn.engine.lower.elements import fits_a_loop
from burn.engine.lower.pooling import BACKWARD, FORWARD, windows_of
from burn.engine.patterns.chains import Chain, ChainFinder
from burn.engine.patterns.convolutions import CONVOLUTIONS, shapes_of
from burn.engine.patterns.kernels import Kernels
from burn.engine.schedule.units import is_map
from burn.engine.target import computes, tile_sizes
from burn.ops.op import TABLE
from burn.program.fused import CHANNEL, CHANNELS_LAST, IMAGE, NUMBER, Epilogue, Fused, to_first, to_last
from burn.program.passes import Explanation
from burn.program.program import Constant, Node, Operand, Program, Value
from burn.shape import Shape

CALLS = frozenset(("attention", "matmul", *FORWARD, *BACKWARD))
"""Operations whose operands must have memory."""


def assign_layouts(program: Program, notes: Explanation, kernels: Kernels) -> Program:
    """Keep images channels-last where the program has convolutions; give kernels operands they can read."""
    return _Layouts(program, notes, kernels).run()


class _Layouts:
    def __init__(self, program: Program, notes: Explanation, kernels: Kernels) -> None:
        self.program, self.notes, self.kernels = program, notes, kernels
        self.uses = program.uses()
        self.producer = program.producer()
        self.convolutions = {
            position for position, node in enumerate(program.nodes) if kernels.convolution(program, node)
        }
        for position, node in enumerate(program.nodes):
            if node.op.name in CONVOLUTIONS and position not in self.convolutions:
                notes.decline("layouts", f"{node.op.name} {list(node.attributes)} has no kernel")
        self.values: list[Value] = list(program.values[: program.inputs])
        self.nodes: list[Node] = []
        self.plain: dict[int, int] = {number: number for number in range(program.inputs)}
        self.last: dict[int, int] = {}  # values in channels-last form
        self.native: set[int] = set()  # those made in it
        self.dense: set[int] = set()  # numbers of the new program that are no views
        self.constant: set[int] = set()
        self.made: dict[Any, int] = {}  # what was derived already
        self.chains: dict[int, Chain] = {}  # position of the last operation → the chain
        self._find_chains()
        self.chained = {position for chain in self.chains.values() for position in chain.positions}

    def run(self) -> Program:
        """Rewrite every node in order."""
        if not self.convolutions and not any(node.op.name in CALLS for node in self.program.nodes):
            return self.program
        fused = {*self.chained, *(chain.start for chain in self.chains.values())}
        fused.difference_update(self.chains)
        for position, node in enumerate(self.program.nodes):
            if position not in fused:
                self._rewrite(position, node)
        outputs = tuple(self._plain(number) for number in self.program.outputs)
        given = self.program
        return Program(tuple(self.values), given.inputs, given.scalars, tuple(self.nodes), outputs, given.names)

    # Nodes of the new program

    def _emit(
        self,
        op: Any,
        operands: tuple[Operand, ...],
        attributes: tuple[Any, ...],
        *made: Value,
        fused: Fused | None = None,
    ) -> int:
        if isinstance(op, str):
            op = TABLE[op]
        first = len(self.values)
        self.values.extend(made)
        self.nodes.append(Node(op, operands, attributes, tuple(range(first, len(self.values))), fused))
        if op.group != "view":
            self.dense.update(range(first, len(self.values)))
        return first

    def _derived(self, key: Any, op: str, source: int, attributes: tuple[Any, ...], shape: Any) -> int:
        """A node of one operand, made once."""
        key = (key, source)
        if key not in self.made:
            made = Value(Shape(shape), self.values[source].dtype)
            self.made[key] = self._emit(op, (source,), attributes, made)
        return self.made[key]

    def _permuted(self, source: int, axes: tuple[int, ...]) -> int:
        shape = self.values[source].shape
        return self._derived(("permute", axes), "permute", source, (axes,), [shape[axis] for axis in axes])

    def _copied(self, source: int) -> int:
        """The value in memory of its own: a loop that changes nothing, and that others may join."""
        value = self.values[source]
        return self._derived("copy", "cast", source, (value.dtype,), value.shape)

    def _plain(self, number: int) -> int:
        """A value of the old program in logical order."""
        if number not in self.plain:
            last = self.last[number]
            self.plain[number] = self._permuted(last, to_first(len(self.values[last].shape)))
        return self.plain[number]

    def _last(self, number: int) -> int:
        """A value of the old program in channels-last order."""
        if number not in self.last:
            plain = self.plain[number]
            self.last[number] = self._permuted(plain, to_last(len(self.values[plain].shape)))
        return self.last[number]

    def _image(self, number: int) -> int:
        """The same, in memory of its own and in order, as lanes want it."""
        last = self._last(number)
        in_order = last in self.dense
        if not in_order and number not in self.native and number not in self.constant:
            # One channel, or one pixel: both orders are the same memory.
            shape, plain = self.values[last].shape, self.plain[number]
            owned = plain in self.dense or plain < self.program.inputs
            in_order = owned and (shape[-1] == 1 or prod(shape[1:-1]) == 1)
        return last if in_order else self._copied(last)

    def _operand(self, operand: Operand) -> Operand:
        if isinstance(operand, int):
            return self._plain(operand)
        return tuple(self._plain(number) for number in operand) if isinstance(operand, tuple) else operand

    # Rules

    def _rewrite(self, position: int, node: Node) -> None:
        name = node.op.name
        if position in self.chains:
            self._chained(self.chains[position])
        elif position in self.convolutions:
            self._product(node, node.results[0])
        elif node.op.group == "reduction" and self._is_nothing(node):
            self._same(node.operands[0], node.results[0])
        elif self.convolutions and (name in FORWARD or name in BACKWARD) and self._pool(node):
            return
        elif name in DRAWS and self._is_mask(node):
            value = self._value_last(node.results[0])
            made = self._emit(node.op, node.operands, node.attributes, value, fused=Fused(CHANNELS_LAST))
            self._made_last(node.results[0], made)
        elif is_map(node.op) and fits_a_loop(self.program, node) and self._follows(node):
            self._map(node)
        elif node.op.group == "reduction" and fits_a_loop(self.program, node) and node.operands[0] in self.native:
            self._reduce(node)
        elif name in ("slice", "flip", "expand") and node.operands[0] in self.native and self._view(node):
            return
        elif name == "cat" and all(number in self.native for number in node.reads()):
            self._join(node)
        else:
            self._keep(node)

    def _is_nothing(self, node: Node) -> bool:
        """Whether a reduction has one element each to reduce, and leaves it as it is."""
        source = node.operands[0]
        assert isinstance(source, int)
        (dims,) = node.attributes
        value = self.program.values[source]
        same = node.op.element is None and value == self.program.values[node.results[0]]
        return same and all(value.shape[dim] == 1 for dim in dims)

    def _same(self, source: Operand, result: int) -> None:
        """Let one value stand for another."""
        assert isinstance(source, int)
        for forms in (self.plain, self.last):
            if source in forms:
                forms[result] = forms[source]
        for kind in (self.native, self.constant):
            if source in kind:
                kind.add(result)

    def _keep(self, node: Node) -> None:
        """The node as it is, on values in logical order."""
        is_number = node.op.name == "full" and isinstance(node.operands[0], Constant)
        if is_number or (node.op.group == "view" and node.operands[0] in self.constant):
            self.constant.update(node.results)
        place = self._memory if node.op.name in CALLS else self._plain
        operands = tuple(place(each) if isinstance(each, int) else self._operand(each) for each in node.operands)
        made = (self.program.values[n] for n in node.results)
        first = self._emit(node.op, operands, node.attributes, *made, fused=node.fused)
        self.plain.update(zip(node.results, range(first, first + len(node.results)), strict=True))

    def _made_last(self, number: int, made: int) -> None:
        self.last[number] = made
        self.native.add(number)

    def _value_last(self, number: int) -> Value:
        value = self.program.values[number]
        return Value(Shape(value.shape[axis] for axis in to_last(len(value.shape))), value.dtype)

    def _memory(self, number: int) -> int:
        """A value in logical order that has memory: constants are written out."""
        plain = self._plain(number)
        return self._copied(plain) if number in self.constant and computes(self.values[plain].dtype) else plain

    # Products

    def _find_chains(self) -> None:
        """What kernels of our own do to their results before they store them."""
        finder = ChainFinder(self.program)
        pools = [position for position, node in enumerate(self.program.nodes) if self._is_mean_gradient(node)]
        products = {
            position for position, node in enumerate(self.program.nodes) if self.kernels.product(self.program, node)
        }
        images = {each for each in self.convolutions if self.program.nodes[each].op.name != "conv_weight_backward"}
        for position in sorted([*images, *pools, *products]):
            own = position in products
            chain = finder.find(position, -1 if own else 1, branches=position not in pools)
            if chain is not None:
                self.chains[chain.last] = chain

    def _is_mean_gradient(self, node: Node) -> bool:
        """Whether a node is a gradient of means that has a kernel, which can do more."""
        means = node.op.name in BACKWARD and node.op.name != "max_pool_backward"
        return means and bool(self.convolutions) and windows_of(self.program, node, self.producer) is not None

    def _chained(self, chain: Chain) -> None:
        """A node with the operations that follow it."""
        node, result = self.program.nodes[chain.start], self.program.nodes[chain.last].results[0]
        image = self._memory if node.op.name == "matmul" else self._image
        place: dict[str, Any] = {IMAGE: image, CHANNEL: self._memory, NUMBER: self._memory}
        extra = [place[kind](given) if isinstance(given, int) else given for given, kind in chain.collector.operands]
        epilogue = chain.collector.finish()
        if node.op.name in BACKWARD:
            assert isinstance(node.operands[0], int)
            operands = (self._image(node.operands[0]), *extra)
            value, fused = self._value_last(result), Fused(CHANNELS_LAST, epilogue)
            self._made_last(result, self._emit(node.op, operands, node.attributes, value, fused=fused))
        else:
            self._product(node, result, extra, epilogue)

    def _product(
        self,
        node: Node,
        result: int,
        extra: Sequence[Operand] = (),
        epilogue: Epilogue | None = None,
    ) -> None:
        first, second = node.operands[:2]
        assert isinstance(first, int)
        assert isinstance(second, int)
        if node.op.name == "matmul":
            operands = (self._memory(first), self._memory(second), *extra)
            fused = None if epilogue is None else Fused(epilogue=epilogue)
            made = self.program.values[result]
            self.plain[result] = self._emit(node.op, operands, node.attributes, made, fused=fused)
            return
        fused = Fused(CHANNELS_LAST, epilogue)
        if node.op.name == "conv_weight_backward":
            image = self._last(first) if self._reads_anyhow(node, first) else self._image(first)
            operands = (image, self._image(second))
            made = self.program.values[result]
            self.plain[result] = self._emit(node.op, operands, node.attributes, made, fused=fused)
        else:
            image = self._last(first) if self._reads_anyhow(node, first) else self._image(first)
            operands = (image, self._memory(second), *extra)
            made = self._value_last(result)
            self._made_last(result, self._emit(node.op, operands, node.attributes, made, fused=fused))

    def _reads_anyhow(self, node: Node, image: int) -> bool:
        """Whether a convolution reads its image in any order: lanes do not go through it."""
        if image in self.constant:
            return False
        return self.kernels.reads_in_any_order(node.op.name, *shapes_of(node, self.program.values), node.attributes)

    # Pooling

    def _pool(self, node: Node) -> bool:
        if windows_of(self.program, node, self.producer) is None:
            return False
        if node.op.name == "max_pool_backward" and node.operands[1] not in self.native:
            return False
        smaller = node.op.name in BACKWARD  # than the result: a copy costs less than reading across memory
        operands = tuple(
            self._image(number) if smaller or number in self.constant else self._last(number) for number in node.reads()
        )
        made = [self._value_last(number) for number in node.results]
        first = self._emit(node.op, operands, node.attributes, *made, fused=Fused(CHANNELS_LAST))
        for offset, number in enumerate(node.results):
            self._made_last(number, first + offset)
        return True

    # Draws

    def _is_mask(self, node: Node) -> bool:
        """Whether a draw is read by kernels as an image, and can be made as one."""
        number = node.results[0]
        value = self.program.values[number]
        read = not self.chained.isdisjoint(self.uses[number])
        return read and is_drawn_last(value)

    # Elementwise

    def _follows(self, node: Node) -> bool:
        """Whether an operand with the shape of the result is channels-last."""
        shape = self.program.values[node.results[0]].shape
        return any(number in self.native and self.program.values[number].shape == shape for number in node.reads())

    def _map(self, node: Node) -> None:
        result = self._value_last(node.results[0])
        operands = tuple(
            self._map_operand(operand, result.shape) if isinstance(operand, int) else operand
            for operand in node.operands
        )
        self._made_last(node.results[0], self._emit(node.op, operands, node.attributes, result))

    def _map_operand(self, number: int, shape: Shape) -> int:
        rank = len(shape)
        number = self._unexpanded(number, rank)
        value = self.program.values[number]
        if value.shape.num_elements() == 1 and number in self.plain:
            return self.plain[number]
        if len(value.shape) == rank:
            last = self._last(number)
        else:
            plain = self._plain(number)
            full = (1,) * (rank - len(value.shape)) + tuple(value.shape)
            last = self._permuted(self._derived(("reshape", full), "reshape", plain, (full,), full), to_last(rank))
        return self._repeated(last, shape) if number not in self.constant else last

    def _unexpanded(self, number: int, rank: int) -> int:
        """What a repeated operand was repeated from: the loop repeats it for nothing."""
        maker = self.producer.get(number)
        node = self.program.nodes[maker] if maker is not None else None
        if node is None or node.op.name != "expand" or not isinstance(node.operands[0], int):
            return number
        return node.operands[0] if number not in self.constant else number

    def _repeated(self, last: int, shape: Shape) -> int:
        """One number a channel, repeated along the last spatial dim if channels are few."""
        value, channels, width = self.values[last], shape[-1], shape[-2]
        alone = value.shape[-1] == channels and value.shape.num_elements() == channels
        if (
            not alone
            or channels > tile_sizes().few_channels
            or channels == 1
            or width == 1
            or prod(shape) < tile_sizes().several_units
        ):
            return last
        row = (*(1 for _ in shape[:-2]), width, channels)
        return self._copied(self._derived(("expand", row), "expand", last, (row,), row))

    # Reductions and views

    def _reduce(self, node: Node) -> None:
        source, result = node.operands[0], node.results[0]
        assert isinstance(source, int)
        rank = len(self.program.values[source].shape)
        (dims,) = node.attributes
        current = self._last(source)
        dtype = self.program.values[result].dtype
        places = tuple(sorted(to_last(rank).index(dim % rank) for dim in dims))
        shape = list(self.values[current].shape)
        stages = [places]
        if (
            places == tuple(range(rank - 1))
            and shape[0] > 1
            and prod(shape) >= tile_sizes().several_units
            and shape[-1] > 1
        ):
            stages = [tuple(range(1, rank - 2)) or (rank - 2,), (0,), (rank - 2,)] if rank > 3 else [(1,), (0,)]
            stages = [stage for stage in stages if any(shape[place] > 1 for place in stage)]
        for stage in stages:
            for place in stage:
                shape[place] = 1
            current = self._emit(node.op, (current,), (stage,), Value(Shape(shape), dtype))
        self._made_last(result, current)

    def _join(self, node: Node) -> None:
        """Images side by side."""
        (dim,), result = node.attributes, self._value_last(node.results[0])
        parts = tuple(self._last(number) for number in node.reads())
        place = to_last(len(result.shape)).index(dim % len(result.shape))
        self._made_last(node.results[0], self._emit(node.op, (parts,), (place,), result))

    def _view(self, node: Node) -> bool:
        source, result = node.operands[0], node.results[0]
        assert isinstance(source, int)
        rank = len(self.program.values[source].shape)
        made = self.program.values[result]
        if len(made.shape) != rank:
            return False
        order = to_last(rank)
        (given,) = node.attributes
        if node.op.name == "slice":
            attribute: Any = tuple(given[axis] for axis in order)
        elif node.op.name == "flip":
            attribute = tuple(sorted(order.index(axis % rank) for axis in given))
        else:
            attribute = tuple(given[axis] for axis in order)
        current = self._emit(node.op, (self._last(source),), (attribute,), self._value_last(result))
        self._made_last(result, current)
        return True
