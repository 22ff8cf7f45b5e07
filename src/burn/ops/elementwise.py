"""Functions of one number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from burn.dtype import bool_
from burn.ops import elements
from burn.ops import references as reference
from burn.ops.declare import composite, floating, numeric, only_floats, unary

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor

TWO_OVER_SQRT_PI = 2.0 / math.sqrt(math.pi)


@unary(dtype=floating, element=lambda b, x: b.exp(x), costly=True, reference=np.exp, vjp=dict(x=lambda g, out: g * out))
def exp(x: Tensor[B]) -> Tensor[B]:
    """Raise e to the power of each element.

    >>> burn.tensor([0.0, 1.0]).exp().to_data()
    TensorData([1.0, 2.718282], shape=[2], dtype=f32)
    """
    ...


@unary(dtype=floating, element=lambda b, x: b.log(x), costly=True, reference=np.log, vjp=dict(x=lambda g, x: g / x))
def log(x: Tensor[B]) -> Tensor[B]:
    """Take the natural logarithm of each element.

    >>> burn.tensor([1.0, 10.0]).log().to_data()
    TensorData([0.0, 2.3025851], shape=[2], dtype=f32)
    """
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.log1p(x),
    costly=True,
    reference=np.log1p,
    vjp=dict(x=lambda g, x: g / (x + 1.0)),
)
def log1p(x: Tensor[B]) -> Tensor[B]:
    """Compute `log(1 + x)`, exact near zero.

    >>> burn.tensor([0.0, 1e-10]).log1p().tolist()
    [0.0, 1.000000013351432e-10]
    """
    ...


@unary(dtype=floating, element=lambda b, x: b.sqrt(x), reference=np.sqrt, vjp=dict(x=lambda g, out: g / (out * 2.0)))
def sqrt(x: Tensor[B]) -> Tensor[B]:
    """Take the square root of each element.

    >>> burn.tensor([4.0, 2.25]).sqrt().tolist()
    [2.0, 1.5]
    """
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.const(x.dtype, 1.0) / x,
    reference=reference.recip,
    vjp=dict(x=lambda g, out: -g * out * out),
)
def recip(x: Tensor[B]) -> Tensor[B]:
    """Compute `1 / x`.

    >>> burn.tensor([4.0, 0.0]).recip().tolist()
    [0.25, inf]
    """
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.erf(x),
    costly=True,
    reference=reference.erf,
    vjp=dict(x=lambda g, x: g * ((x * x).neg().exp() * TWO_OVER_SQRT_PI)),
)
def erf(x: Tensor[B]) -> Tensor[B]:
    """Compute the error function of each element.

    >>> burn.tensor([0.0, 1.0]).erf().to_data()
    TensorData([0.0, 0.8427008], shape=[2], dtype=f32)
    """
    ...


@unary(
    dtype=floating, element=lambda b, x: b.sin(x), costly=True, reference=np.sin, vjp=dict(x=lambda g, x: g * x.cos())
)
def sin(x: Tensor[B]) -> Tensor[B]:
    """Take the sine of each element.

    >>> burn.tensor([0.0, np.pi / 2]).sin().tolist()
    [0.0, 1.0]
    """
    ...


@unary(
    dtype=floating, element=lambda b, x: b.cos(x), costly=True, reference=np.cos, vjp=dict(x=lambda g, x: -g * x.sin())
)
def cos(x: Tensor[B]) -> Tensor[B]:
    """Take the cosine of each element.

    >>> burn.tensor([0.0, np.pi]).cos().tolist()
    [1.0, -1.0]
    """
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.tan(x),
    costly=True,
    reference=np.tan,
    vjp=dict(x=lambda g, out: g * (out * out + 1.0)),
)
def tan(x: Tensor[B]) -> Tensor[B]:
    """Take the tangent of each element.

    >>> burn.tensor([0.0, 1.0]).tan().to_data()
    TensorData([0.0, 1.5574077], shape=[2], dtype=f32)
    """
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.sinh(x),
    costly=True,
    reference=np.sinh,
    vjp=dict(x=lambda g, x: g * x.cosh()),
)
def sinh(x: Tensor[B]) -> Tensor[B]:
    """Take the hyperbolic sine of each element.

    >>> burn.tensor([0.0, 1.0]).sinh().to_data()
    TensorData([0.0, 1.1752012], shape=[2], dtype=f32)
    """
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.cosh(x),
    costly=True,
    reference=np.cosh,
    vjp=dict(x=lambda g, x: g * x.sinh()),
)
def cosh(x: Tensor[B]) -> Tensor[B]:
    """Take the hyperbolic cosine of each element.

    >>> burn.tensor([0.0, 1.0]).cosh().to_data()
    TensorData([1.0, 1.5430807], shape=[2], dtype=f32)
    """
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.tanh(x),
    costly=True,
    reference=np.tanh,
    vjp=dict(x=lambda g, out: g * (1.0 - out * out)),
)
def tanh(x: Tensor[B]) -> Tensor[B]:
    """Take the hyperbolic tangent of each element.

    >>> burn.tensor([0.0, 1.0]).tanh().to_data()
    TensorData([0.0, 0.7615942], shape=[2], dtype=f32)
    """
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.asin(x),
    costly=True,
    reference=np.arcsin,
    vjp=dict(x=lambda g, x: g / (1.0 - x * x).sqrt()),
)
def asin(x: Tensor[B]) -> Tensor[B]:
    """Take the inverse sine of each element.

    >>> burn.tensor([0.0, 1.0]).asin().to_data()
    TensorData([0.0, 1.5707964], shape=[2], dtype=f32)
    """
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.acos(x),
    costly=True,
    reference=np.arccos,
    vjp=dict(x=lambda g, x: -g / (1.0 - x * x).sqrt()),
)
def acos(x: Tensor[B]) -> Tensor[B]:
    """Take the inverse cosine of each element.

    >>> burn.tensor([1.0, 0.0]).acos().to_data()
    TensorData([0.0, 1.5707964], shape=[2], dtype=f32)
    """
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.atan(x),
    costly=True,
    reference=np.arctan,
    vjp=dict(x=lambda g, x: g / (x * x + 1.0)),
)
def atan(x: Tensor[B]) -> Tensor[B]:
    """Take the inverse tangent of each element.

    >>> burn.tensor([0.0, 1.0]).atan().to_data()
    TensorData([0.0, 0.7853982], shape=[2], dtype=f32)
    """
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.asinh(x),
    costly=True,
    reference=np.arcsinh,
    vjp=dict(x=lambda g, x: g / (x * x + 1.0).sqrt()),
)
def asinh(x: Tensor[B]) -> Tensor[B]:
    """Take the inverse hyperbolic sine of each element.

    >>> burn.tensor([0.0, 1.0]).asinh().to_data()
    TensorData([0.0, 0.8813736], shape=[2], dtype=f32)
    """
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.acosh(x),
    costly=True,
    reference=np.arccosh,
    vjp=dict(x=lambda g, x: g / ((x - 1.0).sqrt() * (x + 1.0).sqrt())),
)
def acosh(x: Tensor[B]) -> Tensor[B]:
    """Take the inverse hyperbolic cosine of each element.

    >>> burn.tensor([1.0, 2.0]).acosh().to_data()
    TensorData([0.0, 1.316958], shape=[2], dtype=f32)
    """
    ...


@unary(
    dtype=floating,
    element=lambda b, x: b.atanh(x),
    costly=True,
    reference=np.arctanh,
    vjp=dict(x=lambda g, x: g / (1.0 - x * x)),
)
def atanh(x: Tensor[B]) -> Tensor[B]:
    """Take the inverse hyperbolic tangent of each element.

    >>> burn.tensor([0.0, 0.5]).atanh().to_data()
    TensorData([0.0, 0.54930615], shape=[2], dtype=f32)
    """
    ...


@unary(
    dtype=numeric, element=lambda b, x: b.abs(x), reference=reference.absolute, vjp=dict(x=lambda g, x: g * x.sign())
)
def abs(x: Tensor[B]) -> Tensor[B]:
    """Take the absolute value of each element; the smallest integer stays as it is.

    >>> burn.tensor([-2, 3]).abs().tolist()
    [2, 3]
    """
    ...


@unary(dtype=numeric, element=lambda b, x: b.neg(x), reference=np.negative, vjp=dict(x=lambda g: -g))
def neg(x: Tensor[B]) -> Tensor[B]:
    """Negate each element.

    >>> (-burn.tensor([-2, 3])).tolist()
    [2, -3]
    """
    ...


@unary(dtype=numeric, element=elements.sign, reference=reference.sign, vjp=dict(x=lambda g: g.zeros_like()))
def sign(x: Tensor[B]) -> Tensor[B]:
    """Give -1, 0 or 1 by the sign of each element.

    >>> burn.tensor([-2.5, 0.0, 3.0]).sign().tolist()
    [-1.0, 0.0, 1.0]
    """
    ...


@unary(
    dtype=numeric, element=elements.whole_or("floor"), reference=reference.floor, vjp=dict(x=lambda g: g.zeros_like())
)
def floor(x: Tensor[B]) -> Tensor[B]:
    """Round down.

    >>> burn.tensor([-1.5, 1.5]).floor().tolist()
    [-2.0, 1.0]
    """
    ...


@unary(dtype=numeric, element=elements.whole_or("ceil"), reference=reference.ceil, vjp=dict(x=lambda g: g.zeros_like()))
def ceil(x: Tensor[B]) -> Tensor[B]:
    """Round up.

    >>> burn.tensor([-1.5, 1.5]).ceil().tolist()
    [-1.0, 2.0]
    """
    ...


@unary(
    dtype=numeric, element=elements.whole_or("rint"), reference=reference.round, vjp=dict(x=lambda g: g.zeros_like())
)
def round(x: Tensor[B]) -> Tensor[B]:
    """Round to the nearest integer, halves to the even one.

    >>> burn.tensor([0.5, 1.5, 2.4]).round().tolist()
    [0.0, 2.0, 2.0]
    """
    ...


@unary(
    dtype=numeric, element=elements.whole_or("trunc"), reference=reference.trunc, vjp=dict(x=lambda g: g.zeros_like())
)
def trunc(x: Tensor[B]) -> Tensor[B]:
    """Round towards zero.

    >>> burn.tensor([-1.5, 1.5]).trunc().tolist()
    [-1.0, 1.0]
    """
    ...


@composite(reference=np.square)
def square(x: Tensor[B]) -> Tensor[B]:
    """Multiply each element by itself.

    >>> burn.tensor([-3, 4]).square().tolist()
    [9, 16]
    """
    return x * x


@composite(reference=np.deg2rad)
def deg2rad(x: Tensor[B]) -> Tensor[B]:
    """Convert degrees to radians.

    >>> burn.tensor([0.0, 180.0]).deg2rad().to_data()
    TensorData([0.0, 3.1415927], shape=[2], dtype=f32)
    """
    return x * (math.pi / 180.0)


@composite(reference=np.rad2deg)
def rad2deg(x: Tensor[B]) -> Tensor[B]:
    """Convert radians to degrees.

    >>> burn.tensor([0.0, np.pi]).rad2deg().tolist()
    [0.0, 180.0]
    """
    return x * (180.0 / math.pi)


@unary(dtype=only_floats, element=lambda b, x: b.isnan(x), reference=np.isnan, result=bool_)
def is_nan(x: Tensor[B]) -> Tensor[B]:
    """Tell which elements are NaN.

    >>> burn.tensor([1.0, np.nan, np.inf]).is_nan().tolist()
    [False, True, False]
    """
    ...


@unary(dtype=only_floats, element=lambda b, x: b.isinf(x), reference=np.isinf, result=bool_)
def is_inf(x: Tensor[B]) -> Tensor[B]:
    """Tell which elements are infinite.

    >>> burn.tensor([1.0, np.nan, -np.inf]).is_inf().tolist()
    [False, False, True]
    """
    ...


@composite(reference=np.isfinite)
def is_finite(x: Tensor[B]) -> Tensor[B]:
    """Tell which elements are neither NaN nor infinite.

    >>> burn.tensor([1.0, np.nan, np.inf]).is_finite().tolist()
    [True, False, False]
    """
    return (x.is_nan() | x.is_inf()).bool_not()
