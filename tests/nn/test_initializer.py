"""Initialisers: bounds and moments of what they draw, right angles, laziness, and independence of order."""

from __future__ import annotations

import math

import numpy as np
import pytest

from burn import ArgumentError, Cpu, LibTorch, NdArray, f64
from burn.nn import BatchNormConfig, EmbeddingConfig, Initializer, LinearConfig
from burn.nn.conv import Conv2dConfig
from tests.nn.peers import numbers

DEVICE = NdArray()
SHAPE, INPUTS, OUTPUTS = (60, 80), 60, 80


def drawn(initializer, shape=SHAPE, device=DEVICE):
    DEVICE.seed(1)
    return numbers(initializer.init(shape, device, INPUTS, OUTPUTS))


def test_constants_fill_everything():
    assert (drawn(Initializer.Zeros) == 0.0).all()
    assert (drawn(Initializer.Ones) == 1.0).all()
    assert (drawn(Initializer.Constant(2.5)) == 2.5).all()


UNIFORM = {
    "uniform": (Initializer.Uniform(-0.3, 0.7), -0.3, 0.7),
    "kaiming": (Initializer.KaimingUniform(2.0), -2 * math.sqrt(3 / 60), 2 * math.sqrt(3 / 60)),
    "kaiming of outputs": (Initializer.KaimingUniform(1.0, True), -math.sqrt(3 / 80), math.sqrt(3 / 80)),
    "xavier": (Initializer.XavierUniform(0.5), -0.5 * math.sqrt(6 / 140), 0.5 * math.sqrt(6 / 140)),
}


@pytest.mark.parametrize("case", UNIFORM)
def test_even_draws_fill_their_range(case):
    initializer, low, high = UNIFORM[case]
    values = drawn(initializer)
    width = high - low
    assert low <= values.min() < low + 0.01 * width
    assert high - 0.01 * width < values.max() <= high
    assert abs(values.mean() - (low + high) / 2) < 0.02 * width
    assert abs(values.std() - width / math.sqrt(12)) < 0.02 * width


NORMAL = {
    "normal": (Initializer.Normal(0.5, 2.0), 0.5, 2.0),
    "kaiming": (Initializer.KaimingNormal(1.5), 0.0, 1.5 / math.sqrt(60)),
    "kaiming of outputs": (Initializer.KaimingNormal(1.0, True), 0.0, 1 / math.sqrt(80)),
    "xavier": (Initializer.XavierNormal(2.0), 0.0, 2 * math.sqrt(2 / 140)),
}


@pytest.mark.parametrize("case", NORMAL)
def test_normal_draws_have_their_moments(case):
    initializer, mean, deviation = NORMAL[case]
    standard = (drawn(initializer) - mean) / deviation
    assert abs(standard.mean()) < 0.05
    assert abs(standard.std() - 1.0) < 0.05
    assert abs((standard**3).mean()) < 0.15
    assert abs((standard**4).mean() - 3.0) < 0.3


@pytest.mark.parametrize("shape", [(5, 5), (8, 3), (3, 8), (4, 2, 3), (6, 1, 2, 2), (1, 4)], ids=str)
def test_rows_or_columns_stand_at_right_angles(shape):
    values = drawn(Initializer.Orthogonal(1.5), shape, NdArray(float=f64))
    assert values.shape == shape
    matrix = values.reshape(shape[0], -1)
    small = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    np.testing.assert_allclose(small @ small.T, 2.25 * np.eye(len(small)), atol=1e-12)


def test_an_orthogonal_matrix_needs_two_dims():
    with pytest.raises(ArgumentError, match="needs 2 or more dims"):
        Initializer.Orthogonal(1.0).init((4,), DEVICE)


def test_a_fan_that_is_missing_is_named():
    with pytest.raises(ArgumentError, match="KaimingUniform: needs fan_in"):
        Initializer.KaimingUniform(1.0).init((2, 2), DEVICE)
    with pytest.raises(ArgumentError, match="KaimingNormal: needs fan_out"):
        Initializer.KaimingNormal(1.0, True).init((2, 2), DEVICE, fan_in=2)
    with pytest.raises(ArgumentError, match="XavierNormal: needs fan_out"):
        Initializer.XavierNormal(1.0).init((2, 2), DEVICE, fan_in=2)


def test_nothing_is_drawn_before_the_first_read():
    config = Conv2dConfig([3, 4], [3, 3])
    for param in config.init(DEVICE.autodiff()).parameters():
        assert not param.is_initialized
        assert param.shape
        assert not param.is_initialized
        numbers(param)
        assert param.is_initialized
    layer = BatchNormConfig(4).init(DEVICE)
    assert not any(param.is_initialized for param in layer.parameters())


def made(device):
    device.seed(11)
    return [
        LinearConfig(3, 4).init(device),
        EmbeddingConfig(5, 2).init(device),
        Conv2dConfig([1, 2], [2, 2]).init(device),
    ]


def test_values_do_not_depend_on_which_layer_is_touched_first():
    in_order = [numbers(param) for layer in made(DEVICE) for param in layer.parameters()]
    backwards = [numbers(param) for layer in reversed(made(DEVICE)) for param in reversed(list(layer.parameters()))]
    for one, other in zip(in_order, reversed(backwards), strict=True):
        np.testing.assert_array_equal(one, other)
    assert len({one.flat[0] for one in in_order}) == len(in_order)


def test_values_do_not_depend_on_which_layer_is_loaded_from_a_record():
    expected = [numbers(param) for layer in made(DEVICE) for param in layer.parameters()]
    linear, embedding, conv = made(DEVICE)
    linear.load_record(LinearConfig(3, 4).init(NdArray(float=f64)).into_record())
    np.testing.assert_array_equal(numbers(embedding.weight), expected[2])
    np.testing.assert_array_equal(numbers(conv.weight), expected[3])


@pytest.mark.parametrize("device", [LibTorch("cpu"), Cpu(), DEVICE.autodiff()], ids=repr)
def test_the_same_seed_draws_the_same_numbers_on_every_device(device):
    expected = [numbers(param) for layer in made(DEVICE) for param in layer.parameters()]
    found = [numbers(param) for layer in made(device) for param in layer.parameters()]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_copies_made_before_the_first_read_share_their_values():
    layer = LinearConfig(3, 4).init(DEVICE.autodiff())
    copies = [layer.valid(), layer.clone(), layer.no_grad(), layer.to_device(NdArray())]
    for copy in reversed(copies):
        np.testing.assert_array_equal(numbers(copy.weight), numbers(layer.weight))


def test_an_initializer_is_written_with_a_config():
    config = LinearConfig(2, 3, initializer=Initializer.Normal(0.0, 0.02))
    assert config.to_dict()["initializer"] == {"Normal": {"mean": 0.0, "std": 0.02}}
    assert LinearConfig.from_json(config.to_json()) == config
    assert LinearConfig(2, 3, initializer=Initializer.Zeros).to_dict()["initializer"] == "Zeros"
