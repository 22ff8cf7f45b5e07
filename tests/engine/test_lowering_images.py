"""Convolutions, pooling and channels-last images inside plans, against PyTorch."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import burn
from burn.backend import Autodiff, Cpu
from burn.ops import convolution_layers as layers
from burn.ops import pooling
from burn.ops.convolution import conv

torch = pytest.importorskip("torch")
functional = torch.nn.functional

CPU = Cpu()
TRACKED = Autodiff(CPU)


def draw(*shape: int, seed: int = 0, scale: float = 1.0) -> Any:
    return (np.random.default_rng(seed + sum(shape)).standard_normal(shape) * scale).astype(np.float32)


def latest() -> Any:
    """The plan that ran last."""
    return list(CPU.plans._plans.values())[-1]


def hosted() -> list[str]:
    return [line for line in latest().describe().splitlines() if line.startswith("numpy")]


def check(ours: Callable[..., Any], theirs: Callable[..., Any], *arrays: Any, tolerance: float = 3e-5) -> None:
    """The result and the gradient of every operand are PyTorch's, twice, with changed operands, and none on NumPy."""
    for _ in range(2):
        expected = [torch.tensor(each, requires_grad=True) for each in arrays]
        answer = theirs(*expected)
        weight = draw(*answer.shape, seed=5)
        (answer * torch.tensor(weight)).sum().backward()
        given = [burn.tensor(each, device=TRACKED).require_grad() for each in arrays]
        made = ours(*given)
        gradients = (made * burn.tensor(weight, device=CPU)).sum().backward()
        pairs = [(made.numpy(), answer.detach().numpy())]
        for one, other in zip(given, expected, strict=True):
            pairs.append((one.grad(gradients).numpy(), other.grad.numpy()))
        for mine, correct in pairs:
            assert mine.shape == correct.shape
            np.testing.assert_allclose(mine, correct, rtol=tolerance, atol=tolerance * max(1.0, np.abs(correct).max()))
        assert not hosted()
        arrays = tuple(each * np.float32(-0.7) for each in arrays)


GEOMETRIES = {
    "odd sizes": ((2, 5, 9, 11), (7, 5, 3, 2), dict(padding=(1, 0))),
    "one channel": ((3, 1, 12, 12), (8, 1, 3, 3), dict()),
    "one pixel": ((2, 6, 1, 1), (4, 6, 1, 1), dict()),
    "strides": ((1, 4, 13, 10), (6, 4, 3, 3), dict(stride=(2, 3), padding=(1, 1))),
    "dilation": ((2, 3, 12, 13), (4, 3, 3, 3), dict(dilation=(2, 3), padding=(2, 3))),
    "groups": ((2, 8, 9, 9), (12, 4, 3, 3), dict(groups=2, padding=(1, 1))),
    "depthwise": ((2, 24, 9, 9), (24, 1, 3, 3), dict(groups=24, padding=(1, 1), stride=(2, 2))),
    "many channels": ((1, 64, 14, 14), (128, 64, 1, 1), dict()),
    "a sequence": ((2, 6, 30), (5, 6, 4), dict(stride=(2,), padding=(2,))),
    "a volume": ((1, 4, 6, 7, 8), (5, 4, 3, 2, 3), dict(padding=(1, 0, 1))),
}


@pytest.mark.parametrize("name", GEOMETRIES)
def test_a_convolution_and_its_gradients_are_native(name: str) -> None:
    x, weight, given = GEOMETRIES[name]
    rank = len(x) - 2
    settings = dict(stride=(1,) * rank, padding=(0,) * rank, dilation=(1,) * rank, groups=1) | given
    ours = getattr(layers, f"conv{rank}d")
    theirs = getattr(functional, f"conv{rank}d")
    check(
        lambda a, b, c: ours(a, b, c, *[list(v) if isinstance(v, tuple) else v for v in settings.values()]),
        lambda a, b, c: theirs(a, b, c, **settings),
        draw(*x), draw(*weight, scale=0.3), draw(weight[0]),
    )  # fmt: skip


@pytest.mark.parametrize(("stride", "extra", "groups"), [(1, 0, 1), (2, 1, 1), (2, 0, 2)])
def test_a_transposed_convolution_and_its_gradients_are_native(stride: int, extra: int, groups: int) -> None:
    check(
        lambda x, w, b: layers.conv_transpose2d(x, w, b, stride, 1, extra, 1, groups),
        lambda x, w, b: functional.conv_transpose2d(x, w, b, stride, 1, extra, groups),
        draw(2, 6, 7, 8), draw(6, 4, 3, 3, scale=0.3), draw(4 * groups),
    )  # fmt: skip


def test_a_negative_padding_cuts_the_image() -> None:
    x, weight = draw(2, 3, 9, 9), draw(4, 3, 3, 3)
    made = conv(burn.tensor(x, device=CPU), burn.tensor(weight, device=CPU), 1, ((-1, 0), (0, -2))).numpy()
    assert not hosted()
    cropped = torch.tensor(x)[:, :, 1:, : 9 - 2]
    np.testing.assert_allclose(made, functional.conv2d(cropped, torch.tensor(weight)).numpy(), rtol=1e-4, atol=1e-4)


# Pooling

POOLS = {
    "side by side": (2, 2, 0, False),
    "overlapping": (3, 2, 1, False),
    "every element": (3, 1, 1, False),
    "over the end": (3, 2, 0, True),
    "uneven": ((2, 3), (1, 2), (1, 1), True),
}


@pytest.mark.parametrize("channels", [3, 16])
@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("convolved", [False, True])
def test_maxima_and_means_are_kernels(name: str, channels: int, convolved: bool) -> None:
    kernel, stride, padding, ceil = POOLS[name]
    x, weight = draw(2, channels, 11, 13), draw(channels, channels, 1, 1)

    def ours(pool: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x, w: pool(layers.conv2d(x, w).relu() if convolved else x * w.sum())

    def theirs(pool: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x, w: pool(torch.relu(functional.conv2d(x, w)) if convolved else x * w.sum())

    check(
        ours(lambda y: pooling.max_pool(y, kernel, stride, padding, 1, ceil)[0]),
        theirs(lambda y: functional.max_pool2d(y, kernel, stride, padding, 1, ceil)), x, weight, tolerance=2e-4,
    )  # fmt: skip
    for include in (False, True):
        check(
            ours(lambda y, include=include: pooling.avg_pool(y, kernel, stride, padding, include, ceil)),
            theirs(lambda y, include=include: functional.avg_pool2d(y, kernel, stride, padding, ceil, include)),
            x, weight, tolerance=2e-4,
        )  # fmt: skip


@pytest.mark.parametrize("channels", [2, 16])
@pytest.mark.parametrize("size", [(1, 1), (4, 4), (5, 7), (12, 16)])
def test_adaptive_pooling_is_a_kernel(size: tuple[int, int], channels: int) -> None:
    x, weight = draw(2, channels, 12, 12), draw(channels, channels, 1, 1)
    check(
        lambda x, w: pooling.adaptive_avg_pool(layers.conv2d(x, w), list(size)),
        lambda x, w: functional.adaptive_avg_pool2d(functional.conv2d(x, w), size), x, weight,
    )  # fmt: skip
    check(
        lambda x, w: pooling.adaptive_max_pool(layers.conv2d(x, w), list(size))[0],
        lambda x, w: functional.adaptive_max_pool2d(functional.conv2d(x, w), size), x, weight,
    )  # fmt: skip


@pytest.mark.parametrize("channels", [1, 8])
def test_the_indices_of_maxima_are_pytorchs_with_nan_infinities_and_ties(channels: int) -> None:
    x = draw(2, channels, 9, 10).round()
    x[0, 0, 2, 3] = np.nan
    x[0, 0, 4:8, 4:8] = -np.inf
    x[1, 0, 0, 0] = np.inf
    for kernel, stride, padding, dilation in ((2, 2, 0, 1), (3, 1, 1, 1), (3, 2, 1, 2)):
        values, indices = pooling.max_pool(burn.tensor(x, device=CPU), kernel, stride, padding, dilation)
        expected = functional.max_pool2d(torch.tensor(x), kernel, stride, padding, dilation, return_indices=True)
        np.testing.assert_array_equal(values.numpy(), expected[0].numpy())
        np.testing.assert_array_equal(indices.numpy(), expected[1].numpy())


def test_pooling_other_dtypes_is_right() -> None:
    x = draw(2, 8, 8, 8)
    for dtype, tolerance in ((burn.f64, 1e-12), (burn.f16, 2e-3), (burn.bf16, 2e-2)):
        made = pooling.avg_pool(burn.tensor(x, device=CPU).cast(dtype), 3, 2, 1).cast(burn.f64).numpy()
        rounded = burn.tensor(x, device=CPU).cast(dtype).cast(burn.f64).numpy()
        expected = functional.avg_pool2d(torch.tensor(rounded), 3, 2, 1).numpy()
        np.testing.assert_allclose(made, expected, rtol=tolerance, atol=tolerance)


# Chains


def test_a_network_of_convolutions_pooling_and_products_has_no_numpy_step() -> None:
    def ours(x: Any, first: Any, bias: Any, second: Any, last: Any) -> Any:
        y = layers.conv2d(x, first, bias, 1, 1).relu()
        y = pooling.max_pool(y, 2, 2)[0]
        y = layers.conv2d(y, second, None, 1, 0).tanh()
        return y.reshape((2, 6 * 4 * 4)).matmul(last).exp()

    def theirs(x: Any, first: Any, bias: Any, second: Any, last: Any) -> Any:
        y = torch.relu(functional.conv2d(x, first, bias, 1, 1))
        y = functional.max_pool2d(y, 2, 2)
        return ((torch.tanh(functional.conv2d(y, second)).reshape(2, 96)) @ last).exp()

    arrays = (
        draw(2, 3, 12, 12),
        draw(8, 3, 3, 3, scale=0.2),
        draw(8),
        draw(6, 8, 3, 3, scale=0.2),
        draw(96, 5, scale=0.1),
    )
    check(ours, theirs, *arrays)


def test_reductions_slices_and_flips_of_images_are_right() -> None:
    def chain(y: Any, is_torch: bool) -> Any:
        mean = y.mean(dim=(0, 2, 3), keepdim=True) if is_torch else y.mean_dims([0, 2, 3])
        largest = y.amax(dim=1, keepdim=True) if is_torch else y.max_dims([1])
        centred = (y - mean) * largest
        part = centred[:, 1:5, ::2]
        return part.flip([1, 3])

    check(
        lambda x, w, b: chain(layers.conv2d(x, w, b, 1, 1), False),
        lambda x, w, b: chain(functional.conv2d(x, w, b, 1, 1), True),
        draw(4, 3, 20, 22), draw(6, 3, 3, 3, scale=0.3), draw(6),
    )  # fmt: skip


def test_scale_shift_activation_and_residual_are_done_by_each_convolution() -> None:
    x, weight = draw(1, 64, 14, 14), draw(64, 64, 3, 3, scale=0.05)
    scale, shift = draw(64), draw(64)
    given = [burn.tensor(each, device=CPU) for each in (x, weight, scale, shift)]
    made = given[0]
    for _ in range(3):
        y = layers.conv2d(made, given[1], None, 1, 1)
        made = (y * given[2].reshape((1, 64, 1, 1)) + given[3].reshape((1, 64, 1, 1))).relu() + made
    result = made.numpy()
    lines = latest().describe().splitlines()
    assert sum("conv 1x64" in line for line in lines) == 3
    # `y` is still alive: of the last convolution it is stored, and a loop does the rest.
    assert sum(line.endswith("then mul, add, clamp_min, add") for line in lines) == 2
    assert sum(line.startswith("kernel  mul+add+clamp_min+add") for line in lines) == 1
    assert not hosted()
    expected = torch.tensor(x)
    for _ in range(3):
        y = functional.conv2d(expected, torch.tensor(weight), None, 1, 1)
        y = y * torch.tensor(scale).reshape(1, 64, 1, 1) + torch.tensor(shift).reshape(1, 64, 1, 1)
        expected = torch.relu(y) + expected
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-4, atol=1e-3)


def test_nan_and_infinities_pass_through_convolution_and_activation() -> None:
    x = draw(1, 8, 6, 6)
    x[0, 3, 2, 2], x[0, 1, 5, 5] = np.nan, np.inf
    weight, bias = draw(16, 8, 3, 3), draw(16)
    made = layers.conv2d(*(burn.tensor(each, device=CPU) for each in (x, weight, bias)), 1, 1).relu().numpy()
    expected = torch.relu(functional.conv2d(*map(torch.tensor, (x, weight, bias)), 1, 1)).numpy()
    np.testing.assert_array_equal(np.isnan(made), np.isnan(expected))
    np.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-4)


# What a plan keeps


def test_packed_weights_are_kept_while_they_are_the_same_and_never_longer() -> None:
    x, other = (burn.tensor(draw(1, 16, 8, 8, seed=seed), device=CPU) for seed in (0, 1))
    weights = [draw(16, 16, 3, 3, seed=seed) for seed in range(3)]
    bias = burn.tensor(draw(16), device=CPU)
    held = [burn.tensor(each, device=CPU) for each in weights]
    for image, choice in itertools.product((x, other, x, other), (0, 0, 1, 2, 2, 0, 1, 1)):
        made = layers.conv2d(image, held[choice], bias).numpy()
        expected = functional.conv2d(*map(torch.tensor, (image.numpy(), weights[choice], bias.numpy())))
        np.testing.assert_allclose(made, expected.numpy(), rtol=1e-4, atol=1e-4)


def test_a_constant_second_factor_is_packed_from_its_second_run_on_and_never_stale() -> None:
    matrices = [draw(96, 64, seed=seed) for seed in range(2)]
    held = [burn.tensor(each, device=CPU) for each in matrices]
    names = []
    for run, choice in enumerate((0, 0, 0, 1, 1, 0, 1, 1, 1, 0)):
        x = draw(16, 96, seed=run)
        made = burn.tensor(x, device=CPU).matmul(held[choice]).numpy()
        np.testing.assert_allclose(made, x @ matrices[choice], rtol=1e-4, atol=1e-4)
        names.append([name for segment in latest().instances[0].segments for name in segment.names])
    assert names[0] == ["matmul 16x96x64"]
    assert names[1] == ["pack", "matmul 16x96x64 packed"]
    assert names[2] == ["matmul 16x96x64 packed"]
    assert names[3] == ["matmul 16x96x64"]


def test_weights_updated_in_place_by_a_training_step_are_packed_anew() -> None:
    x = draw(4, 8, 10, 10)
    weight = draw(8, 8, 3, 3, scale=0.1)
    image = burn.tensor(x, device=CPU)
    held = burn.tensor(weight, device=CPU)
    expected = torch.tensor(weight)
    for _ in range(6):
        for _ in range(3):
            made = layers.conv2d(image, held).numpy()
            np.testing.assert_allclose(made, functional.conv2d(torch.tensor(x), expected).numpy(), rtol=1e-4, atol=1e-4)
        held = held * 0.9 + 0.01
        expected = expected * 0.9 + 0.01


def test_two_threads_run_one_network_at_once() -> None:
    weights = [draw(16, 8, 3, 3, scale=0.2), draw(16), draw(16 * 16, 10, scale=0.1)]
    expected = [torch.tensor(each) for each in weights]

    def run(seed: int) -> float:
        x = draw(2, 8, 12, 12, seed=seed)
        given = [burn.tensor(each, device=TRACKED).require_grad() for each in weights]
        y = layers.conv2d(burn.tensor(x, device=TRACKED), given[0], given[1], 1, 1).relu()
        y = pooling.max_pool(y, 3, 3)[0].reshape((2, 256)).matmul(given[2])
        gradients = (y * y).sum().backward()
        theirs = [each.clone().requires_grad_() for each in expected]
        z = functional.max_pool2d(torch.relu(functional.conv2d(torch.tensor(x), theirs[0], theirs[1], 1, 1)), 3, 3)
        ((z.reshape(2, 256) @ theirs[2]) ** 2).sum().backward()
        worst = 0.0
        for mine, other in zip(given, theirs, strict=True):
            difference = np.abs(mine.grad(gradients).numpy() - other.grad.numpy()).max()
            worst = max(worst, difference / max(1.0, float(other.grad.abs().max())))
        return worst

    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(run, range(24)))
    assert max([run(99), *found]) < 1e-4
