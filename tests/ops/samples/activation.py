"""Samples of activation functions and softmax."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from burn.errors import ArgumentError, DTypeError, ShapeError
from tests.ops.sample import Sample, booleans, call, integers, random, refused, samples

SHAPES = [(3, 4), (), (0,), (1,), (2, 0, 3), (2, 1, 5)]


def floats(*arguments: Any, ints: bool = True, low: float = -4.0, high: float = 4.0) -> Callable[[], Iterator[Sample]]:
    """Samples of a function of each element, with the given attributes."""

    def generate() -> Iterator[Sample]:
        for shape in SHAPES:
            yield call(random(*shape, low=low, high=high), *arguments)
        yield call(random(4, 3, low=low, high=high).T, *arguments)
        yield call(random(9, 2, low=low, high=high)[::2, ::-1], *arguments)
        if ints:
            yield call(integers(3, 4), *arguments)

    return generate


def several(*rows: tuple[Any, ...], low: float = -4.0, high: float = 4.0) -> Callable[[], Iterator[Sample]]:
    """The samples of `floats` for each row of attributes."""

    def generate() -> Iterator[Sample]:
        for row in rows:
            yield from floats(*row, low=low, high=high)()

    return generate


def _float(function: Any) -> Any:
    """A torch function that is given ints as floats, as ours takes them."""
    return lambda x, *arguments, **kwargs: function(x if x.is_floating_point() else x.float(), *arguments, **kwargs)


for _name, _function in [
    ("relu6", functional.relu6), ("sigmoid", torch.sigmoid), ("log_sigmoid", functional.logsigmoid),
    ("hard_swish", functional.hardswish), ("silu", functional.silu), ("mish", functional.mish),
    ("softsign", functional.softsign), ("tanhshrink", functional.tanhshrink), ("gelu", functional.gelu),
    ("gelu_approximate", lambda x: functional.gelu(x, approximate="tanh")), ("selu", functional.selu),
]:  # fmt: skip
    samples(_name, oracle=_float(_function))(floats())

samples("relu", oracle=torch.relu)(floats())
samples("leaky_relu", oracle=_float(functional.leaky_relu))(several((), (0.2,), (-0.5,)))
samples("hardtanh", oracle=_float(functional.hardtanh))(several((), (-0.5, 2.5)))
samples("threshold", oracle=_float(functional.threshold))(several((0.5, -3.0), (-1.25, 7.0)))
samples("thresholded_relu", oracle=_float(lambda x, alpha=1.0: functional.threshold(x, alpha, 0.0)))(
    several((), (0.3,))
)
samples("elu", oracle=_float(functional.elu))(several((), (0.3,)))
samples("celu", oracle=_float(functional.celu))(several((), (0.3,)))
samples("softplus", oracle=_float(functional.softplus))(several((), (2.5,)))
samples("hard_shrink", oracle=_float(functional.hardshrink))(several((), (1.25,)))
samples("soft_shrink", oracle=_float(functional.softshrink))(several((), (1.25,)))
samples("hard_sigmoid", oracle=_float(lambda x, a=0.2, b=0.5: (a * x + b).clamp(0, 1)))(several((), (1 / 6, 0.5)))


def _shrink(x: torch.Tensor, lambd: float = 0.5, bias: float = 0.0) -> torch.Tensor:
    moved = torch.where(x > lambd, x - bias, torch.where(x < -lambd, x + bias, torch.zeros_like(x)))
    return moved


samples("shrink", oracle=_float(_shrink))(several((), (1.25, 0.75), (0.0, 0.25)))


@samples("prelu", oracle=functional.prelu)
def _prelu() -> Iterator[Sample]:
    yield call(random(3, 4), random(4, seed=1))
    yield call(random(2, 3, 5), random(3, seed=1))
    yield call(random(2, 3, 2, 2), random(1, seed=1))
    yield call(random(5), random(1, seed=1))
    yield call(random(2, 0, 3), random(1, seed=1))
    yield call(random(4, 3).T, random(8, seed=1)[::2])


@samples("glu", oracle=_float(functional.glu))
def _glu() -> Iterator[Sample]:
    yield call(random(3, 4))
    yield call(random(4, 3), 0)
    yield call(random(2, 6, 3), 1)
    yield call(random(2, 6, 3), -2)
    yield call(random(3, 4).T, 0)
    yield call(random(2, 0))
    yield call(integers(3, 4), 1)


def _along() -> Iterator[Sample]:
    yield call(random(3, 4), 1)
    yield call(random(3, 4), 0)
    yield call(random(2, 3, 5), -2)
    yield call(random(1), 0)
    yield call(random(0, 3), 1)
    yield call(random(3, 0), 1)
    yield call(random(4, 3).T, -1)
    yield call(random(4, 6, low=-60, high=60)[::2, ::-1], 1)
    yield call(integers(3, 4), 1)


def _quiet(x: torch.Tensor, dim: int) -> torch.Tensor:
    zero = (
        torch.zeros_like(x.narrow(dim, 0, 1))
        if x.shape[dim]
        else x.new_zeros([1 if d == dim else n for d, n in enumerate(x.shape)])
    )
    return torch.softmax(torch.cat([x, zero], dim), dim).narrow(dim, 0, x.shape[dim])


samples("softmax", oracle=_float(torch.softmax))(_along)
samples("log_softmax", oracle=_float(torch.log_softmax))(_along)
samples("softmin", oracle=_float(functional.softmin))(_along)
samples("quiet_softmax", oracle=_float(lambda x, dim: _quiet(x, dim % x.ndim)))(_along)


@samples("cross_entropy_with_logits", oracle=lambda x, y: functional.cross_entropy(x, y).reshape(1))
def _cross_entropy() -> Iterator[Sample]:
    yield call(random(3, 4), random(3, 4, seed=1, low=0, high=1))
    yield call(random(1, 5, low=-40, high=40), random(1, 5, seed=1, low=0, high=1))
    yield call(random(4, 3).T, random(6, 4, seed=1, low=0, high=1)[::2])


def pairs(low: float = -3.0, high: float = 3.0) -> Callable[[], Iterator[Sample]]:
    """Samples of a backward row: what was kept, and a gradient of its shape."""

    def generate() -> Iterator[Sample]:
        for shape in SHAPES:
            yield call(random(*shape, low=low, high=high), random(*shape, seed=1))
        yield call(random(4, 3, low=low, high=high).T, random(6, 4, seed=1)[::2])

    return generate


aten = torch.ops.aten
samples("relu_backward", oracle=lambda out, g: aten.threshold_backward(g, out, 0))(pairs())
samples("sigmoid_backward", oracle=lambda out, g: aten.sigmoid_backward(g, out))(pairs(0, 1))
samples("silu_backward", oracle=lambda x, g: aten.silu_backward(g, x))(pairs())
samples("gelu_backward", oracle=lambda x, g: aten.gelu_backward(g, x))(pairs())
samples("log_sigmoid_backward", oracle=lambda x, g: g * torch.sigmoid(-x))(pairs())


@samples("softmax_backward", oracle=lambda out, g, dim: aten._softmax_backward_data(g, out, dim, out.dtype))
def _softmax_gradients() -> Iterator[Sample]:
    yield call(random(3, 4, low=0, high=1), random(3, 4, seed=1), 1)
    yield call(random(3, 4, low=0, high=1), random(3, 4, seed=1), -2)
    yield call(random(0, 4, low=0, high=1), random(0, 4, seed=1), 0)
    yield call(random(4, 3, low=0, high=1).T, random(6, 4, seed=1)[::2], 0)


@samples("log_softmax_backward", oracle=lambda out, g, dim: aten._log_softmax_backward_data(g, out, dim, out.dtype))
def _log_softmax_gradients() -> Iterator[Sample]:
    for sample in _softmax_gradients():
        out, g, dim = sample.args
        yield call(np.negative(out) * 3, g, dim)


for _name in ("softmax", "log_softmax", "quiet_softmax"):
    refused(_name, random(3, 4), 2, error=ShapeError, match="dim 2 is out of range for a tensor of rank 2")
    refused(_name, random(3, 4), "last", error=ArgumentError, match="dim must be an int, got 'last'")
refused("softmin", random(3, 4), -3, error=ShapeError, match="dim -3 is out of range")
refused("glu", random(3, 5), error=ShapeError, match=r"dim -1 of \(3, 5\) has size 5, which must be even")
refused("relu", booleans(3), error=DTypeError, match="needs numbers, got bool")
refused("relu", [1.0], error=DTypeError, match="must be a Tensor, got list")
refused("sigmoid", 1.0, error=DTypeError, match="must be a Tensor, got float")
refused("celu", random(3), 0.0, error=ArgumentError, match="alpha must not be 0")
refused("softplus", random(3), 0, error=ArgumentError, match="beta must not be 0")
refused("elu", random(3), "one", error=ArgumentError, match="alpha must be a number, got 'one'")
refused("soft_shrink", random(3), -1.0, error=ArgumentError, match="lambd must be 0 or more, got -1.0")
refused("prelu", random(2, 3), random(4), error=ShapeError, match=r"one for each of the 3 channels")
refused("prelu", random(2, 3), 0.2, error=DTypeError, match="alpha must be a Tensor, got float")
refused("gelu_backward", random(3), random(4), error=ShapeError, match=r"x has shape \(3,\) and gradient \(4,\)")
refused("cross_entropy_with_logits", random(2, 3), random(2, 4), error=ShapeError, match="do not broadcast")
