"""Convolutions on kernels of our own: every geometry, their gradients, what follows them, and weights that change."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import burn
from burn import NdArray, Tensor
from burn.backend import Autodiff, Cpu
from burn.backend.cpu.features import SETS, named
from burn.backend.cpu.lower.direct import Window, blocks_of, pixels
from burn.backend.cpu.target import target_of
from burn.engine.target import lowering_for
from burn.ops import convolution_layers as layers
from burn.ops import pooling
from burn.tensor import Distribution

torch = pytest.importorskip("torch")
functional = torch.nn.functional

CPU: Any = Cpu()
TRACKED: Any = Autodiff(CPU)


def draw(*shape: int, seed: int = 0, scale: float = 1.0) -> Any:
    return (np.random.default_rng(seed + sum(shape)).standard_normal(shape) * scale).astype(np.float32)


def lines() -> list[str]:
    """The steps of the plan that ran last."""
    described: str = list(CPU.plans._plans.values())[-1].describe()
    return described.splitlines()


def assert_near(mine: Any, correct: Any, tolerance: float = 2e-5) -> None:
    assert mine.shape == correct.shape
    np.testing.assert_allclose(mine, correct, rtol=tolerance, atol=tolerance * max(1.0, np.abs(correct).max()))


GEOMETRIES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "few channels": ((4, 8, 26, 26), (16, 8, 3, 3), dict()),
    "one channel": ((8, 1, 28, 28), (8, 1, 3, 3), dict()),
    "channels of no size": ((2, 5, 18, 22), (21, 5, 3, 2), dict(padding=(1, 0))),
    "channels in two vectors": ((2, 7, 19, 15), (24, 7, 3, 3), dict(padding=(1, 1))),
    "channels in parts": ((1, 48, 13, 13), (80, 48, 1, 1), dict()),
    "short rows": ((2, 32, 7, 7), (64, 32, 1, 1), dict()),
    "a window of five": ((2, 6, 30, 31), (10, 6, 5, 5), dict(padding=(2, 2))),
    "a window of seven": ((1, 3, 64, 60), (16, 3, 7, 7), dict(stride=(2, 2), padding=(3, 3))),
    "more padding than window": ((2, 8, 16, 16), (12, 8, 2, 3), dict(padding=(4, 5))),
    "strides that skip pixels": ((4, 8, 41, 33), (12, 8, 1, 1), dict(stride=(3, 2))),
    "strides": ((2, 4, 33, 30), (16, 4, 3, 3), dict(stride=(2, 3), padding=(1, 1))),
    "dilation": ((2, 6, 32, 29), (12, 6, 3, 3), dict(dilation=(2, 3), padding=(2, 3))),
    "depthwise": ((2, 40, 15, 15), (40, 1, 3, 3), dict(groups=40, padding=(1, 1))),
    "depthwise strides": ((1, 96, 28, 28), (96, 1, 3, 3), dict(groups=96, padding=(1, 1), stride=(2, 2))),
    "a sequence": ((4, 12, 200), (24, 12, 5), dict(padding=(2,))),
    "tiles": ((1, 32, 28, 28), (32, 32, 3, 3), dict(padding=(1, 1))),
    "odd tiles": ((3, 40, 13, 11), (48, 40, 3, 3), dict(padding=(1, 1))),
    "tiles without padding": ((2, 32, 12, 21), (64, 32, 3, 3), dict()),
    "tiles with much padding": ((2, 33, 9, 9), (32, 33, 3, 3), dict(padding=(2, 2))),
}


@pytest.mark.parametrize("name", GEOMETRIES)
def test_a_convolution_and_its_gradients_are_those_of_double_precision(name: str) -> None:
    x_shape, weight_shape, options = GEOMETRIES[name]
    x, weight = draw(*x_shape), draw(*weight_shape, scale=(weight_shape[1] * 9) ** -0.5)
    expected = [torch.tensor(each, dtype=torch.float64, requires_grad=True) for each in (x, weight)]
    theirs = functional.conv1d if len(x_shape) == 3 else functional.conv2d
    answer = theirs(*expected, **options)
    pull = draw(*answer.shape, seed=3)
    (answer * torch.tensor(pull)).sum().backward()
    given: Any = [burn.tensor(each, device=TRACKED).require_grad() for each in (x, weight)]
    ours: Any = layers.conv1d if len(x_shape) == 3 else layers.conv2d
    made = ours(
        *given,
        None,
        options.get("stride", 1),
        options.get("padding", 0),
        options.get("dilation", 1),
        options.get("groups", 1),
    )
    found = made.numpy()
    assert any(line.startswith("kernel  conv ") for line in lines())
    gradients = (made * burn.tensor(pull, device=CPU)).sum().backward()
    assert_near(found, answer.detach().numpy())
    for one, other in zip(given, expected, strict=True):
        assert_near(one.grad(gradients).numpy(), other.grad.numpy())


def test_the_gradient_of_an_image_is_a_kernel_too() -> None:
    x, weight = draw(2, 8, 26, 26), draw(16, 8, 3, 3)
    given: Any = burn.tensor(x, device=TRACKED).require_grad()
    made = layers.conv2d(given, burn.tensor(weight, device=CPU), None, 1, 1)
    given.grad(made.sum().backward()).numpy()
    assert any(line.startswith("kernel  conv_x_backward") for line in lines())


def test_what_follows_a_convolution_is_done_before_its_result_is_stored() -> None:
    x, weight, bias, other = draw(2, 8, 20, 20), draw(16, 8, 3, 3), draw(16), draw(2, 16, 18, 18, seed=9)
    given = [burn.tensor(each, device=CPU) for each in (x, weight, bias, other)]

    def run() -> Any:
        return (layers.conv2d(given[0], given[1], given[2]) * 0.5 + given[3]).relu().clamp_max(2.0).numpy()

    found = run()
    plain = functional.conv2d(*(torch.tensor(each) for each in (x, weight, bias)))
    assert_near(found, (plain * 0.5 + torch.tensor(other)).relu().clamp_max(2.0).numpy())
    (step,) = (line for line in lines() if "conv " in line)
    assert step.endswith("then add, mul, add, clamp_min, clamp_max")


def test_a_value_that_somebody_else_reads_is_not_swallowed() -> None:
    x, weight = draw(2, 8, 20, 20), draw(16, 8, 3, 3)
    made = layers.conv2d(burn.tensor(x, device=CPU), burn.tensor(weight, device=CPU), None)
    first, second = made.relu(), made * made
    plain = functional.conv2d(torch.tensor(x), torch.tensor(weight))
    assert_near(second.numpy(), (plain * plain).numpy())
    assert_near(first.numpy(), plain.relu().numpy())
    assert_near(made.numpy(), plain.numpy())


def test_a_chain_that_multiplies_a_value_by_itself() -> None:
    x, weight = draw(2, 8, 20, 20), draw(16, 8, 3, 3)
    found = (layers.conv2d(burn.tensor(x, device=CPU), burn.tensor(weight, device=CPU), None) + 1.0).powi_scalar(2)
    assert_near(found.numpy(), ((functional.conv2d(torch.tensor(x), torch.tensor(weight)) + 1.0) ** 2).numpy())


@pytest.mark.parametrize("channels", [8, 64])
def test_nan_passes_through_activations_and_stays_where_it_is(channels: int) -> None:
    x, weight = draw(1, channels, 20, 20), draw(channels, channels, 3, 3)
    x[0, 0, 10, 10] = np.nan
    made = layers.conv2d(burn.tensor(x, device=CPU), burn.tensor(weight, device=CPU), None, 1, 1)
    found = np.isnan(made.relu().clamp_max(6.0).numpy())
    assert found[:, :, 9:12, 9:12].all()
    assert not found[:, :, :8].any()
    assert not found[:, :, 13:].any()
    assert not found[:, :, :, :8].any()
    assert not found[:, :, :, 13:].any()


def test_infinity_is_cut_by_an_activation_and_not_lost() -> None:
    x, weight = np.zeros((1, 8, 16, 16), np.float32), np.ones((16, 8, 3, 3), np.float32)
    x[0, 0, 4, 4], x[0, 0, 11, 11] = np.inf, -np.inf
    made = layers.conv2d(burn.tensor(x, device=CPU), burn.tensor(weight, device=CPU), None, 1, 1).relu().numpy()
    np.testing.assert_array_equal(
        made, functional.conv2d(torch.tensor(x), torch.tensor(weight), padding=1).relu().numpy()
    )


def test_packed_weights_follow_the_weights() -> None:
    x = burn.tensor(draw(1, 32, 16, 16), device=CPU)
    for channels, seed in itertools.product((32, 24), range(3)):
        weight = draw(channels, 32, 3, 3, seed=seed)
        held = burn.tensor(weight, device=CPU)
        correct = functional.conv2d(torch.tensor(x.numpy()), torch.tensor(weight), padding=1).numpy()
        for _ in range(3):
            assert_near(layers.conv2d(x, held, None, 1, 1).numpy(), correct)


@pytest.mark.parametrize("shape", [(3, 8, 26, 26), (2, 16, 24, 24), (2, 5, 6, 8), (2, 70, 4, 4), (2, 6, 7, 7)])
def test_masks_of_images_are_the_numbers_of_the_stream(shape: tuple[int, ...]) -> None:
    def masked(device: Any) -> Any:
        device.seed(11)
        x = burn.tensor(draw(shape[0], 4, shape[2] + 2, shape[3] + 2), device=device)
        made = layers.conv2d(x, burn.tensor(draw(shape[1], 4, 3, 3), device=device), None)
        kept = Tensor.random(shape, Distribution.Bernoulli(0.5), device)
        drawn = Tensor.random(shape, Distribution.Uniform(-1.0, 2.0), device)
        return [(made * kept + drawn).numpy(), kept.numpy(), drawn.numpy()]

    mine, correct = masked(CPU), masked(NdArray())
    assert_near(mine[0], correct[0])
    for one, other in zip(mine[1:], correct[1:], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("size", [8, 5])
def test_the_gradient_of_a_mean_is_masked_where_it_is_made(size: int) -> None:
    x, weight = draw(2, 8, 26, 26), draw(16, 8, 3, 3)
    expected = torch.tensor(x, requires_grad=True)
    pull = draw(2, 16, size, size)
    answer = functional.adaptive_avg_pool2d(functional.conv2d(expected, torch.tensor(weight)).relu() * 3.0, size)
    (answer * torch.tensor(pull)).sum().backward()
    given: Any = burn.tensor(x, device=TRACKED).require_grad()
    made = pooling.adaptive_avg_pool(
        layers.conv2d(given, burn.tensor(weight, device=CPU), None).relu() * 3.0, (size, size)
    )
    found = given.grad((made * burn.tensor(pull, device=CPU)).sum().backward()).numpy()
    assert_near(found, expected.grad.numpy())
    assert any("adaptive_avg_pool_backward then" in line for line in lines())


@pytest.mark.parametrize("features", SETS)
def test_blocks_cover_a_row_once_and_repeat_only_where_nothing_is_padded(features: str) -> None:
    with lowering_for(target_of(named(features), 2)):
        for count, kernel, stride, before in itertools.product((1, 5, 14, 26, 113), (1, 3, 7), (1, 2), (0, 1, 3)):
            window = Window(max((count - 1) * stride + kernel - 2 * before, 1), count, kernel, stride, before, 1)
            covered: list[int] = []
            for block in blocks_of(window):
                assert block.length <= pixels(window)
                for repeat in range(block.repeats):
                    start = block.start + repeat * block.length
                    covered += range(start, start + block.length)
                    if block.repeats > 1:
                        assert window.place(start, 0) >= 0
                        assert window.place(start + block.length - 1, kernel - 1) < window.size
            assert covered == list(range(count))
