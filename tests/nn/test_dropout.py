"""Dropout: what it keeps, how it scales, when it acts."""

from __future__ import annotations

import numpy as np
import pytest

from burn import ArgumentError, NdArray, Tensor
from burn.config import ConfigError
from burn.nn import DropoutConfig
from tests.nn.peers import every_device, numbers

DEVICE = NdArray()


@every_device
@pytest.mark.parametrize("prob", [0.1, 0.5, 0.9])
def test_elements_are_zero_or_scaled_and_the_mean_survives(prob, device):
    x = Tensor.ones([200, 100], device).require_grad()
    y = DropoutConfig(prob).init()(x)
    values = numbers(y)
    kept = values != 0
    np.testing.assert_allclose(values[kept], 1 / (1 - prob), rtol=1e-12)
    assert abs(kept.mean() - (1 - prob)) < 0.015
    # The gradient goes where the values went.
    np.testing.assert_array_equal(numbers(x.grad(y.sum().backward())), values)


@every_device
def test_the_ends_of_the_range_keep_everything_or_nothing(device):
    x = Tensor.ones([5], device).require_grad()
    assert DropoutConfig(0.0).init()(x) is x
    y = DropoutConfig(1.0).init()(x)
    np.testing.assert_array_equal(numbers(y), np.zeros(5))
    np.testing.assert_array_equal(numbers(x.grad(y.sum().backward())), np.zeros(5))


def test_it_acts_only_where_a_graph_is_recorded():
    module = DropoutConfig(0.5).init()
    x = Tensor.ones([100], DEVICE)
    assert module(x) is x
    tracked = Tensor.ones([100], DEVICE.autodiff())
    assert (numbers(module(tracked)) == 0).any()


def test_a_mode_decides_against_the_device():
    module = DropoutConfig(0.5).init()
    plain, tracked = Tensor.ones([100], DEVICE), Tensor.ones([100], DEVICE.autodiff())
    assert module.mode("infer")(tracked) is tracked
    assert (numbers(module.mode("train")(plain)) == 0).any()
    assert module.valid()(tracked) is tracked
    assert (numbers(module.valid().train()(tracked)) == 0).any()


def test_two_calls_draw_anew_and_a_seed_repeats():
    device = DEVICE.autodiff()
    module, x = DropoutConfig(0.5).init(), Tensor.ones([100], device)
    device.seed(7)
    first, second = numbers(module(x)), numbers(module(x))
    assert (first != second).any()
    device.seed(7)
    np.testing.assert_array_equal(numbers(module(x)), first)


@pytest.mark.parametrize("prob", [-0.1, 1.5, float("nan")])
def test_a_probability_outside_its_range_is_refused(prob):
    with pytest.raises((ArgumentError, ConfigError), match="prob"):
        DropoutConfig(prob).init()


def test_it_prints_its_probability():
    assert str(DropoutConfig(0.5).init()) == "Dropout {prob: 0.5}"
