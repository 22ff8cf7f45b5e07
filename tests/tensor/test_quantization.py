"""Quantised tensors: the steps they keep, the error they make, and the tensors they stand for."""

from __future__ import annotations

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
from burn.backend import Autodiff, LibTorch, NdArray
from burn.device import Device
from burn.errors import ArgumentError, DTypeError, ShapeError
from burn.tensor import Tensor
from burn.tensor.quantization import (
    Calibration,
    QuantizationMode,
    QuantizationParameters,
    QuantizationScheme,
    QuantizationType,
    QuantizedTensor,
)

DEVICES: dict[str, Device] = {"ndarray": NdArray(), "libtorch": LibTorch("cpu"), "autodiff": Autodiff(NdArray())}
SEED_SCHEME = QuantizationScheme.PerTensor(QuantizationMode.Symmetric, QuantizationType.QInt8)
WEIGHTS = np.random.default_rng(0).normal(0.0, 1.0, (6, 8)).astype(np.float32)


@pytest.fixture(params=DEVICES.values(), ids=DEVICES.keys())
def device(request: pytest.FixtureRequest) -> Device:
    return request.param  # type: ignore[no-any-return]


def torch_per_tensor(array: np.ndarray[Any, Any], scale: float) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.quantize_per_tensor(torch.from_numpy(array), scale, 0, torch.qint8)


def test_values_and_floats_are_those_of_pytorch(device: Device) -> None:
    q = burn.tensor(WEIGHTS, device=device).quantize(SEED_SCHEME, QuantizationParameters(0.03125))
    theirs = torch_per_tensor(WEIGHTS, 0.03125)
    np.testing.assert_array_equal(np.asarray(q.values), theirs.int_repr().numpy())
    np.testing.assert_array_equal(np.asarray(q.dequantize()), theirs.dequantize().numpy())


def test_a_dynamic_scale_covers_the_largest_element(device: Device) -> None:
    q = burn.tensor(WEIGHTS, device=device).quantize_dynamic(SEED_SCHEME)
    assert q.scale.tolist() == pytest.approx([np.abs(WEIGHTS).max() / 127])
    assert np.abs(np.asarray(q.values, np.int64)).max() == 127
    theirs = torch_per_tensor(WEIGHTS, q.scale.item())
    assert np.abs(np.asarray(q.values, np.int64) - theirs.int_repr().numpy()).max() <= 1


@given(arrays.arrays(np.float32, (4, 6), elements=st.floats(-1e4, 1e4, width=32)))
def test_a_round_trip_errs_by_half_a_step_at_most(array: np.ndarray[Any, Any]) -> None:
    x = burn.tensor(array, device=NdArray())
    for scheme in (SEED_SCHEME, QuantizationScheme.PerChannel(dim=1), QuantizationScheme.PerBlock(size=(2, 3))):
        q = x.quantize_dynamic(scheme)
        shape, _ = scheme.layout(x.shape)
        error = np.abs(array - np.asarray(q.dequantize())).reshape(shape)
        assert (error <= np.asarray(q.scale) * 0.5001 + 1e-30).all()


@pytest.mark.parametrize("value", list(QuantizationType), ids=repr)
def test_values_stay_in_the_range_of_their_type(value: QuantizationType) -> None:
    q = burn.tensor(WEIGHTS, device=NdArray()).quantize_dynamic(QuantizationScheme.PerTensor(value=value))
    values = np.asarray(q.values)
    assert values.dtype == np.int8
    assert value.low <= values.min()
    assert values.max() <= value.high


def test_scales_of_channels_and_blocks_have_the_sizes_of_the_scheme(device: Device) -> None:
    x = burn.tensor(WEIGHTS, device=device)
    rows = x.quantize_dynamic(QuantizationScheme.PerChannel(dim=0))
    np.testing.assert_allclose(np.asarray(rows.scale)[:, 0], np.abs(WEIGHTS).max(1) / 127, rtol=1e-6)
    blocks = x.quantize_dynamic(QuantizationScheme.PerBlock(size=4))
    assert tuple(blocks.scale.shape) == (6, 2, 1)
    assert tuple(blocks.values.shape) == (6, 8)
    np.testing.assert_allclose(np.asarray(blocks), WEIGHTS, atol=float(blocks.scale.max()) * 0.501)


def test_the_mean_absolute_value_gives_ternary_weights() -> None:
    scheme = QuantizationScheme.PerTensor(value=QuantizationType.Q2S)
    q = burn.tensor(WEIGHTS, device=NdArray()).quantize_dynamic(scheme, Calibration.AbsMean)
    assert q.scale.item() == pytest.approx(np.abs(WEIGHTS).mean(), rel=1e-6)
    assert set(np.asarray(q.values).reshape(-1).tolist()) == {-1, 0, 1}


def test_operations_run_in_float(device: Device) -> None:
    x = burn.tensor(WEIGHTS, device=device)
    q = x.quantize_dynamic(SEED_SCHEME)
    floats = np.asarray(q.dequantize())
    assert isinstance(q, Tensor)
    assert (q.shape, q.dtype, q.device) == (x.shape, x.dtype, x.device)
    np.testing.assert_allclose(np.asarray(q * 2.0 + x), floats * 2 + WEIGHTS, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(x - q), WEIGHTS - floats, atol=1e-6)
    np.testing.assert_allclose(np.asarray(x.matmul(q.transpose())), WEIGHTS @ floats.T, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(np.asarray(q.exp().sum_dim(1)), np.exp(floats).sum(1, keepdims=True), rtol=1e-5)
    np.testing.assert_array_equal(q.to_data().numpy(), floats)
    assert not isinstance(q + q, QuantizedTensor)
    assert q.num_bytes() == 48 + 4


def test_a_gradient_flows_past_quantised_weights() -> None:
    device = DEVICES["autodiff"]
    weights = burn.tensor(WEIGHTS, device=device).require_grad()
    x = burn.tensor(WEIGHTS[:2], device=device).require_grad()
    q = weights.quantize_dynamic(SEED_SCHEME)
    grads = (x * q.slice([slice(0, 2)])).sum().backward()
    gradient = x.grad(grads)
    assert gradient is not None
    np.testing.assert_array_equal(np.asarray(gradient), np.asarray(q.dequantize())[:2])
    assert weights.grad(grads) is None
    assert isinstance(q.inner(), QuantizedTensor)
    assert q.inner().device is NdArray()


def test_a_quantised_tensor_moves_and_is_pickled_in_its_small_form() -> None:
    q = burn.tensor(WEIGHTS, device=NdArray()).quantize_dynamic(SEED_SCHEME)
    for other in (q.to(LibTorch("cpu")), pickle.loads(pickle.dumps(q)), q.to(Autodiff(NdArray()))):
        assert isinstance(other, QuantizedTensor)
        assert other.values.dtype is burn.i8
        assert other.scheme == SEED_SCHEME
        np.testing.assert_array_equal(np.asarray(other), np.asarray(q))
    assert q.to(LibTorch("cpu")).device is LibTorch("cpu")


def test_a_float_tensor_is_its_own_dequantised_form(device: Device) -> None:
    x = burn.tensor(WEIGHTS, device=device)
    assert x.dequantize() is x


@pytest.mark.parametrize("dtype", ["f64", "f16", "bf16"])
def test_other_float_dtypes_come_back_as_themselves(device: Device, dtype: str) -> None:
    x = burn.tensor(WEIGHTS, device=device).cast(dtype)
    q = x.quantize_dynamic(SEED_SCHEME)
    assert q.dequantize().dtype is x.dtype
    np.testing.assert_allclose(np.asarray(q, np.float64), WEIGHTS, atol=0.03)


def test_zeros_and_scalars_survive(device: Device) -> None:
    assert Tensor.zeros((2, 2), device).quantize_dynamic(SEED_SCHEME).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert burn.tensor(0.5, device=device).quantize_dynamic(SEED_SCHEME).item() == pytest.approx(0.5)


def test_a_scheme_is_a_value_whose_repr_is_its_source() -> None:
    for scheme in (SEED_SCHEME, QuantizationScheme.PerChannel(dim=-1), QuantizationScheme.PerBlock(size=(2, 16))):
        assert eval(repr(scheme)) == scheme
        assert hash(scheme) == hash(eval(repr(scheme)))
        assert pickle.loads(pickle.dumps(scheme)) == scheme


def test_what_cannot_be_quantised_is_refused_with_a_reason() -> None:
    x = burn.tensor(WEIGHTS, device=NdArray())
    with pytest.raises(ArgumentError, match=r"choose one of QuantizationScheme\.PerTensor"):
        QuantizationScheme()
    with pytest.raises(ArgumentError, match="mode must be a QuantizationMode, got 'Symmetric'"):
        QuantizationScheme.PerTensor("Symmetric")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="a block holds 1 or more elements, got size 0"):
        QuantizationScheme.PerBlock(size=0)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="quantize_dynamic: 'int8' is no QuantizationScheme"):
        x.quantize_dynamic("int8")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="quantize_dynamic: 'MinMax' is no Calibration"):
        x.quantize_dynamic(SEED_SCHEME, "MinMax")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="quantize: the scale must be a number or a tensor, got 'x'"):
        x.quantize(SEED_SCHEME, QuantizationParameters("x"))
    with pytest.raises(ShapeError, match=r"blocks of \[5\] do not divide the shape \(6, 8\)"):
        x.quantize_dynamic(QuantizationScheme.PerBlock(size=5))
    with pytest.raises(DTypeError, match="needs a float tensor, got i64"):
        burn.tensor([1, 2], device=NdArray()).quantize(SEED_SCHEME, QuantizationParameters(1.0))
