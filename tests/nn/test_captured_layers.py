"""Layers under `burn.compile`: each is captured whole, and gives what it gives outside."""

from __future__ import annotations

import numpy as np
import pytest

import burn
from burn import Cpu, Tensor
from burn.nn import (
    BatchNormConfig,
    CosineSimilarityConfig,
    DropoutConfig,
    EmbeddingConfig,
    GaussianNoiseConfig,
    GroupNormConfig,
    InstanceNormConfig,
    Interpolate2dConfig,
    InterpolateMode,
    LayerNormConfig,
    LocalResponseNormConfig,
    PaddingConfig2d,
    PixelShuffleConfig,
    PReluConfig,
    RmsNormConfig,
    RReluConfig,
    SwiGluConfig,
    Unfold4dConfig,
)
from burn.nn.conv import Conv2dConfig, ConvTranspose2dConfig, DeformConv2dConfig
from burn.nn.pool import AdaptiveAvgPool2dConfig, AvgPool2dConfig, MaxPool2dConfig
from tests.nn.peers import floats, numbers

DEVICE = Cpu()
IMAGE = (2, 4, 6, 8)

CASES = {
    "conv": (Conv2dConfig([4, 3], [2, 3], padding=PaddingConfig2d.Same).init(DEVICE), [IMAGE]),
    "transposed conv": (ConvTranspose2dConfig([4, 3], [2, 3], stride=[2, 1]).init(DEVICE), [IMAGE]),
    "deformable conv": (
        DeformConv2dConfig([4, 2], [2, 2], padding=PaddingConfig2d.Same).init(DEVICE), [IMAGE, (2, 8, 6, 8)]
    ),
    "max pool": (MaxPool2dConfig([2, 2], padding=PaddingConfig2d.Explicit(1, 0, 0, 1)).init(), [IMAGE]),
    "average pool": (
        AvgPool2dConfig([2, 2], strides=[1, 1], padding=PaddingConfig2d.Same, count_include_pad=False).init(), [IMAGE]
    ),
    "adaptive pool": (AdaptiveAvgPool2dConfig([3, 5]).init(), [IMAGE]),
    "batch norm": (BatchNormConfig(4).init(DEVICE), [IMAGE]),
    "layer norm": (LayerNormConfig(8).init(DEVICE), [IMAGE]),
    "rms norm": (RmsNormConfig(8).init(DEVICE), [IMAGE]),
    "group norm": (GroupNormConfig(2, 4).init(DEVICE), [IMAGE]),
    "instance norm": (InstanceNormConfig(4).init(DEVICE), [IMAGE]),
    "local response norm": (LocalResponseNormConfig(2).init(), [IMAGE]),
    "prelu": (PReluConfig(4).init(DEVICE), [IMAGE]),
    "swiglu": (SwiGluConfig(8, 3).init(DEVICE), [IMAGE]),
    "interpolation": (Interpolate2dConfig([4, 9], mode=InterpolateMode.Linear).init(), [IMAGE]),
    "unfold": (Unfold4dConfig([2, 3]).init(), [IMAGE]),
    "pixel shuffle": (PixelShuffleConfig(2).init(), [IMAGE]),
    "cosine": (CosineSimilarityConfig().init(), [IMAGE, IMAGE]),
    "dropout": (DropoutConfig(0.3).init().mode("train"), [IMAGE]),
    "noise": (GaussianNoiseConfig(0.3).init().mode("train"), [IMAGE]),
    "randomized rectifier": (RReluConfig().init().mode("train"), [IMAGE]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_captured_layer_gives_what_it_gives_outside(case):
    module, shapes = CASES[case]
    captured = burn.compile(lambda layer, *inputs: layer(*inputs))
    for step in range(4):
        inputs = [Tensor.from_data(floats(*shape, seed=step), DEVICE).float() for shape in shapes]
        DEVICE.seed(step)
        expected = numbers(module(*inputs))
        DEVICE.seed(step)
        np.testing.assert_allclose(numbers(captured(module, *inputs)), expected, rtol=1e-5, atol=1e-5)


def test_a_captured_embedding_gives_what_it_gives_outside():
    module = EmbeddingConfig(5, 3).init(DEVICE)
    captured = burn.compile(lambda layer, indices: layer(indices))
    for step in range(3):
        indices = Tensor.from_data(np.random.default_rng(step).integers(0, 5, (2, 4)), DEVICE)
        np.testing.assert_array_equal(numbers(captured(module, indices)), numbers(module(indices)))
