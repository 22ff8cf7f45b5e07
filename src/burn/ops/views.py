"""Views: rows that compute nothing, and only walk through the memory of their operand in another way.

A walk has a shape, an offset, and a stride for each dim, both in elements. The `view` of a row is a function
`(walk, shape, *attributes)` from the walk of its operand to the strides and the offset of its result, whose shape is
given; or to None, where the elements have to be copied.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

Sizes = tuple[int, ...]


class Walk(Protocol):
    """How the elements of a value are found in memory."""

    @property
    def shape(self) -> Sizes: ...
    @property
    def strides(self) -> Sizes: ...
    @property
    def offset(self) -> int: ...


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of row-major memory."""
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def expanded(source: Walk, shape: Sizes, *_: Any) -> tuple[Sizes, int]:
    """The same elements repeated to a larger shape."""
    extra = len(shape) - len(source.shape)
    strides = (0,) * extra + tuple(
        stride if size == wanted else 0
        for stride, size, wanted in zip(source.strides, source.shape, shape[extra:], strict=True)
    )
    return strides, source.offset


def permuted(source: Walk, shape: Sizes, axes: Sizes) -> tuple[Sizes, int]:
    """The dims in another order."""
    return tuple(source.strides[axis] for axis in axes), source.offset


def flipped(source: Walk, shape: Sizes, axes: Sizes) -> tuple[Sizes, int]:
    """Some dims backwards."""
    offset, strides = source.offset, list(source.strides)
    for axis in axes:
        offset += (source.shape[axis] - 1) * strides[axis] if source.shape[axis] else 0
        strides[axis] = -strides[axis]
    return tuple(strides), offset


def sliced(source: Walk, shape: Sizes, ranges: tuple[tuple[int, int, int], ...]) -> tuple[Sizes, int]:
    """Of each dim a range: where it begins, its length, and its step."""
    offset, strides = source.offset, []
    for (start, _, step), stride in zip(ranges, source.strides, strict=True):
        offset += start * stride
        strides.append(step * stride)
    return tuple(strides), offset


def reshaped(source: Walk, shape: Sizes, *_: Any) -> tuple[Sizes, int] | None:
    """A reshape without a copy: every new dim must lie inside a run of old dims that is in order."""
    if math.prod(shape) == 0:
        return contiguous_strides(shape), source.offset
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
    return tuple(strides), source.offset
