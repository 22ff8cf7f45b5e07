"""Activation functions.

Each is one node of a graph: the gradient is written for the whole function, with PyTorch's choice
at the kinks. Exponentials are arranged so that no finite input overflows, and half precision is
computed in f32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from burn.dtype import HALVES, f32
from burn.errors import ArgumentError, ShapeError
from burn.ops.declare import F, composite, floating, numeric, prepared
from burn.ops.dispatch import NUMBERS, cast_to
from burn.ops.op import Op
from burn.shape import axis

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor

SQRT_HALF = math.sqrt(0.5)
INVERSE_SQRT_TWO_PI = 1.0 / math.sqrt(2.0 * math.pi)
GELU_SCALE = math.sqrt(2.0 / math.pi)
GELU_CUBIC = 0.044715
SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


def number(op: Op, name: str, value: Any) -> float:
    """Read a plain number."""
    if isinstance(value, NUMBERS):
        return float(value)
    raise ArgumentError(f"{op.name}: {name} must be a number, got {value!r}")


def numbers_rule(op: Op, x: Any, *values: Any) -> Any:
    """The result is like `x`; every attribute is a number."""
    if not values:
        return x.shape, x.dtype, ()
    read = tuple(number(op, name, value) for name, value in zip(op.attributes, values, strict=True))
    return x.shape, x.dtype, read


def wide(x: Any) -> Any:
    """`x`, or its values in f32 where it is in half precision."""
    return x.cast(f32) if x.dtype in HALVES else x


def function(
    vjp: Callable[..., Any] | None, *, domain: Any = floating, rule: Callable[..., Any] = numbers_rule
) -> Callable[[F], F]:
    """Declare a function of each element, with the gradient of `x`."""
    return composite(rule=rule, prepare=prepared(domain), vjp=None if vjp is None else dict(x=vjp))


# Rectifiers


def _relu_gradient(g: Any, out: Any) -> Any:
    return relu_backward(out, g)


@function(_relu_gradient, domain=numeric)
def relu(x: Tensor[B]) -> Tensor[B]:
    """Replace negative elements by 0.

    >>> burn.tensor([-1.0, 2.0]).relu().tolist()
    [0.0, 2.0]
    """
    return x.clamp_min(0.0 if x.dtype.is_float else 0)


@function(lambda g, x, negative_slope: (g * negative_slope).mask_where(x > 0.0, g))
def leaky_relu(x: Tensor[B], negative_slope: float = 0.01) -> Tensor[B]:
    """Multiply negative elements by `negative_slope`.

    >>> burn.tensor([-1.0, 2.0]).leaky_relu(0.25).tolist()
    [-0.25, 2.0]
    """
    return x.mask_where(x <= 0.0, x * negative_slope)


def _prelu_rule(op: Op, x: Any, alpha: Any) -> Any:
    channels = x.shape[1] if len(x.shape) > 1 else 1
    if len(alpha.shape) > 1 or alpha.shape.num_elements() not in (1, channels):
        raise ShapeError(
            f"{op.name}: alpha has shape {tuple(alpha.shape)} and x {tuple(x.shape)}; "
            f"alpha needs one slope, or one for each of the {channels} channels (dim 1)"
        )
    return x.shape, x.dtype, ()


def _along_channels(alpha: Any, rank: int) -> Any:
    if alpha.shape.num_elements() == 1 or rank < 2:
        return alpha.reshape((1,) * rank)
    return alpha.reshape((1, alpha.shape[0], *(1,) * (rank - 2)))


def _slope_gradient(g: Any, x: Any, alpha_shape: Any) -> Any:
    negative = (g * x).mask_fill(x > 0.0, 0.0)
    kept = 1 if math.prod(alpha_shape) > 1 else -1
    return negative.sum_dims([dim for dim in range(len(x.shape)) if dim != kept]).reshape(alpha_shape)


@composite(
    rule=_prelu_rule,
    prepare=prepared(floating, "x", "alpha"),
    vjp=dict(
        x=lambda g, x, alpha: (g * _along_channels(alpha, len(x.shape))).mask_where(x > 0.0, g),
        alpha=_slope_gradient,
    ),
)
def prelu(x: Tensor[B], alpha: Tensor[Any]) -> Tensor[B]:
    """Multiply negative elements by the learnt slope `alpha`: one for all, or one for each channel (dim 1).

    >>> from burn.tensor import activation
    >>> activation.prelu(burn.tensor([[-4.0, -4.0]]), burn.tensor([0.5, 0.25])).tolist()
    [[-2.0, -1.0]]
    """
    return x.mask_where(x <= 0.0, x * _along_channels(alpha, len(x.shape)))


@function(lambda g, x, min_value, max_value: g.mask_fill((x <= min_value) | (x >= max_value), 0.0))
def hardtanh(x: Tensor[B], min_value: float = -1.0, max_value: float = 1.0) -> Tensor[B]:
    """Cut off what is below `min_value` or above `max_value`.

    >>> from burn.tensor import activation
    >>> activation.hardtanh(burn.tensor([-3.0, 0.5, 3.0])).tolist()
    [-1.0, 0.5, 1.0]
    """
    return x.clamp(min_value, max_value)


@function(lambda g, x: g.mask_fill((x <= 0.0) | (x >= 6.0), 0.0))
def relu6(x: Tensor[B]) -> Tensor[B]:
    """Cut off what is below 0 or above 6.

    >>> from burn.tensor import activation
    >>> activation.relu6(burn.tensor([-1.0, 3.0, 8.0])).tolist()
    [0.0, 3.0, 6.0]
    """
    return x.clamp(0.0, 6.0)


@function(lambda g, x, threshold: g.mask_fill(x <= threshold, 0.0))
def threshold(x: Tensor[B], threshold: float, value: float) -> Tensor[B]:
    """Replace what is not above `threshold` by `value`.

    >>> from burn.tensor import activation
    >>> activation.threshold(burn.tensor([0.5, 2.0]), threshold=1.0, value=-1.0).tolist()
    [-1.0, 2.0]
    """
    return x.mask_fill(x <= threshold, value)


@composite()
def thresholded_relu(x: Tensor[B], alpha: float = 1.0) -> Tensor[B]:
    """Replace what is not above `alpha` by 0.

    >>> from burn.tensor import activation
    >>> activation.thresholded_relu(burn.tensor([0.5, 2.0])).tolist()
    [0.0, 2.0]
    """
    return threshold(x, alpha, 0.0)


# Exponential units


def _exp_minus_one(x: Any) -> Any:
    """`exp(x) - 1` for `x <= 0`, exact near zero."""
    half = (x * 0.5).tanh()
    return half * 2.0 / (1.0 - half)


@function(lambda g, x, out, alpha: g.mask_where(x <= 0.0, g * (out + alpha)))
def elu(x: Tensor[B], alpha: float = 1.0) -> Tensor[B]:
    """Bend negative elements towards `-alpha`: `alpha * (exp(x) - 1)`.

    >>> burn.tensor([-1.0, 2.0]).elu().to_data()
    TensorData([-0.6321206, 2.0], shape=[2], dtype=f32)
    """
    return x.mask_where(x <= 0.0, _exp_minus_one(x.clamp_max(0.0)) * alpha)


def _celu_rule(op: Op, x: Any, alpha: Any) -> Any:
    if number(op, "alpha", alpha) == 0.0:
        raise ArgumentError(f"{op.name}: alpha must not be 0")
    return numbers_rule(op, x, alpha)


@function(lambda g, x, alpha: g.mask_where(x <= 0.0, g * (x / alpha).exp()), rule=_celu_rule)
def celu(x: Tensor[B], alpha: float = 1.0) -> Tensor[B]:
    """Bend negative elements towards `-alpha` with slope 1 at zero: `alpha * (exp(x / alpha) - 1)`.

    >>> from burn.tensor import activation
    >>> activation.celu(burn.tensor([-1.0, 2.0]), alpha=2.0).to_data()
    TensorData([-0.78693867, 2.0], shape=[2], dtype=f32)
    """
    return x.mask_where(x <= 0.0, _exp_minus_one(x.clamp_max(0.0) / alpha) * alpha)


@function(lambda g, x, out: (g * SELU_SCALE).mask_where(x <= 0.0, g * (out + SELU_SCALE * SELU_ALPHA)))
def selu(x: Tensor[B]) -> Tensor[B]:
    """Apply `elu` with the scale and slope that keep activations normalised.

    >>> from burn.tensor import activation
    >>> activation.selu(burn.tensor([-1.0, 2.0])).to_data()
    TensorData([-1.1113307, 2.101402], shape=[2], dtype=f32)
    """
    return elu(x, SELU_ALPHA) * SELU_SCALE


# Sigmoids


def _sigmoid_gradient(g: Any, out: Any) -> Any:
    return sigmoid_backward(out, g)


@function(_sigmoid_gradient)
def sigmoid(x: Tensor[B]) -> Tensor[B]:
    """Squash each element into the range from 0 to 1: `1 / (1 + exp(-x))`.

    >>> burn.tensor([0.0, 2.0]).sigmoid().to_data()
    TensorData([0.5, 0.880797], shape=[2], dtype=f32)
    """
    return cast_to((wide(x).neg().exp() + 1.0).recip(), x.dtype)


def _log_sigmoid_gradient(g: Any, x: Any) -> Any:
    return log_sigmoid_backward(x, g)


@function(_log_sigmoid_gradient)
def log_sigmoid(x: Tensor[B]) -> Tensor[B]:
    """Take the logarithm of the sigmoid, exact where the sigmoid underflows.

    >>> burn.tensor([0.0, -1000.0]).log_sigmoid().to_data()
    TensorData([-0.6931472, -1000.0], shape=[2], dtype=f32)
    """
    values = wide(x)
    return cast_to(values.clamp_max(0.0) - values.abs().neg().exp().log1p(), x.dtype)


@function(lambda g, out, alpha: (g * alpha).mask_fill((out <= 0.0) | (out >= 1.0), 0.0))
def hard_sigmoid(x: Tensor[B], alpha: float = 0.2, beta: float = 0.5) -> Tensor[B]:
    """Compute `alpha * x + beta`, cut off at 0 and 1.

    >>> from burn.tensor import activation
    >>> activation.hard_sigmoid(burn.tensor([-4.0, 0.0, 4.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    return (x * alpha + beta).clamp(0.0, 1.0)


def _swish_gradient(g: Any, x: Any, alpha: float) -> Any:
    gate = sigmoid(x * alpha)
    return g * gate * ((x * alpha) * (1.0 - gate) + 1.0)


@function(_swish_gradient)
def swish(x: Tensor[B], alpha: float = 1.0) -> Tensor[B]:
    """Weigh each element by the sigmoid of `alpha` times it.

    >>> from burn.tensor import activation
    >>> activation.swish(burn.tensor([0.0, 2.0]), alpha=2.0).to_data()
    TensorData([0.0, 1.9640275], shape=[2], dtype=f32)
    """
    values = wide(x)
    return cast_to(values / ((values * -alpha).exp() + 1.0), x.dtype)


@function(lambda g, x: (g * (x / 3.0 + 0.5)).mask_fill(x <= -3.0, 0.0).mask_where(x >= 3.0, g))
def hard_swish(x: Tensor[B]) -> Tensor[B]:
    """Weigh each element by a sigmoid made of straight lines.

    >>> from burn.tensor import activation
    >>> activation.hard_swish(burn.tensor([-4.0, 1.5, 4.0])).tolist()
    [-0.0, 1.125, 4.0]
    """
    return x * (x + 3.0).clamp(0.0, 6.0) / 6.0


def _silu_gradient(g: Any, x: Any) -> Any:
    return silu_backward(x, g)


@function(_silu_gradient)
def silu(x: Tensor[B]) -> Tensor[B]:
    """Weigh each element by its own sigmoid.

    >>> burn.tensor([0.0, 2.0]).silu().to_data()
    TensorData([0.0, 1.761594], shape=[2], dtype=f32)
    """
    values = wide(x)
    return cast_to(values / (values.neg().exp() + 1.0), x.dtype)


def _softplus_rule(op: Op, x: Any, beta: Any) -> Any:
    if number(op, "beta", beta) == 0.0:
        raise ArgumentError(f"{op.name}: beta must not be 0")
    return numbers_rule(op, x, beta)


@function(lambda g, x, beta: g * sigmoid(x * beta), rule=_softplus_rule)
def softplus(x: Tensor[B], beta: float = 1.0) -> Tensor[B]:
    """Round off the corner of `relu`: `log(1 + exp(beta * x)) / beta`.

    >>> burn.tensor([-10.0, 0.0, 10.0]).softplus().to_data()
    TensorData([4.5398894e-5, 0.6931472, 10.000046], shape=[3], dtype=f32)
    """
    values = wide(x) * beta
    return cast_to((values.clamp_min(0.0) + values.abs().neg().exp().log1p()) / beta, x.dtype)


def _mish_gradient(g: Any, x: Any) -> Any:
    values = wide(x)
    bent = softplus(values).tanh()
    return g * cast_to(bent + values * sigmoid(values) * (1.0 - bent * bent), x.dtype)


@function(_mish_gradient)
def mish(x: Tensor[B]) -> Tensor[B]:
    """Weigh each element by the hyperbolic tangent of its softplus.

    >>> burn.tensor([-2.0, 0.0, 2.0]).mish().to_data()
    TensorData([-0.25250146, 0.0, 1.9439589], shape=[3], dtype=f32)
    """
    values = wide(x)
    return cast_to(values * softplus(values).tanh(), x.dtype)


@function(lambda g, x: g / (x.abs() + 1.0).square())
def softsign(x: Tensor[B]) -> Tensor[B]:
    """Squash each element into the range from -1 to 1: `x / (1 + |x|)`.

    >>> from burn.tensor import activation
    >>> activation.softsign(burn.tensor([-1.0, 3.0])).tolist()
    [-0.5, 0.75]
    """
    return x / (x.abs() + 1.0)


@function(lambda g, x: g * x.tanh().square())
def tanhshrink(x: Tensor[B]) -> Tensor[B]:
    """Take the hyperbolic tangent away: `x - tanh(x)`.

    >>> from burn.tensor import activation
    >>> activation.tanhshrink(burn.tensor([0.0, 2.0])).to_data()
    TensorData([0.0, 1.0359724], shape=[2], dtype=f32)
    """
    return x - x.tanh()


# Gaussian units


def _gelu_gradient(g: Any, x: Any) -> Any:
    return gelu_backward(x, g)


@function(_gelu_gradient)
def gelu(x: Tensor[B]) -> Tensor[B]:
    """Weigh each element by the normal distribution below it.

    >>> burn.tensor([-1.0, 0.0, 1.0]).gelu().to_data()
    TensorData([-0.15865526, 0.0, 0.8413447], shape=[3], dtype=f32)
    """
    values = wide(x)
    return cast_to(values * ((values * SQRT_HALF).erf() + 1.0) * 0.5, x.dtype)


def _gelu_share(x: Any) -> Any:
    """How much of an element stays. `(1 + tanh(y)) / 2`, written so that small shares keep their digits."""
    return ((x + x * x * x * GELU_CUBIC) * (2.0 * GELU_SCALE)).sigmoid()


def _gelu_approximate_gradient(g: Any, x: Any) -> Any:
    values = wide(x)
    share = _gelu_share(values)
    slope = share * (1.0 - share) * (values * values * (3.0 * GELU_CUBIC) + 1.0) * (2.0 * GELU_SCALE)
    return g * cast_to(share + values * slope, x.dtype)


@function(_gelu_approximate_gradient)
def gelu_approximate(x: Tensor[B]) -> Tensor[B]:
    """Approximate `gelu` with a hyperbolic tangent.

    >>> from burn.tensor import activation
    >>> activation.gelu_approximate(burn.tensor([-1.0, 0.0, 1.0])).to_data()
    TensorData([-0.158808, 0.0, 0.841192], shape=[3], dtype=f32)
    """
    values = wide(x)
    return cast_to(values * _gelu_share(values), x.dtype)


# Shrinkage


def _shrink_rule(op: Op, x: Any, *values: Any) -> Any:
    shape, dtype, read = numbers_rule(op, x, *values)
    if read[0] < 0.0:
        raise ArgumentError(f"{op.name}: lambd must be 0 or more, got {values[0]}")
    return shape, dtype, read


def _inside(x: Any, lambd: float) -> Any:
    return (x >= -lambd) & (x <= lambd)


@function(lambda g, x, lambd: g.mask_fill(_inside(x, lambd), 0.0), rule=_shrink_rule)
def shrink(x: Tensor[B], lambd: float = 0.5, bias: float = 0.0) -> Tensor[B]:
    """Give 0 between `-lambd` and `lambd`, and move what is outside towards zero by `bias`.

    >>> from burn.tensor import activation
    >>> activation.shrink(burn.tensor([-2.0, 0.25, 2.0]), bias=0.25).tolist()
    [-1.75, 0.0, 1.75]
    """
    return (x - x.sign() * bias).mask_fill(_inside(x, lambd), 0.0)


@function(lambda g, x, lambd: g.mask_fill(_inside(x, lambd), 0.0), rule=_shrink_rule)
def hard_shrink(x: Tensor[B], lambd: float = 0.5) -> Tensor[B]:
    """Give 0 between `-lambd` and `lambd`, and keep what is outside.

    >>> from burn.tensor import activation
    >>> activation.hard_shrink(burn.tensor([-2.0, 0.25, 2.0])).tolist()
    [-2.0, 0.0, 2.0]
    """
    return x.mask_fill(_inside(x, lambd), 0.0)


@function(lambda g, x, lambd: g.mask_fill(_inside(x, lambd), 0.0), rule=_shrink_rule)
def soft_shrink(x: Tensor[B], lambd: float = 0.5) -> Tensor[B]:
    """Give 0 between `-lambd` and `lambd`, and move what is outside towards zero by `lambd`.

    >>> from burn.tensor import activation
    >>> activation.soft_shrink(burn.tensor([-2.0, 0.25, 2.0])).tolist()
    [-1.5, 0.0, 1.5]
    """
    return x - x.clamp(-lambd, lambd)


# Gates


def _glu_rule(op: Op, x: Any, dim: Any) -> Any:
    found = axis(op.name, dim, len(x.shape))
    if x.shape[found] % 2:
        raise ShapeError(f"{op.name}: dim {dim} of {tuple(x.shape)} has size {x.shape[found]}, which must be even")
    return x.shape.with_dim(found, x.shape[found] // 2), x.dtype, (found,)


@composite(rule=_glu_rule, prepare=prepared(floating))
def glu(x: Tensor[B], dim: int = -1) -> Tensor[B]:
    """Weigh the first half along `dim` by the sigmoid of the second half.

    >>> from burn.tensor import activation
    >>> activation.glu(burn.tensor([[1.0, 2.0, 0.0, 100.0]])).tolist()
    [[0.5, 2.0]]
    """
    half = x.shape[dim] // 2
    return x.narrow(dim, 0, half) * sigmoid(x.narrow(dim, half, half))


# Backward rows, so that a backend may have a kernel for each


def _backward_rule(op: Op, x: Any, gradient: Any) -> Any:
    if x.shape != gradient.shape:
        name = op.operands[0]
        raise ShapeError(f"{op.name}: {name} has shape {tuple(x.shape)} and gradient {tuple(gradient.shape)}")
    return x.shape, x.dtype, ()


def backward(operand: str) -> Callable[[F], F]:
    """Declare the gradient of a function of each element."""
    return composite(rule=_backward_rule, prepare=prepared(floating, operand, "gradient"))


@backward("output")
def relu_backward(output: Tensor[B], gradient: Tensor[B]) -> Tensor[B]:
    """Pass the gradient of `relu` where its output is above 0."""
    return gradient.mask_fill(output <= 0.0, 0.0)


@backward("output")
def sigmoid_backward(output: Tensor[B], gradient: Tensor[B]) -> Tensor[B]:
    """Compute the gradient of `sigmoid` from its output."""
    return gradient * (output * (1.0 - output))


@backward("x")
def log_sigmoid_backward(x: Tensor[B], gradient: Tensor[B]) -> Tensor[B]:
    """Compute the gradient of `log_sigmoid`."""
    return gradient * sigmoid(x.neg())


@backward("x")
def silu_backward(x: Tensor[B], gradient: Tensor[B]) -> Tensor[B]:
    """Compute the gradient of `silu`."""
    values = wide(x)
    gate = sigmoid(values)
    return gradient * cast_to(gate * (values * (1.0 - gate) + 1.0), x.dtype)


@backward("x")
def gelu_backward(x: Tensor[B], gradient: Tensor[B]) -> Tensor[B]:
    """Compute the gradient of `gelu`."""
    values = wide(x)
    below = ((values * SQRT_HALF).erf() + 1.0) * 0.5
    density = (values * values * -0.5).exp() * INVERSE_SQRT_TWO_PI
    return gradient * cast_to(below + values * density, x.dtype)
