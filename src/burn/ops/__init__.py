"""The op table: one row per operation, the single source of truth."""

from burn.ops import (
    activation,
    attention,
    convolution,
    convolution_layers,
    creation,
    ctc,
    cumulative,
    decompositions,
    deformable,
    elementwise,
    grid,
    indexing,
    interpolation,
    joining,
    layers,
    linalg,
    logic,
    losses,
    movement,
    normalization,
    norms,
    pooling,
    quantization,
    random,
    reduce,
    signal,
    softmax,
    sort,
    spatial,
    statistics,
)
from burn.ops.op import TABLE, Op

__all__ = [
    "TABLE", "Op", "activation", "attention", "convolution", "convolution_layers", "creation", "ctc", "cumulative",
    "decompositions", "deformable", "elementwise", "grid", "indexing", "interpolation", "joining", "layers",
    "linalg", "logic", "losses", "movement", "normalization", "norms", "pooling", "quantization", "random", "reduce",
    "signal", "softmax", "sort", "spatial", "statistics",
]  # fmt: skip
