"""Signal kernels."""

from __future__ import annotations

import torch

HALVES = (torch.float16, torch.bfloat16)


def _wide(x: torch.Tensor) -> torch.Tensor:
    return x.float() if x.dtype in HALVES else x


def _complex(re: torch.Tensor, im: torch.Tensor) -> torch.Tensor:
    return torch.complex(_wide(re), _wide(im))


def _parts(spectrum: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    return spectrum.real.to(dtype), spectrum.imag.to(dtype)


def _zeros(x: torch.Tensor, dim: int, size: int) -> torch.Tensor:
    return x.new_zeros((*x.shape[:dim], size, *x.shape[dim + 1 :]))


class Signal:
    """Kernels of the rows in `burn.ops.signal`. Torch's library refuses an empty batch."""

    @staticmethod
    def rfft(x: torch.Tensor, dim: int, n: int) -> tuple[torch.Tensor, torch.Tensor]:
        if not x.numel():
            return _zeros(x, dim, n // 2 + 1), _zeros(x, dim, n // 2 + 1)
        return _parts(torch.fft.rfft(_wide(x), n, dim), x.dtype)

    @staticmethod
    def irfft(re: torch.Tensor, im: torch.Tensor, dim: int, n: int) -> torch.Tensor:
        if not re.numel():
            return _zeros(re, dim, n)
        return torch.fft.irfft(_complex(re, im), n, dim).to(re.dtype)  # type: ignore[no-any-return]

    @staticmethod
    def cfft(re: torch.Tensor, im: torch.Tensor, dim: int, n: int) -> tuple[torch.Tensor, torch.Tensor]:
        if not re.numel():
            return _zeros(re, dim, n), _zeros(re, dim, n)
        return _parts(torch.fft.fft(_complex(re, im), n, dim), re.dtype)
