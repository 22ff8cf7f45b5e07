"""Gradients by parameter: taking them out of a backward pass, splitting, summing, and refusing stale ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from burn import ArgumentError, AutodiffError, NdArray, Tensor
from burn.module import Module, Param
from burn.optim import AdamConfig, GradientsAccumulator, GradientsParams, SgdConfig
from tests.optim.tasks import DEVICES, Network, loss_of, network, values_of

DEVICE = DEVICES["ndarray"].autodiff()


def backward(model: Any) -> Any:
    return loss_of(model, DEVICE).backward()


def test_from_grads_takes_every_gradient_of_the_module_out() -> None:
    model = network(DEVICE)
    grads = backward(model)
    expected = model.inner.weight.grad(grads)
    found = GradientsParams.from_grads(grads, model)
    assert len(found) == found.len() == 4
    assert not found.is_empty()
    assert len(grads) == 0
    np.testing.assert_array_equal(found.get(model.inner.weight.id), expected)
    assert found.get(model.inner.weight.id).device is DEVICE.inner()


def test_from_module_and_from_params_leave_the_rest() -> None:
    model = network(DEVICE)
    grads = backward(model)
    inner = GradientsParams.from_module(grads, model.inner)
    assert set(inner) == {model.inner.weight.id, model.inner.bias.id}
    bias = GradientsParams.from_params(grads, model.outer, [model.outer.bias.id])
    assert list(bias) == [model.outer.bias.id]
    rest = GradientsParams.from_grads(grads, model)
    assert list(rest) == [model.outer.weight.id]


def test_from_params_names_an_id_that_the_module_does_not_have() -> None:
    model = network(DEVICE)
    with pytest.raises(ArgumentError, match=f"from_params: Affine has no parameter with id {model.outer.bias.id}"):
        GradientsParams.from_params(backward(model), model.inner, [model.outer.bias.id])


def test_gradients_can_be_registered_and_removed() -> None:
    model, grads = network(DEVICE), GradientsParams()
    grads.register(model.outer.bias.id, Tensor.ones([3], DEVICE))
    assert grads.get(model.outer.bias.id).device is DEVICE.inner()
    assert grads.remove(model.outer.bias.id) is not None
    assert grads.remove(model.outer.bias.id) is None
    assert grads.is_empty()


def test_gradients_move_to_another_device() -> None:
    model = network(DEVICE)
    grads = GradientsParams.from_grads(backward(model), model)
    other = NdArray()
    moved = grads.to_device(other, model.inner)
    assert moved[model.inner.bias.id].device is other
    assert moved[model.outer.bias.id].device is DEVICE.inner()
    assert grads.to_device(other.autodiff())[model.outer.bias.id].device is other


def test_gradients_of_an_earlier_model_are_refused() -> None:
    model = network(DEVICE)
    grads = backward(model)
    later = SgdConfig().init().step(0.1, model, backward(model))
    with pytest.raises(AutodiffError, match="from_grads: these gradients belong to an earlier model: 4 of its"):
        GradientsParams.from_grads(grads, later)
    optim = AdamConfig().init()
    with pytest.raises(AutodiffError, match=r"step: these gradients belong to an earlier model.*from_module"):
        optim.step(0.1, later, grads)
    assert len(grads) == 4
    assert optim.slots == {}


def test_gradients_that_were_split_before_fit_a_later_model() -> None:
    model, optim = network(DEVICE), SgdConfig().init()
    grads = backward(model)
    expected = optim.step(0.1, model, backward(model))
    inner = GradientsParams.from_module(grads, model.inner)
    model = optim.step(0.1, model, inner)
    model = optim.step(0.1, model, grads)
    for mine, theirs in zip(values_of(model), values_of(expected), strict=True):
        np.testing.assert_array_equal(mine, theirs)


class Tied(Module):
    """One matrix in two places."""

    encoder: Param
    decoder: Param

    def forward(self, x: Any) -> Any:
        return x @ self.encoder @ self.decoder.transpose()


def test_a_tied_parameter_gets_one_summed_gradient_and_stays_tied() -> None:
    weight = Param(Tensor.from_floats(np.arange(6.0).reshape(3, 2), DEVICE))
    model = Tied(weight, weight)
    x = Tensor.ones([1, 3], DEVICE)
    grads = GradientsParams.from_grads(model(x).sum().backward(), model)
    assert len(grads) == 1
    expected = np.asarray(weight.val().inner()) - 0.5 * np.asarray(grads[weight.id])
    optim = AdamConfig().init()
    stepped = SgdConfig().init().step(0.5, model, grads)
    assert stepped.encoder is stepped.decoder
    np.testing.assert_allclose(stepped.encoder.val().inner(), expected)
    for _ in range(3):
        model = optim.step(0.1, model, model(x).sum().backward())
        assert model.encoder is model.decoder
    assert len(optim.slots) == 1
    assert optim.state(weight.id).time == 3.0


def test_two_trained_parameters_with_one_id_are_refused() -> None:
    weight = Param(Tensor.ones([3, 2], DEVICE))
    model = Tied(weight, weight.with_value(Tensor.zeros([3, 2], DEVICE)))
    x = Tensor.ones([1, 3], DEVICE)
    with pytest.raises(ArgumentError, match=f"two parameters of this module have the id {weight.id}"):
        SgdConfig().init().step(0.1, model, model(x).sum().backward())
    frozen = Tied(weight, model.decoder.set_require_grad(False))
    stepped = SgdConfig().init().step(0.1, frozen, (frozen(x) + 1.0).sum().backward())
    assert stepped.decoder is frozen.decoder


def test_accumulated_gradients_are_summed_not_averaged() -> None:
    model, accumulator = network(DEVICE), GradientsAccumulator()
    for _ in range(3):
        accumulator.accumulate(model, GradientsParams.from_grads(backward(model), model))
    single = GradientsParams.from_grads(backward(model), model)
    sums = accumulator.grads()
    for id, gradient in single.items():
        np.testing.assert_allclose(sums[id], np.asarray(gradient) * 3, rtol=1e-12)
    assert accumulator.grads().is_empty()


def test_accumulating_uses_the_gradients_up_and_takes_those_of_backward_too() -> None:
    model, accumulator = network(DEVICE), GradientsAccumulator()
    grads = backward(model)
    accumulator.accumulate(model.inner, grads)
    assert len(grads) == 2
    assert len(accumulator.grads()) == 2


def test_a_parameter_that_nobody_used_stays_uninitialised() -> None:
    drawn = []

    def source() -> Any:
        drawn.append(1)
        return Tensor.ones([3], DEVICE.inner())

    model = network(DEVICE)
    lazy = Param.uninitialized(None, source, [3], DEVICE)
    outer = type(model.outer)(model.outer.weight, lazy)
    whole = Network(model.inner, outer)
    grads = GradientsParams.from_module(backward(model), whole)
    assert len(grads) == 3
    stepped = AdamConfig().init().step(0.1, whole, grads)
    assert stepped.outer.bias is lazy
    assert drawn == []
