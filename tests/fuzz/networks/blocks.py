"""Blocks that real networks are made of: what kernels fuse across."""

from __future__ import annotations

from tests.fuzz.networks.activations import COMMON, activation, relu
from tests.fuzz.networks.convolutions import convolution
from tests.fuzz.networks.drawing import CHANNELS, Unfit, Writer
from tests.fuzz.networks.layers import batch_norm, linear, norm
from tests.fuzz.networks.sequences import attention


def _follow(w: Writer, x: int) -> int:
    if w.chance(0.5):
        x = batch_norm(w, x)
    return relu(w, x) if w.chance(0.7) else x


def conv_block(w: Writer) -> int:
    """Convolution, norm, activation."""
    x = convolution(w, form=w.one(("square", "any")))
    x = batch_norm(w, x) if w.chance(0.7) else norm(w, x)
    return activation(w, x)


def expand_project(w: Writer) -> int:
    """Pointwise, depthwise, pointwise, often with equal stages and a way past them."""
    start = w.pick(4)
    channels = w.shape(start)[1]
    wide = channels if w.chance(0.5) else channels * w.one((2, 3, 4))
    bias, normed, chosen = w.one((True, False)), w.chance(0.3), w.one((None, *COMMON))
    alike = w.chance(0.6)

    def stage(x: int, out: int, form: str) -> int:
        if not alike:
            return _follow(w, convolution(w, x, out, form))
        x = convolution(w, x, out, form, bias)
        x = batch_norm(w, x) if normed else x
        return x if chosen is None else relu(w, x, chosen)

    x = start
    for _ in range(w.one((1, 1, 2))):
        x = stage(stage(x, wide, "pointwise"), wide, "depthwise")
        x = stage(x, channels if w.chance(0.8) else w.one(CHANNELS), "pointwise")
    if w.shape(x) == w.shape(start) and w.chance(0.6):
        x = w.add([start, x], "$0 + $1", "$0 + $1")
    return x


def residual_block(w: Writer) -> int:
    """Two convolutions and the way past them."""
    start = w.pick(4)
    channels = w.shape(start)[1]
    x = _follow(w, convolution(w, start, channels, "square"))
    x = convolution(w, x, channels, "square")
    if w.shape(x) != w.shape(start):
        raise Unfit
    x = w.add([x, start], "$0 + $1", "$0 + $1")
    return relu(w, x)


def squeeze_excite(w: Writer) -> int:
    """Channels weighed by what they hold on the whole."""
    start = w.pick(4)
    channels = w.shape(start)[1]
    x = w.add([start], "$0.mean_dims([2, 3])", "$0.mean((2, 3), keepdim=True)")
    x = relu(w, convolution(w, x, max(1, channels // w.one((2, 4))), "pointwise"))
    x = convolution(w, x, channels, "pointwise")
    x = w.add([x], "$0.sigmoid()", "torch.sigmoid($0)")
    return w.add([start, x], "$0 * $1", "$0 * $1")


def encoder(w: Writer) -> int:
    """Attention and a feed-forward part, each with a norm and a way past it."""
    start = w.pick(3)
    size = w.shape(start)[2]
    x = w.add([start, attention(w, start)], "$0 + $1", "$0 + $1")
    x = _layer_norm(w, x)
    y = linear(w, activation(w, linear(w, x, size * w.one((1, 2, 4)))), size)
    return w.add([x, y], "$0 + $1", "$0 + $1")


def _layer_norm(w: Writer, x: int) -> int:
    last = w.shape(x)[-1]
    if last < 2:
        raise Unfit
    theirs = "peers.layer_norm($0, $.gamma, $.beta, 1e-05)"
    return w.add([x], "$m($0)", theirs, f"nn.LayerNormConfig({last}).init(device)", w.affine(last))


def classifier(w: Writer) -> int:
    """The mean of an image, and a linear map of it."""
    x = w.pick(4, 5)
    dims = list(range(2, len(w.shape(x))))
    x = w.add([x], f"$0.mean_dims({dims})", f"$0.mean({dims}, keepdim=True)")
    return linear(w, w.add([x], "$0.flatten(1, -1)", "$0.flatten(1, -1)"))
