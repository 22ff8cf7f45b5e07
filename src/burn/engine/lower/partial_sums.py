"""Sums that are computed in parts.

Numbers that are added one after the other lose accuracy with their number. Long sums are therefore cut: each block of
`BLOCK` terms is summed on its own, and the sums of blocks are added. Where a sum is cut so that threads can share it,
how many parts there are follows from sizes alone, and they are added in order: the result is the same for any number of
threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from burn.cube import PARTIALS, KernelBuilder
from burn.cube.ir import Buffer, Value
from burn.dtype import DType

BLOCK = 256
"""Terms that are added one after the other: more are cut into blocks. Fewer would cost time, see `docs/accuracy.md`."""

BLOCK_OF_ROW = BLOCK * PARTIALS
"""The same for reductions whose elements lie on lanes."""


def summed(
    b: KernelBuilder,
    terms: Value | int,
    totals: Sequence[Value],
    body: Callable[..., Sequence[Value]],
    *,
    deep: bool,
    block: int = BLOCK,
) -> tuple[Value, ...]:
    """`totals` and so many terms: `body(k, *sums)` adds the terms of step `k` to sums.

    `deep` tells that there are more than `block` of them, which are then summed in blocks.
    """
    zeros = [b.const(each.dtype, 0.0) for each in totals]

    def of_block(number: Value, *held: Value) -> list[Value]:
        start = number * block
        found = _several(b.loop(b.min(terms - start, block), zeros, lambda k, *sums: body(start + k, *sums)))
        return [total + each for total, each in zip(held, found, strict=True)]

    if not deep:
        return _several(b.loop(terms, totals, body))
    return _several(b.loop((terms + (block - 1)) // block, totals, of_block))


def apart(b: KernelBuilder, sums: Sequence[Value], body: Callable[..., Any]) -> list[Value]:
    """What `body` adds to sums, summed on its own and then added to them."""
    found = _several(body([b.const(each.dtype, 0.0) for each in sums]))
    return [total + each for total, each in zip(sums, found, strict=True)]


def reduced(
    b: KernelBuilder, count: Value, kind: str, body: Callable[[Value], Value], deep: DType | None, block: int
) -> Value:
    """The reduction of `count` elements; with `deep`, the dtype of a sum of more than `block` of them, in blocks.

    Outside of lanes a reduction has partial sums of its own, and `block` is `BLOCK` for each of them: `BLOCK_OF_ROW`.
    """
    if deep is None:
        whole: Value = b.reduce(count, kind, body)
        return whole

    def add_block(number: Value, total: Value) -> Value:
        start = number * block
        found: Value = b.reduce(b.min(count - start, block), kind, lambda k: body(start + k))
        return total + found

    sum_: Value = b.loop((count + (block - 1)) // block, b.const(deep, 0.0), add_block)
    return sum_


def is_deep(kind: str, dtype: DType, count: int, block: int) -> DType | None:
    """The dtype of a sum that is computed in blocks, or None: other reductions do not round."""
    return dtype if kind == "sum" and dtype.is_float and count > block else None


def _several(found: Any) -> tuple[Value, ...]:
    return (found,) if isinstance(found, Value) else tuple(found)


def sum_of_parts(b: KernelBuilder, source: Buffer, place: Value, count: Value, size: Value) -> Value:
    """The sum of the elements at `place` of `count` parts, each `size` elements behind the one before."""
    total: Value = b.loop(
        count - 1,
        b.load(source, place),
        lambda part, held: held + b.load(source, place + (part + 1) * size),
    )
    return total
