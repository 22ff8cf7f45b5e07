"""Normalisation: over the last dim of each row (layer), or over everything but the channels (batch).

In training the forward primitives also write the statistics they used: `mean` and the biased `variance`,
in f32. In inference a batch normalisation reads them, and a layer normalisation computes and drops them.
Scale and shift are optional and independent; a role is there only if asked for.
"""

from __future__ import annotations

from burn.backend.cpu.onednn.layout import Layout, images
from burn.backend.cpu.onednn.primitive import BACKWARD, BACKWARD_DATA, INFERENCE, TRAINING, Primitive, Setting, create

_GIVEN_STATISTICS, _SCALE, _SHIFT, _RELU = 1, 2, 4, 8


def _affine(scale: bool, shift: bool, suffix: str = "") -> tuple[int, tuple[str, ...]]:
    flags = _SCALE * scale | _SHIFT * shift
    return flags, tuple(f"{name}{suffix}" for name, asked in (("scale", scale), ("shift", shift)) if asked)


def layer_normalization(
    x: Layout, out: Layout, epsilon: float, *, scale: bool = True, shift: bool = True, training: bool = False
) -> Primitive:
    """Roles: x, out, scale, shift; in training also mean and variance, of the shape of x without its last dim."""
    flags, roles = _affine(scale, shift)
    kind, statistics = (TRAINING, ("mean", "variance")) if training else (INFERENCE, ())
    settings: dict[str, Setting] = dict(kind=kind, x=x, out=out, statistics=_rows(x), epsilon=float(epsilon))
    settings |= dict(flags=flags)
    return create("layer_normalization_forward", settings, ("x", *statistics, *roles, "out"))


def layer_normalization_backward(
    x: Layout, gradient: Layout, x_gradient: Layout, epsilon: float, *, scale: bool = True, shift: bool = True
) -> Primitive:
    """Roles: x, mean, variance, gradient, x_gradient, scale, shift, scale_gradient, shift_gradient.

    oneDNN asks for the shift and does not read it.
    """
    flags, affine = _affine(scale, shift)
    _, gradients = _affine(scale, shift, "_gradient")
    hint = layer_normalization(x, gradient, epsilon, scale=scale, shift=shift, training=True)
    settings: dict[str, Setting] = dict(
        kind=BACKWARD if flags else BACKWARD_DATA, x_gradient=x_gradient, gradient=gradient, x=x,
        statistics=_rows(x), epsilon=float(epsilon), flags=flags, hint=hint,
    )  # fmt: skip
    roles = ("x", "mean", "variance", "gradient", *affine, *gradients, "x_gradient")
    return create("layer_normalization_backward", settings, roles)


def _rows(x: Layout) -> Layout:
    return Layout.row_major(x.shape[:-1])


def batch_normalization(
    x: Layout, out: Layout, epsilon: float, *, scale: bool = True, shift: bool = True, training: bool = False,
    relu: bool = False,
) -> Primitive:  # fmt: skip
    """Roles: x, out, mean, variance, scale, shift. With `relu` in training there is a workspace for the gradient."""
    x, out = images(x, out)
    flags, roles = _affine(scale, shift)
    flags |= _RELU * relu | _GIVEN_STATISTICS * (not training)
    settings: dict[str, Setting] = dict(kind=TRAINING if training else INFERENCE, x=x, out=out)
    settings |= dict(epsilon=float(epsilon), flags=flags)
    return create("batch_normalization_forward", settings, ("x", "mean", "variance", *roles, "out"))


def batch_normalization_backward(
    x: Layout, gradient: Layout, x_gradient: Layout, epsilon: float, *, scale: bool = True, shift: bool = True,
    relu: bool = False,
) -> Primitive:  # fmt: skip
    """Through the statistics of the batch. Roles as forward, with gradient and *_gradient, without shift."""
    x, gradient, x_gradient = images(x, gradient, x_gradient)
    flags, gradients = _affine(scale, shift, "_gradient")
    flags |= _RELU * relu
    hint = batch_normalization(x, gradient, epsilon, scale=scale, shift=shift, training=True, relu=relu)
    settings: dict[str, Setting] = dict(
        kind=BACKWARD if scale or shift else BACKWARD_DATA, x_gradient=x_gradient, gradient=gradient, x=x,
        epsilon=float(epsilon), flags=flags, hint=hint,
    )  # fmt: skip
    roles = ("x", "mean", "variance", "gradient", *(("scale",) if scale else ()), *gradients, "x_gradient")
    return create("batch_normalization_backward", settings, roles)
