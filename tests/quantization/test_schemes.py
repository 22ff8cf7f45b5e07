"""Schemes, calibrations and fake quantisation on single tensors, beside PyTorch and NumPy."""

from __future__ import annotations

import itertools
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import burn
from burn import Tensor, tree
from burn.backend import Autodiff, Cpu, LibTorch, NdArray
from burn.device import Device
from burn.errors import ArgumentError, ShapeError
from burn.quantization import (
    Calibration,
    QuantizationMode,
    QuantizationParameters,
    QuantizationScheme,
    QuantizationType,
    QuantizedTensor,
    fake_quantize,
)

DEVICES: dict[str, Device] = {"ndarray": NdArray(), "libtorch": LibTorch("cpu"), "cpu": Cpu()}
GRADIENTS = {name: Autodiff(device) for name, device in DEVICES.items()}
AFFINE = QuantizationMode.Affine
WEIGHTS = np.random.default_rng(0).normal(0.4, 1.0, (6, 8)).astype(np.float32)
KINDS: list[Any] = [
    QuantizationScheme.PerTensor,
    lambda *each: QuantizationScheme.PerChannel(*each, dim=1),
    lambda *each: QuantizationScheme.PerBlock(*each, size=(2, 3)),
]
SCHEMES = [kind(mode, value) for kind, mode, value in itertools.product(KINDS, QuantizationMode, QuantizationType)]


@pytest.fixture(params=DEVICES.values(), ids=DEVICES.keys())
def device(request: pytest.FixtureRequest) -> Device:
    return request.param  # type: ignore[no-any-return]


@pytest.mark.filterwarnings("ignore")
def test_affine_values_and_floats_are_those_of_pytorch(device: Device) -> None:
    scheme = QuantizationScheme.PerTensor(AFFINE, QuantizationType.Q8F)
    q = burn.tensor(WEIGHTS, device=device).quantize(scheme, QuantizationParameters(0.03125, -11))
    theirs = torch.quantize_per_tensor(torch.from_numpy(WEIGHTS), 0.03125, -11, torch.qint8)
    np.testing.assert_array_equal(np.asarray(q.values), theirs.int_repr().numpy())
    np.testing.assert_array_equal(np.asarray(q.dequantize()), theirs.dequantize().numpy())


@pytest.mark.filterwarnings("ignore")
def test_affine_channels_are_those_of_pytorch(device: Device) -> None:
    scheme = QuantizationScheme.PerChannel(AFFINE, QuantizationType.Q8F, dim=1)
    q = burn.tensor(WEIGHTS, device=device).quantize_dynamic(scheme)
    assert q.zero is not None
    scales, zeros = np.asarray(q.scale).reshape(-1), np.asarray(q.zero).reshape(-1)
    given = torch.from_numpy(scales.astype(np.float64)), torch.from_numpy(zeros.astype(np.int64))
    theirs = torch.quantize_per_channel(torch.from_numpy(WEIGHTS), *given, 1, torch.qint8)
    assert np.abs(np.asarray(q.values, np.int64) - theirs.int_repr().numpy()).max() <= 1  # they multiply by 1 / scale
    np.testing.assert_allclose(np.asarray(q), theirs.dequantize().numpy(), atol=float(scales.max()) * 1.001)


def test_affine_parameters_cover_the_range_and_zero(device: Device) -> None:
    for low, high in ((-1.0, 3.0), (0.5, 2.0), (-4.0, -1.0)):
        x = burn.tensor(np.linspace(low, high, 16, dtype=np.float32), device=device)
        q = x.quantize_dynamic(QuantizationScheme.PerTensor(AFFINE, QuantizationType.Q8F))
        least, most = min(low, 0.0), max(high, 0.0)
        assert q.scale.item() == pytest.approx((most - least) / 255, rel=1e-6)
        assert q.zero is not None
        assert q.zero.dtype is burn.i8
        assert q.zero.item() == round(-128 - least / ((most - least) / 255))


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.describe())
@given(array=arrays.arrays(np.float32, (4, 6), elements=st.floats(-1e4, 1e4, width=32)))
def test_every_scheme_errs_by_half_a_step_at_most(array: Any, scheme: QuantizationScheme) -> None:
    q = burn.tensor(array, device=NdArray()).quantize_dynamic(scheme)
    shape, _ = scheme.layout(q.shape)
    error = np.abs(array - np.asarray(q.dequantize())).reshape(shape)
    assert (error <= np.asarray(q.scale) * 0.5001 + 1e-30).all()
    values = np.asarray(q.values)
    assert scheme.value.low <= values.min()
    assert values.max() <= scheme.value.high


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.describe())
def test_zeros_stay_zeros(scheme: QuantizationScheme, device: Device) -> None:
    x = WEIGHTS[:4, :6].copy()
    x[1] = 0.0
    assert not np.asarray(burn.tensor(x, device=device).quantize_dynamic(scheme))[1].any()
    assert not np.asarray(Tensor.zeros((4, 6), device).quantize_dynamic(scheme)).any()


def test_affine_wastes_no_integer_on_one_sided_values() -> None:
    x = burn.tensor(np.abs(WEIGHTS), device=NdArray())
    steps = [x.quantize_dynamic(QuantizationScheme.PerTensor(mode)).scale.item() for mode in QuantizationMode]
    assert steps[1] == pytest.approx(steps[0] / 2, rel=1e-5)


@pytest.mark.parametrize("percent", [100.0, 99.0, 90.0, 62.5])
@pytest.mark.parametrize("kind, dims", list(zip(KINDS, ((0, 1), (0,), (1, 3)), strict=True)))
def test_percentiles_are_those_of_numpy(percent: float, kind: Any, dims: Any, device: Device) -> None:
    array, scheme = WEIGHTS[:, :6], kind()
    found = Calibration.Percentile(percent).compute_range(burn.tensor(array, device=device), scheme)
    shape, _ = scheme.layout(burn.Shape(array.shape))
    for ours, q in ((found.max, percent), (found.min, 100.0 - percent)):
        theirs = np.percentile(array.reshape(shape), q, axis=dims, keepdims=True)
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-5, atol=1e-6)


def test_a_percentile_cuts_off_what_is_rare() -> None:
    x = np.append(np.linspace(-1.0, 1.0, 999), 50.0).astype(np.float32)
    scheme = QuantizationScheme.PerTensor()
    wide = burn.tensor(x, device=NdArray()).quantize_dynamic(scheme)
    fine = burn.tensor(x, device=NdArray()).quantize_dynamic(scheme, Calibration.Percentile(99.5))
    assert np.abs(np.asarray(fine) - x)[:-1].max() < 0.03 * np.abs(np.asarray(wide) - x)[:-1].max() + 0.004
    assert np.asarray(fine)[-1] == pytest.approx(1.0, abs=0.02)


def test_calibrations_are_values_whose_repr_is_their_source() -> None:
    for each in (Calibration.MinMax, Calibration.AbsMean, Calibration.Percentile(99.9)):
        assert eval(repr(each)) == each
        assert hash(eval(repr(each))) == hash(each)
        assert pickle.loads(pickle.dumps(each)) == each
    assert Calibration.Percentile(99.9) != Calibration.Percentile(99.0)


def test_an_affine_tensor_moves_pickles_and_goes_through_trees_with_its_zero_points() -> None:
    scheme = QuantizationScheme.PerChannel(AFFINE, dim=0)
    q = burn.tensor(WEIGHTS, device=NdArray()).quantize_dynamic(scheme)
    leaves, structure = tree.flatten({"weight": q})
    assert [leaf.dtype for leaf in leaves] == [burn.i8, burn.f32, burn.i8]
    others = [q.to(LibTorch("cpu")), q.to(Autodiff(NdArray())).inner(), pickle.loads(pickle.dumps(q))]
    for other in [*others, tree.unflatten(structure, leaves)["weight"], q.no_grad()]:
        assert isinstance(other, QuantizedTensor)
        assert other.scheme == scheme
        np.testing.assert_array_equal(np.asarray(other), np.asarray(q))
    assert q.num_bytes() == 48 + 6 * 4 + 6


def test_a_cast_to_another_float_keeps_the_integers() -> None:
    q = burn.tensor(WEIGHTS, device=NdArray()).quantize_dynamic(QuantizationScheme.PerTensor())
    half = q.cast("f16")
    assert isinstance(half, QuantizedTensor)
    assert half.values is q.values
    assert half.dequantize().dtype is burn.f16
    assert not isinstance(q.cast("i32"), QuantizedTensor)


def test_a_printed_tensor_shows_its_scheme() -> None:
    q = Tensor.zeros((2,), NdArray()).quantize_dynamic(QuantizationScheme.PerBlock(AFFINE, QuantizationType.Q4F, 2))
    assert str(q).endswith('  dtype: "f32",\n  quantized: PerBlock(Affine, Q4F, 2),\n}')


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.describe())
def test_fake_quantisation_gives_the_floats_of_the_real_one(scheme: QuantizationScheme, device: Device) -> None:
    x = burn.tensor(WEIGHTS[:4, :6], device=device)
    np.testing.assert_allclose(
        np.asarray(fake_quantize(x, scheme)), np.asarray(x.quantize_dynamic(scheme)), rtol=1e-6, atol=1e-7
    )


@pytest.mark.parametrize("stack", GRADIENTS)
def test_the_gradient_of_fake_quantisation_is_pytorchs(stack: str) -> None:
    scheme = QuantizationScheme.PerChannel(AFFINE, QuantizationType.Q4F, dim=1)
    scales, zeros = np.linspace(0.05, 0.3, 8), np.arange(-4, 4)
    x = burn.tensor(WEIGHTS, device=GRADIENTS[stack]).require_grad()
    parameters = QuantizationParameters(
        burn.tensor(scales.astype(np.float32).reshape(1, 8), device=DEVICES[stack]),
        burn.tensor(zeros.astype(np.int8).reshape(1, 8), device=DEVICES[stack]),
    )
    upstream = burn.tensor(WEIGHTS * 3, device=GRADIENTS[stack])
    y = fake_quantize(x, scheme, parameters)
    gradient = x.grad((y * upstream).sum().backward())
    theirs = torch.from_numpy(WEIGHTS).requires_grad_()
    arguments = (torch.from_numpy(scales.astype(np.float32)), torch.from_numpy(zeros.astype(np.int32)), 1, -8, 7)
    z = torch.fake_quantize_per_channel_affine(theirs, *arguments)
    (z * torch.from_numpy(WEIGHTS * 3)).sum().backward()
    np.testing.assert_allclose(np.asarray(y), z.detach().numpy(), rtol=1e-6, atol=1e-6)
    assert gradient is not None
    assert theirs.grad is not None
    assert 0 < (np.asarray(gradient) == 0).sum() < gradient.num_elements()
    np.testing.assert_allclose(np.asarray(gradient), theirs.grad.numpy(), rtol=1e-6)


def test_no_gradient_flows_through_measured_parameters() -> None:
    x = burn.tensor(WEIGHTS, device=GRADIENTS["ndarray"]).require_grad()
    gradient = x.grad(fake_quantize(x, QuantizationScheme.PerTensor()).sum().backward())
    assert gradient is not None
    np.testing.assert_array_equal(np.asarray(gradient), np.ones_like(WEIGHTS))


def test_what_does_not_belong_together_is_refused() -> None:
    x = burn.tensor(WEIGHTS, device=NdArray())
    affine, symmetric = QuantizationScheme.PerTensor(AFFINE), QuantizationScheme.PerTensor()
    with pytest.raises(ArgumentError, match="quantize: an affine scheme needs a zero point"):
        x.quantize(affine, QuantizationParameters(0.1))
    with pytest.raises(ArgumentError, match="quantize: a symmetric scheme has no zero point"):
        x.quantize(symmetric, QuantizationParameters(0.1, 3))
    with pytest.raises(ArgumentError, match="must be a tensor or an int from -127 to 127, got 200"):
        x.quantize(affine, QuantizationParameters(0.1, 200))
    with pytest.raises(ArgumentError, match="fake_quantize: 'int8' is no QuantizationScheme"):
        fake_quantize(x, "int8")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"Percentile: must be above 50 and at most 100, got 0\.5"):
        Calibration.Percentile(0.5)
    with pytest.raises(ArgumentError, match="Calibration: 'median' is no method"):
        Calibration("median")
    with pytest.raises(ShapeError, match=r"a tensor of shape \(0, 3\) has no elements"):
        Tensor.zeros((0, 3), NdArray()).quantize_dynamic(symmetric)


def test_no_warning_is_given_for_a_range_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Tensor.zeros((3,), NdArray()).quantize_dynamic(QuantizationScheme.PerTensor(AFFINE)).numpy()
