"""Images in two orders: logical (batch, channels, *spatial), and channels-last as plans keep them.

A node in the layout `CHANNELS_LAST` reads and makes images whose *shape* is (batch, *spatial, channels), in
row-major memory: the pass that assigns layouts writes such nodes, and only the lowerings of convolutions and
pooling know them.
"""

from __future__ import annotations

from burn.engine.schedule.access import Access, whole
from burn.program.fused import CHANNELS_LAST, to_first
from burn.program.program import Node, Program


def permuted(access: Access, axes: tuple[int, ...]) -> Access:
    """The same elements with the dims in another order."""
    shape = tuple(access.shape[axis] for axis in axes)
    return Access(access.value, shape, tuple(access.strides[axis] for axis in axes), access.offset)


def is_last(node: Node) -> bool:
    """Whether a node works on channels-last images."""
    return node.fused is not None and node.fused.layout == CHANNELS_LAST


def logical(node: Node, access: Access) -> Access:
    """An image operand with its dims in logical order."""
    return permuted(access, to_first(len(access.shape))) if is_last(node) else access


def result(node: Node, program: Program, position: int = 0) -> Access:
    """The memory of a result with its dims in logical order."""
    number = node.results[position]
    return logical(node, whole(number, tuple(program.values[number].shape)))
