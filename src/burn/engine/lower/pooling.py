"""Pooling as kernels: every result gathers from the windows it belongs to, so all of them run in parallel.

Forward, an element of the result walks through the elements of its window. Backward, an element of the
input walks through the windows that cover it: `max_pool_backward` adds the gradients of those whose
index points to it, means add their share. Lanes run along the channels where memory does, else along
the last spatial dim.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from burn.classes import dataclass
from burn.cube import KernelBuilder
from burn.cube.ir import Value
from burn.dtype import DType, i64
from burn.engine.lower.elements import computed
from burn.engine.lower.epilogue import EpilogueWriter, own_operands
from burn.engine.lower.loop import Argument, Loop
from burn.engine.lower.partial_sums import BLOCK, apart
from burn.engine.schedule.access import Access
from burn.engine.schedule.images import logical, result
from burn.engine.target import computes, grain_of, tile_sizes
from burn.program.program import Node, Program

if TYPE_CHECKING:
    from burn.engine.lower.calls import Calls

FORWARD = frozenset(("max_pool", "adaptive_max_pool", "avg_pool", "adaptive_avg_pool"))
BACKWARD = frozenset(("max_pool_backward", "avg_pool_backward", "adaptive_avg_pool_backward"))


@dataclass(frozen=True)
class Range:
    """Positions along one dim: the first, how many, and how far apart."""

    first: Value
    count: Value | int
    step: int


@dataclass(frozen=True)
class Sliding:
    """Windows of `kernel` elements, `dilation` apart, that start every `stride` elements."""

    size: int
    count: int
    kernel: int
    stride: int
    padding: int
    dilation: int = 1
    include: bool = True  # whether padding counts as elements

    @property
    def span(self) -> int:
        return self.dilation * (self.kernel - 1) + 1

    def elements(self, b: KernelBuilder, window: Value) -> Range:
        """The elements of the input in a window."""
        base = window * self.stride - self.padding
        if self.is_tiling:
            return Range(base, self.kernel, 1)
        skipped = b.max((self.dilation - 1 - base) // self.dilation, 0)
        stop = b.min((self.size - base + (self.dilation - 1)) // self.dilation, self.kernel)
        return Range(base + skipped * self.dilation, stop - skipped, self.dilation)

    def most_elements(self) -> int:
        return self.kernel

    @property
    def is_tiling(self) -> bool:
        """Whether every element belongs to one window."""
        whole = self.padding == 0 and self.count * self.stride == self.size
        return whole and self.kernel == self.stride and self.dilation == 1

    def windows(self, b: KernelBuilder, element: Value) -> Range:
        """The windows that reach over an element."""
        if self.is_tiling:
            return Range(element // self.stride, 1, 1)
        place = element + self.padding
        first = b.max((place - self.span + self.stride) // self.stride, 0)
        return Range(first, b.min(place // self.stride, self.count - 1) - first + 1, 1)

    def most_windows(self) -> int:
        return min(-(-self.span // self.stride), self.count)

    def divisor(self, b: KernelBuilder, window: Value) -> Value:
        """By how much a window divides."""
        inside = self.padding == 0 and (self.count - 1) * self.stride + self.kernel <= self.size
        if inside or (self.include and (self.count - 1) * self.stride + self.kernel <= self.size + 2 * self.padding):
            return b.const(i64, self.kernel)
        base = window * self.stride - self.padding
        if self.include:
            return b.min(base + self.kernel, self.size + self.padding) - base
        return b.min(base + self.kernel, self.size) - b.max(base, 0)

    def is_whole(self) -> bool:
        """Whether every window has at least one element."""
        for window in range(self.count):
            base = window * self.stride - self.padding
            if not any(0 <= base + k * self.dilation < self.size for k in range(self.kernel)):
                return False
        return True


@dataclass(frozen=True)
class Adaptive:
    """`count` windows that cover `size` elements as evenly as can be."""

    size: int
    count: int

    def _bounds(self, b: KernelBuilder, window: Value) -> tuple[Value, Value]:
        return window * self.size // self.count, ((window + 1) * self.size + (self.count - 1)) // self.count

    def elements(self, b: KernelBuilder, window: Value) -> Range:
        """The elements of the input in a window."""
        start, stop = self._bounds(b, window)
        return Range(start, stop - start, 1)

    def most_elements(self) -> int:
        return max(-(-(i + 1) * self.size // self.count) - i * self.size // self.count for i in range(self.count))

    def windows(self, b: KernelBuilder, element: Value) -> Range:
        """The windows that reach over an element."""
        first = element * self.count // self.size
        return Range(first, ((element + 1) * self.count + (self.size - 1)) // self.size - first, 1)

    def most_windows(self) -> int:
        return max(-(-(h + 1) * self.count // self.size) - h * self.count // self.size for h in range(self.size))

    def divisor(self, b: KernelBuilder, window: Value) -> Value:
        """By how much a window divides."""
        start, stop = self._bounds(b, window)
        return stop - start

    def is_whole(self) -> bool:
        """Whether every window has at least one element."""
        return self.count > 0


Dim = Sliding | Adaptive


def _adaptive(size: int, count: int) -> Dim:
    """Windows of one size, where they are, slide."""
    return Adaptive(size, count) if size % count else Sliding(size, count, size // count, size // count, 0)


def geometry(node: Node, x_spatial: Sequence[int], out_spatial: Sequence[int]) -> list[Dim]:
    """The windows of a pooling node along each spatial dim."""
    name, given = node.op.name, node.attributes
    if name.startswith("adaptive"):
        return [_adaptive(size, count) for size, count in zip(x_spatial, out_spatial, strict=True)]
    if name == "max_pool":
        kernel, stride, padding, dilation, _ = given
        include = True
    else:
        kernel, stride, padding, include, _ = given[1:] if name == "avg_pool_backward" else given
        dilation = (1,) * len(kernel)
    each = zip(x_spatial, out_spatial, kernel, stride, padding, dilation, strict=True)
    return [Sliding(size, count, k, step, pad, hole, include) for size, count, k, step, pad, hole in each]


def _images(program: Program, number: int, node: Node) -> tuple[int, ...]:
    from burn.engine.schedule.access import whole

    return logical(node, whole(number, tuple(program.values[number].shape))).shape


def windows_of(program: Program, node: Node, producer: dict[int, int]) -> list[Dim] | None:
    """The windows of a node if there is a kernel for it, else None."""
    name = node.op.name
    if name not in FORWARD and name not in BACKWARD:
        return None
    source = node.operands[0]
    if not isinstance(source, int) or not computes(program.values[source].dtype):
        return None
    first, made = _images(program, source, node), _images(program, node.results[0], node)
    if 0 in first or 0 in made:
        return None
    if name in FORWARD:
        dims = geometry(node, first[2:], made[2:])
    elif name == "max_pool_backward":
        # The windows are those of the node that found the indices: no other indices are known to be in range.
        indices = node.operands[1]
        position = producer.get(indices) if isinstance(indices, int) else None
        maker = program.nodes[position] if position is not None else None
        if maker is None or maker.op.name not in ("max_pool", "adaptive_max_pool") or maker.results[1] != indices:
            return None
        image = maker.operands[0]
        assert isinstance(image, int)
        if _images(program, image, maker) != made:
            return None
        dims = geometry(maker, made[2:], first[2:])
    else:
        dims = geometry(node, made[2:], first[2:])
    return dims if all(dim.is_whole() for dim in dims) else None


def lower_pooling(calls: Calls, node: Node) -> list[Loop] | None:
    """The steps of a pooling node, or None where it is none or NumPy must do it."""
    dims = windows_of(calls.program, node, calls.producer)
    if dims is None or any(number in calls.schedule.constants for number in node.reads()):
        return None
    return _PoolWriter(calls, node, dims).write()


class _PoolWriter:
    def __init__(self, calls: Calls, node: Node, dims: list[Dim]) -> None:
        self.calls, self.program, self.node, self.dims = calls, calls.program, node, dims
        program, uses = calls.program, calls.uses
        self.b = KernelBuilder()
        self.arguments: list[Argument] = []
        self.forward = node.op.name in FORWARD
        wanted = [n for n in node.results if uses[n] or n in program.outputs] or [node.results[0]]
        self.read = [number for number in own_operands(node) if isinstance(number, int)]
        self.sources = [logical(node, calls.schedule.accesses[number]) for number in self.read]
        self.targets = {
            position: result(node, program, position) for position, n in enumerate(node.results) if n in wanted
        }
        self.shape = next(iter(self.targets.values())).shape
        accesses = [*self.sources, *self.targets.values()]
        self.along_channels = self.shape[1] >= tile_sizes().fewest_channels and all(
            each.strides[1] == 1 for each in accesses
        )

    def _size(self, value: int) -> Value:
        self.arguments.append(Argument("size", value))
        return self.b.size()

    def _buffer(self, access: Access, dtype: DType, write: bool) -> tuple[Any, list[Any]]:
        """A buffer and the strides of its dims."""
        self.arguments.append(Argument("buffer", access.value, access.offset * dtype.size, written=write))
        buffer = self.b.buffer(dtype, write=write)
        return buffer, [stride if stride in (0, 1) else self._size(stride) for stride in access.strides]

    def write(self) -> list[Loop]:
        """Rows of the result on the grid, its channels or its last spatial dim on lanes."""
        b, shape = self.b, self.shape
        dtypes = [self.program.values[number].dtype for number in self.read]
        reads = [self._buffer(access, dtype, False) for access, dtype in zip(self.sources, dtypes, strict=True)]
        writes = {
            position: self._buffer(access, self.program.values[self.node.results[position]].dtype, True)
            for position, access in self.targets.items()
        }
        epilogue = EpilogueWriter(b, self.node, self.calls, self.arguments)
        lane = 1 if self.along_channels else len(shape) - 1
        inner = len(shape) - 1 if self.along_channels else None  # pixels of a row, one after the other
        outer = [dim for dim in range(len(shape)) if dim not in (lane, inner)]
        # Sizes are part of the kernel: dividing by a constant is a multiplication.
        count: Any = shape[lane] if shape[lane] <= tile_sizes().few_channels and inner else self._size(shape[lane])
        extent = math.prod(shape[dim] for dim in outer)
        with b.grid(self._size(extent)) as i:
            index: dict[int, Value] = {}
            rest = i
            for dim in reversed(outer):
                index[dim] = rest if dim == outer[0] else rest % shape[dim]
                rest = rest if dim == outer[0] else rest // shape[dim]

            def row() -> None:
                with b.lane(count) as j:
                    index[lane] = j
                    places = [index[dim] for dim in range(len(shape))]
                    values = self._element(places, reads)
                    for position, (buffer, strides) in writes.items():
                        where, value = _offset(places, strides), values[position]
                        if position:
                            value = b.cast(value, buffer.dtype)
                        else:
                            value = epilogue.applied(value, where, places[1])
                        b.store(buffer, where, value)

            if inner is None:
                row()
            else:
                with b.serial(shape[inner]) as index[inner]:
                    row()
        reach = math.prod(dim.most_elements() if self.forward else dim.most_windows() for dim in self.dims)
        work = shape[lane] * reach * (shape[inner] if inner else 1)
        label = f"{self.node.op.name} {epilogue.epilogue}" if epilogue.epilogue else self.node.op.name
        made = Loop(b.finish(), self.arguments, extent, grain_of(work), label)
        return [*epilogue.before, made]

    def _element(self, index: list[Value], reads: list[tuple[Any, list[Any]]]) -> tuple[Value, ...]:
        name = self.node.op.name
        if name in ("max_pool", "adaptive_max_pool"):
            return self._maximum(index, *reads[0])
        if name in FORWARD:
            return (self._mean(index, *reads[0]),)
        return (self._gradient(index, reads),)

    def _walk(
        self,
        ranges: list[Range],
        index: list[Value],
        carried: tuple[Value, ...],
        body: Callable[..., Any],
        by_rows: bool = False,
    ) -> tuple[Value, ...]:
        """Serial loops over the ranges: `body(places, valid, *carried)` gives the next carried values.

        `by_rows`, they are sums, and those of a row are summed on their own (`burn.engine.lower.partial_sums`). Bounds
        that differ from lane to lane become a mask: lanes walk through as many places as any may have.
        """
        b, rank = self.b, len(ranges)

        def nested(dim: int, places: list[Value], valid: Value | None, carried: tuple[Value, ...]) -> tuple[Value, ...]:
            if dim == rank:
                return tuple(body(places, valid, *carried))
            each = ranges[dim]
            masked = not self.along_channels and dim == rank - 1
            count: Any = each.count
            if masked:
                count = self.dims[dim].most_elements() if self.forward else self.dims[dim].most_windows()

            def step(k: Value, *carried: Value) -> tuple[Value, ...]:
                place, mask = each.first + k * each.step, valid
                if masked:
                    mask = k < each.count
                    last = (self.dims[dim].size if self.forward else self.dims[dim].count) - 1
                    place = b.min(place, last)
                return nested(dim + 1, [*places, place], mask, carried)

            if isinstance(count, int) and count == 1 and not masked:
                return step(b.const(i64, 0), *carried)
            if by_rows and dim == rank - 1:
                return tuple(apart(b, carried, lambda zeros: b.loop(count, zeros, step)))
            made = b.loop(count, carried, step)
            return made if isinstance(made, tuple) else (made,)

        return nested(0, [], None, carried)

    def _elements(self, index: list[Value]) -> list[Range]:
        return [dim.elements(self.b, window) for dim, window in zip(self.dims, index[2:], strict=True)]

    def _maximum(self, index: list[Value], x: Any, strides: list[Any]) -> tuple[Value, ...]:
        """The largest element and its flat index; NaN is largest, and the first of equals wins."""
        b = self.b
        ranges = self._elements(index)
        indexed = 1 in self.targets

        def flat(places: list[Value]) -> Value:
            where = places[0]
            for place, dim in zip(places[1:], self.dims[1:], strict=True):
                where = where * dim.size + place
            return where

        def read(places: list[Value]) -> Value:
            return b.load(x, _offset([*index[:2], *places], strides))

        start = [each.first for each in ranges]
        best = read(start)

        def body(places: list[Value], valid: Value | None, *carried: Value) -> tuple[Value, ...]:
            value, best = read(places), carried[0]
            better = (value > best) | (b.isnan(value) & ~b.isnan(best))
            if valid is not None:
                better = better & valid
            picked = b.select(better, value, best)
            return (picked, b.select(better, flat(places), carried[1])) if indexed else (picked,)

        made = self._walk(ranges, index, (best, flat(start)) if indexed else (best,), body)
        return made if indexed else (made[0],)

    def _mean(self, index: list[Value], x: Any, strides: list[Any]) -> Value:
        b = self.b
        zero = b.const(computed(x.dtype), 0.0)

        def body(places: list[Value], valid: Value | None, total: Value) -> tuple[Value, ...]:
            value = b.load(x, _offset([*index[:2], *places], strides))
            return (total + (value if valid is None else b.select(valid, value, zero)),)

        many = math.prod(dim.most_elements() for dim in self.dims) > BLOCK
        (total,) = self._walk(self._elements(index), index, (zero,), body, by_rows=many)
        return total / b.cast(self._divisor(index[2:]), total.dtype)

    def _divisor(self, windows: list[Value]) -> Value:
        divisor = self.dims[0].divisor(self.b, windows[0])
        for dim, window in zip(self.dims[1:], windows[1:], strict=True):
            divisor = divisor * dim.divisor(self.b, window)
        return divisor

    def _gradient(self, index: list[Value], reads: list[tuple[Any, list[Any]]]) -> Value:
        b = self.b
        gradient, strides = reads[0]
        zero = b.const(computed(gradient.dtype), 0.0)
        ranges = [dim.windows(b, element) for dim, element in zip(self.dims, index[2:], strict=True)]
        where = index[2]
        for element, dim in zip(index[3:], self.dims[1:], strict=True):
            where = where * dim.size + element

        def body(windows: list[Value], valid: Value | None, total: Value) -> tuple[Value, ...]:
            place = [*index[:2], *windows]
            value = b.load(gradient, _offset(place, strides))
            if len(reads) > 1:
                indices, index_strides = reads[1]
                mine = b.eq(b.cast(b.load(indices, _offset(place, index_strides)), i64), where)
                valid = mine if valid is None else mine & valid
            else:
                value = value / b.cast(self._divisor(windows), value.dtype)
            return (total + (value if valid is None else b.select(valid, value, zero)),)

        (total,) = self._walk(ranges, index, (zero,), body)
        return total


def _offset(index: Sequence[Value], strides: Sequence[Any]) -> Any:
    """The sum of indices times strides."""
    offset: Any = 0
    for each, stride in zip(index, strides, strict=True):
        if isinstance(stride, int):
            term: Any = 0 if stride == 0 else each
        else:
            term = each * stride
        offset = term if isinstance(offset, int) else offset if isinstance(term, int) else offset + term
    return offset
