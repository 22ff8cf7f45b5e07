"""Rules of operators that fold axes: reductions, positions of extremes, products of matrices, Einsum."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from burn_import.onnx.ir.types import ElementType, Shape, Size
from burn_import.onnx.passes.infer import content, sizes
from burn_import.onnx.passes.infer.context import Inference, empty_content, rule

_FOLDS: dict[str, tuple[Callable[..., Any], Any]] = {
    "ReduceSum": (content.add, 0),
    "ReduceProd": (content.multiply, 1),
    "ReduceMax": (content.larger, None),
    "ReduceMin": (content.smaller, None),
}


@rule("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
      "ReduceSum", "ReduceSumSquare")  # fmt: skip
def reduction(op: Inference) -> None:
    shape = op.shape(0)
    keep = op.attribute("keepdims", 1)
    if shape is None:
        if not op.has(1) and not keep and not op.attribute("noop_with_empty_axes", 0):
            op.set(())
        return
    axes = op.ints(1) if op.has(1) else []
    if axes is None:
        op.set((None,) * len(shape) if keep else None)
        return
    if not axes and op.attribute("noop_with_empty_axes", 0):
        op.set(shape)
        return
    places = {sizes.normalise(axis, len(shape)) for axis in axes} or set(range(len(shape)))
    if keep:
        op.set([1 if axis in places else size for axis, size in enumerate(shape)])
    else:
        op.set([size for axis, size in enumerate(shape) if axis not in places])
    known = op.content(0)
    if known is not None and op.node.op_type in _FOLDS and len(places) == known.ndim:
        _fold(op, known, bool(keep))


def _fold(op: Inference, known: Any, keep: bool) -> None:
    function, start = _FOLDS[op.node.op_type]
    elements = known.reshape(-1).tolist()
    if any(each is None for each in elements) or (not elements and start is None):
        return
    total = reduce(function, elements, start) if start is not None else reduce(function, elements)
    made = empty_content((1,) * known.ndim if keep else ())
    made[...] = total
    op.set_content(content.round_to(made, op.dtype(0)))


@rule("ArgMax", "ArgMin")
def position(op: Inference) -> None:
    shape = op.shape(0)
    if shape is not None:
        axis = op.axis(len(shape))
        middle = (1,) if op.attribute("keepdims", 1) else ()
        shape = (*shape[:axis], *middle, *shape[axis + 1 :])
    op.set(shape, dtype=ElementType.i64)


def matmul_shape(left: Shape | None, right: Shape | None) -> Shape | None:
    """The shape of a product of stacks of matrices, as NumPy has it."""
    if left is None or right is None or not left or not right:
        return None
    rows = left[-2:-1] if len(left) > 1 else ()
    columns = right[-1:] if len(right) > 1 else ()
    batch = sizes.broadcast([left[:-2], right[:-2]])
    return None if batch is None else (*batch, *rows, *columns)


@rule("MatMul")
def matmul(op: Inference) -> None:
    op.set(matmul_shape(op.shape(0), op.shape(1)))


@rule("MatMulInteger")
def matmul_integer(op: Inference) -> None:
    op.set(matmul_shape(op.shape(0), op.shape(1)), dtype=ElementType.i32)


@rule("QLinearMatMul")
def quantised_matmul(op: Inference) -> None:
    op.set(matmul_shape(op.shape(0), op.shape(3)), dtype=op.dtype(7))


@rule("Gemm")
def gemm(op: Inference) -> None:
    rows = op.size(0, 1 if op.attribute("transA", 0) else 0)
    columns = op.size(1, 0 if op.attribute("transB", 0) else 1)
    op.set((rows, columns))


@rule("Det")
def determinant(op: Inference) -> None:
    shape = op.shape(0)
    op.set(None if shape is None else shape[:-2])


@rule("Einsum")
def einsum(op: Inference) -> None:
    """Letters stand for sizes; three dots for the axes that broadcast."""
    equation = op.attribute("equation").replace(" ", "")
    left, _, right = equation.partition("->")
    terms = left.split(",")
    found: dict[str, Size] = {}
    batches: list[Shape | None] = []
    for index, term in enumerate(terms):
        shape = op.shape(index)
        if shape is None:
            if "..." in term:
                batches.append(None)
            continue
        before, dots, after = term.partition("...")
        if dots:
            batches.append(shape[len(before) : len(shape) - len(after)])
        axes = [*zip(before, shape), *zip(reversed(after), reversed(shape))]
        for letter, size in axes:
            present = found.get(letter)
            if present is None or (type(present) is int and present == 1):
                found[letter] = size
    if "->" not in equation:
        letters = "".join(terms).replace("...", "")
        once = sorted(letter for letter in set(letters) if letters.count(letter) == 1)
        right = ("..." if batches else "") + "".join(once)
    before, dots, after = right.partition("...")
    batch = sizes.broadcast(batches) if dots and batches else ()
    if batch is None:
        return
    op.set([*(found.get(each) for each in before), *batch, *(found.get(each) for each in after)])


@rule("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss")
def loss(op: Inference) -> None:
    if op.attribute("reduction", "mean") == "none":
        op.set(op.shape(1), dtype=op.dtype(0))
    else:
        op.set((), dtype=op.dtype(0))
    op.set(op.shape(0), dtype=op.dtype(0), index=1)


@rule("TfIdfVectorizer")
def tf_idf(op: Inference) -> None:
    shape = op.shape(0)
    indices = op.attribute("ngram_indexes") or (0,)
    width = int(np.max(indices)) + 1
    op.set(None if shape is None else (*shape[:-1], width), dtype=ElementType.f32)
