"""Pooling: the largest or the mean element of each window, and the gradients.

The gradient of a maximum needs to know who won: a forward primitive made with `training=True` writes that
into the role `workspace`, an array of small positions inside each window (u8, or i32 for large windows),
which is neither PyTorch's nor anybody else's index into the image. Among equals the first wins.

Two things differ from the op table, and a planner must look at them: a maximum passes NaN over instead of
keeping it and never falls below the least finite number, and a mean that counts padding also counts what
lies beyond the padding (`ceil_mode`).
"""

from __future__ import annotations

from typing import Literal

from burn.backend.cpu.onednn.convolution import Padding, geometry
from burn.backend.cpu.onednn.layout import Layout, Sizes, images
from burn.backend.cpu.onednn.primitive import INFERENCE, TRAINING, Primitive, Setting, create

Pool = Literal["max", "mean_with_padding", "mean"]

_ALGORITHMS: dict[str, int] = {"max": 0x1FF, "mean_with_padding": 0x2FF, "mean": 0x3FF}


def _windows(kernel: Sizes, stride: Sizes, padding: Padding, dilation: Sizes) -> dict[str, Setting]:
    found = geometry(stride, dilation, padding)
    names = ("stride", "kernel", "dilation", "before", "after")
    return {name: tuple(kernel) if name == "kernel" else found[name] for name in names}


def pooling(
    pool: Pool, x: Layout, out: Layout, *, kernel: Sizes, stride: Sizes, padding: Padding, dilation: Sizes,
    training: bool = False,
) -> Primitive:  # fmt: skip
    """Roles: x, out, and workspace for a maximum in training. "mean" divides by the elements inside the image."""
    x, out = images(x, out)
    settings: dict[str, Setting] = dict(kind=TRAINING if training else INFERENCE, algorithm=_ALGORITHMS[pool])
    settings |= dict(x=x, out=out, **_windows(kernel, stride, padding, dilation))
    return create("pooling_forward", settings, ("x", "out"))


def pooling_backward(
    pool: Pool, gradient: Layout, x_gradient: Layout, *, kernel: Sizes, stride: Sizes, padding: Padding,
    dilation: Sizes,
) -> Primitive:  # fmt: skip
    """Roles: gradient, x_gradient, and for a maximum the workspace that the forward step wrote."""
    gradient, x_gradient = images(gradient, x_gradient)
    windows = _windows(kernel, stride, padding, dilation)
    hint = pooling(
        pool, x_gradient, gradient, kernel=kernel, stride=stride, padding=padding, dilation=dilation, training=True
    )
    settings: dict[str, Setting] = dict(algorithm=_ALGORITHMS[pool], x_gradient=x_gradient, gradient=gradient)
    settings |= dict(**windows, hint=hint)
    return create("pooling_backward", settings, ("gradient", "x_gradient"))
