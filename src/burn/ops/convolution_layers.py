"""Convolution layers: `conv1d`, `conv2d`, `conv3d` with a bias, and their transposes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from burn.errors import ArgumentError, ShapeError
from burn.ops.convolution import conv, conv_x_backward, geometry, weight_gradient, x_gradient
from burn.ops.declare import composite, only_floats, prepared
from burn.ops.op import Op
from burn.ops.windows import Padding, Sizes, check_rank, extent, not_negative, paddings, positive, spatial_rank
from burn.shape import Shape

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor


def _check_bias(op: Op, bias: Any, channels: int) -> None:
    if bias is not None and tuple(bias.shape) != (channels,):
        raise ShapeError(f"{op.name}: bias must have the shape ({channels},), got {tuple(bias.shape)}")


def _with_bias(y: Any, bias: Any) -> Any:
    """Add one number a channel."""
    return y if bias is None else y + bias.reshape((1, y.shape[1]) + (1,) * (len(y.shape) - 2))


def _check_paddings(op: Op, padding: Any, pads: Padding) -> None:
    if min(map(min, pads)) < 0:
        raise ArgumentError(f"{op.name}: padding must be 0 or more, got {padding!r}")


def _layer_rule(spatial: int) -> Any:
    def rule(op: Op, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
        check_rank(op.name, x.shape, spatial)
        shape, settings = geometry(op.name, x.shape, weight.shape, stride, padding, dilation, groups)
        _check_paddings(op, padding, settings[1])
        _check_bias(op, bias, shape[1])
        return shape, x.dtype, settings

    return rule


def _bias_gradient(g: Any, bias_shape: Any) -> Any:
    return g.sum_dims([dim for dim in range(len(g.shape)) if dim != 1]).reshape(bias_shape)


_GRADIENTS: dict[str, Callable[..., Any]] = dict(x=x_gradient, weight=weight_gradient, bias=_bias_gradient)
_prepare = prepared(only_floats, "x", "weight", "bias")


@composite(rule=_layer_rule(1), prepare=_prepare, vjp=_GRADIENTS, bound="compute")
def conv1d(
    x: Tensor[B],
    weight: Tensor[Any],
    bias: Tensor[Any] | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor[B]:
    """Convolve `x` (batch, channels, length) with `weight` (out, channels / groups, *kernel)."""
    return _with_bias(conv(x, weight, stride, padding, dilation, groups), bias)  # type: ignore[no-any-return]


@composite(rule=_layer_rule(2), prepare=_prepare, vjp=_GRADIENTS, bound="compute")
def conv2d(
    x: Tensor[B],
    weight: Tensor[Any],
    bias: Tensor[Any] | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor[B]:
    """Convolve `x` (batch, channels, height, width) with `weight` (out, channels / groups, *kernel)."""
    return _with_bias(conv(x, weight, stride, padding, dilation, groups), bias)  # type: ignore[no-any-return]


@composite(rule=_layer_rule(3), prepare=_prepare, vjp=_GRADIENTS, bound="compute")
def conv3d(
    x: Tensor[B],
    weight: Tensor[Any],
    bias: Tensor[Any] | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor[B]:
    """Convolve `x` (batch, channels, depth, height, width) with `weight` (out, channels / groups, *kernel)."""
    return _with_bias(conv(x, weight, stride, padding, dilation, groups), bias)  # type: ignore[no-any-return]


def _transpose_rule(spatial: int) -> Any:
    def rule(
        op: Op, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, padding_out: Any, dilation: Any, groups: Any
    ) -> Any:
        check_rank(op.name, x.shape, spatial)
        if isinstance(padding, str):
            raise ArgumentError(f"{op.name}: padding must be numbers, got {padding!r}")

        def pads_of(steps: Sizes, extra: Sizes, holes: Sizes) -> Padding:
            pads = paddings(op.name, padding, tuple(x.shape[2:]), tuple(weight.shape[2:]), steps, holes)
            _check_paddings(op, padding, pads)
            if any(more >= max(step, hole) for more, step, hole in zip(extra, steps, holes, strict=True)):
                raise ArgumentError(
                    f"{op.name}: padding_out {list(extra)} must be smaller than the stride {list(steps)} "
                    f"or the dilation {list(holes)}"
                )
            return pads

        return _transpose(op, x, weight, bias, (stride, padding, padding_out, dilation, groups), pads_of)

    return rule


def _transpose(
    op: Op, x: Any, weight: Any, bias: Any, settings: Any, pads_of: Callable[[Sizes, Sizes, Sizes], Padding]
) -> Any:
    """The rule of a transposed convolution; `pads_of` strides, `padding_out` and dilations tells the paddings."""
    name, rank, (stride, padding, padding_out, dilation, groups) = op.name, len(x.shape) - 2, settings
    check_rank(name, weight.shape, rank, "weight")
    (parts,) = positive(name, "groups", groups, 1)
    if x.shape[1] != weight.shape[0] or x.shape[1] % parts:
        raise ShapeError(
            f"{name}: x {tuple(x.shape)} has {x.shape[1]} channels, weight {tuple(weight.shape)} "
            f"(in, out / groups, *kernel) takes {weight.shape[0]}, and groups={parts} must divide them"
        )
    steps, holes = positive(name, "stride", stride, rank), positive(name, "dilation", dilation, rank)
    extra = not_negative(name, "padding_out", padding_out, rank)
    pads = pads_of(steps, extra, holes)
    sizes = _transposed_sizes(x.shape, weight.shape, steps, pads, extra, holes)
    if min(sizes) < 1:
        raise ShapeError(
            f"{name}: x {tuple(x.shape)} and weight {tuple(weight.shape)} with padding {padding!r} give {sizes}"
        )
    channels = weight.shape[1] * parts
    _check_bias(op, bias, channels)
    return Shape((x.shape[0], channels, *sizes)), x.dtype, (steps, pads, extra, holes, parts)


def _transposed_sizes(x: Sizes, weight: Sizes, stride: Sizes, padding: Padding, extra: Sizes, dilation: Sizes) -> Sizes:
    return tuple(
        (size - 1) * step - sum(pair) + extent(k, hole) + more
        for size, k, step, pair, hole, more in zip(x[2:], weight[2:], stride, padding, dilation, extra, strict=True)
    )


def _transposed(
    x: Any, weight: Any, bias: Any, stride: Any, padding: Any, padding_out: Any, dilation: Any, groups: Any
) -> Any:
    sizes = _transposed_sizes(x.shape, weight.shape, stride, padding, padding_out, dilation)
    # What exceeds the stride lies beyond the last window: it is cropped from the convolution this one transposes.
    beyond = [max(0, more - step + 1) for more, step in zip(padding_out, stride, strict=True)]
    pads = tuple((before, after - more) for (before, after), more in zip(padding, beyond, strict=True))
    return _with_bias(conv_x_backward(x, weight, sizes, stride, pads, dilation, groups), bias)


@composite(rule=_transpose_rule(1), prepare=_prepare, bound="compute")
def conv_transpose1d(
    x: Tensor[B],
    weight: Tensor[Any],
    bias: Tensor[Any] | None = None,
    stride: Any = 1,
    padding: Any = 0,
    padding_out: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor[B]:
    """Transpose a convolution of 1 dim: `weight` has the shape (channels, out / groups, *kernel)."""
    return _transposed(x, weight, bias, stride, padding, padding_out, dilation, groups)  # type: ignore[no-any-return]


@composite(rule=_transpose_rule(2), prepare=_prepare, bound="compute")
def conv_transpose2d(
    x: Tensor[B],
    weight: Tensor[Any],
    bias: Tensor[Any] | None = None,
    stride: Any = 1,
    padding: Any = 0,
    padding_out: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor[B]:
    """Transpose a convolution of 2 dims: `weight` has the shape (channels, out / groups, *kernel)."""
    return _transposed(x, weight, bias, stride, padding, padding_out, dilation, groups)  # type: ignore[no-any-return]


@composite(rule=_transpose_rule(3), prepare=_prepare, bound="compute")
def conv_transpose3d(
    x: Tensor[B],
    weight: Tensor[Any],
    bias: Tensor[Any] | None = None,
    stride: Any = 1,
    padding: Any = 0,
    padding_out: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor[B]:
    """Transpose a convolution of 3 dims: `weight` has the shape (channels, out / groups, *kernel)."""
    return _transposed(x, weight, bias, stride, padding, padding_out, dilation, groups)  # type: ignore[no-any-return]


# Any number of dims


def _split(total: int, upper: bool) -> tuple[int, int]:
    """A padding over both sides; the odd element comes after, or (not `upper`) before."""
    half = total // 2
    return (half, total - half) if upper else (total - half, half)


def _any_rule(
    op: Op, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, padding_out: Any, dilation: Any, groups: Any,
    output_size: Any,
) -> Any:  # fmt: skip
    name, rank = op.name, spatial_rank(op.name, x.shape)
    if isinstance(padding, str) and padding not in ("same", "same_lower", "valid"):
        raise ArgumentError(f'{name}: padding must be "same", "same_lower", "valid" or numbers, got {padding!r}')

    def pads_of(steps: Sizes, extra: Sizes, holes: Sizes) -> Padding:
        wanted: Any = None if output_size is None else positive(name, "output_size", output_size, rank)
        if wanted is None and padding in ("same", "same_lower"):
            wanted = tuple(size * step for size, step in zip(x.shape[2:], steps, strict=True))
        if wanted is None:
            return paddings(name, padding, tuple(x.shape[2:]), tuple(weight.shape[2:]), steps, holes)
        full = _transposed_sizes(x.shape, weight.shape, steps, ((0, 0),) * rank, extra, holes)
        return tuple(_split(have - want, padding == "same") for have, want in zip(full, wanted, strict=True))

    shape, dtype, settings = _transpose(op, x, weight, bias, (stride, padding, padding_out, dilation, groups), pads_of)
    return shape, dtype, (*settings, None)


@composite(rule=_any_rule, prepare=_prepare, bound="compute")
def conv_transpose(
    x: Tensor[B],
    weight: Tensor[Any],
    bias: Tensor[Any] | None = None,
    stride: Any = 1,
    padding: Any = 0,
    padding_out: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    output_size: Any = None,
) -> Tensor[B]:
    """Transpose a convolution of one to three dims by `weight` (channels, out / groups, *kernel), and add `bias`.

    Arguments:
        stride, dilation: a number, or one a dim.
        padding: a number or a pair (before, after) a dim; a negative one lengthens the result. "same" and
            "same_lower" give `stride` times the size.
        padding_out: how much the result is longer at its end.
        output_size: the size from which the padding follows, the odd element before unless the padding is "same".

    >>> from burn.tensor.module import conv_transpose
    >>> conv_transpose(burn.tensor([[[1.0, 2.0]]]), burn.tensor([[[1.0, 10.0]]]), stride=2).tolist()
    [[[1.0, 10.0, 2.0, 20.0]]]
    """
    return _transposed(x, weight, bias, stride, padding, padding_out, dilation, groups)  # type: ignore[no-any-return]
