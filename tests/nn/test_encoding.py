"""Encodings of positions, against their formulas in NumPy's f64."""

from __future__ import annotations

import numpy as np
import pytest

from burn import Cpu, LibTorch, NdArray, Tensor, f64, nn
from burn.errors import ArgumentError, ShapeError
from tests.nn.peers import every_device, fields, floats, numbers


def turned(x, frequencies, first=0):
    """Pairs of features as complex numbers, turned by multiplication."""
    pairs = x[..., ::2] + 1j * x[..., 1::2]
    positions = np.arange(first, first + x.shape[-2])[:, None]
    found = pairs * np.exp(1j * positions * frequencies)
    return np.stack([found.real, found.imag], -1).reshape(x.shape)


def rates(d_model, theta=10000.0):
    return theta ** (-np.arange(0, d_model, 2) / d_model)


@every_device
def test_positions_are_waves(device):
    encoding = nn.PositionalEncodingConfig(6, max_sequence_size=9, max_timescale=50).init(device)
    x = floats(2, 4, 6)
    positions, pairs = np.arange(4)[:, None], np.arange(3)
    angles = positions / 50 ** (2 * pairs / 6)
    waves = np.empty((4, 6))
    waves[:, ::2], waves[:, 1::2] = np.sin(angles), np.cos(angles)
    np.testing.assert_allclose(numbers(encoding(Tensor.from_data(x, device))), x + waves, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(numbers(nn.generate_sinusoids(4, 6, 50, device)), waves, rtol=1e-12, atol=1e-12)


def test_known_waves():
    """The first rows of the usual encoding of four features."""
    waves = nn.generate_sinusoids(2, 4, 10000, NdArray()).numpy()
    np.testing.assert_allclose(waves, [[0, 1, 0, 1], [0.84147, 0.54030, 0.00999983, 0.99995]], atol=1e-5)


@every_device
@pytest.mark.parametrize("shape", [(3, 6), (2, 3, 6), (2, 2, 3, 6), (2, 1, 6)], ids=str)
def test_pairs_of_features_are_turned(device, shape):
    rope, x = nn.RotaryEncodingConfig(10, 6).init(device), floats(*shape)
    leaf = Tensor.from_data(x, device).require_grad()
    found = rope(leaf)
    np.testing.assert_allclose(numbers(found), turned(x, rates(6)), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(numbers(rope.apply(leaf, 4)), turned(x, rates(6), 4), rtol=1e-10, atol=1e-12)
    weight = floats(*shape, seed=1)
    gradient = leaf.grad((found * Tensor.from_data(weight, device)).sum().backward())
    # A rotation is undone by the opposite one, so the gradient turns back.
    np.testing.assert_allclose(numbers(gradient), turned(weight, -rates(6)), rtol=1e-10, atol=1e-12)


def test_products_depend_on_distances_alone():
    rope = nn.RotaryEncodingConfig(64, 8).init(NdArray(float=f64))
    q, k = (Tensor.from_data(floats(1, 8, seed=seed), NdArray(float=f64)) for seed in (1, 2))

    def product(i, j):
        return (rope.apply(q, i) * rope.apply(k, j)).sum().into_scalar()

    assert product(3, 7) == pytest.approx(product(43, 47), rel=1e-12)
    assert product(3, 7) != pytest.approx(product(3, 8), rel=1e-3)


@every_device
def test_known_positions_slide(device):
    config = nn.RotaryEncodingConfig(5, 4)
    rope, x = config.init(device), floats(2, 5, 4)
    tensor = Tensor.from_data(x, device)
    for start in (2, 3, 40):
        assert rope.shift(start) is rope
        assert rope.start_offset == start
        np.testing.assert_allclose(numbers(rope(tensor)), turned(x, rates(4), start), rtol=1e-9, atol=1e-11)
    with pytest.raises(ArgumentError, match="shift must go on from 40, got 40"):
        rope.shift(40)
    np.testing.assert_allclose(numbers(rope.reset()(tensor)), turned(x, rates(4)), rtol=1e-10, atol=1e-12)
    assert tuple(rope.freq_complex.shape) == (5, 4, 2)
    assert tuple(rope.theta.shape) == (2,)


def test_frequencies_can_be_scaled_as_llama_3_does():
    factor, low, high, old_length = 8.0, 1.0, 4.0, 8192.0

    def scaled(frequencies):
        """Slow waves are slowed by `factor`, fast ones kept, those between mixed."""
        wavelengths = frequencies.recip() * (2 * np.pi)
        share = ((wavelengths.recip() * old_length - low) / (high - low)).clamp(0.0, 1.0)
        return frequencies * share + frequencies / factor * (1.0 - share)

    exact = rates(128, 500000.0)
    lengths = 2 * np.pi / exact
    smooth = (old_length / lengths - low) / (high - low)
    expected = np.where(
        lengths > old_length / low,
        exact / factor,
        np.where(lengths < old_length / high, exact, (1 - smooth) * exact / factor + smooth * exact),
    )
    for device, tolerance in ((NdArray(float=f64), 1e-12), (NdArray(), 1e-6), (LibTorch("cpu"), 1e-6), (Cpu(), 1e-6)):
        config = nn.RotaryEncodingConfig(16, 128, theta=500000.0)
        rope = config.init_with_frequency_scaling(scaled, device)
        np.testing.assert_allclose(rope.theta.numpy(), expected, rtol=tolerance)
        x = floats(16, 128)
        found = rope(Tensor.from_data(x, device)).numpy()
        np.testing.assert_allclose(found, turned(x, expected), rtol=tolerance * 100, atol=tolerance * 100)


def test_constants_move_and_are_not_recorded():
    device = Cpu().autodiff()
    rope, waves = nn.RotaryEncodingConfig(4, 2).init(device), nn.PositionalEncodingConfig(2, 8).init(device)
    assert fields(rope) == ["freq_complex", "theta", "start_offset"]
    assert fields(waves) == ["sinusoids", "max_sequence_size", "max_timescale"]
    assert all(value is None for value in rope.into_record().item.values())
    assert rope.num_params() == waves.num_params() == 0
    moved = rope.to_device(NdArray())
    assert moved.devices() == [NdArray()]
    x = Tensor.from_data(floats(3, 2), NdArray())
    np.testing.assert_allclose(moved(x).numpy(), turned(floats(3, 2), rates(2)), atol=1e-6)
    assert rope.valid().devices() == [Cpu()]
    assert str(rope) == "RotaryEncoding {d_model: 2, max_sequence_length: 4}"
    assert str(waves) == "PositionalEncoding {d_model: 2, max_sequence_size: 8, max_timescale: 10000}"


def test_faults_are_refused_together():
    device = NdArray()
    with pytest.raises(ArgumentError, match="d_model must be even, got 3; max_timescale must be at least max_sequence"):
        nn.PositionalEncodingConfig(3, 9, 8).init(device)
    with pytest.raises(ArgumentError, match="generate_sinusoids: d_model must be even, got 3"):
        nn.generate_sinusoids(2, 3, 8, device)
    message = "max_sequence_length must be 1 or more, got 0; d_model must be even, got 3; theta must be positive"
    with pytest.raises(ArgumentError, match=message):
        nn.RotaryEncodingConfig(0, 3, theta=-1.0).init(device)
    with pytest.raises(ShapeError, match=r"scaling must keep the shape \(2,\), gave \(1,\)"):
        nn.RotaryEncodingConfig(4, 4).init_with_frequency_scaling(lambda x: x.mean(), device)
    rope, waves = nn.RotaryEncodingConfig(4, 2).init(device), nn.PositionalEncodingConfig(2, 8).init(device)
    with pytest.raises(ShapeError, match="positions 2 to 5 are not among the 4 known ones"):
        rope.apply(Tensor.ones([3, 2], device), 2)
    with pytest.raises(ShapeError, match=r"must have the shape \(..., length, 2\), got \(2,\)"):
        rope(Tensor.ones([2], device))
    with pytest.raises(ShapeError, match="a length of at most 8"):
        waves(Tensor.ones([1, 9, 2], device))
