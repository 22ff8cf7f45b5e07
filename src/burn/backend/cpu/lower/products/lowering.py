"""From a node to the steps of its product: copies where memory cannot be walked well, packing, and the kernel."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from burn.backend.cpu.lower.products.blocked import Blocked, Packed
from burn.backend.cpu.lower.products.choice import PACKED, SCRATCH, Choice, choose
from burn.backend.cpu.lower.products.dots import Dots, is_dots
from burn.backend.cpu.lower.products.form import Form, form_of
from burn.backend.cpu.lower.products.packing import pack, packed_bytes, turned
from burn.backend.cpu.lower.products.tile import Tile, lanes_of
from burn.backend.cpu.lower.products.total import Total
from burn.dtype import DType, bf16, f16, f32, f64
from burn.engine.lower.epilogue import epilogue_of, own_operands
from burn.engine.lower.loop import Loop, Prepared
from burn.engine.target import target
from burn.program.program import Node, Program
from burn.symbolic import value_of

if TYPE_CHECKING:
    from burn.engine.lower.calls import Calls

DTYPES = (f32, f16, bf16, f64)
"""What products are made of; all but f64 are summed in f32."""


def fits(program: Program, node: Node) -> bool:
    """Whether there is a kernel for a product."""
    if node.op.name != "matmul":
        return False
    values = [program.values[number] for number in (*node.reads()[:2], *node.results)]
    known = all(each.dtype in DTYPES and 0 not in each.shape for each in values)
    return known and len({each.dtype for each in values}) == 1


def lower_product(calls: Calls, node: Node) -> list[Loop]:
    """The steps of a product and of what follows it in its kernel."""
    return _Lowering(calls, node).steps()


class _Lowering:
    def __init__(self, calls: Calls, node: Node) -> None:
        self.calls, self.node, self.program = calls, node, calls.program
        first, second = own_operands(node)[:2]
        assert isinstance(first, int)
        assert isinstance(second, int)
        self.result = node.results[0]
        self.made = tuple(self.program.values[self.result].shape)
        self.dtype = self.program.values[self.result].dtype
        self.sum_dtype = f64 if self.dtype is f64 else f32
        self.x, self.y = calls.schedule.accesses[first], calls.schedule.accesses[second]
        epilogue, _ = epilogue_of(node)
        shapes = "x".join(str(value_of(size)) for size in (*self.made[:-1], self.x.shape[-1], self.made[-1]))
        self.label = f"matmul {shapes}" if epilogue is None else f"matmul {shapes} {epilogue}"

    def steps(self) -> list[Loop]:
        """Packed by a step of its own if nothing else goes; packed once if the second operand stays the same."""
        before: list[Loop] = []
        form = self._walkable(form_of(self.x, self.y, self.made, self.sum_dtype), before)
        if is_dots(form):
            dots = Dots(form, self.dtype)
            made = dots.write(self.result, self.node, self.calls, self.label)
            return [*before, *dots.epilogue.before, made]
        threads = target().units
        chosen = choose(form, threads)
        if chosen.second == PACKED:
            second = self._packed(form, chosen.tile, before)
            return self._finished(form, chosen, second, before)
        if chosen.splits > 1:
            return self._finished(form, chosen, None, before)
        made = self._kernel(form, chosen, None, before)
        if form.y.value < self.program.inputs and form.shares_second and form.rows > 1:
            chosen = replace(choose(form, threads, PACKED), group=0, before=False)
            number = self.calls.temporary(packed_bytes(form, chosen.tile))
            call = self._kernel(form, chosen, number, before)
            call.label += " packed"
            made.constant = Prepared(pack(form, chosen.tile, self.dtype, number), call)
        return [*before, made]

    def _kernel(self, form: Form, chosen: Choice, packed: int | None, before: list[Loop]) -> Loop:
        kernel, operands = self._blocked(form, chosen, packed, self.dtype, before)
        made = kernel.write(self.result, self.node, self.calls, operands, self.label)
        before.extend(kernel.epilogue.before)
        return made

    def _blocked(
        self, form: Form, chosen: Choice, packed: int | None, made: DType, before: list[Loop]
    ) -> tuple[Blocked, tuple[Packed, Packed]]:
        """The writer of a kernel, and where it finds packed operands."""
        first = None
        if chosen.before:
            group = Tile(chosen.tile.rows, chosen.group // chosen.tile.lanes, chosen.tile.lanes)
            first = self._packed(turned(form), group, before)
        x_dtype, y_dtype = (self.dtype if each is None else self.sum_dtype for each in (first, packed))
        return Blocked(form, chosen, (x_dtype, y_dtype, made)), (first, packed)

    def _packed(self, form: Form, tile: Tile, before: list[Loop]) -> int:
        """The temporary with the panels of a form's second operand."""
        number = self.calls.temporary(packed_bytes(form, tile))
        before.append(pack(form, tile, self.dtype, number))
        return number

    def _finished(self, form: Form, chosen: Choice, packed: int | None, before: list[Loop]) -> list[Loop]:
        """The product, and the sum of its parts where its depth is cut."""
        if chosen.splits == 1:
            made = self._kernel(form, chosen, packed, before)
            return [*before, made]
        number = self.calls.temporary(chosen.splits * prod(self.made) * self.sum_dtype.size)
        kernel, operands = self._blocked(form, chosen, packed, self.sum_dtype, before)
        parts = kernel.write(number, None, self.calls, operands, f"{self.label} in {chosen.splits} parts")
        total = Total(self.made, chosen.splits, self.sum_dtype, self.dtype)
        made = total.write(number, self.result, self.node, self.calls)
        return [*before, *total.epilogue.before, parts, made]

    def _walkable(self, form: Form, before: list[Loop]) -> Form:
        """The form with operands copied where it could not be read well otherwise."""
        deep = form.depth * lanes_of(form.dtype) > SCRATCH
        if deep and form.y.across != 1 and not form.shares_second:
            step, copy = self.calls.copy(self.y, self.dtype)
            before.append(step)
            form = form_of(self.x, copy, self.made, self.sum_dtype)
        return form
