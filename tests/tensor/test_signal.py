"""Windows and round trips of transforms, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import burn
from burn.backend import Autodiff, LibTorch, NdArray
from burn.errors import ArgumentError, DTypeError
from burn.tensor import signal
from burn.tensor.signal import StftOptions

DEVICES = [NdArray(), LibTorch("cpu")]


@pytest.mark.parametrize("device", DEVICES, ids=repr)
@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 8, 401])
@pytest.mark.parametrize("name", ["hann_window", "hamming_window", "blackman_window"])
def test_a_window_is_the_one_of_pytorch(name: str, size: int, periodic: bool, device: burn.Device) -> None:
    ours = getattr(signal, name)(size, periodic, device)
    assert ours.dtype is burn.f32
    theirs = getattr(torch, name)(size, periodic, dtype=torch.float64)
    np.testing.assert_allclose(np.asarray(ours), theirs.numpy(), atol=1e-7)


def test_a_window_has_the_dtype_asked_for() -> None:
    assert signal.hann_window(4, device=NdArray(float=burn.f64)).dtype is burn.f64
    assert signal.hann_window(4, device=NdArray(), dtype="f16").dtype is burn.f16
    with pytest.raises(DTypeError, match="made of floats, got dtype=i32"):
        signal.hann_window(4, device=NdArray(), dtype="i32")
    with pytest.raises(ArgumentError, match="size must be 0 or more, got -1"):
        signal.hann_window(-1, device=NdArray())


def noise(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng([3, *shape]).normal(size=shape)


@pytest.mark.parametrize("device", DEVICES, ids=repr)
@pytest.mark.parametrize("length", [1, 2, 7, 8, 30, 97])
def test_a_signal_comes_back_from_its_spectrum(length: int, device: burn.Device) -> None:
    x = burn.tensor(noise(3, length), device=device, dtype="f64")
    re, im = signal.rfft(x, 1)
    back = signal.irfft(re, im, 1, length)
    np.testing.assert_allclose(np.asarray(back), np.asarray(x), atol=1e-12)


@pytest.mark.parametrize("device", DEVICES, ids=repr)
@pytest.mark.parametrize("onesided", [True, False])
@pytest.mark.parametrize("n_fft, hop", [(16, 4), (12, 5), (15, 3)])
def test_a_signal_comes_back_from_its_frames(n_fft: int, hop: int, onesided: bool, device: burn.Device) -> None:
    x = burn.tensor(noise(2, 100), device=device, dtype="f64")
    options = StftOptions(n_fft, hop, onesided=onesided)
    window = signal.hamming_window(n_fft, device=device, dtype="f64")
    spectrum = signal.stft(x, window, options)
    assert spectrum.shape[2:] == (n_fft // 2 + 1 if onesided else n_fft, 2)
    back = signal.istft(spectrum, window, 100, options)
    whole = n_fft + (spectrum.shape[1] - 1) * hop - n_fft // 2
    np.testing.assert_allclose(np.asarray(back)[:, :whole], np.asarray(x)[:, :whole], atol=1e-10)


def test_options_follow_burns_defaults() -> None:
    x = burn.tensor(noise(1, 64), device=NdArray(), dtype="f64")
    plain = signal.stft(x, None, StftOptions(16))
    spelled = signal.stft(x, None, StftOptions(16, hop_length=4, win_length=16, center=True, onesided=True))
    assert plain.shape == (1, 17, 9, 2)
    np.testing.assert_array_equal(np.asarray(plain), np.asarray(spelled))


def test_a_loss_on_the_spectrum_reaches_the_signal() -> None:
    values = noise(1, 10)
    x = burn.tensor(values, device=Autodiff(NdArray()), dtype="f64").require_grad()
    re, im = signal.rfft(x, 1)
    grads = (re * re + im * im).sum().backward()
    tx = torch.tensor(values, requires_grad=True)
    torch.fft.rfft(tx, dim=1).abs().square().sum().backward()
    assert tx.grad is not None
    np.testing.assert_allclose(np.asarray(x.grad(grads)), tx.grad.numpy(), rtol=1e-10)


def test_only_one_part_may_have_a_gradient() -> None:
    x = burn.tensor([1.0, 2.0, 3.0], device=Autodiff(NdArray())).require_grad()
    _, im = signal.rfft(x, 0)
    gradient = np.asarray(x.grad(im.sum().backward()))
    np.testing.assert_allclose(gradient, [0.0, -np.sin(2 * np.pi / 3), -np.sin(4 * np.pi / 3)], atol=1e-6)
