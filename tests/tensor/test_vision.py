"""Images, windows and draws under their public names."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import burn
from burn.backend import Autodiff, NdArray
from burn.errors import ArgumentError, AutodiffError, DTypeError
from burn.tensor import module, vision
from burn.tensor.signal import cosine_window, dft, mel_weights, short_time_dft
from tests.ops.onnx_oracle import onnx_node
from tests.stacks import STACKS

PIXELS = np.random.default_rng(0).uniform(-1, 1, (1, 4, 6, 5))


def test_methods_and_functions_are_one() -> None:
    x = burn.tensor(PIXELS)
    for ours, theirs in (
        (x.resize((3, 4), dims=(2, 3), mode="linear"), vision.resize(x, (3, 4), dims=(2, 3), mode="linear")),
        (x.depth_to_space(2), vision.depth_to_space(x, 2)),
        (x.pad_or_crop([(0, 0), (0, 0), (1, -2), (-1, 0)]), vision.pad_or_crop(x, [(0, 0), (0, 0), (1, -2), (-1, 0)])),
        (x.center_crop_pad((8, 3), (2, 3)), vision.center_crop_pad(x, (8, 3), (2, 3))),
    ):
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))


def test_resizing_matches_pytorch_and_its_gradient() -> None:
    x = burn.tensor(PIXELS, device=NdArray().autodiff()).require_grad()
    theirs = torch.from_numpy(PIXELS.copy()).requires_grad_(True)
    for mode, name in (("linear", "bilinear"), ("cubic", "bicubic")):
        for antialias in (False, True):
            ours = x.resize((3, 7), dims=(2, 3), mode=mode, antialias=antialias, exclude_outside=antialias,
                            cubic_coefficient=-0.5 if antialias else -0.75)  # fmt: skip
            expected = torch.nn.functional.interpolate(theirs, (3, 7), mode=name, antialias=antialias)
            np.testing.assert_allclose(np.asarray(ours), expected.detach().numpy(), atol=1e-12)
            grads = (ours * ours).sum().backward()
            (gradient,) = torch.autograd.grad((expected * expected).sum(), theirs)
            np.testing.assert_allclose(np.asarray(x.grad(grads)), gradient.numpy(), atol=1e-12)


def test_a_maximum_of_samples_has_no_gradient() -> None:
    x = burn.tensor(PIXELS, device=Autodiff(NdArray())).require_grad()
    boxes, images = burn.tensor(np.array([[0.0, 0.0, 3.0, 3.0]])), burn.tensor(np.array([0]))
    boxes, images = boxes.to(x.device), images.to(x.device)
    with pytest.raises(AutodiffError, match="roi_align: mode='max' passes no gradient"):
        vision.roi_align(x, boxes, images, 2, mode="max").sum().backward()


def test_constants_computed_on_the_host_are_part_of_a_captured_program() -> None:
    def run(x: burn.Tensor) -> burn.Tensor:
        y = x.resize((7, 9), dims=(2, 3), mode="linear")
        y = module.avg_pool_padded(y, 3, 2, [(0, 1), (1, 0)], 1, False)
        return y.pad_or_crop([(0, 0), (0, 0), (1, 1), (1, -1)], 0.0, "reflect")

    captured = burn.compile(run)  # a function that cannot be captured warns, and warnings are errors
    for seed in range(4):
        x = np.random.default_rng(seed).uniform(-1, 1, (1, 2, 5, 6)).astype(np.float32)
        ours = captured(burn.tensor(x, device=STACKS["cpu"]))
        np.testing.assert_allclose(np.asarray(ours), np.asarray(run(burn.tensor(x, device=NdArray()))), atol=1e-6)


@pytest.mark.parametrize("stack", STACKS)
def test_weights_on_the_mel_scale_match_onnx(stack: str) -> None:
    for bins, length, rate, low, high in ((8, 16, 8192, 0.0, 4096.0), (5, 64, 16000, 100.0, 7600.0)):
        ours = mel_weights(bins, length, rate, low, high, STACKS[stack])
        theirs = onnx_node("MelWeightMatrix", *map(np.array, (bins, length, rate, np.float64(low), np.float64(high))))
        np.testing.assert_allclose(np.asarray(ours), theirs.numpy(), rtol=1e-6)
    with pytest.raises(ArgumentError, match="mel_weights: bins, dft_length and sample_rate must be 1 or more"):
        mel_weights(0, 16, 8192, 0.0, 4096.0)


def test_windows_of_own_weights_match_onnx() -> None:
    for kind, weights in (
        ("HannWindow", (0.5, 0.5)),
        ("HammingWindow", (25 / 46, 21 / 46)),
        ("BlackmanWindow", (0.42, 0.5, 0.08)),
    ):
        for periodic in (True, False):
            theirs = onnx_node(kind, np.array(10), periodic=int(periodic), output_datatype=11)
            ours = cosine_window(weights, 10, periodic, dtype="f64")
            np.testing.assert_allclose(np.asarray(ours), theirs.numpy(), atol=1e-12)


def test_transforms_match_onnx() -> None:
    signal = np.random.default_rng(1).uniform(-1, 1, (2, 16, 1))
    for onesided in (True, False):
        ours = dft(burn.tensor(signal), None, 1, False, onesided)
        theirs = onnx_node("DFT", signal, None, np.array(1), onesided=int(onesided), opset=20)
        np.testing.assert_allclose(np.asarray(ours), theirs.numpy(), atol=1e-12)
        window = np.hanning(8)
        ours = short_time_dft(burn.tensor(signal), burn.tensor(window), 4, None, onesided)
        theirs = onnx_node("STFT", signal, np.array(4), window, np.array(8), onesided=int(onesided), opset=20)
        np.testing.assert_allclose(np.asarray(ours), theirs.numpy(), atol=1e-12)


@pytest.mark.parametrize("stack", ["ndarray", "libtorch", "cpu"])
def test_draws_follow_their_probabilities(stack: str) -> None:
    device = STACKS[stack]
    device.seed(3)
    chances = burn.tensor(np.repeat([[0.0], [0.25], [1.0]], 4000, axis=1).astype(np.float32), device=device)
    drawn = chances.bernoulli("i64")
    assert drawn.dtype.name == "i64"
    means = np.asarray(drawn).mean(axis=1)
    assert means[0] == 0.0
    assert means[2] == 1.0
    assert abs(means[1] - 0.25) < 0.03
    assert chances.bernoulli().dtype is chances.dtype
    with pytest.raises(DTypeError, match="bernoulli: probabilities are floats"):
        drawn.bernoulli()
