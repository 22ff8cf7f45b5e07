"""The law of the IR: what a well-formed kernel is.

The builder keeps most of it by construction; passes are held to it by calling `verify` on what they made.
"""

from __future__ import annotations

from burn.cube.errors import KernelError
from burn.cube.ir import Buffer, Kernel, Operation, Region, Value, is_vectorised
from burn.cube.operations import ATOMICS, OPERATIONS, PURE, result_dtype
from burn.cube.uniform import varying_values
from burn.dtype import DType, bool_, i64


def verify(kernel: Kernel) -> Kernel:
    """Raise KernelError, naming what and where, if the kernel is not well formed; give it back if it is."""
    _Verifier(kernel).run()
    return kernel


class _Verifier:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.defined: set[Value] = set()
        self.path: list[str] = []
        self.buffers: set[Buffer] = set(kernel.buffers)

    def fail(self, what: str) -> KernelError:
        where = " > ".join(self.path) or "kernel"
        return KernelError(f"{where}: {what}")

    def run(self) -> None:
        for parameter in self.kernel.parameters:
            if parameter.buffer is not None:
                self.buffers.add(parameter.buffer)
            elif parameter.value is not None:
                self.defined.add(parameter.value)
        if sum(each.name == "grid" for each in self.kernel.body.operations) > 1:
            raise self.fail("more than one outermost grid axis; a launch splits one range")
        if self.kernel.grid is not None:
            for each in self.kernel.body.operations:
                if each.name != "grid" and each.name not in PURE:
                    raise self.fail(f"{each.name} beside the outermost grid axis would run in every thread")
        self.region(self.kernel.body, inside=False)
        self.uniform_extents()

    def region(self, region: Region, *, inside: bool) -> None:
        new = list(region.arguments)
        self.define(region.arguments)
        for number, operation in enumerate(region.operations):
            self.path.append(f"{operation.name} (operation {number})")
            self.operation(operation, inside=inside)
            self.define(operation.results)
            new.extend(operation.results)
            self.path.pop()
        for each in region.results:
            self.use(each)
        self.defined.difference_update(new)

    def define(self, values: tuple[Value, ...]) -> None:
        for each in values:
            if each in self.defined:
                raise self.fail("a value is defined twice")
            self.defined.add(each)

    def use(self, value: Value) -> None:
        if value not in self.defined:
            raise self.fail(f"an operand of dtype {value.dtype.name} is not defined here")

    def operation(self, operation: Operation, *, inside: bool) -> None:
        for each in operation.operands:
            self.use(each)
        name = operation.name
        if name not in OPERATIONS:
            raise self.fail(f"no such operation: {name}")
        if name in PURE or name == "plane_any":
            self.expect_dtypes(operation, (self.pure_dtype(operation),))
        elif name in ("load", "store") or name in ATOMICS:
            self.memory(operation)
        elif operation.regions:
            self.structure(operation, inside)
        elif name == "barrier" and inside:
            raise self.fail("a barrier inside a lane or reduce axis")

    def pure_dtype(self, operation: Operation) -> DType:
        try:
            attributes = dict(operation.attributes)
            return result_dtype(operation.name, [each.dtype for each in operation.operands], attributes)
        except KernelError as error:
            raise self.fail(str(error)) from None

    def expect_dtypes(self, operation: Operation, dtypes: tuple[DType, ...]) -> None:
        found = tuple(each.dtype for each in operation.results)
        if found != dtypes:
            wanted = ", ".join(each.name for each in dtypes)
            given = ", ".join(each.name for each in found)
            raise self.fail(f"gives ({wanted}), but its results are declared ({given})")

    def memory(self, operation: Operation) -> None:
        buffer = operation.buffer
        if buffer is None or buffer not in self.buffers:
            raise self.fail("its buffer is not one of the kernel's")
        if operation.operands[0].dtype is not i64:
            raise self.fail(f"indices are i64, not {operation.operands[0].dtype.name}")
        reads, writes = operation.name != "store", operation.name != "load"
        if reads and buffer.access == "write":
            raise self.fail("reads a buffer declared for writing; declare it with buffer(dtype, read=True, write=True)")
        if writes and buffer.access == "read":
            raise self.fail("writes a buffer declared for reading; declare it with buffer(dtype, write=True)")
        if writes and operation.operands[1].dtype is not buffer.dtype:
            given = operation.operands[1].dtype.name
            raise self.fail(f"the buffer holds {buffer.dtype.name}, the value is {given}; cast it")
        if operation.results:
            self.expect_dtypes(operation, (buffer.dtype,))

    def structure(self, operation: Operation, inside: bool) -> None:
        name, operands, regions = operation.name, operation.operands, operation.regions
        if name == "if":
            if operands[0].dtype is not bool_:
                raise self.fail(f"the condition is {operands[0].dtype.name}, not bool")
            for region in regions:
                self.region(region, inside=inside)
            first, second = (tuple(each.dtype for each in region.results) for region in regions)
            if first != second:
                raise self.fail(f"its arms give {list(first)} and {list(second)}")
            self.expect_dtypes(operation, first)
            return
        if operands[0].dtype is not i64:
            raise self.fail(f"an extent is i64, not {operands[0].dtype.name}")
        if name in ("grid", "lane") and inside:
            raise self.fail(f"a {name} axis inside a lane or reduce axis")
        carried = tuple(each.dtype for each in operands[1:])
        self.region(regions[0], inside=inside or name == "lane" or is_vectorised(operation, inside))
        if tuple(each.dtype for each in regions[0].results) != carried:
            given = [each.dtype for each in regions[0].results]
            raise self.fail(f"carries {list(carried)}, but an iteration gives {given}")
        if name == "reduce":
            self.region(regions[1], inside=inside)
            if tuple(each.dtype for each in regions[1].results) != carried:
                raise self.fail(f"its combination gives other dtypes than {list(carried)}")
            if any(each.name not in PURE for each in regions[1].operations):
                raise self.fail("its combination is not pure")
        self.expect_dtypes(operation, carried)

    def uniform_extents(self) -> None:
        varying = varying_values(self.kernel)
        self.path.clear()
        self._extents(self.kernel.body, varying)

    def _extents(self, region: Region, varying: set[Value]) -> None:
        for operation in region.operations:
            if operation.regions:
                self.path.append(operation.name)
                if operation.name != "if" and operation.operands[0] in varying:
                    raise self.fail("its extent differs from lane to lane; move the loop out or use a serial axis")
                for inner in operation.regions:
                    self._extents(inner, varying)
                self.path.pop()
