"""Loads and stores: neighbours as one vector, uniform places as scalars, the rest lane by lane."""

from __future__ import annotations

from burn.cube.ir import Buffer, Operation, Value
from burn.cube.targets.llvm.cpu import Cpu
from burn.cube.targets.llvm.held import Held, Page
from burn.cube.targets.llvm.instructions import kind, literal, memory_element, suffix, vector
from burn.dtype import DType, bool_, f32, i32, u8

LARGEST_LOOKUP = 32
"""Elements up to which a constant table is held in registers."""


class Access(Page):
    """Memory operations. The mask, where there is one, keeps lanes that do not run from touching memory."""

    def __init__(self, cpu: Cpu) -> None:
        super().__init__()
        self.cpu = cpu
        self.pointers: dict[Buffer, str] = {}
        self.left = "0"
        """How many lanes run in the last pass over a lane or reduce axis."""
        self.scratch: dict[str, str] = {}
        """Arrays on the stack, by name."""

    def has_masks(self, dtype: DType) -> bool:
        """Whether the processor loads and stores some lanes of a vector; if not, LLVM would branch for each."""
        bits = self.cpu.vector_bits
        return bits == 512 or (bits == 256 and dtype.size >= 4) or self.guarded

    def address(self, buffer: Buffer, index: str) -> str:
        return self.emit(f"getelementptr {memory_element(buffer.dtype)}, ptr {self.pointers[buffer]}, i64 {index}")

    def load(self, operation: Operation) -> Held:
        buffer, index = operation.buffer, operation.operands[0]
        assert buffer is not None
        held, dtype = self.values[index], buffer.dtype
        if held.width == 1:
            if self.guarded:
                return Held(self.from_memory(self.load_if_any(buffer, held.text), dtype, 1))
            pointer = self.address(buffer, held.text)
            return Held(self.from_memory(self.load_from(pointer, dtype, 1), dtype, 1))
        if held.stride == 1:
            text = self.load_from(self.address(buffer, held.text), dtype, self.lanes, self.mask)
        elif held.stride == -1:
            last = self.emit(f"sub i64 {held.text}, {self.lanes - 1}")
            mask = None if self.mask is None else self.reversed(self.mask, "i1")
            text = self.load_from(self.address(buffer, last), dtype, self.lanes, mask)
            text = self.reversed(text, memory_element(dtype))
        elif self.is_lookup(buffer):
            text = self.lookup(buffer, index)
        else:
            text = self.gather(buffer, index)
        return Held(self.from_memory(text, dtype, self.lanes), self.lanes)

    def is_lookup(self, buffer: Buffer) -> bool:
        """Whether a constant table fits a few registers whose lanes the processor can choose from."""
        register = self.cpu.vector_bits // 32
        small = buffer.space == "table" and buffer.dtype is f32 and buffer.count <= LARGEST_LOOKUP
        return small and self.cpu.vector_bits >= 256 and self.lanes % register == 0

    def lookup(self, buffer: Buffer, index: Value) -> str:
        """Elements of a small table: permutations of registers instead of a gather."""
        register = self.cpu.vector_bits // 32
        numbers = [f"float {literal(each, f32)}" for each in buffer.values]
        numbers += ["float 0.0"] * (-len(numbers) % register)
        tables = [f"<{', '.join(numbers[at : at + register])}>" for at in range(0, len(numbers), register)]
        wide = self.get(index, self.lanes)
        narrow = self.emit(f"trunc <{self.lanes} x i64> {wide} to <{self.lanes} x i32>")
        pieces = []
        for first in range(0, self.lanes, register):
            part = self.resized(narrow, i32, self.lanes, register, first)
            pieces.append(self.permuted(tables, part, register))
        return self.joined(pieces, f32, register)

    def permuted(self, tables: list[str], index: str, register: int) -> str:
        """One register of elements from tables of a register each: the upper bits of an index tell the table."""
        type_, places = kind(f32, register), kind(i32, register)
        if register == 16 and len(tables) == 2:
            arguments = [(type_, tables[0]), (places, index), (type_, tables[1])]
            return self.call("llvm.x86.avx512.vpermi2var.ps.512", type_, arguments)
        name = "llvm.x86.avx512.permvar.sf.512" if register == 16 else "llvm.x86.avx2.permps"
        found = [self.call(name, type_, [(type_, each), (places, index)]) for each in tables]
        bit = register
        while len(found) > 1:
            masked = self.emit(f"and {places} {index}, splat (i32 {bit})")
            upper = self.emit(f"icmp ne {places} {masked}, zeroinitializer")
            pairs = zip(found[::2], [*found[1::2], *found[-1:]])
            found = [
                self.emit(f"select {kind(bool_, register)} {upper}, {type_} {high}, {type_} {low}")
                for low, high in pairs
            ]
            bit *= 2
        return found[0]

    def load_from(self, pointer: str, dtype: DType, width: int, mask: str | None = None) -> str:
        type_ = vector(memory_element(dtype), width)
        if mask is None:
            return self.emit(f"load {type_}, ptr {pointer}, align {dtype.size}")
        if mask == self.mask and not self.has_masks(dtype):
            place = self.stack(dtype)
            self.write(f"store {type_} zeroinitializer, ptr {place}, align 64")
            self.copy_left(dtype, pointer, place)
            return self.emit(f"load {type_}, ptr {place}, align 64")
        return self.call(
            f"llvm.masked.load.{suffix(memory_element(dtype), width)}.p0",
            type_,
            [("ptr", pointer), ("i32", str(dtype.size)), (kind(bool_, width), mask), (type_, "zeroinitializer")],
        )

    def load_if_any(self, buffer: Buffer, index: str) -> str:
        """A uniform load in a branch that perhaps no lane takes."""
        assert self.mask is not None
        type_ = memory_element(buffer.dtype)
        taken, after, before = self.new_label(), self.new_label(), self.label
        self.end(f"br i1 {self.any_of(self.mask)}, label %{taken}, label %{after}")
        self.begin(taken)
        text = self.load_from(self.address(buffer, index), buffer.dtype, 1)
        self.end(f"br label %{after}")
        self.begin(after)
        zero = "0.0" if buffer.dtype.is_float and type_ != "i16" else "0"
        return self.emit(f"phi {type_} [ {zero}, %{before} ], [ {text}, %{taken} ]")

    def stack(self, dtype: DType) -> str:
        """Room on the stack for one vector."""
        type_ = vector(memory_element(dtype), self.lanes)
        name = f"%stack.{suffix(memory_element(dtype), self.lanes)}"
        self.scratch.setdefault(name, f"  {name} = alloca {type_}, align 64")
        return name

    def copy_left(self, dtype: DType, source: str, target: str) -> None:
        """Copy as many elements as there are lanes in the last pass, at least one."""
        type_ = memory_element(dtype)
        inside, after, before = self.new_label(), self.new_label(), self.label
        index, following = self.new_name(), self.new_name()
        self.end(f"br label %{inside}")
        self.begin(inside)
        self.write(f"{index} = phi i64 [ 0, %{before} ], [ {following}, %{inside} ]")
        origin = self.emit(f"getelementptr {type_}, ptr {source}, i64 {index}")
        element = self.emit(f"load {type_}, ptr {origin}, align {dtype.size}")
        destination = self.emit(f"getelementptr {type_}, ptr {target}, i64 {index}")
        self.write(f"store {type_} {element}, ptr {destination}, align {dtype.size}")
        self.write(f"{following} = add nuw nsw i64 {index}, 1")
        self.end(f"br i1 {self.emit(f'icmp slt i64 {following}, {self.left}')}, label %{inside}, label %{after}")
        self.begin(after)

    def places(self, buffer: Buffer, index: Value) -> str:
        vector_index = self.get(index, self.lanes)
        return self.emit(
            f"getelementptr {memory_element(buffer.dtype)}, ptr {self.pointers[buffer]}, "
            f"<{self.lanes} x i64> {vector_index}"
        )

    def active(self) -> tuple[str, str]:
        return kind(bool_, self.lanes), self.mask if self.mask is not None else "splat (i1 true)"

    def gather(self, buffer: Buffer, index: Value) -> str:
        type_ = vector(memory_element(buffer.dtype), self.lanes)
        return self.call(
            f"llvm.masked.gather.{suffix(memory_element(buffer.dtype), self.lanes)}.v{self.lanes}p0",
            type_,
            [
                (f"<{self.lanes} x ptr>", self.places(buffer, index)),
                ("i32", str(buffer.dtype.size)),
                self.active(),
                (type_, "zeroinitializer"),
            ],
        )

    def store(self, operation: Operation) -> None:
        buffer, (index, value) = operation.buffer, operation.operands
        assert buffer is not None
        held, dtype = self.values[index], buffer.dtype
        if held.width == 1 and self.values[value].width == 1 and not self.guarded:
            text = self.to_memory(self.get(value, 1), dtype, 1)
            pointer = self.address(buffer, held.text)
            self.write(f"store {memory_element(dtype)} {text}, ptr {pointer}, align {dtype.size}")
            return
        text = self.to_memory(self.get(value, self.lanes), dtype, self.lanes)
        if held.stride == 1:
            self.store_to(self.address(buffer, held.text), text, dtype, self.mask)
        elif held.stride == -1:
            last = self.emit(f"sub i64 {held.text}, {self.lanes - 1}")
            mask = None if self.mask is None else self.reversed(self.mask, "i1")
            text = self.reversed(text, memory_element(dtype))
            self.store_to(self.address(buffer, last), text, dtype, mask)
        else:
            self.scatter(buffer, index, text)

    def store_together(self, group: list[Operation]) -> None:
        """Stores to neighbouring places of each lane: their values in turns, as one run of memory."""
        buffer, count, lanes = group[0].buffer, len(group), self.lanes
        assert buffer is not None
        dtype = buffer.dtype
        texts = [self.to_memory(self.get(each.operands[1], lanes), dtype, lanes) for each in group]
        while len(texts) & (len(texts) - 1):
            texts.append("poison")
        whole = self.joined(texts, u8 if dtype is bool_ else dtype, lanes)
        order = ", ".join(f"i32 {number * lanes + lane}" for lane in range(lanes) for number in range(count))
        all_, given = vector(memory_element(dtype), lanes * count), vector(memory_element(dtype), lanes * len(texts))
        mixed = self.emit(f"shufflevector {given} {whole}, {given} poison, <{lanes * count} x i32> <{order}>")
        pointer = self.address(buffer, self.values[group[0].operands[0]].text)
        self.write(f"store {all_} {mixed}, ptr {pointer}, align {dtype.size}")

    def store_turned(self, group: list[Operation]) -> None:
        """As many stores to neighbouring places as there are lanes: the square turned around, then a row a lane."""
        buffer, lanes = group[0].buffer, self.lanes
        assert buffer is not None
        dtype = buffer.dtype
        type_ = vector(memory_element(dtype), lanes)
        rows = [self.to_memory(self.get(each.operands[1], lanes), dtype, lanes) for each in group]
        half = lanes // 2
        while half:  # blocks of half the size change places across the diagonal, in pairs of rows
            upper = ", ".join(f"i32 {lane + lanes - half if lane & half else lane}" for lane in range(lanes))
            lower = ", ".join(f"i32 {lane + lanes if lane & half else lane + half}" for lane in range(lanes))
            for row in [each for each in range(lanes) if not each & half]:
                pair = f"shufflevector {type_} {rows[row]}, {type_} {rows[row + half]}, <{lanes} x i32>"
                rows[row], rows[row + half] = self.emit(f"{pair} <{upper}>"), self.emit(f"{pair} <{lower}>")
            half //= 2
        held = self.values[group[0].operands[0]]
        place = held.text
        for text in rows:
            self.write(f"store {type_} {text}, ptr {self.address(buffer, place)}, align {dtype.size}")
            place = self.emit(f"add i64 {place}, {held.stride}")

    def store_to(self, pointer: str, text: str, dtype: DType, mask: str | None) -> None:
        type_ = vector(memory_element(dtype), self.lanes)
        if mask is None:
            self.write(f"store {type_} {text}, ptr {pointer}, align {dtype.size}")
            return
        if mask == self.mask and not self.has_masks(dtype):
            place = self.stack(dtype)
            self.write(f"store {type_} {text}, ptr {place}, align 64")
            self.copy_left(dtype, place, pointer)
            return
        name = f"llvm.masked.store.{suffix(memory_element(dtype), self.lanes)}.p0"
        mask_type = kind(bool_, self.lanes)
        self.declared.setdefault(name, f"declare void @{name}({type_}, ptr, i32, {mask_type})")
        self.write(f"call void @{name}({type_} {text}, ptr {pointer}, i32 {dtype.size}, {mask_type} {mask})")

    def scatter(self, buffer: Buffer, index: Value, text: str) -> None:
        type_, places = vector(memory_element(buffer.dtype), self.lanes), self.places(buffer, index)
        name = f"llvm.masked.scatter.{suffix(memory_element(buffer.dtype), self.lanes)}.v{self.lanes}p0"
        mask_type, mask = self.active()
        pointers = f"<{self.lanes} x ptr>"
        self.declared.setdefault(name, f"declare void @{name}({type_}, {pointers}, i32, {mask_type})")
        self.write(
            f"call void @{name}({type_} {text}, {pointers} {places}, i32 {buffer.dtype.size}, {mask_type} {mask})"
        )

    def reversed(self, text: str, element_type: str) -> str:
        type_ = vector(element_type, self.lanes)
        order = ", ".join(f"i32 {each}" for each in range(self.lanes - 1, -1, -1))
        return self.emit(f"shufflevector {type_} {text}, {type_} poison, <{self.lanes} x i32> <{order}>")

    def from_memory(self, text: str, dtype: DType, width: int) -> str:
        if dtype is not bool_:
            return text
        return self.emit(f"icmp ne {vector('i8', width)} {text}, {'zeroinitializer' if width > 1 else '0'}")

    def to_memory(self, text: str, dtype: DType, width: int) -> str:
        return self.emit(f"zext {kind(bool_, width)} {text} to {vector('i8', width)}") if dtype is bool_ else text
