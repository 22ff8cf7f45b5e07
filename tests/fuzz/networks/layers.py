"""Pooling, resizing, norms, linear layers and the smaller layers."""

from __future__ import annotations

import math
from typing import Any

from tests.fuzz.networks.drawing import CHANNELS, Unfit, Writer
from tests.fuzz.networks.network import Drawn


def pooling(w: Writer) -> int:
    """The largest or the mean of windows."""
    x = w.pick(3, 4, 4, 5)
    dims = len(w.shape(x)) - 2
    kernel, stride = w.several((1, 2, 2, 3, 3, 4), dims), w.several((1, 1, 2, 2, 3), dims)
    maximal = w.chance(0.5)
    dilation = w.several((1, 1, 2), dims) if maximal else [1] * dims
    padding = [w.random.randint(0, k // 2) for k in kernel]
    ceil = w.chance(0.3)
    strides = f"stride={stride[0]}" if dims == 1 else f"strides={stride}"
    sides = f"padding=nn.PaddingConfig{dims}d.Explicit({', '.join(map(str, padding))})"
    config = (
        f"pool.{'Max' if maximal else 'Avg'}Pool{dims}dConfig({kernel[0] if dims == 1 else kernel}, {strides}, {sides}"
    )
    theirs = f"$0, {tuple(kernel)}, {tuple(stride)}, {tuple(padding)}"
    if maximal:
        config += f", dilation={dilation[0] if dims == 1 else dilation}, ceil_mode={ceil}).init()"
        return w.add([x], "$m($0)", f"F.max_pool{dims}d({theirs}, {tuple(dilation)}, {ceil})", config)
    counted = w.chance(0.5)
    config += f", count_include_pad={counted}, ceil_mode={ceil}).init()"
    return w.add([x], "$m($0)", f"F.avg_pool{dims}d({theirs}, {ceil}, {counted})", config)


def adaptive_pooling(w: Writer) -> int:
    """As many windows as are asked for."""
    x = w.pick(3, 4, 4, 5)
    sizes = [w.one((1, 1, 2, 3, 5, max(1, size // 2))) for size in w.shape(x)[2:]]
    dims = len(sizes)
    if w.chance(0.3):
        return w.add([x], f"module.adaptive_max_pool{dims}d($0, {sizes})", f"F.adaptive_max_pool{dims}d($0, {sizes})")
    config = f"pool.AdaptiveAvgPool{dims}dConfig({sizes[0] if dims == 1 else sizes}).init()"
    return w.add([x], "$m($0)", f"F.adaptive_avg_pool{dims}d($0, {sizes})", config)


def resizing(w: Writer) -> int:
    """Interpolation to another size."""
    x = w.pick(3, 4, 4, 4)
    batch, channels, *spatial = w.shape(x)
    dims = len(spatial)
    sizes = [w.one((1, size, 2 * size, size + 1, max(1, size // 2), 7)) for size in spatial]
    if batch * channels * math.prod(sizes) > w.most:
        raise Unfit
    modes = {"Nearest": "nearest", "Linear": ("linear", "bilinear")[dims - 1]}
    if dims == 2:
        modes["Cubic"] = "bicubic"
    ours = w.one(list(modes))
    corners = w.chance(0.5)
    config = (
        f"nn.Interpolate{dims}dConfig({sizes[0] if dims == 1 else sizes}, mode=nn.InterpolateMode.{ours}, "
        f"align_corners={corners}).init()"
    )
    aligned = "" if ours == "Nearest" else f", align_corners={corners}"
    return w.add([x], "$m($0)", f"F.interpolate($0, {tuple(sizes)}, mode={modes[ours]!r}{aligned})", config)


def batch_norm(w: Writer, x: int | None = None) -> int:
    """Batch norm; in training the statistics are the batch's own."""
    x = w.pick(2, 3, 4, 4, 5) if x is None else x
    shape = w.shape(x)
    channels = shape[1]
    if math.prod(shape) // channels < 2:
        raise Unfit
    epsilon, momentum = w.one((1e-5, 1e-3, 0.1)), w.one((0.1, 0.3, 1.0))
    states = {"running_mean": Drawn((channels,), 0.3), "running_var": Drawn((channels,), 0.3, 1.0)}
    return w.add(
        [x], "$m($0)",
        f"peers.batch_norm($0, $~running_mean, $~running_var, $.gamma, $.beta, training, {momentum}, {epsilon})",
        f"nn.BatchNormConfig({channels}, {epsilon}, {momentum}).init(device)", w.affine(channels), states,
    )  # fmt: skip


def norm(w: Writer, x: int | None = None) -> int:
    """Layer, rms, group or instance norm."""
    x = w.pick(2, 3, 3, 4, 4, 5) if x is None else x
    shape = w.shape(x)
    epsilon = w.one((1e-5, 1e-3, 0.1))
    kind = w.one(("layer", "rms", "group", "instance", "response"))
    channels, last = shape[1], shape[-1]
    if kind == "layer":
        if last == 1:
            raise Unfit
        bias = w.chance(0.7)
        parameters = w.affine(last)
        if not bias:
            del parameters["beta"]
        theirs = f"peers.layer_norm($0, $.gamma, {'$.beta' if bias else None}, {epsilon})"
        config = f"nn.LayerNormConfig({last}, {epsilon}, bias={bias}).init(device)"
        return w.add([x], "$m($0)", theirs, config, parameters)
    if kind == "rms":
        theirs = f"peers.rms_norm($0, $.gamma, {epsilon})"
        config = f"nn.RmsNormConfig({last}, {epsilon}).init(device)"
        return w.add([x], "$m($0)", theirs, config, {"gamma": Drawn((last,), 0.3, 1.0)})
    affine: Any = w.affine(channels) if w.chance(0.7) else {}
    scales = "$.gamma, $.beta" if affine else "None, None"
    if kind == "group":
        groups = w.one([n for n in range(1, channels + 1) if channels % n == 0])
        if math.prod(shape[1:]) // groups < 2:
            raise Unfit
        theirs = f"peers.group_norm($0, {groups}, {scales}, {epsilon})"
        config = f"nn.GroupNormConfig({groups}, {channels}, {epsilon}, affine={bool(affine)}).init(device)"
        return w.add([x], "$m($0)", theirs, config, affine)
    if math.prod(shape[2:]) < 2:
        raise Unfit
    if kind == "instance":
        theirs = f"peers.group_norm($0, {channels}, {scales}, {epsilon})"
        config = f"nn.InstanceNormConfig({channels}, {epsilon}, affine={bool(affine)}).init(device)"
        return w.add([x], "$m($0)", theirs, config, affine)
    size, alpha = w.one((1, 3, 5)), w.one((1e-4, 0.3))
    theirs = f"F.local_response_norm($0, {size}, {alpha}, 0.75, 1.5)"
    return w.add([x], "$m($0)", theirs, f"nn.LocalResponseNormConfig({size}, {alpha}, 0.75, 1.5).init()")


def linear(w: Writer, x: int | None = None, out: int | None = None) -> int:
    """A linear map of the last dim."""
    x = w.pick(2, 2, 3, 3, 4) if x is None else x
    shape = w.shape(x)
    out = w.one(CHANNELS) if out is None else out
    bias = w.chance(0.7)
    if math.prod(shape) * out > w.work:
        raise Unfit
    parameters = {"weight": w.weight((shape[-1], out), shape[-1])} | ({"bias": Drawn((out,), 0.3)} if bias else {})
    theirs = f"peers.linear($0, $.weight, {'$.bias' if bias else None})"
    return w.add([x], "$m($0)", theirs, f"nn.LinearConfig({shape[-1]}, {out}, {bias}).init(device)", parameters)


def shuffle(w: Writer) -> int:
    """Channels as pixels, and back."""
    x = w.pick(4)
    _, channels, height, width = w.shape(x)
    factor = w.one((2, 2, 3))
    if channels % (factor * factor) == 0 and w.chance(0.6):
        return w.add([x], "$m($0)", f"F.pixel_shuffle($0, {factor})", f"nn.PixelShuffleConfig({factor}).init()")
    if height % factor or width % factor:
        raise Unfit
    return w.add([x], "$m($0)", f"F.pixel_unshuffle($0, {factor})", f"nn.PixelUnshuffleConfig({factor}).init()")


def patches(w: Writer) -> int:
    """Windows of an image as columns."""
    x = w.pick(4)
    kernel, stride, dilation = (tuple(w.several(c, 2)) for c in ((1, 2, 3), (1, 2, 3), (1, 1, 2)))
    padding = tuple(w.several((0, 1), 2))
    config = f"nn.Unfold4dConfig({kernel}, stride={stride}, dilation={dilation}, padding={padding}).init()"
    return w.add([x], "$m($0)", f"F.unfold($0, {kernel}, {dilation}, {padding}, {stride})", config)
