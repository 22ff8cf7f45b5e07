"""The benchmarks of `burn-bench`."""

from __future__ import annotations

from burn_bench.benchmark import Benchmark
from burn_bench.suite import (
    convolution,
    elementwise,
    gradients,
    imported,
    inference,
    matrix,
    movement,
    normalization,
    training,
)


def benchmarks() -> list[Benchmark]:
    """All of them, in the order in which they run."""
    modules = (elementwise, matrix, normalization, convolution, movement, gradients, training, inference, imported)
    return [each for module in modules for each in module.benchmarks()]


GROUPS = {
    "kernels": (
        "resnet18", "resnet50", "mobilenet_v2", "efficientnet_b0", "squeezenet", "yolo_n", "transformer_encoder",
        "cnn_train", "matmul/1024x", "matmul/4096x", "matmul/64x",
    ),
}  # fmt: skip
"""Names for several benchmarks: what `kernels` names has to be fast without any library."""
