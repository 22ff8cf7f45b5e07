"""Accesses: how a value is read from memory.

A view (reshape, permute, expand, slice, flip) computes nothing: it is another way to walk through the
memory of the value it was taken of. An access is that way: an offset and a stride per dim, in elements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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
        extra = len(shape) - len(self.shape)
        strides = (0,) * extra + tuple(
            stride if size == wanted else 0
            for stride, size, wanted in zip(self.strides, self.shape, shape[extra:], strict=True)
        )
        return Access(self.value, shape, strides, self.offset)


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of row-major memory."""
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def contiguous_strides_that_matter(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The same, for the dims longer than 1."""
    return tuple(stride for stride, size in zip(contiguous_strides(shape), shape, strict=True) if size != 1)


def whole(value: int, shape: tuple[int, ...]) -> Access:
    """A value in its own memory."""
    return Access(value, tuple(shape), contiguous_strides(tuple(shape)))


def viewed(node: Node, source: Access, shape: tuple[int, ...]) -> Access | None:
    """The access of a view's result, or None where a copy is needed."""
    name, attributes = node.op.name, node.attributes
    if name == "reshape":
        return _reshaped(source, shape)
    if name == "expand":
        return source.broadcast(shape)
    if name == "permute":
        (axes,) = attributes
        return Access(source.value, shape, tuple(source.strides[axis] for axis in axes), source.offset)
    if name == "flip":
        (axes,) = attributes
        offset, strides = source.offset, list(source.strides)
        for axis in axes:
            offset += (source.shape[axis] - 1) * strides[axis] if source.shape[axis] else 0
            strides[axis] = -strides[axis]
        return Access(source.value, shape, tuple(strides), offset)
    if name == "slice":
        (ranges,) = attributes
        offset, strides = source.offset, []
        for (start, _, step), stride in zip(ranges, source.strides, strict=True):
            offset += start * stride
            strides.append(step * stride)
        return Access(source.value, shape, tuple(strides), offset)
    return None


def _reshaped(source: Access, shape: tuple[int, ...]) -> Access | None:
    """A reshape without a copy: every new dim must lie inside a run of old dims that is in order."""
    if math.prod(shape) == 0:
        return Access(source.value, shape, contiguous_strides(shape), source.offset)
    old = [(size, stride) for size, stride in zip(source.shape, source.strides, strict=True) if size != 1]
    strides: list[int] = []
    position = 0
    index = 0
    while index < len(shape):
        if shape[index] == 1:
            strides.append(0)
            index += 1
            continue
        if position >= len(old):
            return None
        old_size, stride = old[position]
        position += 1
        sizes = [shape[index]]
        index += 1
        while old_size != math.prod(sizes):
            if old_size < math.prod(sizes):
                if position >= len(old):
                    return None
                size, inner = old[position]
                if stride != inner * size:
                    return None
                old_size, stride = old_size * size, inner
                position += 1
            else:
                if index >= len(shape):
                    return None
                sizes.append(shape[index])
                index += 1
        step = stride
        tail = []
        for size in reversed(sizes):
            tail.append(step)
            step *= size
        strides.extend(reversed(tail))
    return Access(source.value, shape, tuple(strides), source.offset)
