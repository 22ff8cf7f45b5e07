"""Fourier transforms. A spectrum is two tensors, the real and the imaginary parts.

Lengths are free: no power of two is needed. NumPy does the work on every device whose backend has
no kernel of its own, and half precision is computed in f32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from burn.dtype import HALVES, from_numpy
from burn.errors import ArgumentError, ShapeError
from burn.ops import creation
from burn.ops.declare import composite, floating, hosted, prepared
from burn.ops.joining import cat, stack
from burn.ops.movement import positions, whole, zeros
from burn.ops.op import Op
from burn.shape import Shape, axis

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor


def _length(op: Op, n: Any, otherwise: int) -> int:
    length = otherwise if n is None else whole(op.name, "n", n)
    if length < 1:
        raise ArgumentError(f"{op.name}: the transform needs a length of 1 or more, got {length}; give n=...")
    return length


def _wide(x: Any) -> Any:
    return x.astype(np.float32) if from_numpy(x.dtype) in HALVES else x


def _parts(spectrum: Any, dtype: Any) -> tuple[Any, Any]:
    return spectrum.real.astype(dtype), spectrum.imag.astype(dtype)


def _fit(x: Any, dim: int, size: int) -> Any:
    """`x` cut, or filled up with zeros, to `size` along `dim`."""
    have = x.shape[dim]
    if have == size:
        return x
    if have > size:
        return x.narrow(dim, 0, size)
    return cat([x, zeros(x.shape.with_dim(dim, size - have), x)], dim)


def _end_weights(like: Any, dim: int, n: int, ends: float, between: float) -> Any:
    """A weight for each frequency: those that have no mirror image (0 and the half of an even `n`), and the others."""
    bins = n // 2 + 1
    shape = [bins if each == dim else 1 for each in range(len(like.shape))]
    places = positions(bins, like.device)
    alone = (places == 0) | (places * 2 == n)
    return creation.full(between, (bins,), like.dtype, device=like.device).mask_fill(alone, ends).reshape(shape)


def _both(g: Any) -> list[Any]:
    """The two gradients of a spectrum, zeros where none came."""
    known = next(each for each in g if each is not None)
    return [known.zeros_like() if each is None else each for each in g]


# Real signals


def _rfft_rule(op: Op, x: Any, dim: Any, n: Any) -> Any:
    found = axis(op.name, dim, len(x.shape))
    length = _length(op, n, x.shape[found])
    shape = x.shape.with_dim(found, length // 2 + 1)
    return [shape, shape], [x.dtype, x.dtype], (found, length)


def _rfft(x: Any, dim: int, n: int) -> Any:
    return _parts(np.fft.rfft(_wide(x), n, dim), x.dtype)


def _rfft_gradient(g: Any, x_shape: Any, dim: int, n: int) -> Any:
    re, im = _both(g)
    weights = _end_weights(re, dim, n, float(n), n * 0.5)
    return _fit(irfft(re * weights, im * weights, dim, n), dim, x_shape[dim])


@hosted(rule=_rfft_rule, reference=_rfft, prepare=prepared(floating), vjp=dict(x=_rfft_gradient), outputs=2, total=True)
def rfft(x: Tensor[B], dim: int = -1, n: int | None = None) -> tuple[Tensor[B], Tensor[B]]:
    """Transform a real signal along `dim`, cut or filled with zeros to `n`: frequencies 0 to `n // 2`.

    >>> from burn.tensor import signal
    >>> re, im = signal.rfft(burn.tensor([1.0, 0.0, -1.0, 0.0]))
    >>> re.tolist(), im.tolist()
    ([0.0, 2.0, 0.0], [0.0, 0.0, 0.0])
    """
    ...


def _irfft_rule(op: Op, re: Any, im: Any, dim: Any, n: Any) -> Any:
    _same_shapes(op, re, im)
    found = axis(op.name, dim, len(re.shape))
    length = _length(op, n, 2 * (re.shape[found] - 1))
    if not re.shape[found]:
        raise ShapeError(f"{op.name}: dim {dim} of {tuple(re.shape)} holds no frequencies")
    return re.shape.with_dim(found, length), re.dtype, (found, length)


def _same_shapes(op: Op, re: Any, im: Any) -> None:
    if re.shape != im.shape:
        raise ShapeError(f"{op.name}: re has shape {tuple(re.shape)} and im {tuple(im.shape)}; they must be the same")


def _irfft(re: Any, im: Any, dim: int, n: int) -> Any:
    return np.fft.irfft(_wide(re) + 1j * _wide(im), n, dim).astype(re.dtype, copy=False)


def _irfft_gradient(part: int) -> Any:
    def gradient(g: Any, re_shape: Any, dim: int, n: int) -> Any:
        spectrum = rfft(g, dim, n)[part]
        return _fit(spectrum * _end_weights(g, dim, n, 1.0 / n, 2.0 / n), dim, re_shape[dim])

    return gradient


@hosted(
    rule=_irfft_rule,
    reference=_irfft,
    prepare=prepared(floating, "re", "im"),
    vjp=dict(re=_irfft_gradient(0), im=_irfft_gradient(1)),
    total=True,
)
def irfft(re: Tensor[B], im: Tensor[B], dim: int = -1, n: int | None = None) -> Tensor[B]:
    """Give the real signal of length `n` along `dim` whose spectrum is `re + i im`: the inverse of `rfft`.

    Without `n` the length is even: twice the number of frequencies, less two.

    >>> from burn.tensor import signal
    >>> signal.irfft(burn.tensor([0.0, 2.0, 0.0]), burn.tensor([0.0, 0.0, 0.0])).tolist()
    [1.0, 0.0, -1.0, 0.0]
    """
    ...


# Complex signals


def _cfft_rule(op: Op, re: Any, im: Any, dim: Any, n: Any) -> Any:
    _same_shapes(op, re, im)
    found = axis(op.name, dim, len(re.shape))
    length = _length(op, n, re.shape[found])
    shape = re.shape.with_dim(found, length)
    return [shape, shape], [re.dtype, re.dtype], (found, length)


def _cfft(re: Any, im: Any, dim: int, n: int) -> Any:
    return _parts(np.fft.fft(_wide(re) + 1j * _wide(im), n, dim), re.dtype)


def _cfft_gradient(part: int) -> Any:
    def gradient(g: Any, re_shape: Any, dim: int, n: int) -> Any:
        re, im = _both(g)
        # the adjoint is the transform with the parts exchanged before and after
        return _fit(cfft(im, re, dim, n)[1 - part], dim, re_shape[dim])

    return gradient


@hosted(
    rule=_cfft_rule,
    reference=_cfft,
    prepare=prepared(floating, "re", "im"),
    vjp=dict(re=_cfft_gradient(0), im=_cfft_gradient(1)),
    outputs=2,
    total=True,
)
def cfft(re: Tensor[B], im: Tensor[B], dim: int = -1, n: int | None = None) -> tuple[Tensor[B], Tensor[B]]:
    """Transform the complex signal `re + i im` along `dim`, cut or filled with zeros to `n`: all `n` frequencies.

    >>> from burn.tensor import signal
    >>> re, im = signal.cfft(burn.tensor([1.0, 0.0]), burn.tensor([0.0, 1.0]))
    >>> re.tolist(), im.tolist()
    ([1.0, 1.0], [1.0, -1.0])
    """
    ...


# Short-time transforms


class StftOptions(NamedTuple):
    """How a signal is cut into frames.

    Arguments:
        n_fft: the length of a frame.
        hop_length: how far one frame starts after another; a quarter of `n_fft` if None.
        win_length: the length of the window, in the middle of a frame; `n_fft` if None.
        center: whether the signal is reflected at both ends by half a frame.
        onesided: only frequencies 0 to `n_fft // 2`.

    >>> from burn.tensor import signal
    >>> signal.stft(Tensor.ones([1, 16]), None, signal.StftOptions(8, hop_length=4)).shape
    Shape([1, 5, 5, 2])
    """

    n_fft: int
    hop_length: int | None = None
    win_length: int | None = None
    center: bool = True
    onesided: bool = True


def _options(op: Op, options: Any) -> StftOptions:
    given = options if isinstance(options, tuple) else (options,)
    n_fft, hop_length, win_length, center, onesided = StftOptions(*given)
    n_fft = whole(op.name, "n_fft", n_fft)
    hop = max(1, n_fft // 4) if hop_length is None else whole(op.name, "hop_length", hop_length)
    window = n_fft if win_length is None else whole(op.name, "win_length", win_length)
    if n_fft < 1:
        raise ArgumentError(f"{op.name}: n_fft must be 1 or more, got {n_fft}")
    if not 1 <= window <= n_fft:
        raise ArgumentError(f"{op.name}: win_length must be between 1 and n_fft={n_fft}, got {window}")
    if not 1 <= hop <= window:
        raise ArgumentError(f"{op.name}: hop_length must be between 1 and win_length={window}, got {hop}")
    return StftOptions(n_fft, hop, window, bool(center), bool(onesided))


def _check_window(op: Op, window: Any, options: StftOptions) -> None:
    if window is not None and tuple(window.shape) != (options.win_length,):
        raise ShapeError(
            f"{op.name}: window has shape {tuple(window.shape)}, and win_length asks for ({options.win_length},)"
        )


def _frame_window(window: Any, like: Any, options: StftOptions) -> Any:
    """The window in the middle of a frame, zeros beside it."""
    n_fft, length = options.n_fft, options.win_length
    assert length is not None
    if window is None:
        window = creation.full(1.0, (length,), like.dtype, device=like.device)
    before = (n_fft - length) // 2
    return window if length == n_fft else window.pad([(before, n_fft - length - before)])


def _stft_rule(op: Op, x: Any, window: Any, options: Any) -> Any:
    found = _options(op, options)
    if len(x.shape) != 2:
        raise ShapeError(f"{op.name}: needs signals of shape (batch, length), got {tuple(x.shape)}")
    _check_window(op, window, found)
    batch, length = x.shape
    if found.center and length <= found.n_fft // 2:
        raise ShapeError(
            f"{op.name}: a signal of length {length} is too short to be reflected by {found.n_fft // 2}; "
            "use a smaller n_fft, or center=False"
        )
    padded = length + 2 * (found.n_fft // 2) if found.center else length
    if padded < found.n_fft:
        raise ShapeError(f"{op.name}: a signal of length {length} is shorter than a frame of n_fft={found.n_fft}")
    frames = 1 + (padded - found.n_fft) // found.hop_length
    return Shape((batch, frames, _frequencies(found), 2)), x.dtype, (tuple(found),)


def _frequencies(options: StftOptions) -> int:
    return options.n_fft // 2 + 1 if options.onesided else options.n_fft


@composite(rule=_stft_rule, prepare=prepared(floating, "x", "window"))
def stft(x: Tensor[B], window: Tensor[Any] | None, options: Any) -> Tensor[B]:
    """Transform signals (batch, length) frame by frame into (batch, frames, frequencies, 2): real and imaginary.

    Arguments:
        window: the weights of a frame; None cuts frames out as they are.
        options: a `StftOptions`, or the number `n_fft`.

    >>> from burn.tensor import signal
    >>> signal.stft(Tensor.ones([1, 16]), signal.hann_window(8), 8).shape
    Shape([1, 9, 5, 2])
    """
    options = StftOptions(*options)
    n_fft = options.n_fft
    if options.center and n_fft > 1:
        x = x.pad([(n_fft // 2, n_fft // 2)], mode="reflect")
    frames = x.unfold(1, n_fft, options.hop_length) * _frame_window(window, x, options)
    if options.onesided:
        parts = rfft(frames, -1, n_fft)
    else:
        parts = cfft(frames, frames.zeros_like(), -1, n_fft)
    return stack(list(parts), -1)


def _istft_rule(op: Op, x: Any, window: Any, length: Any, options: Any) -> Any:
    found = _options(op, options)
    if len(x.shape) != 4 or x.shape[-1] != 2:
        raise ShapeError(f"{op.name}: needs a spectrum of shape (batch, frames, frequencies, 2), got {tuple(x.shape)}")
    _check_window(op, window, found)
    batch, frames, frequencies, _ = x.shape
    if frames < 1:
        raise ShapeError(f"{op.name}: {tuple(x.shape)} holds no frames")
    if frequencies != _frequencies(found):
        raise ShapeError(
            f"{op.name}: {tuple(x.shape)} has {frequencies} frequencies, and n_fft={found.n_fft} with "
            f"onesided={found.onesided} asks for {_frequencies(found)}"
        )
    if length is not None:
        length = whole(op.name, "length", length)
        if length < 0:
            raise ArgumentError(f"{op.name}: length must be 0 or more, got {length}")
    else:
        length = found.n_fft + (frames - 1) * found.hop_length
        length -= 2 * (found.n_fft // 2) if found.center else 0
    return Shape((batch, length)), x.dtype, (length, tuple(found))


def _overlapped(frames: Any, hop: int) -> Any:
    """Add frames (batch, frames, size) where they stand, `hop` after one another."""
    batch, count, size = frames.shape
    starts = positions(count, frames.device) * hop
    places = (starts.reshape((count, 1)) + positions(size, frames.device)).reshape((count * size,))
    whole_signal = zeros((batch, size + (count - 1) * hop), frames)
    return whole_signal.select_assign(1, places, frames.reshape((batch, count * size)))


@composite(rule=_istft_rule, prepare=prepared(floating, "x", "window"))
def istft(x: Tensor[B], window: Tensor[Any] | None, length: int | None, options: Any) -> Tensor[B]:
    """Put signals together again from what `stft` gave, with the same `window` and `options`.

    Frames are added where they overlap and divided by the squares of the window there.

    Arguments:
        length: of the result, with zeros where there is no signal; None takes all there is.

    >>> from burn.tensor import signal
    >>> window = signal.hann_window(8)
    >>> signal.istft(signal.stft(Tensor.ones([1, 16]), window, 8), window, 16, 8).shape
    Shape([1, 16])
    """
    options = StftOptions(*options)
    n_fft, hop = options.n_fft, options.hop_length
    re, im = (x.narrow(-1, part, 1).reshape(x.shape[:-1]) for part in range(2))
    bins = n_fft // 2 + 1
    frames = irfft(re.narrow(-1, 0, bins), im.narrow(-1, 0, bins), -1, n_fft)
    weights = _frame_window(window, x, options)
    signal = _overlapped(frames * weights, hop)
    squares = (weights * weights).reshape((1, 1, n_fft)).expand((1, x.shape[1], n_fft))
    signal = signal / _overlapped(squares, hop).clamp_min(1e-10)
    if options.center:
        signal = signal.narrow(1, n_fft // 2, signal.shape[1] - n_fft // 2)
    assert length is not None
    return _fit(signal, 1, length)  # type: ignore[no-any-return]
