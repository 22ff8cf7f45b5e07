"""The interpreter: a kernel in NumPy, one operation after the other. Correct, checked, and not fast.

Grid and serial axes are Python loops; a vectorised axis is one array of all its lanes. Indices outside a buffer are
errors here, which makes this the place to look first when a kernel misbehaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from burn.cube import meaning
from burn.cube.errors import KernelError
from burn.cube.ir import PARTIALS, Buffer, Kernel, Operation, Region, Value, is_vectorised
from burn.cube.lowering import Abilities, lower
from burn.cube.operations import PURE

Array = Any


def interpret(
    kernel: Kernel,
    buffers: Sequence[Array],
    sizes: Sequence[int] = (),
    scalars: Sequence[float | int] = (),
    first: int = 0,
    last: int | None = None,
    *,
    origins: Sequence[int] = (),
) -> None:
    """Run a kernel on NumPy arrays, which it writes in place.

    Buffers, sizes and scalars are given in the order of their parameters. `first` and `last` bound the outermost grid
    axis; without `last`, all of it runs. `origins` tell at which element of its array each buffer begins, if not at 0.
    """
    lowered = lower(kernel, Abilities(fma=True, rounding=True, f16=True, ldexp=True, checked=True))
    lowered = meaning.without_fma(lowered)
    _Interpreter(lowered, buffers, sizes, scalars, origins).run(first, last)


class _Interpreter:
    def __init__(
        self,
        kernel: Kernel,
        buffers: Sequence[Array],
        sizes: Sequence[int],
        scalars: Sequence[float | int],
        origins: Sequence[int],
    ) -> None:
        self.kernel = kernel
        self.values: dict[Value, Array] = {}
        self.memory: dict[Buffer, Array] = {}
        declared = [each.buffer for each in kernel.parameters if each.buffer is not None]
        self.origins = {buffer: origin for buffer, origin in zip(declared, origins) if origin}
        self.mask: Array = None
        """Which lanes run, inside a branch that differs between them."""
        rest = {"buffer": iter(buffers), "size": iter(sizes), "scalar": iter(scalars)}
        for each in kernel.parameters:
            given = next(rest[each.kind], None)
            if given is None:
                raise KernelError(f"interpret: fewer {each.kind}s than the kernel has parameters of that kind")
            if each.buffer is not None:
                self.memory[each.buffer] = self.flat(each.buffer, given)
            else:
                assert each.value is not None
                self.values[each.value] = each.dtype.numpy.type(given)
        for buffer in kernel.buffers:
            contents = np.zeros(buffer.count, buffer.dtype.numpy)
            if buffer.values:
                contents[:] = np.array(buffer.values, buffer.dtype.numpy)
            self.memory[buffer] = contents

    def flat(self, buffer: Buffer, given: Array) -> Array:
        if given.dtype != buffer.dtype.numpy:
            raise KernelError(f"interpret: a buffer of {buffer.dtype.name} was given an array of {given.dtype}")
        if not given.flags.c_contiguous:
            raise KernelError("interpret: buffers are flat memory; make the array contiguous")
        return given.reshape(-1)

    def run(self, first: int, last: int | None) -> None:
        self.first, self.last = first, last
        with np.errstate(all="ignore"):
            if self.kernel.grid is not None or (first <= 0 and (last is None or last > 0)):
                self.region(self.kernel.body, lanes=0, top=True)

    def region(self, region: Region, *, lanes: int, top: bool = False) -> list[Array]:
        for operation in region.operations:
            self.operation(operation, lanes, top)
        return [self.values[each] for each in region.results]

    def operation(self, operation: Operation, lanes: int, top: bool) -> None:
        name, values = operation.name, self.values
        operands = [values[each] for each in operation.operands]
        if any(each.width != 1 for each in operation.results):
            raise KernelError(f"interpret: {name} of vectors is not implemented by the interpreter")
        if name in PURE:
            values[operation.result] = meaning.compute(operation, operands)
        elif name == "load":
            values[operation.result] = self.load(operation, operands[0])
        elif name == "store":
            self.store(operation, operands[0], operands[1])
        elif name.startswith("atomic"):
            self.atomic(operation, operands)
        elif name == "plane_any":
            active = operands[0] if self.mask is None else operands[0] & self.mask
            values[operation.result] = np.bool_(np.any(active))
        elif name == "if":
            self.branch(operation, operands[0], lanes)
        elif operation.regions:
            self.loop(operation, operands, lanes, top)
        elif name != "barrier":
            raise KernelError(f"interpret: {name} is not implemented by the interpreter")

    # Memory

    def place(self, operation: Operation, index: Array) -> Array:
        """The indices, checked; those of lanes that do not run are 0."""
        assert operation.buffer is not None
        memory, origin = self.memory[operation.buffer], self.origins.get(operation.buffer)
        if origin is not None:
            index = index + origin
        if self.mask is not None:
            index = np.where(self.mask, index, 0)
            if not memory.size:
                return index
        outside = (np.asarray(index) < 0) | (np.asarray(index) >= memory.size)
        if np.any(outside):
            wrong = np.asarray(index)[outside].ravel()[0] if np.ndim(index) else index
            raise KernelError(f"interpret: {operation.name} at index {wrong} of a buffer of {memory.size} elements")
        return index

    def load(self, operation: Operation, index: Array) -> Array:
        assert operation.buffer is not None
        place, memory = self.place(operation, index), self.memory[operation.buffer]
        if self.mask is not None and not memory.size:
            return np.zeros(self.mask.shape, memory.dtype)
        return memory[place]

    def store(self, operation: Operation, index: Array, value: Array) -> None:
        assert operation.buffer is not None
        place, memory = self.place(operation, index), self.memory[operation.buffer]
        if self.mask is None:
            memory[place] = value if np.ndim(place) or not np.ndim(value) else value[-1]
        else:
            shape = self.mask.shape
            memory[np.broadcast_to(place, shape)[self.mask]] = np.broadcast_to(value, shape)[self.mask]

    def atomic(self, operation: Operation, operands: list[Array]) -> None:
        assert operation.buffer is not None
        memory, index = self.memory[operation.buffer], self.place(operation, operands[0])
        old = memory[index]
        self.values[operation.result] = old
        if operation.name == "atomic_exchange":
            memory[index] = operands[1]
        else:
            how = {"atomic_add": np.add, "atomic_min": np.minimum, "atomic_max": np.maximum}[operation.name]
            memory[index] = how(old, operands[1])

    # Control

    def branch(self, operation: Operation, condition: Array, lanes: int) -> None:
        then, otherwise = operation.regions
        if not np.ndim(condition):
            results = self.region(then if condition else otherwise, lanes=lanes)
        else:
            outer = self.mask
            sides = []
            for region, chosen in ((then, condition), (otherwise, ~condition)):
                self.mask = chosen if outer is None else chosen & outer
                sides.append(self.region(region, lanes=lanes))
            self.mask = outer
            results = [np.where(condition, x, y) for x, y in zip(*sides)]
        self.values.update(zip(operation.results, results))

    def loop(self, operation: Operation, operands: list[Array], lanes: int, top: bool) -> None:
        extent, body = int(operands[0]), operation.regions[0]
        if is_vectorised(operation, lanes > 0):
            self.side_by_side(operation, operands, extent)
            return
        start = 0
        if top and operation.name == "grid":
            start, extent = self.first, extent if self.last is None else self.last
        carried = operands[1:]
        for index in range(start, extent):
            self.values[body.arguments[0]] = np.int64(index)
            if operation.name == "reduce":
                carried = self.combine(operation, carried, self.region(body, lanes=lanes))
            else:
                self.values.update(zip(body.arguments[1:], carried))
                carried = self.region(body, lanes=lanes)
        self.values.update(zip(operation.results, carried))

    def combine(self, operation: Operation, left: list[Array], right: list[Array]) -> list[Array]:
        region = operation.regions[1]
        self.values.update(zip(region.arguments, (*left, *right)))
        return self.region(region, lanes=1)

    def side_by_side(self, operation: Operation, operands: list[Array], extent: int) -> None:
        """A vectorised axis: all iterations at once, then the partial results in their order."""
        body = operation.regions[0]
        given: list[Array] = []
        if extent > 0:
            self.values[body.arguments[0]] = np.arange(extent, dtype=np.int64)
            given = self.region(body, lanes=extent)
        if operation.name == "lane":
            return
        partials = [np.full(PARTIALS, each) for each in operands[1:]]
        given = [np.broadcast_to(each, (extent,)) for each in given]
        for start in range(0, extent, PARTIALS):
            block = [each[start : start + PARTIALS] for each in given]
            count = len(block[0])
            joined = self.combine(operation, [each[:count] for each in partials], block)
            for partial, new in zip(partials, joined):
                partial[:count] = new
        while len(partials[0]) > 1:
            half = len(partials[0]) // 2
            left, right = [each[:half] for each in partials], [each[half:] for each in partials]
            partials = [np.asarray(each) for each in self.combine(operation, left, right)]
        self.values.update(zip(operation.results, (each[0] for each in partials)))
