"""Normalization: elements brought to mean 0 and variance 1 along some dims, then scaled and shifted.

Statistics are computed in f32 for half precision. The gradients are written out, so that a layer
keeps its input and nothing in between.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from burn.errors import ArgumentError, ShapeError
from burn.ops.activation import number, wide
from burn.ops.declare import composite, only_floats, prepared
from burn.ops.dispatch import cast_to
from burn.ops.op import Op
from burn.ops.windows import positive
from burn.shape import Shape, axes

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor


def _epsilon(op: Op, value: Any) -> float:
    eps = number(op, "eps", value)
    if eps < 0:
        raise ArgumentError(f"{op.name}: eps must be 0 or more, got {value!r}")
    return eps


def _affine(y: Any, gamma: Any, beta: Any) -> Any:
    """Scale and shift by what broadcasts."""
    y = y if gamma is None else y * gamma
    return y if beta is None else y + beta


def _scaled(g: Any, gamma: Any) -> Any:
    return wide(g) if gamma is None else wide(g) * wide(gamma)


# The core


def _standardize_rule(op: Op, x: Any, dims: Any, eps: Any) -> Any:
    return x.shape, x.dtype, (tuple(sorted(axes(op.name, dims, len(x.shape)))), _epsilon(op, eps))


def _moments(x: Any, dims: Any, eps: float) -> tuple[Any, Any, Any, Any]:
    """Mean, variance, the inverse of the standard deviation, and the normalized values."""
    mean = x.mean_dims(dims)
    centred = x - mean
    variance = (centred * centred).mean_dims(dims)
    inverse = (variance + eps).sqrt().recip()
    return mean, variance, inverse, centred * inverse


def _standardize_gradient(g: Any, x: Any, dims: Any, eps: float) -> Any:
    """What remains of `g` after the parts that move the mean or the variance are taken out."""
    _, _, inverse, normal = _moments(wide(x), dims, eps)
    return (g - g.mean_dims(dims) - normal * (g * normal).mean_dims(dims)) * inverse


@composite(
    rule=_standardize_rule,
    prepare=prepared(only_floats),
    vjp=dict(x=lambda g, x, dims, eps: _standardize_gradient(wide(g), x, dims, eps)),
)
def standardize(x: Tensor[B], dims: Any, eps: float = 1e-5) -> Tensor[B]:
    """Subtract the mean along `dims` and divide by the square root of the (biased) variance plus `eps`."""
    return cast_to(_moments(wide(x), dims, eps)[3], x.dtype)


# Along the last dims


def _last(x: Any, gamma: Any) -> list[int]:
    """The dims that `gamma` covers; the last one where there is none."""
    rank = len(x.shape)
    return list(range(rank - (1 if gamma is None else len(gamma.shape)), rank))


def _last_rule(op: Op, x: Any, gamma: Any, *rest: Any) -> Any:
    if not x.shape:
        raise ShapeError(f"{op.name}: x must have at least one dim, got a 0-d tensor")
    *others, eps = rest
    rank = 1 if gamma is None else len(gamma.shape)
    for name, each in (("gamma", gamma), *(("beta", other) for other in others)):
        if each is not None and (not each.shape or tuple(each.shape) != tuple(x.shape[len(x.shape) - rank :])):
            raise ShapeError(
                f"{op.name}: {name} must have the last sizes of x {tuple(x.shape)}, got {tuple(each.shape)}"
            )
    return x.shape, x.dtype, (_epsilon(op, eps),)


def _layer_norm_gamma(g: Any, x: Any, gamma: Any, eps: float) -> Any:
    return wide(g) * _moments(wide(x), _last(x, gamma), eps)[3]


@composite(
    rule=_last_rule,
    prepare=prepared(only_floats, "x", "gamma", "beta"),
    vjp=dict(
        x=lambda g, x, gamma, eps: _standardize_gradient(_scaled(g, gamma), x, _last(x, gamma), eps),
        gamma=_layer_norm_gamma,
        beta=lambda g: g,
    ),
)
def layer_norm(
    x: Tensor[B], gamma: Tensor[Any] | None = None, beta: Tensor[Any] | None = None, eps: float = 1e-5
) -> Tensor[B]:
    """Standardize the last dims, those that `gamma` covers, then scale by `gamma` and shift by `beta`.

    Arguments:
        eps: what is added to the variance.

    >>> from burn.tensor.module import layer_norm
    >>> layer_norm(burn.tensor([[1.0, 2.0, 3.0]])).to_data()
    TensorData([[-1.2247356, 0.0, 1.2247356]], shape=[1, 3], dtype=f32)
    """
    return _affine(standardize(x, _last(x, gamma), eps), gamma, beta)  # type: ignore[no-any-return]


def _inverse_root(x: Any, dims: Any, eps: float) -> Any:
    return ((x * x).mean_dims(dims) + eps).sqrt().recip()


def _rms_gradient(g: Any, x: Any, gamma: Any, eps: float) -> Any:
    dims = _last(x, gamma)
    g, x = _scaled(g, gamma), wide(x)
    inverse = _inverse_root(x, dims, eps)
    normal = x * inverse
    return (g - normal * (g * normal).mean_dims(dims)) * inverse


def _rms_gamma(g: Any, x: Any, gamma: Any, eps: float) -> Any:
    x = wide(x)
    return wide(g) * x * _inverse_root(x, _last(x, gamma), eps)


@composite(
    rule=_last_rule,
    prepare=prepared(only_floats, "x", "gamma"),
    vjp=dict(x=_rms_gradient, gamma=_rms_gamma),
)
def rms_norm(x: Tensor[B], gamma: Tensor[Any] | None = None, eps: float = 1e-5) -> Tensor[B]:
    """Divide by the root of the mean square along the last dims, those that `gamma` covers, and scale by it.

    Arguments:
        eps: what is added to the mean square.

    >>> from burn.tensor.module import rms_norm
    >>> rms_norm(burn.tensor([[3.0, 4.0]])).to_data()
    TensorData([[0.8485278, 1.1313704]], shape=[1, 2], dtype=f32)
    """
    values = wide(x)
    return _affine(cast_to(values * _inverse_root(values, _last(x, gamma), eps), x.dtype), gamma, None)  # type: ignore[no-any-return]


# Along everything but the channels


def _check_channels(op: Op, x: Any, **values: Any) -> None:
    if len(x.shape) < 2:
        raise ShapeError(f"{op.name}: x must have a batch and channels, got shape {tuple(x.shape)}")
    for name, each in values.items():
        if each is not None and tuple(each.shape) != (x.shape[1],):
            raise ShapeError(
                f"{op.name}: {name} must have the shape ({x.shape[1]},) for x {tuple(x.shape)}, got {tuple(each.shape)}"
            )


def _as_channels(value: Any, x: Any) -> Any:
    """One number a channel, shaped to broadcast over `x`."""
    return None if value is None else value.reshape((1, x.shape[1]) + (1,) * (len(x.shape) - 2))


def _other_dims(x: Any) -> list[int]:
    return [dim for dim in range(len(x.shape)) if dim != 1]


def _batch_rule(op: Op, x: Any, gamma: Any, beta: Any, mean: Any, variance: Any, eps: Any) -> Any:
    _check_channels(op, x, gamma=gamma, beta=beta, mean=mean, variance=variance)
    return x.shape, x.dtype, (_epsilon(op, eps),)


@composite(rule=_batch_rule, prepare=prepared(only_floats, "x", "gamma", "beta", "mean", "variance"))
def batch_norm(
    x: Tensor[B],
    gamma: Tensor[Any] | None,
    beta: Tensor[Any] | None,
    mean: Tensor[Any],
    variance: Tensor[Any],
    eps: float = 1e-5,
) -> Tensor[B]:
    """Normalize each channel of `x` (batch, channels, ...) by statistics that are given.

    Arguments:
        gamma, beta: the scale and the shift of each channel; None for none.
        mean, variance: one for each channel.
        eps: what is added to the variance.

    >>> from burn.tensor.module import batch_norm
    >>> x, mean, variance = burn.tensor([[3.0, 5.0]]), burn.tensor([1.0, 1.0]), burn.tensor([4.0, 16.0])
    >>> batch_norm(x, None, None, mean, variance).to_data()
    TensorData([[0.9999988, 0.9999998]], shape=[1, 2], dtype=f32)
    """
    scale = (wide(variance) + eps).sqrt().recip()
    scale = scale if gamma is None else scale * wide(gamma)
    shift = wide(mean).neg() * scale
    shift = shift if beta is None else shift + wide(beta)
    return cast_to(wide(x) * _as_channels(scale, x) + _as_channels(shift, x), x.dtype)


def _training_rule(op: Op, x: Any, gamma: Any, beta: Any, eps: Any) -> Any:
    _check_channels(op, x, gamma=gamma, beta=beta)
    if math.prod(x.shape[:1] + x.shape[2:]) == 0:
        raise ShapeError(f"{op.name}: x {tuple(x.shape)} has no elements a channel to take statistics of")
    channels = Shape((x.shape[1],))
    return [x.shape, channels, channels], [x.dtype] * 3, (_epsilon(op, eps),)


def _training_gradient(g: Any, x: Any, gamma: Any, eps: float) -> Any:
    """The gradient of the result and of the statistics, None where one did not arrive."""
    dims, values = _other_dims(x), wide(x)
    count = x.shape.num_elements() // x.shape[1]
    total: Any = None
    if g[0] is not None:
        total = _standardize_gradient(_scaled(g[0], _as_channels(gamma, x)), x, dims, eps)
    if g[1] is not None:
        part = (_as_channels(wide(g[1]), x) * (1.0 / count)).expand(x.shape)
        total = part if total is None else total + part
    if g[2] is not None:
        part = (values - values.mean_dims(dims)) * (_as_channels(wide(g[2]), x) * (2.0 / count))
        total = part if total is None else total + part
    return total


def _training_gamma(g: Any, x: Any, eps: float) -> Any:
    if g[0] is None:
        return None
    dims = _other_dims(x)
    return (wide(g[0]) * _moments(wide(x), dims, eps)[3]).sum_dims(dims).reshape((x.shape[1],))


def _training_beta(g: Any, beta_shape: Any) -> Any:
    return None if g[0] is None else g[0].sum_dims(_other_dims(g[0])).reshape(beta_shape)


@composite(
    rule=_training_rule,
    prepare=prepared(only_floats, "x", "gamma", "beta"),
    outputs=3,
    vjp=dict(x=_training_gradient, gamma=_training_gamma, beta=_training_beta),
)
def batch_norm_training(
    x: Tensor[B], gamma: Tensor[Any] | None = None, beta: Tensor[Any] | None = None, eps: float = 1e-5
) -> tuple[Tensor[B], Tensor[B], Tensor[B]]:
    """Normalize each channel of `x` by its own mean and (biased) variance, which are given back too.

    Arguments:
        gamma, beta: the scale and the shift of each channel; None for none.
        eps: what is added to the variance.

    >>> from burn.tensor.module import batch_norm_training
    >>> result, mean, variance = batch_norm_training(burn.tensor([[1.0], [3.0]]))
    >>> result.to_data(), mean.tolist(), variance.tolist()
    (TensorData([[-0.999995], [0.999995]], shape=[2, 1], dtype=f32), [2.0], [1.0])
    """
    mean, variance, _, normal = _moments(wide(x), _other_dims(x), eps)
    result = _affine(cast_to(normal, x.dtype), _as_channels(gamma, x), _as_channels(beta, x))
    channels = (x.shape[1],)
    return result, cast_to(mean.reshape(channels), x.dtype), cast_to(variance.reshape(channels), x.dtype)


def _group_rule(op: Op, x: Any, gamma: Any, beta: Any, num_groups: Any, eps: Any) -> Any:
    _check_channels(op, x, gamma=gamma, beta=beta)
    (groups,) = positive(op.name, "num_groups", num_groups, 1)
    if x.shape[1] % groups:
        raise ShapeError(f"{op.name}: num_groups={groups} must divide the {x.shape[1]} channels of x {tuple(x.shape)}")
    return x.shape, x.dtype, (groups, _epsilon(op, eps))


@composite(rule=_group_rule, prepare=prepared(only_floats, "x", "gamma", "beta"))
def group_norm(
    x: Tensor[B],
    num_groups: int,
    gamma: Tensor[Any] | None = None,
    beta: Tensor[Any] | None = None,
    eps: float = 1e-5,
) -> Tensor[B]:
    """Standardize groups of channels of each item, then scale and shift each channel.

    Arguments:
        num_groups: how many groups the channels (dim 1) make.
        gamma, beta: the scale and the shift of each channel; None for none.
        eps: what is added to the variance.

    >>> from burn.tensor.module import group_norm
    >>> group_norm(burn.tensor([[1.0, 3.0, 10.0, 30.0]]), num_groups=2).to_data()
    TensorData([[-0.999995, 0.999995, -1.0, 1.0]], shape=[1, 4], dtype=f32)
    """
    rest = math.prod(x.shape[1:]) // num_groups
    normal: Any = standardize(x.reshape((x.shape[0], num_groups, rest)), 2, eps).reshape(x.shape)
    return _affine(normal, _as_channels(gamma, x), _as_channels(beta, x))  # type: ignore[no-any-return]


def _instance_rule(op: Op, x: Any, gamma: Any, beta: Any, eps: Any) -> Any:
    _check_channels(op, x, gamma=gamma, beta=beta)
    return x.shape, x.dtype, (_epsilon(op, eps),)


@composite(rule=_instance_rule, prepare=prepared(only_floats, "x", "gamma", "beta"))
def instance_norm(
    x: Tensor[B], gamma: Tensor[Any] | None = None, beta: Tensor[Any] | None = None, eps: float = 1e-5
) -> Tensor[B]:
    """Standardize each channel of each item, then scale and shift it.

    Arguments:
        gamma, beta: the scale and the shift of each channel; None for none.
        eps: what is added to the variance.

    >>> from burn.tensor.module import instance_norm
    >>> instance_norm(burn.tensor([[[1.0, 3.0], [10.0, 30.0]]])).to_data()
    TensorData([[[-0.999995, 0.999995], [-1.0, 1.0]]], shape=[1, 2, 2], dtype=f32)
    """
    return group_norm(x, x.shape[1], gamma, beta, eps) if x.shape[1] else x


def _response_rule(op: Op, x: Any, size: Any, alpha: Any, beta: Any, bias: Any) -> Any:
    if len(x.shape) < 2:
        raise ShapeError(f"{op.name}: x needs a batch and channels, got shape {tuple(x.shape)}")
    (width,) = positive(op.name, "size", size, 1)
    numbers = (("alpha", alpha), ("beta", beta), ("bias", bias))
    return x.shape, x.dtype, (width, *(number(op, name, value) for name, value in numbers))


@composite(rule=_response_rule, prepare=prepared(only_floats))
def local_response_norm(
    x: Tensor[B], size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0
) -> Tensor[B]:
    """Divide by `(bias + alpha * mean of squares) ** beta` over `size` neighbouring channels, zeros beyond them.

    Where `size` is even, one channel more comes after than before.

    >>> from burn.tensor.module import local_response_norm
    >>> local_response_norm(burn.tensor([[[1.0], [2.0], [3.0]]]), size=3, alpha=3.0, beta=1.0).to_data()
    TensorData([[[0.16666667], [0.13333334], [0.21428572]]], shape=[1, 3, 1], dtype=f32)
    """
    values: Any = wide(x)
    before, channels = (size - 1) // 2, x.shape[1]
    pads = [(0, 0), (before, size - 1 - before), *[(0, 0)] * (len(x.shape) - 2)]
    squares = (values * values).pad(pads)
    total = squares.narrow(1, 0, channels)
    for offset in range(1, size):
        total = total + squares.narrow(1, offset, channels)
    return (values / (total * (alpha / size) + bias) ** beta).cast(x.dtype)  # type: ignore[no-any-return]
