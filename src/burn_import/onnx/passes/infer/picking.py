"""Rules of operators that pick elements: by index, by rank, by value."""

from __future__ import annotations

import numpy as np

from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.passes.infer import content
from burn_import.onnx.passes.infer.context import Inference, rule


@rule("Gather")
def gather(op: Inference) -> None:
    data, indices = op.shape(0), op.shape(1)
    if data is None or indices is None:
        return
    axis = op.axis(len(data))
    op.set((*data[:axis], *indices, *data[axis + 1 :]))
    known, places = op.content(0), op.content(1)
    if known is not None and content.is_complete(places):
        assert places is not None
        where = places.astype(np.int64)
        if where.size and (where.min() < -known.shape[axis] or where.max() >= known.shape[axis]):
            return
        # the index is a row, because one element of an object array would come as it is
        taken = known.take(where.reshape(-1), axis=axis)
        op.set_content(taken.reshape((*known.shape[:axis], *where.shape, *known.shape[axis + 1 :])))


@rule("GatherElements")
def gather_elements(op: Inference) -> None:
    op.set(op.shape(1))


@rule("GatherND")
def gather_nd(op: Inference) -> None:
    data, indices = op.shape(0), op.shape(1)
    batch = op.attribute("batch_dims", 0)
    if data is not None and indices is not None and isinstance(indices[-1], int):
        op.set((*indices[:-1], *data[batch + indices[-1] :]))


@rule("OneHot")
def one_hot(op: Inference) -> None:
    shape, depth = op.shape(0), op.elements(1)
    if shape is None:
        return
    axis = op.axis(len(shape) + 1, default=-1)
    size = depth[0] if depth is not None else None
    size = int(size) if isinstance(size, float) else size
    op.set((*shape[:axis], size, *shape[axis:]), dtype=op.dtype(2))


@rule("NonZero")
def non_zero(op: Inference) -> None:
    op.set((op.rank(0), None), dtype=ElementType.i64)


@rule("Compress")
def compress(op: Inference) -> None:
    shape = op.shape(0)
    if op.attribute("axis") is None:
        op.set((None,))
    elif shape is not None:
        axis = op.axis(len(shape))
        op.set((*shape[:axis], None, *shape[axis + 1 :]))


@rule("Unique")
def unique(op: Inference) -> None:
    shape = op.shape(0)
    if op.attribute("axis") is None:
        op.set((None,))
    elif shape is not None:
        axis = op.axis(len(shape))
        op.set((*shape[:axis], None, *shape[axis + 1 :]))
    for index in (1, 2, 3):
        op.set((None,), dtype=ElementType.i64, index=index)


@rule("TopK")
def top_k(op: Inference) -> None:
    shape, count = op.shape(0), op.elements(1)
    if shape is not None:
        axis = op.axis(len(shape), default=-1)
        shape = (*shape[:axis], count[0] if count is not None else None, *shape[axis + 1 :])
    op.set(shape)
    op.set(shape, dtype=ElementType.i64, index=1)


@rule("NonMaxSuppression")
def non_max_suppression(op: Inference) -> None:
    op.set((None, 3), dtype=ElementType.i64)
