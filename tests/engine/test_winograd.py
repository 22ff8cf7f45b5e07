"""Winograd's convolutions: how exact each way is, who takes which, and what their weights may cost."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import burn
from burn.backend import Autodiff, Cpu
from burn.backend.cpu.lower.direct import Window
from burn.backend.cpu.lower.winograd import blocking
from burn.backend.cpu.lower.winograd.choice import scheme_of
from burn.backend.cpu.lower.winograd.maps import F2, F4
from burn.backend.cpu.settings import MOST_MAPPED
from burn.errors import ArgumentError
from burn.ops import convolution_layers as layers

torch = pytest.importorskip("torch")
functional = torch.nn.functional
conv2d: Any = layers.conv2d

FAST: Any = Cpu(accuracy="fast")
EXACT: Any = Cpu(accuracy="exact")
PLAIN: Any = Cpu(mapped_weights=0)

BOUND = {"exact": 1.5e-6, "fast": 1e-5}
"""The largest error of a result, as a part of the largest result, that each accuracy may cost."""


@pytest.fixture(autouse=True)
def _untuned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choices as they are without measurements of this machine."""
    monkeypatch.setenv("BURN_TUNE", "off")


def draw(*shape: int, seed: int = 0, mean: float = 0.0, scale: float = 1.0) -> Any:
    return (np.random.default_rng(seed + sum(shape)).standard_normal(shape) * scale + mean).astype(np.float32)


def weights(made: int, read: int) -> Any:
    return draw(made, read, 3, 3, scale=(2.0 / (read * 9)) ** 0.5)


def convolved(x: Any, weight: Any, device: Any, padding: Any = 1) -> Any:
    given: Any = [burn.tensor(each, device=device) for each in (x, weight)]
    return conv2d(*given, None, 1, padding).numpy()


def reference(x: Any, weight: Any, padding: Any = 1) -> Any:
    return functional.conv2d(torch.tensor(x).double(), torch.tensor(weight).double(), padding=padding).numpy()


def error(found: Any, correct: Any) -> float:
    """The largest error as a part of the largest result."""
    assert found.shape == correct.shape
    return float(np.abs(found - correct).max() / np.abs(correct).max())


def steps(device: Any) -> list[str]:
    described: str = device.plans.latest().describe()
    return [line for line in described.splitlines() if line.startswith("kernel  conv")]


SHAPES: dict[str, tuple[tuple[int, int, int, int], int, Any]] = {
    "whole tiles": ((1, 64, 16, 16), 64, 1),
    "one pixel too many": ((1, 32, 17, 21), 48, 1),
    "two too many": ((2, 48, 14, 10), 32, 1),
    "three too many": ((1, 40, 11, 7), 80, 1),
    "no padding": ((2, 36, 18, 13), 64, 0),
    "wide padding": ((1, 33, 9, 9), 32, 2),
    "padding along one dim": ((3, 32, 8, 23), 96, (0, 1)),
    "many channels": ((1, 256, 14, 14), 128, 1),
    "more made than read": ((1, 32, 12, 12), 256, 1),
}


@pytest.mark.parametrize("mean", [0.0, 10.0])
@pytest.mark.parametrize("name", SHAPES)
def test_each_accuracy_keeps_its_bound(name: str, mean: float) -> None:
    shape, made, padding = SHAPES[name]
    x, weight = draw(*shape, mean=mean), weights(made, shape[1])
    correct = reference(x, weight, padding)
    for device, tile in ((FAST, 4), (EXACT, 2)):
        assert error(convolved(x, weight, device, padding), correct) <= BOUND[device.base.settings.accuracy]
        assert f"in tiles of {tile}" in steps(device)[0]


@pytest.mark.parametrize("channels", [320, 512])
def test_deep_layers_keep_the_bound_of_exact(channels: int) -> None:
    x, weight = draw(1, channels, 7, 7), weights(channels, channels)
    correct = reference(x, weight)
    for device in (FAST, EXACT):
        assert error(convolved(x, weight, device), correct) <= BOUND["exact"]
        assert "in tiles of 2" in steps(device)[0]


def test_a_constant_image_loses_nothing_to_cancellation() -> None:
    x, weight = np.full((1, 64, 20, 20), 1000.0, np.float32), weights(64, 64)
    correct = reference(x, weight)
    for device in (FAST, EXACT):
        assert error(convolved(x, weight, device), correct) <= BOUND[device.base.settings.accuracy]


@pytest.mark.parametrize("device", [FAST, EXACT], ids=repr)
def test_the_gradient_of_an_image_keeps_the_bound(device: Any) -> None:
    x, weight, pull = draw(2, 32, 13, 15), weights(64, 32), draw(2, 64, 13, 15, seed=5)
    expected = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    made = functional.conv2d(expected, torch.tensor(weight).double(), padding=1)
    (made * torch.tensor(pull)).sum().backward()
    given: Any = burn.tensor(x, device=Autodiff(device)).require_grad()
    ours = layers.conv2d(given, burn.tensor(weight, device=device), None, 1, 1)
    gradient = given.grad((ours * burn.tensor(pull, device=device)).sum().backward()).numpy()
    assert error(gradient, expected.grad.numpy()) <= BOUND[device.base.settings.accuracy]
    assert any("conv_x_backward" in line and "in tiles of" in line for line in steps(device))


@pytest.mark.parametrize("device", [FAST, EXACT], ids=repr)
def test_what_follows_is_done_before_pixels_are_stored(device: Any) -> None:
    x, weight, bias, other = draw(2, 32, 13, 14), weights(48, 32), draw(48), draw(2, 48, 13, 14, seed=9)
    given: Any = [burn.tensor(each, device=device) for each in (x, weight, bias, other)]
    made = (conv2d(*given[:3], 1, 1) * 0.5 + given[3]).relu().numpy()
    plain = functional.conv2d(*(torch.tensor(each).double() for each in (x, weight, bias)), padding=1)
    assert error(made, (plain * 0.5 + torch.tensor(other)).relu().numpy()) <= BOUND[device.base.settings.accuracy]
    assert steps(device)[0].endswith("then add, mul, add, clamp_min")


def test_the_points_of_tiles_of_four_are_better_than_the_usual_ones() -> None:
    """In a simulation 0, 1, -1, 2, -2 came to 5.5e-6 with as many channels."""
    x, weight = draw(1, 128, 28, 28), weights(128, 128)
    assert error(convolved(x, weight, FAST), reference(x, weight)) <= 3e-6


# Who takes which way


def test_a_captured_function_is_another_plan_on_a_device_with_another_accuracy() -> None:
    x, weight = draw(1, 64, 16, 16), weights(64, 64)
    function = burn.compile(lambda x, weight: layers.conv2d(x, weight, None, 1, 1).relu())
    found: dict[Any, list[Any]] = {FAST: [], EXACT: []}
    for device in (FAST, EXACT, FAST, EXACT, EXACT, FAST):
        given = [burn.tensor(each, device=device) for each in (x, weight)]
        found[device].append(function(*given).numpy())
    assert all(np.array_equal(each, found[FAST][0]) for each in found[FAST])
    assert all(np.array_equal(each, found[EXACT][0]) for each in found[EXACT])
    assert not np.array_equal(found[FAST][0], found[EXACT][0])
    correct = np.maximum(reference(x, weight), 0)
    assert error(found[EXACT][0], correct) < error(found[FAST][0], correct)


def test_more_channels_than_the_bound_allows_take_tiles_of_two() -> None:
    windows = [Window(28, 28, 3, 1, 1, 1)] * 2
    assert scheme_of("fast", 512, 64, 1, windows) is F4
    assert scheme_of("fast", 528, 64, 1, windows) is F2
    assert scheme_of("exact", 64, 64, 1, windows) is F2


def test_images_of_three_by_three_tiles_of_two_take_no_larger_ones() -> None:
    convolved(draw(2, 32, 6, 6), weights(32, 32), FAST)
    assert "in tiles of 2" in steps(FAST)[0]


def test_weights_that_find_no_room_are_not_mapped() -> None:
    x, weight = draw(1, 64, 16, 16), weights(64, 64)
    correct = reference(x, weight)
    assert error(convolved(x, weight, PLAIN), correct) <= 3e-6
    assert "in tiles" not in steps(PLAIN)[0]
    size = F4.points * 64 * 64 * 4
    one: Any = Cpu(mapped_weights=size + 100)
    given = [burn.tensor(each, device=one) for each in (x, weight, weight[::-1].copy())]
    layers.conv2d(layers.conv2d(given[0], given[1], None, 1, 1), given[2], None, 1, 1).numpy()
    assert ["in tiles of 4" in line for line in steps(one)] == [True, False]
    assert F2.points * 64 * 64 * 4 < size
    assert MOST_MAPPED == 512 << 20


@pytest.fixture
def threads() -> Iterator[None]:
    before = burn.get_num_threads()
    yield
    burn.set_num_threads(before)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("device", [FAST, EXACT], ids=repr)
def test_results_do_not_depend_on_the_number_of_threads(device: Any) -> None:
    x, weight = draw(2, 64, 19, 22), weights(96, 64)
    found = []
    for count in (1, 2, 3, 5):
        burn.set_num_threads(count)
        found.append(convolved(x, weight, device))
    assert all(np.array_equal(each, found[0]) for each in found)


@pytest.mark.parametrize("accuracy", ["fast", "exact"])
def test_narrow_vectors_give_the_same_results(accuracy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, weight = draw(1, 40, 14, 13), weights(48, 40)
    wide = convolved(x, weight, Cpu(accuracy=accuracy))
    np.testing.assert_array_equal(convolved(x, weight, Cpu(accuracy=accuracy, features="avx2")), wide)


@pytest.mark.parametrize(("tiles", "rows"), [(1, 6), (6, 6), (7, 6), (33, 6), (25, 8), (49, 12)])
def test_a_block_is_cut_into_runs_that_registers_hold(tiles: int, rows: int) -> None:
    runs = blocking.Blocking(4, 16, rows, tiles, 1).runs()
    covered = [start + k * size for start, size, repeats in runs for k in range(repeats)]
    assert covered[0] == 0
    assert sum(size * repeats for _, size, repeats in runs) == tiles
    assert max(size for _, size, _ in runs) <= rows


# Settings


def test_a_device_is_what_its_settings_are() -> None:
    assert Cpu(accuracy="fast") is Cpu()
    assert Cpu(accuracy="exact") is EXACT
    assert EXACT is not FAST
    assert repr(EXACT) == "Cpu(accuracy='exact')"
    assert repr(Cpu(fusion=False, mapped_weights=0)) == "Cpu(fusion=False, mapped_weights=0)"
    assert pickle.loads(pickle.dumps(EXACT)) is EXACT


def test_the_environment_stands_in_for_an_accuracy_that_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BURN_ACCURACY", "exact")
    assert Cpu() is EXACT
    assert Cpu(accuracy="fast") is FAST
    monkeypatch.setenv("BURN_ACCURACY", "best")
    with pytest.raises(ArgumentError, match=r"Cpu: BURN_ACCURACY is 'best'; write BURN_ACCURACY=exact or leave it out"):
        Cpu()


def test_every_fault_of_the_settings_is_told() -> None:
    with pytest.raises(ArgumentError) as told:
        Cpu(accuracy="high", mapped_weights=-1)
    assert str(told.value) == (
        "Cpu: accuracy is 'high'; write Cpu(accuracy='exact') or leave it out for 'fast'; "
        f"mapped_weights is -1; write bytes, at least 0, such as mapped_weights={MOST_MAPPED}"
    )
