"""Library calls: nodes that oneDNN computes, with the layouts their operands have anyway.

A call may need memory beside the values of the program (a packed weight, an operand copied because
oneDNN cannot walk through it): temporaries, numbered after the values.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from burn.backend.cpu import onednn
from burn.backend.cpu.lower.access import Access, contiguous_strides, whole
from burn.backend.cpu.lower.copies import copied, packing
from burn.backend.cpu.lower.epilogue import epilogue_of
from burn.backend.cpu.lower.loop_parts import Loop
from burn.backend.cpu.lower.products import lower_product, runs_on_kernels
from burn.backend.cpu.lower.units import Schedule
from burn.backend.cpu.settings import Settings
from burn.dtype import DType, f32
from burn.errors import MissingOperation
from burn.program.program import Node, Program


@dataclass
class LibraryCall:
    """A primitive, and for each of its roles the value and the byte offset at which its buffer begins."""

    primitive: Any
    roles: dict[str, tuple[int, int]]
    label: str
    writes: tuple[str, ...] = ("out",)
    constant: Constant | None = None

    def primitives(self) -> list[Any]:
        """Every primitive that this call may run."""
        others = [] if self.constant is None else [self.constant.pack.primitive, self.constant.call.primitive]
        return [self.primitive, *others]


@dataclass
class Constant:
    """How a call runs when an operand is the same as in the run before: the operand packed once, then read so."""

    pack: LibraryCall
    call: LibraryCall


Step = Loop | LibraryCall


class Calls:
    """Lowers the calls of one program, and numbers the temporaries they need."""

    def __init__(self, program: Program, schedule: Schedule, settings: Settings | None = None) -> None:
        self.program, self.schedule, self.settings = program, schedule, settings or Settings()
        self.mapped_bytes = 0  # of weights that Winograd's convolutions have mapped so far
        self.temporaries: dict[int, int] = {}  # number → bytes
        self.producer = program.producer()
        self.uses = program.uses()
        self._packed: dict[Any, int] = {}
        self._ordered: dict[Any, Access] = {}
        self._homes: dict[int, Access] | None = None
        self._in_order: dict[Any, Access] = {}

    def lower(self, node: Node) -> list[Step] | None:
        """The steps of a node, or None where the engine has none and NumPy runs it."""
        from burn.backend.cpu.lower.attention.kernel import lower_attention
        from burn.backend.cpu.lower.blocks import lower_block
        from burn.backend.cpu.lower.convolution import lower_convolution
        from burn.backend.cpu.lower.pooling import lower_pooling

        if node.op.name == "reshape":
            return self._reshape(node)
        if node.op.name == "cat" and node.reads() and self.home(node.reads()[0]).value == node.results[0]:
            return []  # the parts are in their places
        if node.op.name == "attention":
            return lower_attention(self, node)
        fused = lower_block(self, node)
        if fused is not None:
            return fused
        pooled = lower_pooling(self, node)
        if pooled is not None:
            return pooled
        if any(number in self.schedule.constants for number in node.reads()):
            return None
        try:
            if node.op.name == "matmul":
                epilogue, _ = epilogue_of(node)
                alone = len(node.operands) == 2  # and without the bias of a library call
                if epilogue is not None or (alone and runs_on_kernels(self.program, node)):
                    return lower_product(self, node)
                return self._matmul(node) if onednn.available() else None
            return lower_convolution(self, node)
        except MissingOperation:
            return None

    def home(self, number: int) -> Access:
        """Where a result is written: memory of its own, or a part of a larger image."""
        from burn.backend.cpu.lower.blocks import homes_of

        if self._homes is None:
            self._homes = homes_of(self.program)
        return self._homes.get(number) or whole(number, tuple(self.program.values[number].shape))

    def temporary(self, size: int) -> int:
        """The number of a new temporary of `size` bytes."""
        number = len(self.program.values) + len(self.temporaries)
        self.temporaries[number] = max(size, 1)
        return number

    def copy(self, access: Access, dtype: DType) -> tuple[Loop, Access]:
        """A step that copies an access into a temporary, and the access of that."""
        size = dtype.size
        for each in access.shape:
            size *= each
        number = self.temporary(size)
        return copied(access, dtype, number), Access(number, access.shape, contiguous_strides(access.shape))

    def in_order(self, access: Access, dtype: DType) -> tuple[list[Step], Access]:
        """The access itself if it is contiguous, else a step that copies it, and its copy, shared by all who ask."""
        if access.is_contiguous:
            return [], access
        key = (access, dtype)
        if key in self._in_order:
            return [], self._in_order[key]
        step, self._in_order[key] = self.copy(access, dtype)
        return [step], self._in_order[key]

    def ordered(self, access: Access, dtype: DType) -> tuple[list[Step], Access]:
        """The steps that copy a weight into the order of a kernel, and the access of the copy; equal ones share it."""
        key = (access, dtype)
        if key in self._ordered:
            return [], self._ordered[key]
        number = self.temporary(prod(access.shape) * dtype.size)
        self._ordered[key] = Access(number, access.shape, contiguous_strides(access.shape))
        return [packing(access, dtype, number)], self._ordered[key]

    def packed(self, access: Access, source: onednn.Layout, wanted: onednn.Layout) -> tuple[list[Step], int]:
        """The steps that bring an operand into the layout of a primitive, and the number of the result.

        Two primitives that want the same operand in the same layout share it.
        """
        key = (access, wanted)
        if key in self._packed:
            return [], self._packed[key]
        primitive = onednn.reorder(source, wanted)
        number = self._packed[key] = self.temporary(wanted.size)
        roles = {"x": (access.value, access.offset * source.dtype.size), "out": (number, 0)}
        return [LibraryCall(primitive, roles, "pack")], number

    def _reshape(self, node: Node) -> list[Step] | None:
        """A reshape that is no view: the elements in order, in memory of their own."""
        source, result = node.operands[0], node.results[0]
        assert isinstance(source, int)
        value = self.program.values[source]
        if source in self.schedule.constants or 0 in value.shape or not value.dtype.is_arithmetic:
            return None
        return [copied(self.schedule.accesses[source], value.dtype, result, "reshape")]

    def _matmul(self, node: Node) -> list[Step] | None:
        first, second, *rest = node.operands
        assert isinstance(first, int)
        assert isinstance(second, int)
        result = node.results[0]
        value = self.program.values[result]
        if value.dtype is not f32 or 0 in value.shape or 0 in self.program.values[first].shape:
            return None
        steps: list[Step] = []
        x, y = (self._walkable(self.schedule.accesses[number], steps) for number in (first, second))
        out = onednn.Layout.row_major(tuple(value.shape), f32)
        size = f32.size
        roles = {"x": (x.value, x.offset * size), "y": (y.value, y.offset * size), "out": (result, 0)}
        bias = None
        if rest:
            assert isinstance(rest[0], int)
            held = self.schedule.accesses[rest[0]]
            if not held.is_contiguous:
                step, held = self.copy(held, f32)
                steps.append(step)
            bias = onednn.Layout.row_major((1, value.shape[-1]), f32)
            roles["bias"] = (held.value, held.offset * size)
        primitive = onednn.matmul(layout_of(x, f32), layout_of(y, f32), out, bias)
        if primitive.is_reference and not rest:
            return None
        shapes = "x".join(str(each) for each in (*self.program.values[first].shape, value.shape[-1]))
        call = LibraryCall(primitive, roles, f"matmul {shapes}" + (" + bias" if rest else ""))
        call.constant = self._constant_second(call, x, y, out, bias)
        return [*steps, call]

    def _walkable(self, access: Access, steps: list[Step]) -> Access:
        """The access itself if oneDNN walks well through it, else a copy: one of the last two dims has stride 1."""
        matrix = [stride for size, stride in zip(access.shape[-2:], access.strides[-2:], strict=True) if size != 1]
        if min(matrix, default=1) == 1 and all(stride >= 0 for stride in access.strides):
            return access
        step, access = self.copy(access, f32)
        steps.append(step)
        return access

    def _constant_second(self, call: LibraryCall, x: Access, y: Access, out: Any, bias: Any) -> Constant | None:
        """The same product with its second operand packed, where that operand is an input that may stay the same."""
        if y.value >= self.program.inputs or len(y.shape) != 2:
            return None
        try:
            primitive = onednn.matmul(layout_of(x, f32), onednn.Layout.any(y.shape, f32), out, bias)
            source = layout_of(y, f32)
            wanted = primitive.layouts["y"]
            if primitive.is_reference or wanted == source or wanted.shape != source.shape:
                return None
            number = self.temporary(wanted.size)
            roles = {"x": (y.value, y.offset * f32.size), "out": (number, 0)}
            pack = LibraryCall(onednn.reorder(source, wanted), roles, "pack")
        except MissingOperation:
            return None
        return Constant(pack, LibraryCall(primitive, call.roles | {"y": (number, 0)}, f"{call.label} packed"))


def layout_of(access: Access, dtype: DType) -> onednn.Layout:
    """oneDNN's name for an access; a dim of size 1 gets the stride that row-major memory would have."""
    natural = contiguous_strides(access.shape)
    strides = tuple(
        usual if size == 1 else stride
        for size, stride, usual in zip(access.shape, access.strides, natural, strict=True)
    )
    if any(stride < 0 for stride in strides):
        raise MissingOperation("onednn: reversed operands need a copy")
    return onednn.Layout.strided(access.shape, strides, dtype)
