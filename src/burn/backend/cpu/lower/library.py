"""Library calls: nodes that oneDNN computes, with the layouts their operands have anyway."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from burn.backend.cpu import onednn
from burn.backend.cpu.lower.access import Access, contiguous_strides
from burn.backend.cpu.lower.units import Schedule
from burn.dtype import f32
from burn.errors import MissingOperation
from burn.program.program import Node, Program


@dataclass
class LibraryCall:
    """A primitive, and for each of its roles the value and the byte offset at which its buffer begins."""

    primitive: Any
    roles: dict[str, tuple[int, int]]
    label: str


def lower_call(program: Program, schedule: Schedule, node: Node) -> LibraryCall | None:
    """The library's version of a node, or None where it has none."""
    if not onednn.available():
        return None
    lowering = LOWERINGS.get(node.op.name)
    if lowering is None:
        return None
    if any(number in schedule.constants for number in node.reads()):
        return None
    try:
        return lowering(program, schedule, node)
    except MissingOperation:
        return None


def _layout(access: Access, dtype: Any) -> Any:
    """oneDNN's name for an access; a dim of size 1 gets the stride that row-major memory would have."""
    natural = contiguous_strides(access.shape)
    strides = tuple(
        usual if size == 1 else stride
        for size, stride, usual in zip(access.shape, access.strides, natural, strict=True)
    )
    if any(stride < 0 for stride in strides):
        raise MissingOperation("onednn: reversed operands need a copy")
    return onednn.Layout.strided(access.shape, strides, dtype)


def _matmul(program: Program, schedule: Schedule, node: Node) -> LibraryCall | None:
    first, second = node.operands
    assert isinstance(first, int)
    assert isinstance(second, int)
    result = node.results[0]
    value = program.values[result]
    if value.dtype is not f32 or 0 in value.shape or 0 in program.values[first].shape:
        return None
    x, y = schedule.accesses[first], schedule.accesses[second]
    out = onednn.Layout.row_major(tuple(value.shape), f32)
    primitive = onednn.matmul(_layout(x, f32), _layout(y, f32), out)
    if primitive.is_reference:
        return None
    size = f32.size
    roles = {"x": (x.value, x.offset * size), "y": (y.value, y.offset * size), "out": (result, 0)}
    shapes = "x".join(str(each) for each in (*program.values[first].shape, value.shape[-1]))
    return LibraryCall(primitive, roles, f"matmul {shapes}")


LOWERINGS = {"matmul": _matmul}
