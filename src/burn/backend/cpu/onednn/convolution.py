"""Convolutions over 1, 2 or 3 spatial dims: forward, both gradients, and the transposed form.

Layouts are logical: x (batch, in, *spatial), weight (out, in / groups, *kernel). Give activations as
`Layout.channels_last`, and weights and their gradients as `Layout.any`: oneDNN's row-major images are several
times slower, and a row-major weight selects its reference loops, hundreds of times slower (`is_reference` tells).
Strides and dilations count from 1, and a padding is a pair (before, after) for each spatial dim.

oneDNN keeps grouped weights as (groups, out / groups, in / groups, *kernel); `grouped` gives that view of
a weight's own buffer, for the `reorder` that packs it.
"""

from __future__ import annotations

from collections.abc import Sequence

from burn.backend.cpu.onednn.layout import Layout, Sizes, images
from burn.backend.cpu.onednn.post_operations import PostOperation, operands, with_operands
from burn.backend.cpu.onednn.primitive import INFERENCE, TRAINING, Primitive, Setting, create

Padding = Sequence[tuple[int, int]]

_DIRECT = 1
_TRANSPOSED_DIRECT = 0xA


def grouped(weight: Layout, groups: int) -> Layout:
    """The weight of a convolution as oneDNN sees it; the same buffer."""
    if groups == 1:
        return weight
    outputs, *rest = weight.shape
    strides = weight.strides or weight.shape
    split = (strides[0] * (outputs // groups), *strides)
    return weight.reshaped((groups, outputs // groups, *rest), split)


def transposed(weight: Layout, groups: int) -> Layout:
    """The weight (in, out / groups, *kernel) of a transposed convolution as oneDNN sees it; the same buffer."""
    split = grouped(weight, groups)
    first = 0 if groups == 1 else 1
    order = (*range(first), first + 1, first, *range(first + 2, len(split.shape)))
    return split.permuted(order)


def geometry(stride: Sizes, dilation: Sizes, padding: Padding) -> dict[str, Setting]:
    """The settings of windows that slide, as oneDNN counts them: an undilated window has dilation 0."""
    return dict(
        stride=tuple(stride),
        dilation=tuple(each - 1 for each in dilation),
        before=tuple(pair[0] for pair in padding),
        after=tuple(pair[1] for pair in padding),
    )


def convolution(
    x: Layout, weight: Layout, out: Layout, bias: Layout | None = None, *, stride: Sizes, padding: Padding,
    dilation: Sizes, groups: int = 1, post: Sequence[PostOperation] = (), kind: int = INFERENCE,
) -> Primitive:  # fmt: skip
    """Roles: x, weight, bias, out, operand_i."""
    x, out, *others = images(x, out, *operands(post))
    post = with_operands(post, others)
    settings: dict[str, Setting] = dict(kind=kind, algorithm=_DIRECT, x=x, weight=grouped(weight, groups), bias=bias)
    settings |= dict(out=out, **geometry(stride, dilation, padding))
    return create("convolution_forward", settings, ("x", "weight", *(("bias",) if bias else ()), "out"), post)


def convolution_backward_x(
    gradient: Layout, weight: Layout, x_gradient: Layout, *, stride: Sizes, padding: Padding, dilation: Sizes,
    groups: int = 1,
) -> Primitive:  # fmt: skip
    """Roles: gradient, weight, x_gradient."""
    gradient, x_gradient = images(gradient, x_gradient)
    hint = convolution(
        x_gradient, Layout.any(weight.shape, weight.dtype), gradient,
        stride=stride, padding=padding, dilation=dilation, groups=groups, kind=TRAINING,
    )  # fmt: skip
    settings: dict[str, Setting] = dict(algorithm=_DIRECT, x_gradient=x_gradient, weight=grouped(weight, groups))
    settings |= dict(gradient=gradient, **geometry(stride, dilation, padding), hint=hint)
    return create("convolution_backward_data", settings, ("gradient", "weight", "x_gradient"))


def convolution_backward_weight(
    x: Layout, gradient: Layout, weight_gradient: Layout, bias_gradient: Layout | None = None, *, stride: Sizes,
    padding: Padding, dilation: Sizes, groups: int = 1,
) -> Primitive:  # fmt: skip
    """Roles: x, gradient, weight_gradient, bias_gradient."""
    x, gradient = images(x, gradient)
    hint = convolution(
        x, Layout.any(weight_gradient.shape, weight_gradient.dtype), gradient, bias_gradient,
        stride=stride, padding=padding, dilation=dilation, groups=groups, kind=TRAINING,
    )  # fmt: skip
    settings: dict[str, Setting] = dict(algorithm=_DIRECT, x=x, weight_gradient=grouped(weight_gradient, groups))
    settings |= dict(bias_gradient=bias_gradient, gradient=gradient, **geometry(stride, dilation, padding), hint=hint)
    bias = () if bias_gradient is None else ("bias_gradient",)
    return create("convolution_backward_weights", settings, ("x", "gradient", "weight_gradient", *bias))


def convolution_transposed(
    x: Layout, weight: Layout, out: Layout, bias: Layout | None = None, *, stride: Sizes, padding: Padding,
    dilation: Sizes, groups: int = 1, post: Sequence[PostOperation] = (),
) -> Primitive:  # fmt: skip
    """The gradient of a convolution as a layer: weight is (in, out / groups, *kernel). Roles: x, weight, bias, out.

    An output padding is a smaller padding after: (before, after - extra).
    """
    x, out, *others = images(x, out, *operands(post))
    post = with_operands(post, others)
    settings: dict[str, Setting] = dict(kind=INFERENCE, algorithm=_TRANSPOSED_DIRECT, x=x)
    settings |= dict(weight=transposed(weight, groups), bias=bias, out=out, **geometry(stride, dilation, padding))
    return create("deconvolution_forward", settings, ("x", "weight", *(("bias",) if bias else ()), "out"), post)
