"""Samples of convolution rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch.nn import functional

from burn.errors import ArgumentError, DTypeError, ShapeError
from tests.ops.sample import Sample, call, integers, random, refused, samples

CONVOLUTIONS = [functional.conv1d, functional.conv2d, functional.conv3d]
TRANSPOSES = [functional.conv_transpose1d, functional.conv_transpose2d, functional.conv_transpose3d]


def pairs(padding: Any, rank: int) -> list[tuple[int, int]]:
    """A padding as one (before, after) a dim."""
    if isinstance(padding, int):
        return [(padding, padding)] * rank
    return [(each, each) if isinstance(each, int) else tuple(each) for each in padding]


def each_dim(value: Any, rank: int) -> tuple[int, ...]:
    return (value,) * rank if isinstance(value, int) else tuple(value)


def _conv(x: Any, weight: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Any:
    rank = x.dim() - 2
    function = CONVOLUTIONS[rank - 1]
    if isinstance(padding, str):
        with warnings.catch_warnings():  # torch tells that an even kernel needs uneven padding
            warnings.simplefilter("ignore")
            return function(x, weight, None, stride, padding, dilation, groups)
    sides = [side for pair in reversed(pairs(padding, rank)) for side in pair]
    return function(functional.pad(x, sides), weight, None, stride, 0, dilation, groups)


def _conv_x(
    g: Any, weight: Any, x_spatial: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    rank = g.dim() - 2
    whole = TRANSPOSES[rank - 1](g, weight, None, stride, 0, 0, groups, dilation)
    sides = []
    for pair, size, full in reversed(list(zip(pairs(padding, rank), x_spatial, whole.shape[2:], strict=True))):
        sides += [-pair[0], size + pair[0] - full]
    return functional.pad(whole, sides)


def _conv_weight(
    x: Any, g: Any, kernel: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """The gradient of a weight is a convolution of the input by the gradient, stride and dilation exchanged."""
    rank = x.dim() - 2
    sides = [side for pair in reversed(pairs(padding, rank)) for side in pair]
    x = functional.pad(x, sides)
    found = []
    for part, gradient in zip(x.chunk(groups, 1), g.chunk(groups, 1), strict=True):
        full = CONVOLUTIONS[rank - 1](
            part.transpose(0, 1), gradient.transpose(0, 1), None, each_dim(dilation, rank), 0, each_dim(stride, rank)
        )
        found.append(full[(..., *(slice(size) for size in kernel))].transpose(0, 1))
    return torch.cat(found)


@samples("conv", oracle=_conv)
def _convolutions() -> Iterator[Sample]:
    yield call(random(2, 3, 7), random(4, 3, 3, seed=1))
    yield call(random(2, 2, 5, 4), random(3, 2, 3, 2, seed=1), (2, 1), (1, 0), (1, 2))
    yield call(random(1, 2, 3, 4, 3), random(2, 2, 2, 3, 2, seed=1), 1, 1)
    yield call(random(1, 4, 6), random(6, 2, 3, seed=1), 2, 1, 1, 2)  # two groups
    yield call(random(2, 3, 5, 5), random(3, 1, 3, 3, seed=1), 1, 1, 1, 3)  # one channel a group
    yield call(random(2, 3, 4, 5), random(2, 3, 1, 1, seed=1), 3)  # 1x1, stride beyond it
    yield call(random(1, 1, 2, 2), random(1, 1, 5, 5, seed=1), 1, 2)  # larger than the input
    yield call(random(1, 2, 5, 5), random(2, 2, 2, 2, seed=1), 1, [(0, 1), (2, 0)])  # uneven padding
    yield call(random(1, 2, 8), random(2, 2, 4, seed=1), 1, "same", 2)
    yield call(random(1, 2, 8), random(2, 2, 4, seed=1), 2, "valid")
    yield call(random(0, 2, 5, 5), random(3, 2, 3, 3, seed=1))
    yield call(random(5, 6, 2, 1).T, random(3, 2, 3, 6, seed=1)[..., ::2], [1, 1], [1, 1])
    yield call(random(1, 1, 7), random(1, 1, 2, seed=1), 1, [(1, -2)])  # a negative padding crops


@samples("conv_x_backward", oracle=_conv_x)
def _inputs() -> Iterator[Sample]:
    yield call(random(2, 4, 5), random(4, 3, 3, seed=1), (7,))
    yield call(random(1, 3, 3, 2), random(3, 2, 3, 2, seed=1), (5, 4), (2, 1), (1, 0), (1, 2))
    yield call(random(1, 2, 2, 2, 2), random(2, 2, 2, 3, 2, seed=1), (3, 4, 3))
    yield call(random(1, 6, 3), random(6, 2, 3, seed=1), (6,), 2, 1, 1, 2)
    yield call(random(1, 2, 5, 6), random(2, 2, 2, 2, seed=1), (5, 5), 1, [(0, 1), (2, 0)])
    yield call(random(1, 2, 2), random(2, 1, 2, seed=1), (6,), 3, 0, 1)  # the last elements were not seen
    yield call(random(1, 1, 5), random(1, 1, 2, seed=1), (7,), 1, [(1, -2)])
    yield call(random(0, 3, 3, 3), random(3, 2, 3, 3, seed=1), (5, 5))
    yield call(random(3, 3, 3, 1).T, random(3, 2, 3, 6, seed=1)[..., ::2], (5, 5))


@samples("conv_weight_backward", oracle=_conv_weight)
def _weights() -> Iterator[Sample]:
    yield call(random(2, 3, 7), random(2, 4, 5, seed=1), (3,))
    yield call(random(1, 2, 5, 4), random(1, 3, 3, 2, seed=1), (3, 2), (2, 1), (1, 0), (1, 2))
    yield call(random(1, 2, 3, 4, 3), random(1, 2, 2, 2, 2, seed=1), (2, 3, 2))
    yield call(random(1, 4, 6), random(1, 6, 3, seed=1), (3,), 2, 1, 1, 2)
    yield call(random(1, 2, 5, 5), random(1, 2, 5, 6, seed=1), (2, 2), 1, [(0, 1), (2, 0)])
    yield call(random(1, 1, 8), random(1, 2, 2, seed=1), (2,), 5)
    yield call(random(0, 2, 5, 5), random(0, 3, 3, 3, seed=1), (3, 3), oracle=False)
    yield call(random(5, 5, 2, 2).T, random(2, 3, 3, 6, seed=1)[..., ::2], (3, 3))


def _layer(rank: int) -> Any:
    def convolve(x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, *rest: Any) -> Any:
        result = _conv(x, weight, stride, padding, *rest)
        return result if bias is None else result + bias.reshape(-1, *(1,) * rank)

    return convolve


@samples("conv1d", oracle=_layer(1))
def _conv1d() -> Iterator[Sample]:
    yield call(random(2, 3, 7), random(4, 3, 3, seed=1), random(4, seed=2))
    yield call(random(2, 3, 7), random(4, 3, 3, seed=1))
    yield call(random(1, 4, 9), random(4, 2, 2, seed=1), random(4, seed=2), 2, 1, 3, 2)
    yield call(random(1, 4, 9), random(4, 4, 2, seed=1), random(4, seed=2), 1, "same")
    yield call(random(1, 4, 9), random(4, 4, 2, seed=1), None, 1, [(0, 3)])


@samples("conv2d", oracle=_layer(2))
def _conv2d() -> Iterator[Sample]:
    yield call(random(2, 2, 5, 4), random(3, 2, 3, 2, seed=1), random(3, seed=2), (2, 1), (1, 0), (1, 2))
    yield call(random(1, 2, 4, 5), random(4, 1, 1, 1, seed=1), None, 1, 0, 1, 2)
    yield call(random(0, 2, 4, 5), random(4, 2, 1, 1, seed=1), random(4, seed=2))
    yield call(random(1, 1, 6, 5), random(2, 1, 4, 3, seed=1), random(2, seed=2), 1, "same", 2)
    yield call(random(2, 3, 28, 28), random(8, 3, 3, 3, seed=1), random(8, seed=2), tolerance=1e-4)


@samples("conv3d", oracle=_layer(3))
def _conv3d() -> Iterator[Sample]:
    yield call(random(1, 2, 3, 4, 3), random(2, 2, 2, 3, 2, seed=1), random(2, seed=2), 1, 1)
    yield call(random(1, 2, 3, 3, 4), random(2, 1, 2, 1, 2, seed=1), None, 2, (1, 0, 1), (1, 1, 2), 2)


def _transpose(rank: int) -> Any:
    def transpose(
        x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, padding_out: Any = 0,
        dilation: Any = 1, groups: int = 1,
    ) -> Any:  # fmt: skip
        return TRANSPOSES[rank - 1](x, weight, bias, stride, padding, padding_out, groups, dilation)

    return transpose


@samples("conv_transpose1d", oracle=_transpose(1))
def _transpose1d() -> Iterator[Sample]:
    yield call(random(2, 3, 5), random(3, 2, 3, seed=1), random(2, seed=2))
    yield call(random(1, 4, 5), random(4, 3, 2, seed=1), random(6, seed=2), 3, 1, 2, 2, 2)
    yield call(random(1, 2, 4), random(2, 2, 3, seed=1), None, 1, 1, 2, 3)  # padding_out beyond the stride
    yield call(random(0, 2, 4), random(2, 2, 3, seed=1), None, 2)


@samples("conv_transpose2d", oracle=_transpose(2))
def _transpose2d() -> Iterator[Sample]:
    yield call(random(1, 2, 3, 4), random(2, 3, 2, 3, seed=1), random(3, seed=2), (2, 1), (0, 1), (1, 0))
    yield call(random(2, 4, 3, 2), random(4, 1, 1, 1, seed=1), None, 2, 0, 1, 1, 4)
    yield call(random(2, 3, 4, 1).T, random(4, 1, 3, 6, seed=1)[..., ::2], random(1, seed=2), 1, 1)


@samples("conv_transpose3d", oracle=_transpose(3))
def _transpose3d() -> Iterator[Sample]:
    yield call(random(1, 2, 2, 3, 2), random(2, 2, 2, 1, 3, seed=1), random(2, seed=2), (1, 2, 2), 0, (0, 1, 0))
    yield call(random(1, 2, 2, 2, 3), random(2, 1, 2, 2, 2, seed=1), None, 2, 1, 0, (1, 2, 1), 2)


X, W = random(2, 3, 5, 5), random(4, 3, 3, 3)
for _name, _extra in (("conv", ()), ("conv2d", (None,))):
    refused(_name, X, random(4, 2, 3, 3), error=ShapeError, match=r"\(2, 3, 5, 5\).*\(4, 2, 3, 3\)")
    refused(_name, X, W, *_extra, 1, 0, 1, 2, error=ShapeError, match="groups=2 must divide the 3 channels")
    refused(_name, X, random(4, 3, 7, 7), error=ShapeError, match=r"kernel of \(7, 7\).*larger than x \(2, 3, 5, 5\)")
    refused(_name, X, W, *_extra, 1, 0, 3, error=ShapeError, match=r"kernel of \(7, 7\).*with dilation")
    refused(_name, X, W, *_extra, 0, error=ArgumentError, match="stride must be 1 or more")
    refused(_name, X, W, *_extra, (1, 2, 3), error=ArgumentError, match="stride needs 2 values")
    refused(_name, X, W, *_extra, 1, "full", error=ArgumentError, match='"same", "valid" or numbers')
    refused(_name, X, W, *_extra, 1, [(1, 2)], error=ArgumentError, match="needs 2 pairs")
    refused(_name, X, W, *_extra, 1, 0, 1, 0, error=ArgumentError, match="groups must be 1 or more")
    refused(_name, X, random(4, 3, 3), error=ShapeError, match=r"\(2, 3, 5, 5\).*\(4, 3, 3\).*same rank")
refused("conv", random(3, 5), random(4, 3), error=ShapeError, match="one to three spatial dims")
refused("conv", integers(2, 3, 5), random(4, 3, 3), error=DTypeError, match="needs a float tensor")
refused(
    "conv2d", random(3, 5, 5), W, error=ShapeError, match=r"shape \(batch, channels, height, width\), got \(3, 5, 5\)"
)
refused("conv2d", X, W, random(3), error=ShapeError, match=r"bias must have the shape \(4,\), got \(3,\)")
refused("conv2d", X, W, None, 1, -1, error=ArgumentError, match="padding must be 0 or more")
refused("conv1d", X, W, error=ShapeError, match="length")
refused("conv3d", X, W, error=ShapeError, match="depth")
refused("conv_x_backward", random(2, 4, 5), random(4, 3, 3), (8,), error=ShapeError, match=r"give \(2, 4, 6\)")
refused("conv_x_backward", random(2, 4, 5), random(4, 3, 3, 3), (8,), error=ShapeError, match="same rank")
refused("conv_weight_backward", random(2, 3, 7), random(2, 4, 5), (4,), error=ShapeError, match=r"give \(2, 4, 4\)")
refused("conv_transpose1d", random(2, 3, 5), random(2, 3, 3), error=ShapeError, match=r"\(2, 3, 5\).*\(2, 3, 3\)")
refused("conv_transpose1d", random(2, 3, 5), random(3, 2, 3), None, 2, 0, 2, error=ArgumentError, match="padding_out")
refused("conv_transpose1d", random(2, 3, 5), random(3, 2, 3), None, 1, "same", error=ArgumentError, match="numbers")
refused("conv_transpose1d", random(2, 3, 5), random(3, 2, 3), None, 1, 0, 0, 1, 2, error=ShapeError, match="groups=2")
refused("conv_transpose2d", random(2, 3, 5), random(3, 2, 3), error=ShapeError, match="height")
refused("conv_transpose3d", random(2, 3, 5), random(3, 2, 3), error=ShapeError, match="depth")


def _any_transpose(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, padding_out: Any = 0, dilation: Any = 1,
    groups: int = 1, output_size: Any = None,
) -> Any:  # fmt: skip
    """PyTorch without padding, then cut, or filled up, at both ends."""
    rank = x.dim() - 2
    stride, padding_out, dilation = (
        [v] * rank if isinstance(v, int) else list(v) for v in (stride, padding_out, dilation)
    )
    full = [
        (size - 1) * step + hole * (k - 1) + 1 + more
        for size, step, k, hole, more in zip(x.shape[2:], stride, weight.shape[2:], dilation, padding_out, strict=True)
    ]
    if output_size is None and padding in ("same", "same_lower"):
        output_size = [size * step for size, step in zip(x.shape[2:], stride, strict=True)]
    if output_size is not None:
        wanted = [output_size] * rank if isinstance(output_size, int) else output_size
        totals = [have - want for have, want in zip(full, wanted, strict=True)]
        pads = [(t // 2, t - t // 2) if padding == "same" else (t - t // 2, t // 2) for t in totals]
    elif padding == "valid":
        pads = [(0, 0)] * rank
    else:
        listed = [padding] * rank if isinstance(padding, int) else padding
        pads = [(each, each) if isinstance(each, int) else tuple(each) for each in listed]
    found = TRANSPOSES[rank - 1](x, weight, None, stride, 0, 0, groups, dilation)
    for (before, after), more in zip(reversed(pads), reversed(padding_out), strict=True):
        found = torch.nn.functional.pad(found.movedim(-1, 2), (0, 0) * (rank - 1) + (-before, more - after))
    return found if bias is None else found + bias.reshape(-1, *(1,) * rank)


@samples("conv_transpose", oracle=_any_transpose)
def _any_transposed() -> Iterator[Sample]:
    yield call(random(1, 2, 3, 4), random(2, 3, 2, 3, seed=1), random(3, seed=2), (2, 1), [(0, 1), (1, 0)], (1, 0))
    yield call(random(1, 4, 5), random(4, 3, 2, seed=1), random(6, seed=2), 3, [(1, 0)], 2, 2, 2)
    yield call(random(1, 2, 3, 3), random(2, 1, 3, 3, seed=1), None, (3, 2), "same")
    yield call(random(1, 2, 3, 3), random(2, 1, 2, 3, seed=1), None, (1, 2), "same_lower")
    yield call(random(1, 1, 3, 3), random(1, 2, 3, 3, seed=1), None, (3, 2), output_size=(10, 8))
    yield call(random(1, 1, 3, 3), random(1, 2, 3, 3, seed=1), None, (3, 2), "same", output_size=(10, 8))
    yield call(random(1, 1, 4), random(1, 2, 3, seed=1), None, 2, [(-1, -2)])
    yield call(random(1, 1, 4), random(1, 2, 3, seed=1), None, 2, 0, 3)
    yield call(random(1, 2, 2, 3, 2), random(2, 2, 2, 1, 3, seed=1), None, (1, 2, 2), "valid", (0, 1, 0))


refused("conv_transpose", random(2, 3, 5), random(2, 3, 3), error=ShapeError, match=r"\(2, 3, 5\).*\(2, 3, 3\)")
refused("conv_transpose", random(2, 3, 5), random(3, 2, 3, 3), error=ShapeError, match="weight must have the shape")
refused(
    "conv_transpose", random(2, 3, 5), random(3, 2, 3), None, 1, "full", error=ArgumentError, match="padding must be"
)
refused("conv_transpose", random(2, 3, 5), random(3, 2, 3), random(3), error=ShapeError, match="bias must have")
refused("conv_transpose", random(2, 3, 2), random(3, 2, 3), None, 1, 3, error=ShapeError, match=r"give \(-2,\)")
