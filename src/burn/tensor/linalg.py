"""Linear algebra: products, norms and decompositions, over the last two dims where there is a batch."""

from burn.ops.decompositions import cofactor, det, inverse, lu, lu_decomposition, qr, solve
from burn.ops.einsum import einsum
from burn.ops.linalg import (
    Norm,
    cosine_similarity,
    cross,
    diag,
    dot,
    l0_norm,
    l1_norm,
    l2_norm,
    lp_norm,
    matmul,
    matvec,
    max_abs_norm,
    min_abs_norm,
    outer,
    outer_dim,
    trace,
    vector_norm,
    vector_normalize,
)

__all__ = [
    "Norm", "cofactor", "cosine_similarity", "cross", "det", "diag", "dot", "einsum", "inverse", "l0_norm", "l1_norm",
    "l2_norm", "lp_norm", "lu", "lu_decomposition", "matmul", "matvec", "max_abs_norm", "min_abs_norm", "outer",
    "outer_dim", "qr", "solve", "trace", "vector_norm", "vector_normalize",
]  # fmt: skip
