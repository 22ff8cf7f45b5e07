"""Convolutions of every form: strided, dilated, grouped, padded unevenly, depthwise, pointwise, transposed."""

from __future__ import annotations

import math

from tests.fuzz.networks.drawing import CHANNELS, Unfit, Writer
from tests.fuzz.networks.network import Drawn

KERNELS = (1, 1, 2, 3, 3, 3, 4, 5, 7)


def _sizes(values: list[int], dims: int) -> str:
    return str(values[0]) if dims == 1 else str(values)


def _groups(w: Writer, channels: int, out: int) -> int:
    common = [n for n in range(1, channels + 1) if channels % n == 0 and out % n == 0]
    return 1 if w.chance(0.6) else w.one(common)


def _padding(w: Writer, dims: int, kernel: list[int], stride: list[int], dilation: list[int]) -> tuple[str, str]:
    """Our padding, and PyTorch's expression of the padded input."""
    name = f"nn.PaddingConfig{dims}d"
    form = w.random.random()
    spans = [(k - 1) * d for k, d in zip(kernel, dilation, strict=True)]
    if form < 0.3:
        return f"{name}.Valid", "$0"
    if form < 0.5:
        if max(stride) > 1:
            raise Unfit
        pairs = [(span // 2, span - span // 2) for span in spans]
        return f"{name}.Same", f"peers.padded($0, {pairs})"
    if form < 0.75:
        each = [w.one((0, 1, span // 2, span)) for span in spans]
        return f"{name}.Explicit({', '.join(map(str, each))})", f"peers.padded($0, {[(n, n) for n in each]})"
    before, after = ([w.one((0, 1, 2, 3)) for _ in spans] for _ in range(2))
    pairs = list(zip(before, after, strict=True))
    return f"{name}.Explicit({', '.join(map(str, before + after))})", f"peers.padded($0, {pairs})"


def _work(w: Writer, positions: int, weights: int) -> None:
    if positions * weights > w.work:
        raise Unfit


def convolution(
    w: Writer, x: int | None = None, out: int | None = None, form: str | None = None, bias: bool | None = None
) -> int:
    """A convolution of `x`, in a form of choice or any."""
    x = w.pick(3, 4, 4, 4, 5) if x is None else x
    batch, channels, *spatial = w.shape(x)
    dims = len(spatial)
    form = form or w.one(("any", "any", "any", "pointwise", "depthwise", "square", "strided pointwise"))
    out = w.one(CHANNELS) if out is None else out
    kernel, stride, dilation, groups = [1] * dims, [1] * dims, [1] * dims, 1
    if form == "any":
        kernel = w.several(KERNELS, dims)
        stride = w.several((1, 1, 1, 2, 3), dims)
        dilation = w.several((1, 1, 1, 2, 3), dims)
        groups = _groups(w, channels, out)
    elif form == "square":
        kernel = [w.one((3, 3, 5))] * dims
        stride = [w.one((1, 1, 2))] * dims
    elif form == "depthwise":
        kernel, stride = [w.one((3, 3, 3, 5, 7))] * dims, [w.one((1, 1, 1, 2))] * dims
        out, groups = channels * w.one((1, 1, 1, 2)), channels
    elif form == "strided pointwise":
        stride = w.several((1, 2, 2, 3), dims)
    if form == "square" or (form == "depthwise" and w.chance(0.7)):
        halves = [size // 2 for size in kernel]
        padding = f"nn.PaddingConfig{dims}d.Explicit({', '.join(map(str, halves))})"
        padded = f"peers.padded($0, {[(n, n) for n in halves]})"
    elif form in ("pointwise", "strided pointwise"):
        padding, padded = f"nn.PaddingConfig{dims}d.Valid", "$0"
    else:
        padding, padded = _padding(w, dims, kernel, stride, dilation)
    bias = w.chance(0.6) if bias is None else bias
    shape = (out, channels // groups, *kernel)
    _work(w, batch * math.prod(spatial), math.prod(shape))
    parameters = {"weight": w.weight(shape)} | ({"bias": Drawn((out,), 0.3)} if bias else {})
    given = f"{channels}, {out}, {kernel[0]}" if dims == 1 else f"[{channels}, {out}], {kernel}"
    config = (
        f"conv.Conv{dims}dConfig({given}, stride={_sizes(stride, dims)}, dilation={_sizes(dilation, dims)}, "
        f"groups={groups}, padding={padding}, bias={bias}).init(device)"
    )
    tensors = f"{padded}, $.weight, {'$.bias' if bias else None}"
    theirs = f"F.conv{dims}d({tensors}, {tuple(stride)}, 0, {tuple(dilation)}, {groups})"
    return w.add([x], "$m($0)", theirs, config, parameters)


def transposed(w: Writer) -> int:
    """A transposed convolution."""
    x = w.pick(3, 4, 4, 5)
    batch, channels, *spatial = w.shape(x)
    dims = len(spatial)
    out = w.one(CHANNELS[:14])
    groups = _groups(w, channels, out)
    kernel, stride = w.several((1, 2, 3, 4, 5), dims), w.several((1, 1, 2, 3), dims)
    dilation = w.several((1, 1, 1, 2), dims)
    padding = [w.random.randint(0, (k - 1) * d) for k, d in zip(kernel, dilation, strict=True)]
    extra = [w.random.randint(0, max(s, d) - 1) for s, d in zip(stride, dilation, strict=True)]
    bias = w.chance(0.6)
    shape = (channels, out // groups, *kernel)
    _work(w, batch * math.prod(spatial), math.prod(shape))
    fan_in = channels // groups * math.prod(kernel) // math.prod(stride)
    parameters = {"weight": w.weight(shape, fan_in)} | ({"bias": Drawn((out,), 0.3)} if bias else {})
    config = (
        f"conv.ConvTranspose{dims}dConfig([{channels}, {out}], {_sizes(kernel, dims)}, stride={_sizes(stride, dims)}, "
        f"dilation={_sizes(dilation, dims)}, groups={groups}, padding={_sizes(padding, dims)}, "
        f"padding_out={_sizes(extra, dims)}, bias={bias}).init(device)"
    )
    theirs = (
        f"F.conv_transpose{dims}d($0, $.weight, {'$.bias' if bias else None}, {tuple(stride)}, {tuple(padding)}, "
        f"{tuple(extra)}, {groups}, {tuple(dilation)})"
    )
    return w.add([x], "$m($0)", theirs, config, parameters)
