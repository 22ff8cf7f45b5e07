"""Library operations: oneDNN's kernels as steps of a plan.

The first rung of the engine: matrix products, convolutions, pooling, softmax and normalisation come from a
library until generated kernels replace them one by one. The seam is small: a family function takes
`Layout`s and settings and gives a `Primitive` (shared, cached, no data) or raises `MissingOperation`, which
tells a planner to do it otherwise; `primitive.step(pointers)` gives a `Step`, one native call.

    weight = Layout.any((784, 512))
    product = matmul(Layout.row_major((64, 784)), weight, Layout.row_major((64, 512)), post=[Elementwise("relu")])
    step = product.step({"x": x.ctypes.data, "y": packed.ctypes.data, "out": out.ctypes.data})
    step.run()
"""

from __future__ import annotations

from burn.backend.cpu.onednn.convolution import (
    convolution,
    convolution_backward_weight,
    convolution_backward_x,
    convolution_transposed,
    grouped,
    transposed,
)
from burn.backend.cpu.onednn.layout import Layout
from burn.backend.cpu.onednn.library import Library, available, load, reason
from burn.backend.cpu.onednn.matmul import matmul
from burn.backend.cpu.onednn.normalization import (
    batch_normalization,
    batch_normalization_backward,
    layer_normalization,
    layer_normalization_backward,
)
from burn.backend.cpu.onednn.pooling import pooling, pooling_backward
from burn.backend.cpu.onednn.post_operations import Binary, Elementwise, PostOperation, Sum
from burn.backend.cpu.onednn.primitive import Primitive, cached, clear
from burn.backend.cpu.onednn.reorder import reorder
from burn.backend.cpu.onednn.softmax import softmax, softmax_backward
from burn.backend.cpu.onednn.step import Step

__all__ = [
    "available", "reason", "load", "Library",
    "Layout", "Elementwise", "Sum", "Binary", "PostOperation",
    "Primitive", "Step", "cached", "clear",
    "matmul", "convolution", "convolution_backward_x", "convolution_backward_weight", "convolution_transposed",
    "grouped", "transposed", "pooling", "pooling_backward", "softmax", "softmax_backward",
    "layer_normalization", "layer_normalization_backward", "batch_normalization", "batch_normalization_backward",
    "reorder",
]  # fmt: skip
