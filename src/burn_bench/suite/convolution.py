"""Convolutions and pooling, single layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from burn_bench.benchmark import Benchmark
from burn_bench.expression import expression
from burn_bench.suite.functions import columns, convolution, padded


def benchmarks() -> list[Benchmark]:
    """conv2d, conv3d, conv_transpose2d and max_pool2d."""
    return [conv2d(), conv3d(), conv_transpose2d(), max_pool2d()]


def jax_convolution(spatial: str) -> Any:
    """A convolution of jax with padding 1, and its bias."""

    def convolve(jax: Any, x: Any, w: Any, b: Any) -> Any:
        names = (f"NC{spatial}", f"OI{spatial}", f"NC{spatial}")
        steps, pads = (1,) * len(spatial), [(1, 1)] * len(spatial)
        y = jax.lax.conv_general_dilated(x, w, steps, pads, dimension_numbers=names)
        return y + b.reshape(1, -1, *(1,) * len(spatial))

    return convolve


def conv2d() -> Benchmark:
    """3x3, 64 channels to 64."""
    from burn.tensor.module import ConvOptions
    from burn.tensor.module import conv2d as ours

    return expression(
        "conv2d",
        "8x64x56x56 64x3x3",
        inputs=lambda draw: [draw(8, 64, 56, 56), draw(64, 64, 3, 3) * np.float32(0.05), draw(64)],
        burn=lambda x, w, b: ours(x, w, b, ConvOptions(padding=1)),
        numpy=lambda x, w, b: convolution(x, w, b, 1, 1),
        torch=lambda torch, x, w, b: torch.nn.functional.conv2d(x, w, b, padding=1),
        jax=jax_convolution("HW"),
        tinygrad=lambda tinygrad, x, w, b: x.conv2d(w, b, padding=1),
        tolerance=1e-4,
    )


def conv3d() -> Benchmark:
    """3x3x3, 16 channels to 16."""
    from burn.tensor.module import ConvOptions
    from burn.tensor.module import conv3d as ours

    return expression(
        "conv3d",
        "2x16x24x24x24 16x3x3x3",
        inputs=lambda draw: [draw(2, 16, 24, 24, 24), draw(16, 16, 3, 3, 3) * np.float32(0.05), draw(16)],
        burn=lambda x, w, b: ours(x, w, b, ConvOptions(padding=1)),
        numpy=lambda x, w, b: convolution(x, w, b, 1, 1),
        torch=lambda torch, x, w, b: torch.nn.functional.conv3d(x, w, b, padding=1),
        jax=jax_convolution("DHW"),
        tinygrad=lambda tinygrad, x, w, b: x.conv2d(w, b, padding=1),
        tolerance=1e-4,
    )


def conv_transpose2d() -> Benchmark:
    """3x3 with stride 2: 32 channels to 16, twice as large."""
    from burn.tensor.module import ConvTransposeOptions
    from burn.tensor.module import conv_transpose2d as ours

    def exact(x: Any, w: Any, b: Any) -> Any:
        batch, channels, height, width = x.shape
        spread = np.zeros((batch, channels, 2 * height, 2 * width), x.dtype)  # one row and column of zeros after each
        spread[:, :, ::2, ::2] = x
        flipped = w[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
        return convolution(spread, flipped, b, 1, 1)

    def of_jax(jax: Any, x: Any, w: Any, b: Any) -> Any:
        kernel = jax.numpy.flip(w, (2, 3)).transpose(1, 0, 2, 3)
        pads, names = [(1, 2), (1, 2)], ("NCHW", "OIHW", "NCHW")
        y = jax.lax.conv_general_dilated(x, kernel, (1, 1), pads, lhs_dilation=(2, 2), dimension_numbers=names)
        return y + b.reshape(1, -1, 1, 1)

    return expression(
        "conv_transpose2d",
        "8x32x28x28 16x3x3",
        inputs=lambda draw: [draw(8, 32, 28, 28), draw(32, 16, 3, 3) * np.float32(0.1), draw(16)],
        burn=lambda x, w, b: ours(x, w, b, ConvTransposeOptions(stride=2, padding=1, padding_out=1)),
        numpy=exact,
        torch=lambda torch, x, w, b: torch.nn.functional.conv_transpose2d(
            x, w, b, stride=2, padding=1, output_padding=1
        ),
        jax=of_jax,
        tinygrad=lambda tinygrad, x, w, b: x.conv_transpose2d(w, b, stride=2, padding=1, output_padding=1),
        tolerance=1e-4,
    )


def max_pool2d() -> Benchmark:
    """3x3 windows with stride 2, as at the beginning of a ResNet."""
    from burn.tensor.module import max_pool2d as ours

    def of_jax(jax: Any, x: Any) -> Any:
        window, steps, pads = (1, 1, 3, 3), (1, 1, 2, 2), ((0, 0), (0, 0), (1, 1), (1, 1))
        return jax.lax.reduce_window(x, -jax.numpy.inf, jax.lax.max, window, steps, pads)

    return expression(
        "max_pool2d",
        "8x64x112x112 3x3",
        inputs=lambda draw: [draw(8, 64, 112, 112)],
        burn=lambda x: ours(x, 3, 2, 1),
        numpy=lambda x: columns(padded(x, 1, -np.inf), (3, 3), 2).max((-2, -1)),
        torch=lambda torch, x: torch.nn.functional.max_pool2d(x, 3, 2, 1),
        jax=of_jax,
        tinygrad=lambda tinygrad, x: x.max_pool2d((3, 3), 2, padding=1),
        traffic=4 * (8 * 64 * 112 * 112 + 8 * 64 * 56 * 56),
    )
