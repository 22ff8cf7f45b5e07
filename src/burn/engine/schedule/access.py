"""Accesses: how a value is read from memory.

A view (reshape, permute, expand, slice, flip) computes nothing: it is another way to walk through the
memory of the value it was taken of. An access is that way: an offset and a stride per dim, in elements.
"""

from __future__ import annotations

from burn.classes import dataclass
from burn.ops.views import contiguous_strides, expanded
from burn.program.program import Node


@dataclass(frozen=True, slots=True)
class Access:
    """The elements of `value`, walked through with `strides` from `offset`."""

    value: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def is_contiguous(self) -> bool:
        """Whether it walks through memory in order, without gaps."""
        return self.strides_matter() == contiguous_strides_that_matter(self.shape)

    def strides_matter(self) -> tuple[int, ...]:
        """The strides of the dims longer than 1: the others are never taken."""
        return tuple(stride for stride, size in zip(self.strides, self.shape, strict=True) if size != 1)

    def broadcast(self, shape: tuple[int, ...]) -> Access:
        """The same elements repeated to a larger shape."""
        return Access(self.value, shape, *expanded(self, shape))


def contiguous_strides_that_matter(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The same, for the dims longer than 1."""
    return tuple(stride for stride, size in zip(contiguous_strides(shape), shape, strict=True) if size != 1)


def whole(value: int, shape: tuple[int, ...]) -> Access:
    """A value in its own memory."""
    return Access(value, tuple(shape), contiguous_strides(tuple(shape)))


def viewed(node: Node, source: Access, shape: tuple[int, ...]) -> Access | None:
    """The access of a view's result, or None where a copy is needed."""
    assert node.op.view is not None
    found = node.op.view(source, shape, *node.attributes)
    return None if found is None else Access(source.value, shape, *found)
