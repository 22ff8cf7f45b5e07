"""Copies: the elements of an access laid out in order, without gaps."""

from __future__ import annotations

from math import prod
from typing import Any

from burn.classes import dataclass
from burn.cube import KernelBuilder
from burn.cube.ir import Kernel
from burn.dtype import DType
from burn.engine.lower.loop import Argument, Loop
from burn.engine.lower.recipe import Recipe
from burn.engine.schedule.access import Access
from burn.engine.target import grain_of, target
from burn.ops.views import contiguous_strides
from burn.symbolic import likely

Dim = tuple[int, int, int]  # size, stride in the source, stride in the copy


@dataclass
class Packing(Loop):
    """A copy of a weight in the order a kernel likes: kept while the weight is the same, however large it is."""


def packing(access: Access, dtype: DType, target: int) -> Packing:
    """The same as `copied`, of a weight."""
    made = copied(access, dtype, target, "pack")
    return Packing(made.kernel, made.arguments, made.extent, made.grain, made.label)


def copied(access: Access, dtype: DType, target: int, label: str = "copy") -> Loop:
    """The kernel that writes the elements of `access`, row-major, to the memory of value `target`."""
    *outer, (length, *inner) = _ordered(_merged(access))
    rows = prod(each for each, _, _ in outer)
    steps = [stride if stride in (0, 1) else None for stride in inner]  # others are told at run time
    sizes = [number for dim in outer for number in dim]
    sizes += [length, rows, *(stride for stride, step in zip(inner, steps, strict=True) if step is None)]
    arguments = [
        Argument("buffer", access.value, access.offset * dtype.size),
        Argument("buffer", target, written=True),
        *(Argument("size", number) for number in sizes),
    ]
    recipe = Recipe("copy", (dtype.name, len(outer), steps), lambda: _kernel(dtype, len(outer), steps))
    return Loop(recipe, arguments, rows, grain_of(length), label)


def _kernel(dtype: DType, outer: int, steps: list[int | None]) -> Kernel:
    """Rows on the grid, their elements on lanes; sizes and strides are arguments, except strides of 0 and 1."""
    b = KernelBuilder()
    x, out = b.buffer(dtype), b.buffer(dtype, write=True)
    declared = [(b.size(), b.size(), b.size()) for _ in range(outer)]
    count, total = b.size(), b.size()
    given: list[Any] = [b.size() if step is None else step for step in steps]
    with b.grid(total) as i:
        bases: list[Any] = [0, 0]
        rest = i
        for position in range(outer - 1, -1, -1):
            extent, *strides = declared[position]
            index = rest if position == 0 else rest % extent
            rest = rest // extent if position else rest
            bases = [index * stride + base for base, stride in zip(bases, strides, strict=True)]
        with b.lane(count) as j:
            source, place = (base + j * stride for base, stride in zip(bases, given, strict=True))
            b.store(out, place, b.load(x, source, raw=True))
    return b.finish()


def _merged(access: Access) -> list[Dim]:
    """The walk in as few dims as possible."""
    merged: list[Dim] = []
    for size, stride, out in zip(access.shape, access.strides, contiguous_strides(access.shape), strict=True):
        if size == 1:
            continue
        if merged and merged[-1][1] == stride * size and merged[-1][2] == out * size:
            merged[-1] = (merged[-1][0] * size, stride, out)
        else:
            merged.append((size, stride, out))
    return merged or [(1, 1, 1)]


def _ordered(dims: list[Dim]) -> list[Dim]:
    """Lanes run along the last one: long, and in step with memory. The others follow the order of what is read."""

    costs = target().costs

    def cost(dim: Dim) -> float:
        size, stride, out = dim
        apart = costs.load_apart * (stride not in (0, 1)) + costs.store_apart * (out != 1)
        return apart + costs.iteration / max(likely(size), 1)

    best = min(reversed(range(len(dims))), key=lambda position: cost(dims[position]))
    outer = [*dims[:best], *dims[best + 1 :]]
    if dims[best][2] == 1:  # whole lines are written, wherever they go
        outer.sort(key=lambda dim: -abs(dim[1]))
    return [*outer, dims[best]]
