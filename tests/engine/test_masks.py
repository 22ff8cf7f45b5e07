"""Random masks that are drawn in the loops that read them: the same bits as anywhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from burn import Cpu, NdArray, Tensor
from burn.tensor import Distribution, activation

SHAPES = [(1,), (3,), (2047,), (2049,), (5, 7), (3, 4, 5), (33, 130), (2, 40_001)]


def drawn(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def dropped(x: Any, device: Any, chance: float = 0.7) -> Any:
    mask = Tensor.random(list(x.shape), Distribution.Bernoulli(chance), device)
    return x * mask * (1.0 / chance)


def on_both(function: Any) -> tuple[Any, Any]:
    results = []
    for device in (Cpu(), NdArray()):
        device.seed(7)
        results.append(np.asarray(function(device)))
    return results[0], results[1]


def kernels() -> list[str]:
    device: Any = Cpu()
    return device.plans.latest().describe().splitlines()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_dropout_is_one_kernel_with_the_numbers_of_the_reference(shape):
    mine, expected = on_both(lambda device: dropped(Tensor.from_data(drawn(*shape), device), device))
    np.testing.assert_array_equal(mine, expected)
    mine, expected = on_both(lambda device: dropped(Tensor.from_data(drawn(*shape), device), device))
    assert len(kernels()) == 1
    np.testing.assert_array_equal(mine, expected)


def test_a_mask_goes_with_operands_that_are_spread_or_turned():
    def turned(device: Any) -> Any:
        x, row = Tensor.from_data(drawn(37, 21), device), Tensor.from_data(drawn(1, 37), device)
        return dropped(x.transpose() * row, device) + row

    mine, expected = on_both(turned)
    np.testing.assert_allclose(mine, expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(mine == np.broadcast_to(drawn(1, 37), mine.shape), expected == drawn(1, 37))


@pytest.mark.parametrize("length", [6, 131, 40_000])
def test_a_mask_after_softmax_is_drawn_in_its_loop(length):
    def attention(device: Any) -> Any:
        return dropped(activation.softmax(Tensor.from_data(drawn(9, length), device), 1), device)

    mine, expected = on_both(attention)
    assert len(kernels()) == 1
    np.testing.assert_array_equal(mine == 0, expected == 0)
    np.testing.assert_allclose(mine, expected, rtol=1e-5)


def test_a_mask_under_a_reduction_is_the_same():
    mine, expected = on_both(lambda device: dropped(Tensor.from_data(drawn(50, 33), device), device).sum_dim(1))
    np.testing.assert_allclose(mine, expected, rtol=1e-5, atol=1e-5)
    mine, expected = on_both(lambda device: dropped(Tensor.from_data(drawn(300, 333), device), device).sum())
    np.testing.assert_allclose(mine, expected, rtol=1e-4, atol=1e-2)


def test_two_masks_of_one_loop_and_a_mask_that_somebody_keeps():
    def both(device: Any) -> Any:
        x = Tensor.from_data(drawn(10, 11), device)
        mask = Tensor.random([10, 11], Distribution.Bernoulli(0.5), device)
        made = dropped(x * mask, device, 0.25)
        return Tensor.cat([made, mask, dropped(x, device)], 0)

    np.testing.assert_array_equal(*on_both(both))


def test_the_backward_pass_uses_the_mask_of_the_forward_pass():
    def gradient(device: Any) -> Any:
        x = Tensor.from_data(drawn(16, 9), device.autodiff()).require_grad()
        mask = Tensor.random([16, 9], Distribution.Bernoulli(0.6), device.autodiff())
        loss = ((x * mask) * (x * mask)).sum()
        return x.grad(loss.backward())

    mine, expected = on_both(gradient)
    np.testing.assert_allclose(mine, expected, rtol=1e-6)


def test_a_mask_that_nothing_elementwise_reads_is_a_kernel_of_its_own():
    mine, expected = on_both(lambda device: Tensor.random([100, 7], Distribution.Bernoulli(0.3), device))
    np.testing.assert_array_equal(mine, expected)
    mine, expected = on_both(lambda device: Tensor.random([100, 7], Distribution.Bernoulli(0.3), device).transpose())
    np.testing.assert_array_equal(mine, expected)
