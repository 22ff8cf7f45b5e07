"""Samples of Fourier transforms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from burn.errors import ArgumentError, DTypeError, ShapeError
from burn.ops.signal import StftOptions
from tests.ops.sample import Sample, call, integers, random, refused, samples


def _parts(spectrum: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return spectrum.real, spectrum.imag


def _rfft_oracle(x: torch.Tensor, dim: int = -1, n: int | None = None) -> Any:
    return _parts(torch.fft.rfft(x if x.is_floating_point() else x.float(), n, dim))


@samples("rfft", oracle=_rfft_oracle)
def _rfft() -> Iterator[Sample]:
    for n in (None, 5, 3, 8, 1):
        yield call(random(2, 5), -1, n, tolerance=1e-5)
    yield call(random(6, 3), 0, tolerance=1e-5)
    yield call(random(2, 7, 3), 1, 4, tolerance=1e-5)
    yield call(random(1))
    yield call(random(0, 4), 1, oracle=False)  # PyTorch's library refuses an empty batch
    yield call(random(4, 3).T, 1, 6, tolerance=1e-5)
    yield call(random(3, 12)[::2, ::-1], tolerance=1e-5)
    yield call(integers(2, 6), tolerance=1e-5)


refused("rfft", random(3), 1, error=ShapeError, match="dim 1 is out of range")
refused("rfft", random(3, 0), error=ArgumentError, match="length of 1 or more, got 0; give n=")
refused("rfft", random(3), 0, 2.5, error=ArgumentError, match="n must be an int, got 2.5")


@samples("irfft", oracle=lambda re, im, dim=-1, n=None: torch.fft.irfft(torch.complex(re, im), n, dim))
def _irfft() -> Iterator[Sample]:
    for n in (None, 6, 7, 4, 12):
        yield call(random(2, 4), random(2, 4, seed=1), -1, n, tolerance=1e-5)
    yield call(random(4, 3), random(4, 3, seed=1), 0, tolerance=1e-5)
    yield call(random(1), random(1, seed=1), 0, 1)
    yield call(random(4, 3).T, random(6, 4, seed=1)[::2], 1, 5, tolerance=1e-5)


refused("irfft", random(3), random(4), error=ShapeError, match=r"re has shape \(3,\) and im \(4,\)")
refused("irfft", random(1), random(1), error=ArgumentError, match="length of 1 or more, got 0; give n=")


@samples("cfft", oracle=lambda re, im, dim=-1, n=None: _parts(torch.fft.fft(torch.complex(re, im), n, dim)))
def _cfft() -> Iterator[Sample]:
    for n in (None, 5, 3, 8):
        yield call(random(2, 5), random(2, 5, seed=1), -1, n, tolerance=1e-5)
    yield call(random(6, 3), random(6, 3, seed=1), 0, tolerance=1e-5)
    yield call(random(4, 3).T, random(6, 4, seed=1)[::2], 1, 6, tolerance=1e-5)
    yield call(random(1), random(1, seed=1))


refused("cfft", random(3), random(2), error=ShapeError, match="they must be the same")


def _stft_oracle(x: torch.Tensor, window: torch.Tensor | None, options: Any) -> torch.Tensor:
    n_fft, hop, length, center, onesided = StftOptions(*(options if isinstance(options, tuple) else (options,)))
    length = length or n_fft
    window = torch.ones(length, dtype=x.dtype) if window is None else window
    spectrum = torch.stft(
        x, n_fft, hop, length, window, center=center, onesided=onesided, return_complex=True, pad_mode="reflect"
    )
    return torch.view_as_real(spectrum.transpose(1, 2))


@samples("stft", oracle=_stft_oracle)
def _stft() -> Iterator[Sample]:
    yield call(random(2, 12), random(8, seed=1), 8, tolerance=1e-5)
    yield call(random(2, 12), None, StftOptions(6, 2), tolerance=1e-5)
    yield call(random(1, 13), random(5, seed=1), StftOptions(8, 3, 5), tolerance=1e-5)
    yield call(random(2, 12), random(7, seed=1), StftOptions(7, 2, center=False), tolerance=1e-5)
    yield call(random(2, 12), random(6, seed=1), StftOptions(6, 3, onesided=False), tolerance=1e-5)
    yield call(random(24, 2).T, random(8, seed=1), StftOptions(8), tolerance=1e-5)


refused("stft", random(12), None, 4, error=ShapeError, match=r"shape \(batch, length\), got \(12,\)")
refused("stft", random(1, 12), random(3), 4, error=ShapeError, match=r"window has shape \(3,\).*asks for \(4,\)")
refused("stft", random(1, 2), None, 8, error=ShapeError, match="too short to be reflected by 4.*center=False")
refused("stft", random(1, 5), None, StftOptions(8, center=False), error=ShapeError, match="shorter than a frame")
refused("stft", random(1, 12), None, StftOptions(4, 5), error=ArgumentError, match="hop_length must be between 1 and")
refused("stft", random(1, 12), None, StftOptions(4, 1, 5), error=ArgumentError, match="win_length must be between 1")
refused("stft", random(1, 12), None, 0, error=ArgumentError, match="n_fft must be 1 or more, got 0")
refused("stft", random(1, 12), 1.0, 4, error=DTypeError, match="window must be a Tensor, got float")


def _istft_oracle(x: torch.Tensor, window: torch.Tensor | None, length: int | None, options: Any) -> torch.Tensor:
    n_fft, hop, win_length, center, onesided = StftOptions(*(options if isinstance(options, tuple) else (options,)))
    win_length = win_length or n_fft
    window = torch.ones(win_length, dtype=x.dtype) if window is None else window
    spectrum = torch.view_as_complex(x.contiguous()).transpose(1, 2)
    return torch.istft(spectrum, n_fft, hop, win_length, window, center=center, onesided=onesided, length=length)


def _window(size: int) -> Any:
    return random(size, seed=1, low=0.5, high=1.5)


@samples("istft", oracle=_istft_oracle)
def _istft() -> Iterator[Sample]:
    yield call(random(2, 4, 5, 2), _window(8), None, 8, tolerance=1e-5)
    yield call(random(2, 5, 4, 2), None, 7, StftOptions(6, 2), tolerance=1e-5)
    yield call(random(1, 5, 5, 2), _window(6), None, StftOptions(8, 3, 6), tolerance=1e-5)
    yield call(random(2, 4, 4, 2), _window(7), None, StftOptions(7, 2, center=False), tolerance=1e-5)
    yield call(random(2, 4, 4, 2), _window(6), 11, StftOptions(6, 3), tolerance=1e-5)


refused("istft", random(2, 4, 5), None, None, 8, error=ShapeError, match=r"\(batch, frames, frequencies, 2\)")
refused("istft", random(2, 4, 4, 2), None, None, 8, error=ShapeError, match="has 4 frequencies.*asks for 5")
refused("istft", random(2, 0, 5, 2), None, None, 8, error=ShapeError, match="holds no frames")
refused("istft", random(2, 3, 5, 2), None, -1, 8, error=ArgumentError, match="length must be 0 or more")
