"""Kernels that look before they touch memory: the checked build.

In front of every load and store stands a call of `check`, which is told the buffer, the places of all lanes that run,
and what is to be written. A kernel that would do something wrong notes what, and returns at once.

The slot behind the last parameter holds a table: the words of `FAULT`, then for each parameter a row of `ROW`. For
every byte of a buffer there is a *stamp*, a u32: 0 where nobody wrote, 1 where an earlier step did, and `unit + 2`
where that iteration of the grid did, in this step. Where a step reads and writes the same memory, a second array tells
who read: 0, one unit as above, or 1 for several. Arrays of a block have stamps of their own, one for each element.
"""

from __future__ import annotations

from burn.cube.ir import Buffer, Kernel, Operation, Value
from burn.cube.targets.llvm.cpu import Cpu
from burn.cube.targets.llvm.emitter import Emitter
from burn.cube.targets.llvm.held import Held
from burn.cube.targets.llvm.instructions import kind, memory_element, vector
from burn.dtype import bool_

FAULT = ("kind", "buffer", "index", "unit", "other", "writes")
HEAD = 8
"""Words in front of the rows."""

ROW = ("low", "high", "stamps", "readers", "flags", "grain")
"""The bytes that may be touched, from the buffer's address on; arrays of stamps; flags; bytes of a stamp."""

OUTSIDE, UNWRITTEN, SHARED, FORBIDDEN = 1, 2, 3, 4
"""Kinds of faults: out of bounds, reading what nobody wrote, two units at one place, writing what is not to be."""

WRITABLE, ANY_UNIT, REPEATED, PRIVATE = 1, 2, 4, 8
"""Flags: may be written; by any unit; by several with the same value; belongs to one unit after the other."""

CHECK = f"""
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define internal i1 @check(ptr %table, ptr %row, ptr %base, i64 %which, i64 %first, i64 %stride, ptr %indices, ptr %mask,
                          ptr %values, i64 %count, i64 %size, i64 %unit) noinline nounwind {{
entry:
  %low = load i64, ptr %row
  %high.at = getelementptr i64, ptr %row, i64 1
  %high = load i64, ptr %high.at
  %stamps.at = getelementptr i64, ptr %row, i64 2
  %stamps = load ptr, ptr %stamps.at
  %readers.at = getelementptr i64, ptr %row, i64 3
  %readers = load ptr, ptr %readers.at
  %flags.at = getelementptr i64, ptr %row, i64 4
  %flags = load i64, ptr %flags.at
  %grain.at = getelementptr i64, ptr %row, i64 5
  %grain = load i64, ptr %grain.at
  %writes = icmp ne ptr %values, null
  %masked = icmp ne ptr %mask, null
  %listed = icmp ne ptr %indices, null
  %has.stamps = icmp ne ptr %stamps, null
  %has.readers = icmp ne ptr %readers, null
  %writable.bit = and i64 %flags, {WRITABLE}
  %locked = icmp eq i64 %writable.bit, 0
  %forbidden = and i1 %writes, %locked
  %free.bits = and i64 %flags, {ANY_UNIT | PRIVATE}
  %free = icmp ne i64 %free.bits, 0
  %repeated.bit = and i64 %flags, {REPEATED}
  %repeated = icmp ne i64 %repeated.bit, 0
  %private.bit = and i64 %flags, {PRIVATE}
  %private = icmp ne i64 %private.bit, 0
  %unit.narrow = trunc i64 %unit to i32
  %mine = add i32 %unit.narrow, 2
  %pieces = udiv i64 %size, %grain
  br label %lane
lane:
  %i = phi i64 [ 0, %entry ], [ %i.next, %next ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %one, label %fine
one:
  br i1 %masked, label %test, label %runs
test:
  %mask.at = getelementptr i8, ptr %mask, i64 %i
  %bit = load i8, ptr %mask.at
  %on = icmp ne i8 %bit, 0
  br i1 %on, label %runs, label %next
runs:
  br i1 %listed, label %from.list, label %from.first
from.list:
  %index.at = getelementptr i64, ptr %indices, i64 %i
  %index.listed = load i64, ptr %index.at
  br label %place
from.first:
  %far = mul i64 %i, %stride
  %index.counted = add i64 %first, %far
  br label %place
place:
  %index = phi i64 [ %index.listed, %from.list ], [ %index.counted, %from.first ]
  %lowest = sdiv i64 %low, %size
  %beyond = sdiv i64 %high, %size
  %under = icmp slt i64 %index, %lowest
  %over = icmp sge i64 %index, %beyond
  %outside = or i1 %under, %over
  br i1 %outside, label %fault, label %inside
inside:
  br i1 %forbidden, label %fault, label %permitted
permitted:
  %offset = mul i64 %index, %size
  %piece = sdiv i64 %offset, %grain
  br i1 %has.stamps, label %byte, label %next
byte:
  %b = phi i64 [ 0, %permitted ], [ %b.next, %byte.next ]
  %at = add i64 %piece, %b
  %stamp.at = getelementptr i32, ptr %stamps, i64 %at
  %stamp = load i32, ptr %stamp.at
  %reader.at = getelementptr i32, ptr %readers, i64 %at
  %before = icmp ult i32 %stamp, 2
  %own = icmp eq i32 %stamp, %mine
  %settled = or i1 %before, %own
  br i1 %writes, label %writing, label %reading
reading:
  %empty = icmp eq i32 %stamp, 0
  %foreign = xor i1 %own, true
  %stale = and i1 %private, %foreign
  %unwritten = or i1 %empty, %stale
  br i1 %unwritten, label %fault, label %written
written:
  %readable = or i1 %settled, %free
  br i1 %readable, label %note.reader, label %fault
note.reader:
  br i1 %has.readers, label %reader, label %byte.next
reader:
  %reader.old = load i32, ptr %reader.at
  %nobody = icmp eq i32 %reader.old, 0
  %still = icmp eq i32 %reader.old, %mine
  %alone = or i1 %nobody, %still
  %reader.new = select i1 %alone, i32 %mine, i32 1
  store i32 %reader.new, ptr %reader.at
  br label %byte.next
writing:
  %unshared = or i1 %settled, %free
  br i1 %unshared, label %read.before, label %compare
compare:
  %where = add i64 %offset, %b
  %old.at = getelementptr i8, ptr %base, i64 %where
  %old = load i8, ptr %old.at
  %value.first = mul i64 %i, %size
  %value.place = add i64 %value.first, %b
  %new.at = getelementptr i8, ptr %values, i64 %value.place
  %new = load i8, ptr %new.at
  %same = icmp eq i8 %old, %new
  %allowed = and i1 %same, %repeated
  br i1 %allowed, label %read.before, label %fault
read.before:
  br i1 %has.readers, label %readers.test, label %put
readers.test:
  %read = load i32, ptr %reader.at
  %unread = icmp eq i32 %read, 0
  %by.me = icmp eq i32 %read, %mine
  %mine.alone = or i1 %unread, %by.me
  %harmless = or i1 %mine.alone, %free
  br i1 %harmless, label %put, label %fault
put:
  store i32 %mine, ptr %stamp.at
  br label %byte.next
byte.next:
  %b.next = add i64 %b, 1
  %more.bytes = icmp slt i64 %b.next, %pieces
  br i1 %more.bytes, label %byte, label %next
next:
  %i.next = add i64 %i, 1
  br label %lane
fault:
  %kind = phi i64 [ {OUTSIDE}, %place ], [ {FORBIDDEN}, %inside ], [ {UNWRITTEN}, %reading ], [ {SHARED}, %written ],
                  [ {SHARED}, %compare ], [ {SHARED}, %readers.test ]
  %other = phi i32 [ 0, %place ], [ 0, %inside ], [ 0, %reading ], [ %stamp, %written ], [ %stamp, %compare ],
                   [ %read, %readers.test ]
  %other.wide = zext i32 %other to i64
  %writes.wide = zext i1 %writes to i64
  store i64 %kind, ptr %table
  %t1 = getelementptr i64, ptr %table, i64 1
  store i64 %which, ptr %t1
  %t2 = getelementptr i64, ptr %table, i64 2
  store i64 %index, ptr %t2
  %t3 = getelementptr i64, ptr %table, i64 3
  store i64 %unit, ptr %t3
  %t4 = getelementptr i64, ptr %table, i64 4
  store i64 %other.wide, ptr %t4
  %t5 = getelementptr i64, ptr %table, i64 5
  store i64 %writes.wide, ptr %t5
  ret i1 false
fine:
  ret i1 true
}}
"""


class CheckedEmitter(Emitter):
    """Writes one kernel with its checks."""

    def __init__(self, kernel: Kernel, cpu: Cpu, symbol: str) -> None:
        super().__init__(kernel, cpu, symbol)
        self.rows: dict[Buffer, tuple[int, str]] = {}

    def run(self) -> str:
        """The module's text."""
        text = super().run()
        end = text.rindex("}\nattributes")
        return CHECK + text[:end] + "fault:\n  ret void\n" + text[end:]

    def parameters(self) -> None:
        super().parameters()
        count = len(self.kernel.parameters)
        slot = self.emit(f"getelementptr i64, ptr %slots, i64 {count}")
        self.table = self.emit(f"load ptr, ptr {slot}, align 8")
        for position, each in enumerate(self.kernel.parameters):
            if each.buffer is not None:
                row = self.emit(f"getelementptr i64, ptr {self.table}, i64 {HEAD + position * len(ROW)}")
                self.rows[each.buffer] = position, row
        for number, buffer in enumerate(self.kernel.buffers):
            self.rows[buffer] = count + number, self.own_row(buffer)

    def own_row(self, buffer: Buffer) -> str:
        """The row of an array of a block, with its stamps, or of a constant table, which needs none."""
        row, stamps, flags = self.emit(f"alloca [{len(ROW)} x i64], align 8"), "null", 0
        if buffer.space == "shared":
            stamps, flags = self.emit(f"alloca [{buffer.count} x i32], align 8"), WRITABLE | PRIVATE
            self.write(f"call void @llvm.memset.p0.i64(ptr {stamps}, i8 0, i64 {4 * buffer.count}, i1 false)")
        words = ["i64 0", f"i64 {buffer.count * buffer.dtype.size}", f"ptr {stamps}", "ptr null", f"i64 {flags}"]
        for position, word in enumerate([*words, f"i64 {buffer.dtype.size}"]):
            place = self.emit(f"getelementptr i64, ptr {row}, i64 {position}")
            self.write(f"store {word}, ptr {place}, align 8")
        return row

    def load(self, operation: Operation) -> Held:
        self.check(operation, None)
        return super().load(operation)

    def store(self, operation: Operation) -> None:
        self.check(operation, operation.operands[1])
        super().store(operation)

    def store_together(self, group: list[Operation]) -> None:
        for each in group:
            self.check(each, each.operands[1])
        super().store_together(group)

    def store_turned(self, group: list[Operation]) -> None:
        for each in group:
            self.check(each, each.operands[1])
        super().store_turned(group)

    def atomic(self, operation: Operation) -> Held:
        self.check(operation, None)
        return super().atomic(operation)

    def check(self, operation: Operation, value: Value | None) -> None:
        """Call `check` for the lanes that run, and leave the kernel if it says no."""
        buffer, index = operation.buffer, operation.operands[0]
        assert buffer is not None
        held, lanes, mask, indices = self.values[index], 1, "null", "null"
        wide = value is not None and self.values[value].width > 1
        if held.width > 1 or self.guarded or wide:
            lanes = self.lanes
            mask = "null" if self.mask is None else self.on_stack("mask", "i8", self.bytes_of(self.mask), lanes)
        if held.stride is not None:
            first, stride = held.text, str(held.stride)
        elif held.width == 1:
            first, stride = held.text, "0"
        else:
            first, stride = "0", "0"
            indices = self.on_stack("indices", "i64", held.text, lanes)
        values = "null"
        if value is not None:
            text = self.to_memory(self.get(value, lanes), buffer.dtype, lanes)
            values = self.on_stack("values", memory_element(buffer.dtype), text, lanes)
        which, row = self.rows[buffer]
        grid = self.kernel.grid
        unit = "0" if grid is None else self.values[grid.regions[0].arguments[0]].text
        fine = self.emit(
            f"call i1 @check(ptr {self.table}, ptr {row}, ptr {self.pointers[buffer]}, i64 {which}, i64 {first}, "
            f"i64 {stride}, ptr {indices}, ptr {mask}, ptr {values}, i64 {lanes}, i64 {buffer.dtype.size}, i64 {unit})"
        )
        following = self.new_label()
        self.end(f"br i1 {fine}, label %{following}, label %fault")
        self.begin(following)

    def bytes_of(self, mask: str) -> str:
        return self.emit(f"zext {kind(bool_, self.lanes)} {mask} to {vector('i8', self.lanes)}")

    def on_stack(self, name: str, type_: str, text: str, lanes: int) -> str:
        """The lanes of a value, in memory."""
        whole = vector(type_, lanes)
        place = f"%check.{name}.{type_}.{lanes}"
        self.scratch.setdefault(place, f"  {place} = alloca {whole}, align 64")
        self.write(f"store {whole} {text}, ptr {place}, align 64")
        return place
