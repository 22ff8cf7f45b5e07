"""Which convolutions of a program become blocks.

The pass runs on channels-last programs, after each convolution has taken what follows it as its epilogue. A block
grows around a depthwise convolution or a maximum pooling: a dense convolution before it, a pointwise one behind it,
each the only reader of what the other made. Values that are results of the program, or that anyone else reads, are
made as before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from burn.backend.cpu.lower.blocks.choice import fuses
from burn.backend.cpu.lower.blocks.stage import DENSE, DEPTHWISE, POOLING, Block, Stage
from burn.backend.cpu.lower.direct import is_depthwise, reads_anyhow, windows_of
from burn.backend.cpu.lower.tiles import MOST_TAPS
from burn.dtype import f32
from burn.engine.lower.epilogue import epilogue_of, own_operands
from burn.engine.lower.windows import Window
from burn.engine.schedule.images import is_last
from burn.program.fused import CHANNELS_LAST, IMAGE, Fused, to_first
from burn.program.fused import Stage as Row
from burn.program.passes import Explanation, rebuild
from burn.program.program import Node, Program


def fuse_blocks(program: Program, notes: Explanation) -> Program:
    """Put convolutions that follow each other into one node where that is faster."""
    return _Finder(program, notes).run()


class _Finder:
    def __init__(self, program: Program, notes: Explanation) -> None:
        self.program, self.notes = program, notes
        self.uses, self.producer = program.uses(), program.producer()
        self.outputs = set(program.outputs)
        self.taken: set[int] = set()

    def run(self) -> Program:
        made: dict[int, Node] = {}
        for position, node in enumerate(self.program.nodes):
            found = self._around(position, node)
            if found is not None:
                positions, fused = found
                self.taken.update(positions)
                made[positions[-1]] = fused
        if not made:
            return self.program
        nodes = [
            made.get(position, node)
            for position, node in enumerate(self.program.nodes)
            if position in made or position not in self.taken
        ]
        return rebuild(self.program, nodes, {}, self.program.outputs)

    def _around(self, position: int, node: Node) -> tuple[list[int], Node] | None:
        """The block around a depthwise convolution or a pooling: the positions of its nodes, and what they become."""
        middle = self._stage(node)
        if middle is None or middle.kind == DENSE:
            return None
        image = node.operands[0]
        assert isinstance(image, int)
        images = self.program.values[image].shape[0]
        for positions, block in self._candidates(position, middle):
            inner = block.stages[:-1]
            if len(inner) == 0 or any(s.epilogue is not None and IMAGE in s.epilogue.kinds for s in inner):
                continue
            if fuses(block, images):
                return positions, self._node(positions, block)
            self.notes.decline("blocks", f"{block!r} is faster one by one")
        return None

    def _candidates(self, position: int, middle: Stage) -> Iterator[tuple[list[int], Block]]:
        """The blocks around a stage, larger ones first."""
        before, after = self._before(position), self._after(position) if middle.kind == DEPTHWISE else None
        if before is not None and after is not None:
            yield [before[0], position, after[0]], Block(before[1], middle, after[1])
        if before is not None:
            yield [before[0], position], Block(before[1], middle, None)
        if after is not None:
            yield [position, after[0]], Block(None, middle, after[1])

    def _before(self, position: int) -> tuple[int, Stage] | None:
        """The dense convolution whose result only this node reads."""
        image = self.program.nodes[position].operands[0]
        assert isinstance(image, int)
        maker = self.producer.get(image)
        if maker is None or maker in self.taken or self.uses[image] != [position] or image in self.outputs:
            return None
        if self.program.nodes[position].reads().count(image) > 1:
            return None
        stage = self._stage(self.program.nodes[maker])
        return (maker, stage) if stage is not None and stage.kind == DENSE else None

    def _after(self, position: int) -> tuple[int, Stage] | None:
        """The pointwise convolution that alone reads the result of a node."""
        image = self.program.nodes[position].results[0]
        if image in self.outputs or len(self.uses[image]) != 1 or self.uses[image][0] in self.taken:
            return None
        (reader,) = self.uses[image]
        node = self.program.nodes[reader]
        if node.operands[0] != image or node.reads().count(image) > 1:
            return None
        stage = self._stage(node)
        return (reader, stage) if stage is not None and stage.kind == DENSE and stage.is_pointwise else None

    def _stage(self, node: Node) -> Stage | None:
        """What a node is in a block: a convolution, or a maximum pooling of two dims."""
        name, values = node.op.name, self.program.values
        if name not in ("conv", "max_pool") or not is_last(node):
            return None
        numbers = (*node.reads(), node.results[0])
        if any(values[number].dtype is not f32 for number in numbers) or len(values[node.results[0]].shape) != 4:
            return None
        x, out = (_logical(values[number].shape) for number in (node.reads()[0], node.results[0]))
        given, (epilogue, _) = node.attributes, epilogue_of(node)
        if name == "max_pool":
            return self._pooling(node, x, out, given)
        weight = tuple(values[node.reads()[1]].shape)
        depthwise = is_depthwise(x[1], out[1], given[-1])
        if (given[-1] != 1 and not depthwise) or weight[-1] > MOST_TAPS or min(map(min, given[-3])) < 0:
            return None
        kind = DEPTHWISE if depthwise else DENSE
        if kind == DENSE and not reads_anyhow("conv", x, weight, out, given):
            return None  # it has a faster kernel
        rows, columns = windows_of("conv", x[2:], out[2:], weight[2:], given)
        return Stage(kind, rows, columns, x[1], out[1], epilogue)

    def _pooling(self, node: Node, x: Any, out: Any, given: Any) -> Stage | None:
        if any(self.uses[number] or number in self.outputs for number in node.results[1:]):
            return None
        kernel, stride, padding, dilation, _ = given
        rows, columns = (
            Window(x[2 + dim], out[2 + dim], kernel[dim], stride[dim], padding[dim], dilation[dim]) for dim in (0, 1)
        )
        return Stage(POOLING, rows, columns, x[1], out[1]) if _is_whole(rows) and _is_whole(columns) else None

    def _node(self, positions: list[int], block: Block) -> Node:
        nodes = [self.program.nodes[position] for position in positions]
        operands = [nodes[0].operands[0], *(operand for node in nodes for operand in node.operands[1:])]
        *before, last = nodes
        rows = tuple(Row(n.op, n.attributes, len(own_operands(n)) - 1, epilogue_of(n)[0]) for n in before)
        fused = Fused(CHANNELS_LAST, epilogue_of(last)[0], rows, block)
        return Node(last.op, tuple(operands), last.attributes, last.results, fused)


def _logical(shape: Any) -> tuple[int, ...]:
    return tuple(shape[axis] for axis in to_first(len(shape)))


def _is_whole(window: Window) -> bool:
    """Whether each window has an element."""
    taps = range(window.kernel)
    return all(any(0 <= window.place(made, tap) < window.size for tap in taps) for made in range(window.count))
