"""Matrix products: two operands of rank 2 or more, leading dims batched and broadcast as in NumPy.

A transposed operand is a layout with its strides exchanged. A constant second operand is given as
`Layout.any`: the primitive then says in which packed order it wants it, and a `reorder` packs it once.

Several rows of batches against one shared matrix (every Linear layer on sequences) is one tall product;
where the strides allow, it is described to oneDNN as such.

Each operand needs one dim with stride 1, and the output its last: oneDNN answers anything else with
reference loops (`is_reference`), and a planner copies first, or exchanges and transposes the operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from burn.backend.cpu.onednn.layout import Layout
from burn.backend.cpu.onednn.post_operations import PostOperation, operands, with_operands
from burn.backend.cpu.onednn.primitive import Primitive, create


def matmul(
    x: Layout, y: Layout, out: Layout, bias: Layout | None = None, post: Sequence[PostOperation] = ()
) -> Primitive:
    """`out = post(x @ y + bias)`. Roles: x, y, bias, out, operand_i; a bias broadcasts to the output."""
    rank = len(out.shape)
    x, y = _broadcast(x.expanded(rank)), _broadcast(y.expanded(rank))
    bias = None if bias is None else bias.expanded(rank)
    post = with_operands(post, [each.expanded(rank) for each in operands(post)])
    tall = _as_tall(x, y, out, bias, post) if rank > 2 else None
    if tall is not None:
        x, y, out, bias, post = tall
    settings = dict(x=x, y=y, bias=bias, out=out)
    roles = ("x", "y", "out") if bias is None else ("x", "y", "bias", "out")
    return create("matmul", settings, roles, post)


def _broadcast(layout: Layout) -> Layout:
    """Batch dims that repeat by a stride of zero, as the dims of size 1 they are."""
    if layout.strides is None or len(layout.shape) < 3:
        return layout
    shape = tuple(
        1 if stride == 0 and dim < len(layout.shape) - 2 else size
        for dim, (size, stride) in enumerate(zip(layout.shape, layout.strides))
    )
    return layout if shape == layout.shape else layout.reshaped(shape, layout.strides)


def _merged(layout: Layout, rows: int) -> Layout | None:
    """All dims but the last as one, which has `rows` elements or 1; None if the strides do not allow it."""
    *sizes, width = layout.shape
    if prod(sizes) not in (1, rows):
        return None
    if layout.strides is None:
        return layout.reshaped((prod(sizes), width), ()) if layout.is_open else None
    *steps, last = layout.strides
    apart = [(size, step) for size, step in zip(sizes, steps) if size != 1]
    if any(step != inner_size * inner for (_, step), (inner_size, inner) in pairwise(apart)):
        return None
    return layout.reshaped((prod(sizes), width), (apart[-1][1] if apart else max(width * last, 1), last))


def _as_tall(
    x: Layout, y: Layout, out: Layout, bias: Layout | None, post: Sequence[PostOperation]
) -> tuple[Layout, Layout, Layout, Layout | None, tuple[PostOperation, ...]] | None:
    """The same product of rank 2, where `y` is one matrix and everything else is made of rows."""
    rows = prod(out.shape[:-1])
    if prod(y.shape[:-2]) != 1 or x.shape[:-1] != out.shape[:-1]:
        return None
    matrix = y.reshaped(y.shape[-2:], y.strides[-2:] if y.strides else ()) if y.blocks is None else None
    others = [x, out, *([bias] if bias else []), *operands(post)]
    merged = [_merged(each, rows) for each in others]
    whole = [each for each in merged if each is not None]
    if matrix is None or len(whole) != len(merged):
        return None
    left, result, *rest = whole
    first = rest.pop(0) if bias else None
    return left, matrix, result, first, with_operands(post, rest)
