"""Signals: Fourier transforms and the windows that frames are weighed by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from burn.device import Device, current_device
from burn.dtype import dtype as as_dtype
from burn.errors import ArgumentError, DTypeError
from burn.ops.movement import whole
from burn.ops.signal import StftOptions, cfft, irfft, istft, rfft, stft
from burn.tensor.data import TensorData
from burn.tensor.methods.creation import place

if TYPE_CHECKING:
    from burn.tensor.tensor import Tensor

D = TypeVar("D", bound=Device)

__all__ = [
    "StftOptions", "blackman_window", "cfft", "hamming_window", "hann_window", "irfft", "istft", "rfft", "stft",
]  # fmt: skip


def hann_window(size: int, periodic: bool = True, device: D | None = None, dtype: Any = None) -> Tensor[D]:
    """A raised cosine that begins at 0; `periodic` leaves out the last point, as transforms want it."""
    return _window("hann_window", (0.5, 0.5), size, periodic, device, dtype)  # type: ignore[no-any-return]


def hamming_window(size: int, periodic: bool = True, device: D | None = None, dtype: Any = None) -> Tensor[D]:
    """A raised cosine that begins at 0.08."""
    return _window("hamming_window", (0.54, 0.46), size, periodic, device, dtype)  # type: ignore[no-any-return]


def blackman_window(size: int, periodic: bool = True, device: D | None = None, dtype: Any = None) -> Tensor[D]:
    """A sum of three cosines that begins at 0 with slope 0."""
    return _window("blackman_window", (0.42, 0.5, 0.08), size, periodic, device, dtype)  # type: ignore[no-any-return]


def _window(name: str, weights: tuple[float, ...], size: int, periodic: bool, device: Any, dtype: Any) -> Any:
    """A sum of cosines, computed on the host in f64: the same on every device."""
    length = whole(name, "size", size)
    if length < 0:
        raise ArgumentError(f"{name}: size must be 0 or more, got {length}")
    target = current_device() if device is None else device
    wanted = target.float_dtype if dtype is None else as_dtype(dtype)
    if not wanted.is_float:
        raise DTypeError(f"{name}: a window is made of floats, got dtype={wanted}")
    angle = 2.0 * np.pi * np.arange(length) / max(length if periodic else length - 1, 1)
    values = sum((-1) ** k * weight * np.cos(k * angle) for k, weight in enumerate(weights))
    if length == 1:
        values = np.ones(1)
    return place(TensorData(np.asarray(values)).convert(wanted), target)
