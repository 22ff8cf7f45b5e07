"""Random tensors: one stream for every device, the laws they promise, and what a seed repeats."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import burn
from burn.backend import Autodiff, LibTorch, NdArray
from burn.device import Device
from burn.errors import ArgumentError, DTypeError, ShapeError
from burn.tensor import Tensor, TensorData
from burn.tensor.distribution import Distribution

DEVICES: dict[str, Device] = {"ndarray": NdArray(), "libtorch": LibTorch("cpu"), "autodiff": Autodiff(NdArray())}
LAWS = [
    Distribution.Default,
    Distribution.Uniform(-3.0, 5.0),
    Distribution.Bernoulli(0.3),
    Distribution.Normal(1.0, 2.0),
]
DTYPES = ["f64", "f32", "f16", "bf16", "i64", "i32", "u8", "u32", "bool"]


@pytest.fixture(params=DEVICES.values(), ids=DEVICES.keys())
def device(request: pytest.FixtureRequest) -> Device:
    request.param.seed(42)
    return request.param  # type: ignore[no-any-return]


def drawn(device: Device, law: Distribution, dtype: str, shape: Any = (37, 11), seed: int = 5) -> np.ndarray[Any, Any]:
    device.seed(seed)
    return np.asarray(Tensor.random(shape, law, device, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("law", LAWS[:3], ids=repr)
def test_uniform_and_bernoulli_are_bit_equal_on_every_device(law: Distribution, dtype: str) -> None:
    first, second = (drawn(device, law, dtype) for device in (NdArray(), LibTorch("cpu")))
    assert first.dtype == second.dtype
    assert first.tobytes() == second.tobytes()


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_normal_agrees_within_two_units_in_the_last_place(dtype: str) -> None:
    law = Distribution.Normal(0.0, 1.0)
    first, second = (drawn(device, law, dtype, (100_001,)) for device in (NdArray(), LibTorch("cpu")))
    assert np.abs((first - second) / np.spacing(np.abs(first))).max() <= 2


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_a_tensor_has_the_numbers_of_host_data_with_the_same_seed(law: Distribution, dtype: str) -> None:
    expected = TensorData.random([37, 11], law, 5, dtype)
    np.testing.assert_array_equal(drawn(NdArray(), law, dtype), expected.numpy())


def test_a_seed_repeats_the_draws_and_later_draws_differ(device: Device) -> None:
    first = [Tensor.random((3, 5), Distribution.Default, device) for _ in range(3)]
    device.seed(42)
    again = [Tensor.random((3, 5), Distribution.Default, device) for _ in range(3)]
    assert [x.tolist() for x in first] == [x.tolist() for x in again]
    assert first[0].tolist() != first[1].tolist()
    device.seed(43)
    assert Tensor.random((3, 5), Distribution.Default, device).tolist() != first[0].tolist()


@pytest.mark.parametrize(
    "shape, dtype, blocks", [((8,), "f32", 2), ((9,), "f32", 3), ((9,), "f64", 5), ((0,), "f32", 0), ((5,), "i32", 2)]
)
def test_a_draw_takes_a_block_for_every_four_words(device: Device, shape: Any, dtype: str, blocks: int) -> None:
    Tensor.random(shape, Distribution.Default, device, dtype)
    assert device.generator().state() == (42, blocks)


def test_two_draws_are_the_one_draw_in_parts(device: Device) -> None:
    parts = [Tensor.random((8,), Distribution.Default, device).tolist() for _ in range(2)]
    device.seed(42)
    assert Tensor.random((16,), Distribution.Default, device).tolist() == parts[0] + parts[1]


def test_uniform_numbers_are_spread_evenly(device: Device) -> None:
    values = np.sort(np.asarray(Tensor.random((20_000,), Distribution.Uniform(-1.0, 3.0), device), np.float64))
    assert values[0] >= -1.0
    assert values[-1] < 3.0
    assert abs(values.mean() - 1.0) < 0.03
    assert abs(values.var() - 16 / 12) < 0.04
    assert kolmogorov(values, (values + 1.0) / 4.0) < 1.63


def test_normal_numbers_follow_the_bell_curve(device: Device) -> None:
    values = np.sort(np.asarray(Tensor.random((20_000,), Distribution.Normal(2.0, 3.0), device), np.float64))
    assert abs(values.mean() - 2.0) < 0.07
    assert abs(values.std() - 3.0) < 0.05
    expected = np.array([0.5 * (1 + math.erf((value - 2.0) / 3.0 / math.sqrt(2.0))) for value in values])
    assert kolmogorov(values, expected) < 1.63


def kolmogorov(values: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> float:
    """The largest distance from the expected distribution, scaled: above 1.63 with a chance of 1 %."""
    steps = np.arange(len(values) + 1) / len(values)
    distance = max(np.abs(expected - steps[:-1]).max(), np.abs(expected - steps[1:]).max())
    return float(distance * math.sqrt(len(values)))


def test_bernoulli_hits_as_often_as_it_says(device: Device) -> None:
    values = np.asarray(Tensor.random((20_000,), Distribution.Bernoulli(0.2), device))
    assert set(values.tolist()) == {0.0, 1.0}
    assert abs(values.mean() - 0.2) < 0.01


def test_ints_are_truncated_and_cover_their_range(device: Device) -> None:
    values = Tensor.int_random((4000,), Distribution.Uniform(0.0, 10.0), device)
    assert values.dtype is device.int_dtype
    counts = np.bincount(np.asarray(values), minlength=10)
    assert counts.size == 10
    assert counts.min() > 320
    with pytest.raises(DTypeError, match="int_random: f32 is no int dtype"):
        Tensor.int_random((2,), Distribution.Default, device, "f32")


def test_random_like_keeps_shape_dtype_and_device(device: Device) -> None:
    x = burn.tensor(np.zeros((2, 3), np.float64), device=device)
    y = x.random_like(Distribution.Normal(0.0, 1.0))
    assert (y.shape, y.dtype, y.device) == (x.shape, x.dtype, x.device)


def test_random_tensors_carry_no_graph() -> None:
    device = DEVICES["autodiff"]
    x = Tensor.random((3,), Distribution.Default, device)
    assert not x.is_require_grad()
    weight = burn.tensor([1.0, 2.0, 3.0], device=device).require_grad()
    gradient = weight.grad((weight * x).sum().backward())
    assert gradient is not None
    assert gradient.tolist() == x.tolist()


def test_without_a_device_the_default_one_draws() -> None:
    with burn.default_device(LibTorch("cpu")):
        assert Tensor.random((2,)).device is LibTorch("cpu")


def test_categorical_draws_indices_as_often_as_the_weights_say(device: Device) -> None:
    weights = burn.tensor([[1.0, 0.0, 3.0], [2.0, 2.0, 0.0]], device=device)
    indices = weights.categorical(8000)
    assert tuple(indices.shape) == (2, 8000)
    assert indices.dtype is device.int_dtype
    counts = np.stack([np.bincount(row, minlength=3) for row in np.asarray(indices)]) / 8000
    np.testing.assert_allclose(counts, [[0.25, 0.0, 0.75], [0.5, 0.5, 0.0]], atol=0.02)
    assert counts[0, 1] == 0.0
    assert counts[1, 2] == 0.0


def test_categorical_takes_vectors_halves_ints_and_a_single_weight(device: Device) -> None:
    assert burn.tensor([0, 5, 0], device=device).categorical(6).tolist() == [1] * 6
    assert burn.tensor(np.array([[0.5]], np.float16), device=device).categorical(2).tolist() == [[0, 0]]
    assert tuple(burn.tensor(np.ones((2, 4, 3), np.float32), device=device).categorical(5).shape) == (2, 4, 5)


def test_categorical_is_the_same_on_every_device() -> None:
    weights = np.random.default_rng(0).uniform(0.0, 1.0, (4, 9)).astype(np.float32)
    found = []
    for device in (NdArray(), LibTorch("cpu")):
        device.seed(3)
        found.append(burn.tensor(weights, device=device).categorical(50).tolist())
    assert found[0] == found[1]


def test_bad_draws_are_refused(device: Device) -> None:
    with pytest.raises(ArgumentError, match="random: 'normal' is no Distribution"):
        Tensor.random((2,), "normal", device)  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="random: sizes must be 0 or more"):
        Tensor.random((-2,), Distribution.Default, device)
    with pytest.raises(DTypeError, match="random_uniform: i4 only stores values"):
        Tensor.random((2,), Distribution.Default, device, "i4")
    with pytest.raises(ShapeError, match=r"categorical: needs weights along the last dim, got shape \(2, 0\)"):
        Tensor.zeros((2, 0), device).categorical(1)
    with pytest.raises(ArgumentError, match=r"categorical: num_samples must be an int, got 1\.5"):
        Tensor.zeros((2,), device).categorical(1.5)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="categorical: num_samples must be 0 or more, got -1"):
        Tensor.zeros((2,), device).categorical(-1)
