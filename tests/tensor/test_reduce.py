"""Reductions beyond their rows: host answers, wide sums, chosen dtypes and second derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import burn
from burn.backend import Autodiff, LibTorch, NdArray
from burn.device import Device
from burn.tensor import Tensor

DEVICES: dict[str, Device] = {"ndarray": NdArray(), "libtorch": LibTorch("cpu")}


@pytest.fixture(params=DEVICES.values(), ids=DEVICES.keys())
def device(request: pytest.FixtureRequest) -> Device:
    return request.param  # type: ignore[no-any-return]


def test_all_close_answers_with_a_python_bool(device: Device) -> None:
    x = burn.tensor([1.0, 2.0, float("inf")], device=device)
    assert x.all_close(x) is True
    assert x.all_close(x * 1.001) is False
    assert x.all_close(x * 1.001, rtol=1e-2) is True
    assert burn.tensor([1.0, 3.0], device=device).all_close(burn.tensor([1.1, 3.1], device=device), atol=0.2) is True
    assert burn.tensor([float("nan")], device=device).all_close(burn.tensor([float("nan")], device=device)) is False
    assert burn.tensor([1, 2], device=device).all_close(burn.tensor([1, 2], device=device)) is True
    with pytest.raises(TypeError):
        x.all_close(x, 1e-5)  # type: ignore[misc]


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_a_half_precision_mean_does_not_overflow_on_the_way(device: Device, dtype: str) -> None:
    x = Tensor.full((4096,), 60_000.0, device, dtype)
    assert x.mean().item() == pytest.approx(60_000.0, rel=0.01)
    assert Tensor.ones((4096,), device, dtype).sum().item() == 4096.0
    assert Tensor.ones((4096,), device, dtype).cumsum(0).tolist()[-1] == 4096.0


def test_an_int_mean_is_exact_where_the_sum_would_wrap(device: Device) -> None:
    x = burn.tensor(np.array([100, 101, 102], np.int8), device=device)
    assert x.mean().tolist() == [101]
    assert x.sum().tolist() == [np.int8(np.int64(303).astype(np.int8))]
    assert burn.tensor(np.array([-3, -4], np.int32), device=device).mean().tolist() == [-3]


@pytest.mark.parametrize("dtype", ["u16", "u32", "u64"])
def test_wide_unsigned_integers_are_reduced_too(device: Device, dtype: str) -> None:
    x = burn.tensor(np.array([[5, 1, 7], [2, 9, 0]], np.dtype(f"uint{dtype[1:]}")), device=device)
    assert x.sum_dim(1).tolist() == [[13], [11]]
    assert x.max_dim_with_indices(1)[1].tolist() == [[2], [1]]
    assert x.sort(1).tolist() == [[1, 5, 7], [0, 2, 9]]
    assert x.mean().tolist() == [4]


@pytest.mark.parametrize("make", [NdArray, lambda **settings: LibTorch("cpu", **settings)], ids=["ndarray", "libtorch"])
def test_indices_have_the_devices_own_int_dtype(make: Any) -> None:
    device = make(int=burn.i32)
    for array in (np.array([[3.0, 1.0], [2.0, 4.0]], np.float32), np.array([[3, 1], [2, 4]], np.uint32)):
        x = burn.tensor(array, device=device)
        found = [
            x.argmax(0),
            x.argsort(1),
            x.topk_with_indices(1, 1)[1],
            x.max_dim_with_indices(0)[1],
            x.median_with_indices(0)[1],
        ]
        for indices in found:
            assert indices.dtype is burn.i32
            assert np.asarray(indices).dtype == np.int32


@pytest.mark.parametrize("zeros", [[], [1], [0, 3], [0, 1, 2, 3]])
def test_the_second_derivative_of_a_product_is_right_with_zeros(device: Device, zeros: list[int]) -> None:
    values = np.array([1.5, -2.0, 0.5, 3.0])
    values[zeros] = 0.0
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    theirs = torch.from_numpy(values).requires_grad_()
    (first,) = torch.autograd.grad(theirs.prod(), theirs, create_graph=True)
    (expected,) = torch.autograd.grad((first * torch.from_numpy(weights)).sum(), theirs)
    # The backward of the outer graph runs on the inner one, which records it.
    inner = Autodiff(device)
    leaf = burn.tensor(values, device=inner).require_grad()
    outer = Tensor.from_inner(leaf).require_grad()
    gradient = outer.grad(outer.prod().backward())
    assert gradient is not None
    second = leaf.grad((gradient * burn.tensor(weights, device=inner)).sum().backward())
    assert second is not None
    np.testing.assert_allclose(np.asarray(second), expected.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("dim", [0, 1])
def test_running_values_are_rounded_once(device: Device, name: str, dim: int) -> None:
    """The error of a running sum in f32 would grow with every one of 20,000 steps."""
    drawn = np.random.default_rng(5).normal(1.0, 1e-3 if name == "cumprod" else 1.0, (20_000, 3)).astype(np.float32)
    x = drawn if dim == 0 else np.ascontiguousarray(drawn.T)
    found = getattr(Tensor.from_data(x, device), name)(dim).numpy()
    exact = getattr(np, name)(x.astype(np.float64), dim)
    np.testing.assert_allclose(found, exact, rtol=2.0**-23)
