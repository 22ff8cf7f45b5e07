"""Images in two orders: logical (batch, channels, *spatial), and channels-last as plans keep them.

A node whose attributes end with `CHANNELS_LAST` reads and makes images whose *shape* is (batch, *spatial,
channels), in row-major memory: `burn.backend.cpu.lower.layouts` writes such nodes, and only the lowerings
of convolutions and pooling know them.
"""

from __future__ import annotations

from typing import Any

from burn.backend.cpu.lower.access import Access, whole
from burn.backend.cpu.lower.epilogue import Epilogue
from burn.program.program import Node, Program

CHANNELS_LAST = "channels last"


def to_last(rank: int) -> tuple[int, ...]:
    """The permutation that moves channels to the end."""
    return (0, *range(2, rank), 1)


def to_first(rank: int) -> tuple[int, ...]:
    """The permutation that moves them back."""
    return (0, rank - 1, *range(1, rank - 1))


def permuted(access: Access, axes: tuple[int, ...]) -> Access:
    """The same elements with the dims in another order."""
    shape = tuple(access.shape[axis] for axis in axes)
    return Access(access.value, shape, tuple(access.strides[axis] for axis in axes), access.offset)


def is_last(node: Node) -> bool:
    """Whether a node works on channels-last images."""
    return bool(node.attributes) and node.attributes[-1] == CHANNELS_LAST


def settings(node: Node) -> tuple[Any, ...]:
    """The attributes of the row itself."""
    given = node.attributes[:-1] if is_last(node) else node.attributes
    return given[:-1] if given and isinstance(given[-1], Epilogue) else given


def logical(node: Node, access: Access) -> Access:
    """An image operand with its dims in logical order."""
    return permuted(access, to_first(len(access.shape))) if is_last(node) else access


def result(node: Node, program: Program, position: int = 0) -> Access:
    """The memory of a result with its dims in logical order."""
    number = node.results[position]
    return logical(node, whole(number, tuple(program.values[number].shape)))
