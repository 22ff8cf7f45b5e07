"""Layers of signals and images without parameters: interpolation, patches, pixel shuffles, against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from burn import ArgumentError, NdArray, ShapeError, Tensor
from burn.nn import (
    Fold4dConfig,
    Interpolate1dConfig,
    Interpolate2dConfig,
    InterpolateMode,
    PixelShuffleConfig,
    PixelUnshuffleConfig,
    Unfold4dConfig,
)
from tests.nn.peers import every_device, floats, numbers, same

DEVICE = NdArray()


def resampled(size, mode, aligned=None):
    return lambda x: functional.interpolate(x, size, mode=mode, align_corners=aligned)


Mode = InterpolateMode
CASES = {
    "1d nearest": (Interpolate1dConfig(7), resampled(7, "nearest"), (2, 3, 4)),
    "1d by a factor": (Interpolate1dConfig(scale_factor=2.6), resampled(7, "nearest"), (1, 1, 3)),
    "1d linear": (Interpolate1dConfig(9, mode=Mode.Linear), resampled(9, "linear", True), (1, 2, 5)),
    "2d nearest": (Interpolate2dConfig([5, 3]), resampled((5, 3), "nearest"), (1, 2, 3, 4)),
    "2d nearest exact": (
        Interpolate2dConfig([5, 7], mode=Mode.NearestExact), resampled((5, 7), "nearest-exact"), (1, 2, 3, 4)
    ),
    "2d linear": (
        Interpolate2dConfig(scale_factor=[1.5, 0.5], mode=Mode.Linear), resampled((6, 3), "bilinear", True),
        (2, 1, 4, 6),
    ),
    "2d linear unaligned": (
        Interpolate2dConfig([4, 9], mode=Mode.Linear, align_corners=False), resampled((4, 9), "bilinear", False),
        (1, 2, 6, 5),
    ),
    "2d cubic": (Interpolate2dConfig([7, 5], mode=Mode.Cubic), resampled((7, 5), "bicubic", True), (1, 1, 4, 6)),
    "2d cubic unaligned": (
        Interpolate2dConfig([3, 8], mode=Mode.Cubic, align_corners=False), resampled((3, 8), "bicubic", False),
        (1, 2, 5, 4),
    ),
    "unfold": (Unfold4dConfig([2, 3]), lambda x: functional.unfold(x, (2, 3)), (2, 3, 4, 5)),
    "unfold with settings": (
        Unfold4dConfig([2, 2], stride=[2, 1], dilation=[1, 2], padding=[1, 0]),
        lambda x: functional.unfold(x, 2, (1, 2), (1, 0), (2, 1)), (1, 2, 5, 4),
    ),
    "fold": (
        Fold4dConfig([4, 5], [2, 2], stride=[1, 2], padding=[0, 1]),
        lambda x: functional.fold(x, (4, 5), 2, 1, (0, 1), (1, 2)), (2, 12, 9),
    ),
    "pixel shuffle": (PixelShuffleConfig(2), torch.nn.PixelShuffle(2), (2, 8, 3, 1)),
    "pixel shuffle by one": (PixelShuffleConfig(1), torch.nn.PixelShuffle(1), (1, 2, 3, 2)),
    "pixel unshuffle": (PixelUnshuffleConfig(3), torch.nn.PixelUnshuffle(3), (1, 2, 6, 3)),
}  # fmt: skip


@every_device
@pytest.mark.parametrize("case", CASES)
def test_results_and_gradients_are_those_of_torch(case, device):
    config, theirs, shape = CASES[case]
    same(config.init(), theirs, floats(*shape), device=device)


def test_lanczos_keeps_what_is_constant_and_reproduces_its_own_size():
    x = Tensor.from_data(floats(1, 1, 6, 5), DEVICE)
    kept = Interpolate2dConfig([6, 5], mode=Mode.Lanczos).init()
    np.testing.assert_allclose(numbers(kept(x)), numbers(x), atol=1e-6)
    larger = Interpolate2dConfig([9, 4], mode=Mode.Lanczos).init()
    np.testing.assert_allclose(numbers(larger(Tensor.ones([1, 1, 6, 5], DEVICE))), np.ones((1, 1, 9, 4)), atol=1e-6)


def test_exactly_one_of_size_and_factor_is_given():
    with pytest.raises(ArgumentError, match="give output_size or scale_factor, got neither"):
        Interpolate1dConfig().init()
    with pytest.raises(ArgumentError, match="got both"):
        Interpolate2dConfig([1, 2], scale_factor=[1.0, 1.0]).init()
    with pytest.raises(ArgumentError, match=r"scale_factor must be above 0 and finite, got \[0.0, 1.0\]"):
        Interpolate2dConfig(scale_factor=[0.0, 1.0]).init()


def test_settings_and_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ArgumentError, match=r"stride must be 1 or more, got \[0, 1\]; padding must be 0 or more"):
        Unfold4dConfig([2, 2], stride=[0, 1], padding=[-1, 0]).init()
    with pytest.raises(ArgumentError, match="upscale_factor must be 1 or more"):
        PixelShuffleConfig(0).init()
    with pytest.raises(ShapeError, match=r"PixelShuffle: the channels of x \(1, 6, 2, 2\) must be a multiple of 2"):
        PixelShuffleConfig(2).init()(Tensor.ones([1, 6, 2, 2], DEVICE))
    with pytest.raises(ShapeError, match="PixelUnshuffle: height and width"):
        PixelUnshuffleConfig(2).init()(Tensor.ones([1, 1, 3, 2], DEVICE))
    with pytest.raises(ShapeError, match="Interpolate1d: x must have the shape"):
        Interpolate1dConfig(2).init()(Tensor.ones([1, 1, 3, 2], DEVICE))


def test_an_interpolation_changes_its_mode_like_any_module():
    module = Interpolate1dConfig(4).init()
    assert module.valid().train()(Tensor.ones([1, 1, 2], DEVICE)).shape == (1, 1, 4)


def test_modules_print_their_settings():
    assert str(Interpolate2dConfig([3, 4]).init()) == (
        "Interpolate2d {mode: Nearest, output_size: [3, 4], scale_factor: None, align_corners: true}"
    )
    assert str(Unfold4dConfig([2, 3]).init()) == (
        "Unfold4d {kernel_size: [2, 3], stride: [1, 1], dilation: [1, 1], padding: [0, 0]}"
    )
    assert str(PixelShuffleConfig(2).init()) == "PixelShuffle {upscale_factor: 2}"
