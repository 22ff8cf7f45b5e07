"""The linear layer against PyTorch, on every kind of device."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from burn import ArgumentError, NdArray, ShapeError, Tensor
from burn.nn import Initializer, Linear, LinearConfig
from tests.nn.peers import every_device, fields, floats, numbers, same

DEVICE = NdArray()


@every_device
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 4, 3), (1, 2, 2, 3), (0, 3)], ids=str)
def test_results_and_gradients_are_those_of_torch(shape, bias, device):
    names = {"weight": "weight", "bias": "bias"} if bias else {"weight": "weight"}
    theirs = torch.nn.Linear(3, 5, bias).double()
    layer = LinearConfig(3, 5, bias=bias).init(device)
    same(layer, theirs, floats(*shape), names=names, transposed=["weight"], device=device)


def test_one_feature_to_one_feature():
    layer = LinearConfig(1, 1, initializer=Initializer.Constant(2.0)).init(DEVICE)
    np.testing.assert_array_equal(numbers(layer(Tensor.from_data([[3.0]], DEVICE))), [[8.0]])


def test_weight_and_bias_begin_within_the_range_that_the_inputs_give():
    layer = LinearConfig(16, 400).init(DEVICE)
    for param in (layer.weight, layer.bias):
        assert not param.is_initialized
        values = numbers(param)
        assert 0.9 * 0.25 < np.abs(values).max() <= 0.25
        assert abs(values.mean()) < 0.03


def test_sizes_below_one_are_refused_together():
    with pytest.raises(ArgumentError, match="d_input must be 1 or more, got 0; d_output must be 1 or more, got -2"):
        LinearConfig(0, -2).init(DEVICE)


def test_an_input_of_another_size_is_refused():
    with pytest.raises(ShapeError, match=r"linear: the last dim of x \(2, 4\)"):
        LinearConfig(3, 5).init(DEVICE)(Tensor.ones([2, 4], DEVICE))


def test_a_plain_input_is_lifted_to_a_layer_that_trains():
    layer = LinearConfig(3, 2).init(DEVICE.autodiff())
    y = layer(Tensor.ones([4, 3], DEVICE))
    assert y.device is DEVICE.autodiff()
    assert layer.weight.grad(y.sum().backward()).shape == (3, 2)


def test_a_record_has_both_fields_with_and_without_a_bias():
    assert fields(LinearConfig(2, 3).init(DEVICE)) == ["weight", "bias"]
    assert fields(LinearConfig(2, 3, bias=False).init(DEVICE)) == ["weight", "bias"]


def test_a_layer_prints_its_sizes():
    assert str(LinearConfig(1024, 512).init(DEVICE)) == (
        "Linear {d_input: 1024, d_output: 512, bias: true, params: 524800}"
    )
    assert (
        str(LinearConfig(2, 3, bias=False).init(DEVICE)) == "Linear {d_input: 2, d_output: 3, bias: false, params: 6}"
    )
    assert isinstance(LinearConfig(2, 3).init(DEVICE), Linear)
