"""Samples of Fourier transforms of tensors whose last dim holds the parts of complex numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from burn.errors import ArgumentError, ShapeError
from tests.ops.sample import Sample, call, integers, random, refused, samples


def _complex(x: Any) -> Any:
    x = x if x.is_floating_point() else x.float()
    return torch.complex(x[..., 0], x[..., 1] if x.shape[-1] == 2 else torch.zeros_like(x[..., 0]))


def _transformed(x: Any, n: int | None = None, dim: int = -2, inverse: bool = False, onesided: bool = False) -> Any:
    dim, signal = dim % x.dim(), _complex(x)
    if inverse:
        if onesided:
            return torch.fft.irfft(signal, n, dim)[..., None]
        return torch.view_as_real(torch.fft.ifft(signal, n, dim))
    found = torch.fft.fft(signal, n, dim)
    return torch.view_as_real(found.narrow(dim, 0, found.shape[dim] // 2 + 1) if onesided else found)


@samples("dft", oracle=_transformed)
def _dft() -> Iterator[Sample]:
    yield call(random(2, 5, 1), tolerance=1e-5)
    yield call(random(2, 6, 1), onesided=True, tolerance=1e-5)
    yield call(random(2, 5, 2), 7, 1, tolerance=1e-5)
    yield call(random(2, 5, 2), 4, 1, True, tolerance=1e-5)
    yield call(random(2, 4, 2), None, 1, True, True, tolerance=1e-5)
    yield call(random(2, 4, 2), 5, 1, True, True, tolerance=1e-5)
    yield call(random(4, 3, 2), None, 0, onesided=True, tolerance=1e-5)
    yield call(random(4, 3, 1), None, -3, True, tolerance=1e-5)
    yield call(random(1, 8, 3, 2)[..., ::2, :], None, -2, tolerance=1e-5)
    yield call(integers(2, 6, 1), tolerance=1e-5)


refused("dft", random(4), error=ShapeError, match="the last dim must hold the real part")
refused("dft", random(4, 3), error=ShapeError, match="the last dim must hold the real part")
refused("dft", random(4, 2), None, -1, error=ArgumentError, match="holds the parts of the numbers")
refused("dft", random(4, 2), 0, error=ArgumentError, match="a length of 1 or more")


def _framed(x: Any, window: Any, frame_step: int, frame_length: int | None = None, onesided: bool = True) -> Any:
    signal = x if x.ndim == 2 else _complex(x)
    length = frame_length or (x.shape[1] if window is None else window.shape[0])
    frames = signal.unfold(1, length, frame_step)
    found = torch.fft.fft(frames if window is None else frames * window)
    return torch.view_as_real(found[..., : length // 2 + 1] if onesided else found)


@samples("short_time_dft", oracle=_framed)
def _stft() -> Iterator[Sample]:
    yield call(random(2, 11, 1), random(4, low=0.1), 2, tolerance=1e-5)
    yield call(random(1, 11, 1), None, 3, 5, tolerance=1e-5)
    yield call(random(1, 9, 2), random(4, low=0.1), 4, 4, False, tolerance=1e-5)
    yield call(random(1, 6, 1), None, 6, tolerance=1e-5)
    yield call(random(2, 9), random(4, low=0.1), 3, tolerance=1e-5)


refused("short_time_dft", random(8), None, 2, error=ShapeError, match="the last dim must hold|needs signals")
refused("short_time_dft", random(2, 8, 3), None, 2, error=ShapeError, match="the last dim must hold")
refused("short_time_dft", random(2, 8, 1), None, 0, 4, error=ArgumentError, match="frame_step must be 1 or more")
refused("short_time_dft", random(2, 8, 1), None, 1, 9, error=ArgumentError, match="frames of 9 do not fit")
refused("short_time_dft", random(2, 8, 1), random(3), 1, 4, error=ShapeError, match="window has shape")
