"""Activation functions where they are fragile: extreme values, kinks, and second order; against PyTorch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

import burn
from burn.backend import Autodiff, LibTorch, NdArray
from burn.tensor import Tensor, activation
from burn.tensor.loss import cross_entropy_with_logits

DEVICES = [NdArray(), LibTorch("cpu")]
EXTREME = [-math.inf, -1e30, -1e4, -100.0, -20.0, -1e-4, -0.0, 0.0, 1e-4, 20.0, 100.0, 1e4, 1e30, math.inf, math.nan]

FUNCTIONS: dict[str, tuple[Any, Any]] = {
    "relu": (activation.relu, torch.relu),
    "leaky_relu": (activation.leaky_relu, functional.leaky_relu),
    "sigmoid": (activation.sigmoid, torch.sigmoid),
    "log_sigmoid": (activation.log_sigmoid, functional.logsigmoid),
    "softplus": (activation.softplus, functional.softplus),
    "silu": (activation.silu, functional.silu),
    "mish": (activation.mish, functional.mish),
    "gelu": (activation.gelu, functional.gelu),
    "gelu_approximate": (activation.gelu_approximate, lambda x: functional.gelu(x, approximate="tanh")),
    "tanh": (activation.tanh, torch.tanh),
    "elu": (activation.elu, functional.elu),
    "celu": (activation.celu, functional.celu),
    "selu": (activation.selu, functional.selu),
    "hard_swish": (activation.hard_swish, functional.hardswish),
    "hardtanh": (activation.hardtanh, functional.hardtanh),
    "relu6": (activation.relu6, functional.relu6),
    "softsign": (activation.softsign, functional.softsign),
    "tanhshrink": (activation.tanhshrink, functional.tanhshrink),
    "hard_shrink": (activation.hard_shrink, functional.hardshrink),
    "soft_shrink": (activation.soft_shrink, functional.softshrink),
    "threshold": (lambda x: activation.threshold(x, 0.5, -2.0), lambda x: functional.threshold(x, 0.5, -2.0)),
}


def compare(ours: Any, theirs: Any, values: list[float], device: burn.Device, *, forward: bool, backward: bool) -> None:
    """The values and gradients of both, in f32."""
    x = burn.tensor(values, device=Autodiff(device), dtype="f32").require_grad()
    out = ours(x)
    gradient = x.grad(out.sum().backward())
    tx = torch.tensor(values, dtype=torch.float32, requires_grad=True)
    expected = theirs(tx)
    (expected_gradient,) = torch.autograd.grad(expected.sum(), tx)
    if forward:
        np.testing.assert_allclose(np.asarray(out), expected.detach().numpy(), rtol=1e-5, atol=1e-7)
    if backward:
        np.testing.assert_allclose(np.asarray(gradient), expected_gradient.numpy(), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("device", DEVICES, ids=repr)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_extreme_values_give_what_pytorch_gives(name: str, device: burn.Device) -> None:
    ours, theirs = FUNCTIONS[name]
    # PyTorch's gelu of infinity is NaN in f32 and infinity in f64
    values = [each for each in EXTREME if name != "gelu" or each != math.inf]
    compare(ours, theirs, values, device, forward=True, backward=False)


@pytest.mark.parametrize("device", DEVICES, ids=repr)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_finite_extremes_have_the_gradient_of_pytorch(name: str, device: burn.Device) -> None:
    ours, theirs = FUNCTIONS[name]
    compare(ours, theirs, [v for v in EXTREME if abs(v) <= 1e4], device, forward=True, backward=True)


KINKS = {
    "relu": [0.0], "leaky_relu": [0.0], "elu": [0.0], "celu": [0.0], "selu": [0.0], "hard_swish": [-3.0, 3.0],
    "hardtanh": [-1.0, 1.0], "relu6": [0.0, 6.0], "hard_shrink": [-0.5, 0.5], "soft_shrink": [-0.5, 0.5],
    "threshold": [0.5], "softsign": [0.0],
}  # fmt: skip


@pytest.mark.parametrize("device", DEVICES, ids=repr)
@pytest.mark.parametrize("name", KINKS)
def test_the_gradient_at_a_kink_is_the_one_of_pytorch(name: str, device: burn.Device) -> None:
    ours, theirs = FUNCTIONS[name]
    compare(ours, theirs, KINKS[name], device, forward=True, backward=True)


def test_the_gradient_of_hard_sigmoid_at_its_kinks_is_zero() -> None:
    x = burn.tensor([-3.0, 3.0], device=Autodiff(NdArray())).require_grad()
    grads = activation.hard_sigmoid(x, 1 / 6, 0.5).sum().backward()
    assert np.asarray(x.grad(grads)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("device", DEVICES, ids=repr)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_of_extreme_rows_is_the_one_of_pytorch(name: str, device: burn.Device) -> None:
    rows = [
        [1e4, -1e4, 0.0], [-math.inf, 0.0, 1.0], [-math.inf] * 3, [math.inf, 0.0, 0.0], [math.nan, 0.0, 1.0],
        [-1e30, 1e30, 0.0],
    ]  # fmt: skip
    ours = getattr(activation, name)(burn.tensor(rows, device=device), 1)
    theirs = getattr(torch, name)(torch.tensor(rows), 1)
    np.testing.assert_allclose(np.asarray(ours), theirs.numpy(), rtol=1e-6, atol=0)


@pytest.mark.parametrize("device", DEVICES, ids=repr)
def test_quiet_softmax_may_give_nothing_to_anyone(device: burn.Device) -> None:
    out = np.asarray(activation.quiet_softmax(burn.tensor([[-1e4, -1e4], [1e4, 0.0], [0.0, 0.0]], device=device), 1))
    np.testing.assert_allclose(out, [[0.0, 0.0], [1.0, 0.0], [1 / 3, 1 / 3]], rtol=1e-6)


def test_softplus_keeps_large_values() -> None:
    out = activation.softplus(burn.tensor([1000.0, -1000.0], device=NdArray()), 1.0)
    assert out.tolist() == [1000.0, 0.0]


@pytest.mark.parametrize(
    "name", ["sigmoid", "silu", "gelu", "softplus", "mish", "log_sigmoid", "gelu_approximate", "elu"]
)
def test_second_order_is_right(name: str) -> None:
    ours, theirs = FUNCTIONS[name]
    values = [-1.5, -0.3, 0.2, 2.0]
    device = Autodiff(Autodiff(NdArray(float=burn.f64)))
    x = burn.tensor(values, device=device, dtype="f64").require_grad()
    inner = x.inner().require_grad()
    lifted = Tensor.from_inner(inner).require_grad()
    first = lifted.grad(ours(lifted).sum().backward())
    assert first is not None
    second = inner.grad(first.sum().backward())
    tx = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    (t_first,) = torch.autograd.grad(theirs(tx).sum(), tx, create_graph=True)
    (t_second,) = torch.autograd.grad(t_first.sum(), tx)
    np.testing.assert_allclose(np.asarray(second), t_second.numpy(), rtol=1e-7, atol=1e-9)


def test_each_activation_records_one_node() -> None:
    x = burn.tensor([[0.5, -1.0]], device=Autodiff(NdArray())).require_grad()
    for function in (activation.relu, activation.gelu, activation.silu, lambda t: activation.softmax(t, 1)):
        assert function(x).handle.node.parents == (x.handle.node,)


def test_methods_and_functions_are_the_same() -> None:
    x = burn.tensor([[-1.0, 0.5], [2.0, -3.0]], device=NdArray())
    assert x.relu().tolist() == activation.relu(x).tolist() == [[0.0, 0.5], [2.0, 0.0]]
    assert x.softmax(-1).tolist() == activation.softmax(x, dim=-1).tolist()
    assert x.leaky_relu(0.5).tolist() == [[-0.5, 0.5], [2.0, -1.5]]


def test_relu_keeps_ints() -> None:
    out = activation.relu(burn.tensor([-2, 3], device=NdArray()))
    assert out.dtype is burn.i64
    assert out.tolist() == [0, 3]


@pytest.mark.parametrize("device", DEVICES, ids=repr)
def test_relu_takes_unsigned_ints(device: burn.Device) -> None:
    assert activation.relu(burn.tensor([0, 3], device=device, dtype="u32")).tolist() == [0, 3]


def test_cross_entropy_with_logits_has_shape_one() -> None:
    logits = burn.tensor([[[2.0, 1.0], [0.0, 0.0]]], device=NdArray())
    out = cross_entropy_with_logits(logits, burn.tensor([[[1.0, 0.0], [0.5, 0.5]]], device=NdArray()))
    assert out.shape == (1,)
    assert out.item() == pytest.approx((math.log(1 + math.exp(-1)) + math.log(2)) / 2)
