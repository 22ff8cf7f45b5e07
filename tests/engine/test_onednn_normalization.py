"""Softmax and normalisation against PyTorch, forward and backward."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from burn.backend.cpu.onednn import (
    batch_normalization,
    batch_normalization_backward,
    layer_normalization,
    layer_normalization_backward,
    softmax,
    softmax_backward,
)
from tests.engine.onednn_buffers import buffer, close, last, layout, like, needs_onednn, randn, run

pytestmark = needs_onednn

EPSILON = 1e-5
AFFINE = [(True, True), (True, False), (False, True), (False, False)]


@pytest.mark.parametrize(
    "shape, dim", [((5, 7), 1), ((5, 7), 0), ((2, 3, 4, 33), 3), ((2, 17, 4), 1), ((3, 1), 1), ((1000,), 0)]
)
@pytest.mark.parametrize("log", [False, True])
def test_softmax_and_its_gradient(shape: tuple[int, ...], dim: int, log: bool) -> None:
    x = (randn(*shape) * 20).requires_grad_()
    expected = functional.log_softmax(x, dim) if log else functional.softmax(x, dim)
    gradient = randn(*shape, seed=1)
    expected.backward(gradient)
    assert x.grad is not None
    out, found = like(x.detach()), like(x.detach())
    run(softmax(layout(x), layout(out), dim, log=log), x=x, out=out)
    close(out, expected.detach())
    backward = softmax_backward(layout(out), layout(gradient), layout(found), dim, log=log)
    run(backward, out=out, gradient=gradient, x_gradient=found)
    close(found, x.grad)


def test_softmax_may_overwrite_its_input() -> None:
    x = randn(9, 40)
    expected = x.softmax(1)
    run(softmax(layout(x), layout(x), 1), x=x, out=x)
    close(x, expected)


def test_softmax_of_masked_rows_keeps_the_rest() -> None:
    x = randn(4, 12)
    x[:, 5:] = -float("inf")
    out = like(x)
    run(softmax(layout(x), layout(out), 1), x=x, out=out)
    close(out, x.softmax(1))


@pytest.mark.parametrize("shape", [(6, 32), (5, 7), (2, 3, 768), (2, 3, 4, 19)])
@pytest.mark.parametrize("with_scale, with_shift", AFFINE)
def test_layer_normalization(shape: tuple[int, ...], with_scale: bool, with_shift: bool) -> None:
    x, scale, shift, out = randn(*shape) * 3 + 2, randn(shape[-1]), randn(shape[-1], seed=1), torch.zeros(shape)
    expected = functional.layer_norm(
        x, shape[-1:], scale if with_scale else None, shift if with_shift else None, EPSILON
    )
    affine = dict([("scale", scale)] * with_scale + [("shift", shift)] * with_shift)
    primitive = layer_normalization(layout(x), layout(out), EPSILON, scale=with_scale, shift=with_shift)
    run(primitive, x=x, out=out, **affine)
    close(out, expected)


@pytest.mark.parametrize("shape", [(6, 32), (2, 3, 768)])
@pytest.mark.parametrize("affine", [True, False])
def test_layer_normalization_in_training(shape: tuple[int, ...], affine: bool) -> None:
    x = (randn(*shape) * 3 + 2).requires_grad_()
    scale, shift = randn(shape[-1]).requires_grad_(), randn(shape[-1], seed=1).requires_grad_()
    expected = functional.layer_norm(x, shape[-1:], scale if affine else None, shift if affine else None, EPSILON)
    gradient = randn(*shape, seed=2)
    expected.backward(gradient)
    out, found = torch.zeros(shape), torch.zeros(shape)
    mean, variance = torch.zeros(shape[:-1]), torch.zeros(shape[:-1])
    given = dict(scale=scale.detach(), shift=shift.detach()) if affine else {}
    forward = layer_normalization(layout(x), layout(out), EPSILON, scale=affine, shift=affine, training=True)
    run(forward, x=x, out=out, mean=mean, variance=variance, **given)
    close(out, expected.detach())
    close(mean, x.detach().mean(-1))
    close(variance, x.detach().var(-1, correction=0))
    backward = layer_normalization_backward(
        layout(x), layout(gradient), layout(found), EPSILON, scale=affine, shift=affine
    )
    gradients = dict(scale_gradient=torch.zeros(shape[-1]), shift_gradient=torch.zeros(shape[-1])) if affine else {}
    run(backward, x=x, mean=mean, variance=variance, gradient=gradient, x_gradient=found, **given, **gradients)
    assert x.grad is not None
    close(found, x.grad)
    if affine:
        assert scale.grad is not None
        assert shift.grad is not None
        close(gradients["scale_gradient"], scale.grad)
        close(gradients["shift_gradient"], shift.grad)


@pytest.mark.parametrize("shape", [(4, 19), (2, 5, 7), (2, 16, 6, 7), (2, 19, 6, 7), (1, 4, 3, 4, 5)])
@pytest.mark.parametrize("with_scale, with_shift", AFFINE)
@pytest.mark.parametrize("relu", [False, True])
def test_batch_normalization_in_inference(
    shape: tuple[int, ...], with_scale: bool, with_shift: bool, relu: bool
) -> None:
    channels = shape[1]
    x, scale, shift = last(randn(*shape)), randn(channels), randn(channels, seed=1)
    mean, variance = randn(channels, seed=2), randn(channels, seed=3).abs() + 0.5
    expected = functional.batch_norm(
        x, mean, variance, scale if with_scale else None, shift if with_shift else None, eps=EPSILON
    )
    out = like(x)
    primitive = batch_normalization(layout(x), layout(out), EPSILON, scale=with_scale, shift=with_shift, relu=relu)
    affine = dict([("scale", scale)] * with_scale + [("shift", shift)] * with_shift)
    run(primitive, x=x, out=out, mean=mean, variance=variance, **affine)
    close(out, expected.relu() if relu else expected)


@pytest.mark.parametrize("shape", [(8, 19), (2, 16, 6, 7), (3, 19, 5, 7)])
@pytest.mark.parametrize("relu", [False, True])
def test_batch_normalization_in_training(shape: tuple[int, ...], relu: bool) -> None:
    channels = shape[1]
    x = last(randn(*shape) * 2 + 1).requires_grad_()
    scale, shift = randn(channels).requires_grad_(), randn(channels, seed=1).requires_grad_()
    expected = functional.batch_norm(x, None, None, scale, shift, True, 0.1, EPSILON)
    expected = expected.relu() if relu else expected
    gradient = last(randn(*shape, seed=2))
    expected.backward(gradient)
    out, found = like(x.detach()), like(x.detach())
    mean, variance = torch.zeros(channels), torch.zeros(channels)
    forward = batch_normalization(layout(x), layout(out), EPSILON, training=True, relu=relu)
    backward = batch_normalization_backward(layout(x), layout(gradient), layout(found), EPSILON, relu=relu)
    shared = dict(workspace=buffer(forward.layouts["workspace"])) if relu else {}
    given = dict(mean=mean, variance=variance, scale=scale.detach(), **shared)
    run(forward, x=x, out=out, shift=shift.detach(), **given)
    dims = [dim for dim in range(len(shape)) if dim != 1]
    close(out, expected.detach())
    close(mean, x.detach().mean(dims))
    close(variance, x.detach().var(dims, correction=0))
    scale_gradient, shift_gradient = torch.zeros(channels), torch.zeros(channels)
    run(
        backward, x=x, gradient=gradient, x_gradient=found, scale_gradient=scale_gradient,
        shift_gradient=shift_gradient, **given,
    )  # fmt: skip
    assert x.grad is not None
    assert scale.grad is not None
    assert shift.grad is not None
    close(found, x.grad, 3)
    close(scale_gradient, scale.grad, 3)
    close(shift_gradient, shift.grad, 3)
