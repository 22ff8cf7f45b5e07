"""The C target: a kernel as freestanding C11, one function with the slots of `burn.cube.targets.slots`.

No header but `stdint.h` and `stdbool.h`, no library: mathematics is in the kernel, `sqrt` a builtin.
Compile with `C_FLAGS`: `-ffp-contract=off` keeps products and sums apart, `-fno-math-errno` makes `sqrt` one
instruction. A kernel printed with `fma=True` needs a processor that has it (`-mfma`), or it would call a library. The
results are the LLVM target's, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable

from burn.cube.errors import KernelError
from burn.cube.ir import PARTIALS, Buffer, Kernel, Operation, Region, Value, is_vectorised
from burn.cube.lowering import Abilities, lower
from burn.cube.operations import ATOMICS
from burn.cube.targets.c_expressions import TYPES, expression, helpers, literal
from burn.dtype import bool_

C_FLAGS = ("-std=c11", "-O2", "-ffreestanding", "-ffp-contract=off", "-fno-math-errno")


def emit_c(kernel: Kernel, *, fma: bool = False, symbol: str = "kernel") -> str:
    """The kernel as C11. With `fma`, polynomials use the processor's fused multiply-add."""
    return _Emitter(lower(kernel, Abilities(fma=fma, rounding=False, f16=False)), symbol).run()


def memory_type(buffer: Buffer) -> str:
    """The C type of an element in memory: a bool is a byte."""
    return "uint8_t" if buffer.dtype is bool_ else TYPES[buffer.dtype.name]


class _Emitter:
    def __init__(self, kernel: Kernel, symbol: str) -> None:
        self.kernel = kernel
        self.symbol = symbol
        self.names: dict[Value, str] = {}
        self.pointers: dict[Buffer, str] = {}
        self.lines: list[str] = []
        self.depth = 1
        self.inside = False
        """Whether a vectorised axis is around."""

    def run(self) -> str:
        tables = self.parameters()
        if self.kernel.grid is None:
            self.block("if (first <= 0 && last > 0)", lambda: self.region(self.kernel.body))
        else:
            self.region(self.kernel.body)
        body = "\n".join(self.lines)
        used = "\n".join(text for name, text in helpers() if name in body)
        return (
            "#include <stdbool.h>\n#include <stdint.h>\n\n"
            f"{used}\n{tables}\n"
            f"void {self.symbol}(void **slots, int64_t first, int64_t last) {{\n"
            "    (void)slots; (void)first; (void)last;\n"
            f"{body}\n}}\n"
        )

    def parameters(self) -> str:
        for position, each in enumerate(self.kernel.parameters):
            if each.buffer is not None:
                type_ = memory_type(each.buffer)
                constant = "const " if each.buffer.access == "read" else ""
                self.pointers[each.buffer] = f"p{position}"
                self.write(f"{constant}{type_} *p{position} = slots[{position}];")
            else:
                assert each.value is not None
                name = self.names[each.value] = f"s{position}"
                self.write(f"{TYPES[each.dtype.name]} {name};")
                self.write(f"__builtin_memcpy(&{name}, &slots[{position}], sizeof {name});")
        tables = []
        for number, buffer in enumerate(self.kernel.buffers):
            name = self.pointers[buffer] = f"a{number}"
            if buffer.space == "shared":
                self.write(f"{memory_type(buffer)} {name}[{buffer.count}];")
            else:
                values = ", ".join(literal(each, buffer.dtype) for each in buffer.values)
                tables.append(f"static const {memory_type(buffer)} {name}[{buffer.count}] = {{{values}}};\n")
        return "".join(tables)

    # Text

    def write(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def block(self, head: str, body: Callable[[], None]) -> None:
        self.write(f"{head} {{")
        self.depth += 1
        body()
        self.depth -= 1
        self.write("}")

    def name(self, value: Value) -> str:
        found = self.names.get(value)
        if found is None:
            found = self.names[value] = f"v{len(self.names)}"
        return found

    def define(self, value: Value, text: str) -> None:
        self.write(f"const {TYPES[value.dtype.name]} {self.name(value)} = {text};")

    def declare(self, values: tuple[Value, ...]) -> None:
        for each in values:
            self.write(f"{TYPES[each.dtype.name]} {self.name(each)};")

    def assign(self, names: list[str], values: tuple[Value, ...]) -> None:
        for name, each in zip(names, values):
            self.write(f"{name} = {self.name(each)};")

    # Operations

    def region(self, region: Region) -> None:
        for operation in region.operations:
            self.operation(operation)

    def operation(self, operation: Operation) -> None:
        name = operation.name
        if any(each.width != 1 for each in operation.results):
            raise KernelError(f"c: {name} of short vectors is not implemented by the C target")
        operands = [self.name(each) for each in operation.operands]
        if name == "const":
            value = operation.result
            assert value.constant is not None
            self.names[value] = literal(value.constant, value.dtype)
        elif name == "load":
            assert operation.buffer is not None
            self.define(operation.result, f"{self.pointers[operation.buffer]}[{operands[0]}]")
        elif name == "store":
            assert operation.buffer is not None
            self.write(f"{self.pointers[operation.buffer]}[{operands[0]}] = {operands[1]};")
        elif name in ATOMICS:
            self.atomic(operation, operands)
        elif name == "plane_any":
            self.define(operation.result, operands[0])
        elif name == "if":
            self.branch(operation, operands[0])
        elif name == "barrier":
            pass  # the units of a block run one after the other here
        elif operation.regions:
            self.loop(operation)
        else:
            given = operation.operands[0].dtype if operation.operands else operation.result.dtype
            self.define(operation.result, expression(name, given, operation.result.dtype, operands))

    def atomic(self, operation: Operation, operands: list[str]) -> None:
        assert operation.buffer is not None
        old, type_ = self.name(operation.result), TYPES[operation.result.dtype.name]
        place, given = f"&{self.pointers[operation.buffer]}[{operands[0]}]", operands[1]
        new = {
            "atomic_add": f"({type_})({old} + {given})",
            "atomic_min": f"{old} < {given} ? {old} : {given}",
            "atomic_max": f"{old} > {given} ? {old} : {given}",
            "atomic_exchange": given,
        }[operation.name]
        self.write(f"{type_} {old} = *{place}, n{old};")
        self.write(f"do n{old} = {new}; while (!__atomic_compare_exchange({place}, &{old}, &n{old}, 0, 0, 0));")

    def branch(self, operation: Operation, condition: str) -> None:
        self.declare(operation.results)
        results = [self.name(each) for each in operation.results]
        then, otherwise = operation.regions

        def arm(region: Region) -> None:
            self.region(region)
            self.assign(results, region.results)

        self.block(f"if ({condition})", lambda: arm(then))
        if otherwise.operations or otherwise.results:
            self.block("else", lambda: arm(otherwise))

    def loop(self, operation: Operation) -> None:
        body, index = operation.regions[0], self.name(operation.regions[0].arguments[0])
        first, extent = "0", self.name(operation.operands[0])
        if operation is self.kernel.grid:
            first, extent = "first", "last"
        vectorised = is_vectorised(operation, self.inside)
        head = f"for (int64_t {index} = {first}; {index} < {extent}; {index}++)"
        outer, self.inside = self.inside, self.inside or vectorised
        if operation.name == "reduce" and vectorised:
            self.partial_reduce(operation, head, index)
        elif operation.name == "reduce":
            self.serial_reduce(operation, head)
        else:
            self.serial(operation, head, body)
        self.inside = outer

    def serial(self, operation: Operation, head: str, body: Region) -> None:
        for result, start in zip(operation.results, operation.operands[1:]):
            self.write(f"{TYPES[result.dtype.name]} {self.name(result)} = {self.name(start)};")
        carried = [self.name(each) for each in operation.results]

        def iteration() -> None:
            for argument, name in zip(body.arguments[1:], carried):
                self.define(argument, name)
            self.region(body)
            self.assign(carried, body.results)

        self.block(head, iteration)

    def combine(self, operation: Operation, left: list[str], right: list[str]) -> None:
        """Combine into the left names."""

        def body() -> None:
            region = operation.regions[1]
            for argument, text in zip(region.arguments, (*left, *right)):
                self.define(argument, text)
            self.region(region)
            self.assign(left, region.results)

        self.block("", body)

    def serial_reduce(self, operation: Operation, head: str) -> None:
        body = operation.regions[0]
        for result, start in zip(operation.results, operation.operands[1:]):
            self.write(f"{TYPES[result.dtype.name]} {self.name(result)} = {self.name(start)};")

        def iteration() -> None:
            self.region(body)
            results = [self.name(each) for each in operation.results]
            self.combine(operation, results, [self.name(each) for each in body.results])

        self.block(head, iteration)

    def partial_reduce(self, operation: Operation, head: str, index: str) -> None:
        """The fixed order of a vectorised reduction: partial results by position, combined by halving."""
        body, results = operation.regions[0], operation.results
        partial = [f"r{self.name(each)}" for each in results]
        for result, name in zip(results, partial):
            self.write(f"{TYPES[result.dtype.name]} {name}[{PARTIALS}];")

        def start() -> None:
            for name, first in zip(partial, operation.operands[1:]):
                self.write(f"{name}[l] = {self.name(first)};")

        def iteration() -> None:
            self.region(body)
            places = [f"{each}[{index} % {PARTIALS}]" for each in partial]
            self.combine(operation, places, [self.name(each) for each in body.results])

        def halve() -> None:
            left, right = [f"{each}[l]" for each in partial], [f"{each}[l + h]" for each in partial]
            self.block("for (int l = 0; l < h; l++)", lambda: self.combine(operation, left, right))

        self.block(f"for (int l = 0; l < {PARTIALS}; l++)", start)
        self.block(head, iteration)
        self.block(f"for (int h = {PARTIALS // 2}; h > 0; h /= 2)", halve)
        for result, name in zip(results, partial):
            self.define(result, f"{name}[0]")
