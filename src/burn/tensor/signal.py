"""Signals: Fourier transforms and the windows that frames are weighed by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import TypeVar

from burn.device import Device, current_device
from burn.dtype import dtype as as_dtype
from burn.errors import ArgumentError, DTypeError
from burn.ops.constants import constant
from burn.ops.dft import dft, short_time_dft
from burn.ops.movement import whole
from burn.ops.signal import StftOptions, cfft, irfft, istft, rfft, stft

if TYPE_CHECKING:
    from burn.dtype import DTypeLike
    from burn.tensor.tensor import Tensor

D = TypeVar("D", bound=Device, default=Device)

__all__ = [
    "StftOptions", "blackman_window", "cfft", "cosine_window", "dft", "hamming_window", "hann_window", "irfft", "istft",
    "mel_weights", "rfft", "short_time_dft", "stft",
]  # fmt: skip


def hann_window(size: int, periodic: bool = True, device: D | None = None, dtype: DTypeLike | None = None) -> Tensor[D]:
    """Make a raised cosine that begins at 0, of `size` points.

    Arguments:
        periodic: leave out the last point, as transforms want it.

    >>> from burn.tensor import signal
    >>> signal.hann_window(4).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    return _window("hann_window", (0.5, 0.5), size, periodic, device, dtype)  # type: ignore[no-any-return]


def hamming_window(
    size: int, periodic: bool = True, device: D | None = None, dtype: DTypeLike | None = None
) -> Tensor[D]:
    """Make a raised cosine that begins at 0.08, of `size` points.

    Arguments:
        periodic: leave out the last point, as transforms want it.

    >>> from burn.tensor import signal
    >>> signal.hamming_window(4).to_data()
    TensorData([0.08, 0.54, 1.0, 0.54], shape=[4], dtype=f32)
    """
    return _window("hamming_window", (0.54, 0.46), size, periodic, device, dtype)  # type: ignore[no-any-return]


def blackman_window(
    size: int, periodic: bool = True, device: D | None = None, dtype: DTypeLike | None = None
) -> Tensor[D]:
    """Make a sum of three cosines that begins at 0 with slope 0, of `size` points.

    Arguments:
        periodic: leave out the last point, as transforms want it.

    >>> from burn.tensor import signal
    >>> signal.blackman_window(4)[1:].to_data()
    TensorData([0.34, 1.0, 0.34], shape=[3], dtype=f32)
    """
    return _window("blackman_window", (0.42, 0.5, 0.08), size, periodic, device, dtype)  # type: ignore[no-any-return]


def cosine_window(
    weights: Sequence[float], size: int, periodic: bool = True, device: D | None = None, dtype: Any = None
) -> Tensor[D]:
    """Make a sum of cosines with `weights` of your own, their signs alternating, of `size` points.

    Arguments:
        periodic: leave out the last point, as transforms want it.

    >>> from burn.tensor import signal
    >>> signal.cosine_window((25 / 46, 21 / 46), 4).to_data()
    TensorData([0.08695652, 0.54347825, 1.0, 0.54347825], shape=[4], dtype=f32)
    """
    return _window("cosine_window", tuple(map(float, weights)), size, periodic, device, dtype)  # type: ignore[no-any-return]


def mel_weights(
    bins: int,
    dft_length: int,
    sample_rate: int,
    lower_edge: float,
    upper_edge: float,
    device: D | None = None,
    dtype: Any = None,
) -> Tensor[D]:
    """Make triangles on the mel scale, a matrix (dft_length // 2 + 1, bins): spectrum @ weights is a mel spectrum.

    A triangle rises from the middle of the one before it and falls to that of the next.

    Arguments:
        sample_rate, lower_edge, upper_edge: in hertz.

    >>> from burn.tensor import signal
    >>> signal.mel_weights(8, dft_length=64, sample_rate=8000, lower_edge=0.0, upper_edge=4000.0).shape
    Shape([33, 8])
    """
    count, length, rate = (whole("mel_weights", name, value) for name, value in
                           (("bins", bins), ("dft_length", dft_length), ("sample_rate", sample_rate)))  # fmt: skip
    if min(count, length, rate) < 1 or not 0 <= lower_edge <= upper_edge:
        raise ArgumentError(
            f"mel_weights: bins, dft_length and sample_rate must be 1 or more and the edges in order, got "
            f"{count}, {length}, {rate}, {lower_edge}, {upper_edge}"
        )
    target = current_device() if device is None else device
    wanted = target.float_dtype if dtype is None else as_dtype(dtype)
    low, high = (2595.0 * np.log10(1.0 + edge / 700.0) for edge in (lower_edge, upper_edge))
    mels = low + np.arange(count + 2) * (high - low) / (count + 2)
    places = ((length + 1) * (700.0 * (10.0 ** (mels / 2595.0) - 1.0)) // rate).astype(np.int64)
    values = np.zeros((length // 2 + 1, count))
    for column, (left, centre, right) in enumerate(zip(places, places[1:], places[2:])):
        rising, falling = np.arange(left, centre + 1), np.arange(centre, right)
        if centre == left:
            values[centre, column] = 1.0
        else:
            values[rising, column] = (rising - left) / (centre - left)
        if right > centre:
            values[falling, column] = (right - falling) / (right - centre)
    return constant(values, wanted, target)


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
    return constant(values, wanted, target)
