"""Kernels as LLVM IR text.

A vectorised axis becomes a loop over whole vectors and one masked pass over the rest. Inside it a value is either
uniform, and stays a scalar, or varying, and is a vector; integers that grow by a constant from lane to lane are kept
as (scalar, stride), so that addresses stay scalar and loads of neighbours are plain vector loads. Vectors may be wider
than the processor's: LLVM splits them, which is how reductions keep their partial results and loops unroll.
"""

from __future__ import annotations

from burn.cube.errors import KernelError
from burn.cube.ir import PARTIALS, Buffer, Kernel, Operation, Region, Value, is_vectorised, walk
from burn.cube.operations import ATOMICS, PURE
from burn.cube.targets.llvm.access import Access
from burn.cube.targets.llvm.cpu import Cpu
from burn.cube.targets.llvm.held import Held
from burn.cube.targets.llvm.instructions import element, kind, literal, memory_element
from burn.cube.uniform import varying_values
from burn.dtype import bool_, i64

SMALL_BODY = 14
"""Loops with fewer operations than this take two vectors at a time."""

NARROWEST = 4
"""Lanes of the narrowest vectors of a lane axis with a known extent."""

MOST_TOGETHER = 8
"""Stores side by side that become one."""

STRIPS = ((8, 16), (16, 8), (56, 4))
"""Vectors taken at a time by loops around another loop: (operations at most, vectors)."""


class Emitter(Access):
    """Writes one kernel."""

    def __init__(self, kernel: Kernel, cpu: Cpu, symbol: str) -> None:
        super().__init__(cpu)
        self.kernel = kernel
        self.symbol = symbol
        self.varying = varying_values(kernel)
        self.globals: list[str] = []
        self.makers = {result: each for each in walk(kernel.body) for result in each.results}

    def run(self) -> str:
        """The module's text."""
        if any(each.width != 1 for operation in walk(self.kernel.body) for each in operation.results):
            raise KernelError("llvm: values that are short vectors are not implemented by the LLVM target")
        self.parameters()
        grid = self.kernel.grid
        if grid is None:
            below, above = self.emit("icmp sle i64 %first, 0"), self.emit("icmp sgt i64 %last, 0")
            self.conditional(self.emit(f"and i1 {below}, {above}"), lambda: self.region(self.kernel.body))
        else:
            self.region(self.kernel.body)
        bits = self.cpu.vector_bits
        return "\n".join(
            [
                *self.globals,
                *self.declared.values(),
                f"define void @{self.symbol}(ptr %slots, i64 %first, i64 %last) #0 {{",
                "entry:",
                *self.scratch.values(),
                *self.text(),
                "  ret void",
                "}",
                f'attributes #0 = {{ nounwind "prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}" }}',
                "",
            ]
        )

    def parameters(self) -> None:
        for position, each in enumerate(self.kernel.parameters):
            slot = self.emit(f"getelementptr i64, ptr %slots, i64 {position}")
            if each.buffer is not None:
                self.pointers[each.buffer] = self.emit(f"load ptr, ptr {slot}, align 8")
            else:
                assert each.value is not None
                text = self.emit(f"load {memory_element(each.dtype)}, ptr {slot}, align 8")
                if each.dtype is bool_:
                    text = self.emit(f"icmp ne i8 {text}, 0")
                self.values[each.value] = Held(text)
        for number, buffer in enumerate(self.kernel.buffers):
            self.pointers[buffer] = self.array(number, buffer)

    def array(self, number: int, buffer: Buffer) -> str:
        type_ = memory_element(buffer.dtype)
        if buffer.space == "shared":
            return self.emit(f"alloca [{buffer.count} x {type_}], align 64")
        values = ", ".join(f"{type_} {literal(each, buffer.dtype)}" for each in buffer.values)
        name = f"@{self.symbol}.table{number}"
        self.globals.append(f"{name} = private unnamed_addr constant [{buffer.count} x {type_}] [{values}], align 64")
        return name

    # Operations

    def region(self, region: Region) -> None:
        operations, position = region.operations, 0
        while position < len(operations):
            together = self.side_by_side(operations, position)
            for operation in operations[position : position + max(together, 1)]:
                if not together or operation.name != "store":
                    self.operation(operation)
            if together:
                stores = [each for each in operations[position : position + together] if each.name == "store"]
                turned = self.values[stores[0].operands[0]].stride != len(stores)
                (self.store_turned if turned else self.store_together)(stores)
            position += max(together, 1)

    def side_by_side(self, operations: list[Operation], position: int) -> int:
        """How many operations from here on are stores to i, i + 1, ... that are better done together; 0 if none.

        Where i grows by their number from lane to lane, they fill memory without gaps. Where there are as many as
        lanes, and i grows by more, they are a square that is turned around. Pure operations may lie between them.
        """
        first = operations[position]
        if first.name != "store" or self.lanes == 1 or self.mask is not None:
            return 0
        base, stride = first.operands[0], self.values[first.operands[0]].stride
        if not isinstance(stride, int):
            return 0
        count = stride if 2 <= stride <= MOST_TOGETHER else self.lanes if stride >= self.lanes else 0
        found = 0
        for end in range(position, len(operations) if count else position):
            each = operations[end]
            if each.name == "store":
                if each.buffer is not first.buffer or (found and self.distance(each.operands[0], base) != found):
                    return 0
                found += 1
                if found == count:
                    return end + 1 - position
            elif each.name not in PURE:
                return 0
        return 0

    def distance(self, index: Value, base: Value) -> int | None:
        """How far an index lies behind another, if that is a constant."""
        made = self.makers.get(index)
        if made is None or made.name != "add" or made.operands[0] is not base:
            return None
        constant = made.operands[1].constant
        return constant if isinstance(constant, int) else None

    def operation(self, operation: Operation) -> None:
        name = operation.name
        if name == "const":
            value = operation.result
            self.values[value] = Held(literal(value.constant, value.dtype), constant=True)
        elif name in PURE:
            self.define(operation.result, self.compute(operation))
        elif name == "load":
            self.define(operation.result, self.load(operation))
        elif name == "store":
            self.store(operation)
        elif name in ATOMICS:
            self.define(operation.result, self.atomic(operation))
        elif name == "plane_any":
            self.define(operation.result, self.any_lane(operation.operands[0]))
        elif name == "if":
            self.branch(operation)
        elif name == "barrier":
            pass  # the units of a block run one after the other here
        elif not operation.regions:
            raise KernelError(f"llvm: {name} is not implemented by the LLVM target")
        elif is_vectorised(operation, self.lanes > 1):
            self.vector_loop(operation)
        else:
            self.serial_loop(operation)

    def width(self, value: Value) -> int:
        """How many lanes a value has where it is defined."""
        if self.forced:
            return self.forced
        return self.lanes if value in self.varying else 1

    def compute(self, operation: Operation) -> Held:
        if operation.name == "topology":
            raise KernelError("llvm: topology values are not implemented by the LLVM target; write grid and lane axes")
        result, operands = operation.result, operation.operands
        width = self.width(result)
        if width > 1 and result.dtype is i64:
            affine = self.affine(operation)
            if affine is not None:
                return affine
        if operation.name == "select":
            return self.select(operation, width)
        texts = [self.get(each, width) for each in operands]
        return Held(self.pure(operation.name, result.dtype, operands[0].dtype, width, texts), width)

    def select(self, operation: Operation, width: int) -> Held:
        condition, x, y = operation.operands
        held = self.values[condition]
        chosen = held.text if held.width == 1 and not held.constant else self.get(condition, width)
        type_, lanes = kind(x.dtype, width), 1 if held.width == 1 and not held.constant else width
        x_text, y_text = self.get(x, width), self.get(y, width)
        return Held(self.emit(f"select {kind(bool_, lanes)} {chosen}, {type_} {x_text}, {type_} {y_text}"), width)

    def any_lane(self, condition: Value) -> Held:
        if self.values[condition].width == 1:
            return Held(self.get(condition, 1))
        text = self.get(condition, self.lanes)
        if self.mask is not None:
            text = self.emit(f"and {kind(bool_, self.lanes)} {text}, {self.mask}")
        return Held(self.any_of(text))

    def atomic(self, operation: Operation) -> Held:
        buffer, what = operation.buffer, operation.name.removeprefix("atomic_")
        assert buffer is not None
        dtype = buffer.dtype
        if dtype.is_float and what in ("min", "max"):
            raise KernelError(f"llvm: {operation.name} of {dtype.name} is not implemented by the LLVM target")
        if what == "add" and dtype.is_float:
            what = "fadd"
        elif what in ("min", "max") and dtype.is_uint:
            what = f"u{what}"
        what = "xchg" if what == "exchange" else what
        type_ = element(dtype)
        pointer = self.address(buffer, self.get(operation.operands[0], 1))
        value = self.get(operation.operands[1], 1)
        return Held(self.emit(f"atomicrmw {what} ptr {pointer}, {type_} {value} monotonic"))

    # Control

    def branch(self, operation: Operation) -> None:
        condition = operation.operands[0]
        then, otherwise = operation.regions
        if self.values[condition].width == 1:
            self.uniform_branch(operation, then, otherwise)
            return
        outer, guarded = self.mask, self.guarded
        type_ = kind(bool_, self.lanes)
        chosen = self.get(condition, self.lanes)
        ones = "splat (i1 true)"
        inverse = self.emit(f"xor {type_} {chosen}, {ones}")
        self.guarded = True
        sides: list[list[str]] = []
        for region, text in ((then, chosen), (otherwise, inverse)):
            self.mask = text if outer is None else self.emit(f"and {type_} {text}, {outer}")
            self.region(region)
            sides.append([self.get(each, self.lanes) for each in region.results])
        self.mask, self.guarded = outer, guarded
        for result, x, y in zip(operation.results, *sides):
            whole = kind(result.dtype, self.lanes)
            self.define(result, Held(self.emit(f"select {type_} {chosen}, {whole} {x}, {whole} {y}"), self.lanes))

    def uniform_branch(self, operation: Operation, then: Region, otherwise: Region) -> None:
        taken, other, join = self.new_label(), self.new_label(), self.new_label()
        widths = [self.width(each) for each in operation.results]
        self.end(f"br i1 {self.get(operation.operands[0], 1)}, label %{taken}, label %{other}")
        sides: list[tuple[str, list[str]]] = []
        for label, region in ((taken, then), (other, otherwise)):
            self.begin(label)
            self.region(region)
            texts = [self.get(each, width) for each, width in zip(region.results, widths)]
            sides.append((self.label, texts))
            self.end(f"br label %{join}")
        self.begin(join)
        for number, (result, width) in enumerate(zip(operation.results, widths)):
            incoming = ", ".join(f"[ {texts[number]}, %{label} ]" for label, texts in sides)
            self.define(result, Held(self.emit(f"phi {kind(result.dtype, width)} {incoming}"), width))

    def combine(self, operation: Operation, width: int, left: list[str], right: list[str]) -> list[str]:
        """The combination of two sets of partial results, at any width."""
        region = operation.regions[1]
        outer, self.forced = self.forced, width
        for argument, text in zip(region.arguments, (*left, *right)):
            self.define(argument, Held(text, width))
        self.region(region)
        results = [self.get(each, width) for each in region.results]
        self.forced = outer
        return results

    def serial_loop(self, operation: Operation) -> None:
        """A loop that tests at its end, so that it needs no further rotation."""
        body, results = operation.regions[0], operation.results
        extent, first = self.get(operation.operands[0], 1), "0"
        if operation is self.kernel.grid:
            extent, first = "%last", "%first"
        widths = [self.width(each) for each in results]
        types = [kind(each.dtype, width) for each, width in zip(results, widths)]
        start = [self.get(each, width) for each, width in zip(operation.operands[1:], widths)]
        inside, after, before = self.new_label(), self.new_label(), self.label
        index, following = self.new_name(), self.new_name()
        carried = [self.new_name() for _ in results]
        self.end(f"br i1 {self.emit(f'icmp slt i64 {first}, {extent}')}, label %{inside}, label %{after}")
        self.begin(inside)
        phis = self.slot()
        self.define(body.arguments[0], Held(index))
        if operation.name == "serial":
            for argument, text, width in zip(body.arguments[1:], carried, widths):
                self.define(argument, Held(text, width))
        self.region(body)
        if operation.name == "reduce":
            width = max(widths, default=1)
            given = [self.get(each, width) for each in body.results]
            ending = self.combine(operation, width, carried, given)
        else:
            ending = [self.get(each, width) for each, width in zip(body.results, widths)]
        self.write(f"{following} = add nsw i64 {index}, 1")
        last = self.label
        self.end(f"br i1 {self.emit(f'icmp slt i64 {following}, {extent}')}, label %{inside}, label %{after}")
        phis.append(f"  {index} = phi i64 [ {first}, %{before} ], [ {following}, %{last} ]")
        for type_, name, x, y in zip(types, carried, start, ending):
            phis.append(f"  {name} = phi {type_} [ {x}, %{before} ], [ {y}, %{last} ]")
        self.begin(after)
        for result, type_, width, x, y in zip(results, types, widths, start, ending):
            self.define(result, Held(self.emit(f"phi {type_} [ {x}, %{before} ], [ {y}, %{last} ]"), width))

    def widths_of(self, operation: Operation) -> list[int]:
        """How many lanes a lane axis takes at a time: first, and for what is then left."""
        inner = list(walk(operation.regions[0]))
        wide = any(each.dtype.is_float and each.dtype.bits == 64 for op in inner for each in op.results)
        lanes = self.cpu.vector_bits // (64 if wide else 32)
        if not any(each.name in ("serial", "reduce") for each in inner):
            return [lanes * 2 if len(inner) < SMALL_BODY else lanes]
        # A loop inside reads a strip of each row: the wider the strip, the better memory is used.
        strip = next((count for limit, count in STRIPS if len(inner) <= limit), 1)
        strip = min(strip, 4) if self.cpu.vector_bits == 128 else strip
        return [lanes * strip, lanes] if strip > 1 else [lanes]

    def whole_vectors(
        self, operation: Operation, first: str, end: str, types: list[str], start: list[str]
    ) -> tuple[str, str, list[str]]:
        """A loop over whole vectors from `first` to `end`.

        It leaves us in the block after it, and gives the blocks that lead there and the carried values of the second.
        """
        body, lanes = operation.regions[0], self.lanes
        inside, after, before = self.new_label(), self.new_label(), self.label
        index, following = self.new_name(), self.new_name()
        carried = [self.new_name() for _ in types]
        self.end(f"br i1 {self.emit(f'icmp slt i64 {first}, {end}')}, label %{inside}, label %{after}")
        self.begin(inside)
        phis = self.slot()
        self.define(body.arguments[0], Held(index, lanes, stride=1))
        ending = self.lane_body(operation, carried)
        self.write(f"{following} = add nuw nsw i64 {index}, {lanes}")
        last = self.label
        self.end(f"br i1 {self.emit(f'icmp slt i64 {following}, {end}')}, label %{inside}, label %{after}")
        phis.append(f"  {index} = phi i64 [ {first}, %{before} ], [ {following}, %{last} ]")
        for type_, name, x, y in zip(types, carried, start, ending):
            phis.append(f"  {name} = phi {type_} [ {x}, %{before} ], [ {y}, %{last} ]")
        self.begin(after)
        return before, last, ending

    def vector_loop(self, operation: Operation) -> None:
        """Whole vectors, then one masked pass over what is left, then the partial results by halving."""
        known = operation.operands[0].constant
        if operation.name != "reduce" and known is not None:
            self.known_lanes(operation, int(known))
            return
        given = self.get(operation.operands[0], 1)
        extent = self.call("llvm.smax.i64", "i64", [("i64", given), ("i64", "0")])
        if operation.name == "reduce":
            self.vector_reduce(operation, extent)
            return
        position = "0"
        widths = self.widths_of(operation)
        for lanes in widths:
            left = extent if position == "0" else self.emit(f"sub i64 {extent}, {position}")
            whole = self.emit(f"and i64 {left}, {-lanes}")
            end = whole if position == "0" else self.emit(f"add i64 {position}, {whole}")
            self.enter_lanes(lanes)
            self.whole_vectors(operation, position, end, [], [])
            position = end
        left = self.emit(f"sub i64 {extent}, {position}")

        def tail() -> None:
            self.masked_body(operation, position, left, [])

        self.conditional(self.emit(f"icmp sgt i64 {left}, 0"), tail)
        self.leave_lanes()

    def known_lanes(self, operation: Operation, extent: int) -> None:
        """A lane axis whose extent is part of the kernel: vectors that fit it, and nothing to test.

        What a whole vector leaves over takes narrower ones: 24 floats are 16 and 8.
        """
        body, position, lanes = operation.regions[0], 0, self.widths_of(operation)[-1]
        while position < extent:
            left = extent - position
            while lanes > left and lanes > NARROWEST:
                lanes //= 2
            whole = left - left % lanes
            self.enter_lanes(lanes)
            if whole == lanes:
                self.define(body.arguments[0], Held(str(position), lanes, stride=1))
                self.lane_body(operation, [])
            elif whole:
                self.whole_vectors(operation, str(position), str(position + whole), [], [])
            else:
                self.masked_body(operation, str(position), str(left), [])
            position += whole or left
        self.leave_lanes()

    def masked_body(self, operation: Operation, position: str, left: str, carried: list[str]) -> list[str]:
        """One pass in which only the first `left` lanes run; others keep what was carried."""
        self.mask, self.left = self.first_lanes(left), left
        self.define(operation.regions[0].arguments[0], Held(position, self.lanes, stride=1))
        joined = self.lane_body(operation, carried)
        kept = []
        for result, new, old in zip(operation.results, joined, carried):
            type_ = kind(result.dtype, self.lanes)
            kept.append(self.emit(f"select {kind(bool_, self.lanes)} {self.mask}, {type_} {new}, {type_} {old}"))
        self.mask = None
        return kept

    def vector_reduce(self, operation: Operation, extent: str) -> None:
        types = [kind(each.dtype, PARTIALS) for each in operation.results]
        whole = self.emit(f"and i64 {extent}, {-PARTIALS}")
        start = [self.broadcast_of(each, PARTIALS) for each in operation.operands[1:]]
        self.enter_lanes(PARTIALS)
        before, last, ending = self.whole_vectors(operation, "0", whole, types, start)
        partial = [
            self.emit(f"phi {type_} [ {x}, %{before} ], [ {y}, %{last} ]") for type_, x, y in zip(types, start, ending)
        ]
        left = self.emit(f"sub i64 {extent}, {whole}")
        tail, after, checked = self.new_label(), self.new_label(), self.label
        self.end(f"br i1 {self.emit(f'icmp sgt i64 {left}, 0')}, label %{tail}, label %{after}")
        self.begin(tail)
        kept = self.masked_body(operation, whole, left, partial)
        last = self.label
        self.end(f"br label %{after}")
        self.begin(after)
        self.leave_lanes()
        totals = [
            self.emit(f"phi {type_} [ {x}, %{checked} ], [ {y}, %{last} ]") for type_, x, y in zip(types, partial, kept)
        ]
        self.halve(operation, totals, PARTIALS)

    def lane_body(self, operation: Operation, carried: list[str]) -> list[str]:
        self.region(operation.regions[0])
        if operation.name != "reduce":
            return []
        given = [self.get(each, self.lanes) for each in operation.regions[0].results]
        return self.combine(operation, self.lanes, carried, given)

    def halve(self, operation: Operation, totals: list[str], lanes: int) -> None:
        """Combine the upper half of the partial results into the lower, until one is left."""
        dtypes = [each.dtype for each in operation.results]
        while lanes > 1:
            half = lanes // 2
            sides: list[list[str]] = []
            for first in (0, half):
                order = ", ".join(f"i32 {first + each}" for each in range(half))
                sides.append(
                    [
                        self.emit(
                            f"shufflevector {kind(dtype, lanes)} {text}, {kind(dtype, lanes)} poison, "
                            f"<{half} x i32> <{order}>"
                        )
                        for dtype, text in zip(dtypes, totals)
                    ]
                )
            if half == 1:
                sides = [
                    [
                        self.emit(f"extractelement <1 x {element(dtype)}> {text}, i64 0")
                        for dtype, text in zip(dtypes, side)
                    ]
                    for side in sides
                ]
            totals = self.combine(operation, half, *sides)
            lanes = half
        for result, text in zip(operation.results, totals):
            self.define(result, Held(text))
