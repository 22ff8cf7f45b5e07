"""Norms without a layer of their own here, and those of `com.microsoft` that add what they normalise."""

from __future__ import annotations

from burn_import.onnx.code.expression import Expression
from burn_import.onnx.operators.calling import several, written
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import operator

MS = "com.microsoft"


@operator("RMSNormalization", "SimplifiedLayerNormalization")
@operator("SimplifiedLayerNormalization", domain=MS)
def rms_norm(op: Operation) -> Expression | list[Expression | None]:
    axis, eps = op.axis(default=-1), op.attribute("epsilon", 1e-5)
    scale, shape, rank = op.value(1).constant, op.shape(), op.known_rank()
    if (
        scale is not None
        and scale.dtype is op.dtype()
        and len(scale.shape) == 1
        and not op.wanted(1)
        and rank is not None
        and shape is not None
        and axis == rank - 1
        and shape[-1] in (None, scale.shape[0])
    ):
        keywords = {} if eps == 1e-5 else {"epsilon": eps}
        return op.layer("RmsNorm", scale.shape[0], weights={"gamma": op.weight(1)}, **keywords)(op.x)
    return several(op, written(op, "normalization", "rms_norm", op.x, op.tensor(1), axis, eps), 2)


@operator("MeanVarianceNormalization")
def mean_variance(op: Operation) -> Expression:
    return written(op, "normalization", "mean_variance_norm", op.x, op.attribute("axes", (0, 2, 3)))


@operator("LpNormalization")
def vector_norm(op: Operation) -> Expression:
    """Vectors of zeros stay zeros."""
    inputs = (op.x, float(op.attribute("p", 2)), op.axis(default=-1), 1e-30)
    return written(op, "normalization", "vector_normalize", *inputs)


@operator("SkipLayerNormalization", domain=MS)
def skip_layer_norm(op: Operation) -> Expression | list[Expression | None]:
    inputs = (op.x, op.tensor(1), op.tensor(2), op.optional(3), op.optional(4), op.attribute("epsilon", 1e-12))
    return several(op, written(op, "normalization", "skip_layer_norm", *inputs), 4)


@operator("SkipSimplifiedLayerNormalization", domain=MS)
def skip_rms_norm(op: Operation) -> list[Expression | None]:
    """Of the four results the mean is never there."""
    inputs = (op.x, op.tensor(1), op.tensor(2), op.optional(3), op.attribute("epsilon", 1e-12))
    found = written(op, "normalization", "skip_rms_norm", *inputs)
    if not any(op.wanted(index) for index in (2, 3)):
        return [found.item(0)]
    three = op.assign("normalized", found)
    return [three.item(0), None, three.item(1), three.item(2)]


@operator("EmbedLayerNormalization", domain=MS)
def embed_layer_norm(op: Operation) -> Expression | list[Expression | None]:
    inputs = (
        op.x, op.optional(1), op.tensor(2), op.tensor(3), op.optional(4), op.tensor(5), op.tensor(6), op.optional(7),
        op.optional(8), op.attribute("epsilon", 1e-12),
    )  # fmt: skip
    return several(op, written(op, "normalization", "embed_layer_norm", *inputs), 3)
