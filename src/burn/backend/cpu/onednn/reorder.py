"""Reorders: the same elements in another layout, or another dtype.

Constant weights are packed by one, once:

    packed = product.layouts["y"]
    reorder(Layout.row_major((784, 512)), packed).step({"x": plain, "out": packed_buffer}).run()
"""

from __future__ import annotations

from collections.abc import Sequence

from burn.backend.cpu.onednn.layout import Layout
from burn.backend.cpu.onednn.post_operations import PostOperation
from burn.backend.cpu.onednn.primitive import Primitive, create


def reorder(x: Layout, out: Layout, post: Sequence[PostOperation] = ()) -> Primitive:
    """Roles: x, out. The shapes are equal; the only post-operation is `Sum`."""
    return create("reorder", dict(x=x, out=out), ("x", "out"), post)
