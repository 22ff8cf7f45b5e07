"""Fourier transforms of tensors whose last dim holds the real part, or the real and the imaginary part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.errors import ArgumentError, ShapeError
from burn.ops.declare import composite, floating, prepared
from burn.ops.joining import stack
from burn.ops.movement import whole
from burn.ops.op import Op
from burn.ops.signal import cfft, irfft, rfft
from burn.shape import Shape, axis

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor


def _check_parts(op: Op, x: Any) -> None:
    if len(x.shape) < 2 or x.shape[-1] not in (1, 2):
        raise ShapeError(
            f"{op.name}: the last dim must hold the real part, or the real and the imaginary one, "
            f"got shape {tuple(x.shape)}"
        )


def _rule(op: Op, x: Any, n: Any, dim: Any, inverse: Any, onesided: Any) -> Any:
    _check_parts(op, x)
    place = axis(op.name, dim, len(x.shape))
    if place == len(x.shape) - 1:
        raise ArgumentError(f"{op.name}: dim {dim} holds the parts of the numbers; transform another one")
    have = x.shape[place]
    length = (2 * (have - 1) if inverse and onesided else have) if n is None else whole(op.name, "n", n)
    if length < 1 or have < 1:
        raise ArgumentError(
            f"{op.name}: the transform needs a length of 1 or more, got n={length} for x {tuple(x.shape)}"
        )
    size = length // 2 + 1 if onesided and not inverse else length
    shape = Shape((*x.shape.with_dim(place, size)[:-1], 1 if onesided and inverse else 2))
    return shape, x.dtype, (length, place, bool(inverse), bool(onesided))


def _parts(x: Any) -> tuple[Any, Any]:
    """The real and the imaginary part; None where there is none."""
    last = len(x.shape) - 1
    return x.select_dim(last, 0), (x.select_dim(last, 1) if x.shape[last] == 2 else None)


@composite(rule=_rule, prepare=prepared(floating))
def dft(x: Tensor[B], n: int | None = None, dim: int = -2, inverse: bool = False, onesided: bool = False) -> Tensor[B]:
    """Transform along `dim` a tensor whose last dim is (real,) or (real, imaginary).

    Arguments:
        n: the length to which the signal is cut or filled with zeros.
        onesided: only frequencies 0 to `n // 2`; the inverse takes these and gives a real signal.
        inverse: from frequencies to the signal.

    >>> from burn.tensor import signal
    >>> signal.dft(burn.tensor([[1.0], [0.0], [-1.0], [0.0]]), dim=0, onesided=True).to_data()
    TensorData([[0.0, 0.0], [2.0, 0.0], [0.0, 0.0]], shape=[3, 2], dtype=f32)
    """
    re, im = _parts(x)
    if inverse and onesided:
        assert n is not None
        return irfft(re, re.zeros_like() if im is None else im, dim, n).unsqueeze_dim(len(x.shape) - 1)
    if inverse:
        # The transform with the parts exchanged before and after is the inverse, but for the length.
        imaginary, real = cfft(re.zeros_like() if im is None else im, re, dim, n)
        assert n is not None
        return stack([real * (1.0 / n), imaginary * (1.0 / n)], len(x.shape) - 1)
    if im is None and onesided:
        return stack(list(rfft(re, dim, n)), len(x.shape) - 1)
    found = cfft(re, re.zeros_like() if im is None else im, dim, n)
    if onesided:
        assert n is not None
        found = (found[0].narrow(dim, 0, n // 2 + 1), found[1].narrow(dim, 0, n // 2 + 1))
    return stack(list(found), len(x.shape) - 1)


def _frames_rule(op: Op, x: Any, window: Any, frame_step: Any, frame_length: Any, onesided: Any) -> Any:
    if len(x.shape) != 2:
        _check_parts(op, x)
    if len(x.shape) not in (2, 3):
        raise ShapeError(
            f"{op.name}: needs signals of shape (batch, length) or (batch, length, 1 or 2), got {tuple(x.shape)}"
        )
    step = whole(op.name, "frame_step", frame_step)
    if step < 1:
        raise ArgumentError(f"{op.name}: frame_step must be 1 or more, got {step}")
    if frame_length is not None:
        length = whole(op.name, "frame_length", frame_length)
    else:
        length = x.shape[1] if window is None else window.shape[0]
    if not 1 <= length <= x.shape[1]:
        raise ArgumentError(f"{op.name}: frames of {length} do not fit a signal of length {x.shape[1]}")
    if window is not None and tuple(window.shape) != (length,):
        raise ShapeError(f"{op.name}: window has shape {tuple(window.shape)}, and frames have {length} elements")
    frames = 1 + (x.shape[1] - length) // step
    frequencies = length // 2 + 1 if onesided else length
    return Shape((x.shape[0], frames, frequencies, 2)), x.dtype, (step, length, bool(onesided))


@composite(rule=_frames_rule, prepare=prepared(floating, "x", "window"))
def short_time_dft(
    x: Tensor[B],
    window: Tensor[Any] | None,
    frame_step: int,
    frame_length: int | None = None,
    onesided: bool = True,
) -> Tensor[B]:
    """Transform signals (batch, length) or (batch, length, 1 or 2) frame by frame to (batch, frames, frequencies, 2).

    Arguments:
        window: the weights of a frame; None for frames of `frame_length` as they are.
        frame_step: how far one frame starts after another. Nothing is added at the ends.
        onesided: only the first half of the frequencies, for real signals.

    >>> from burn.tensor import signal
    >>> signal.short_time_dft(Tensor.ones([1, 8]), None, frame_step=2, frame_length=4).shape
    Shape([1, 3, 3, 2])
    """
    assert frame_length is not None
    x = x.unsqueeze_dim(2) if len(x.shape) == 2 else x
    frames: Any = x.unfold(1, frame_length, frame_step)  # (batch, frames, parts, elements)
    if window is not None:
        frames = frames * window
    return dft(frames.swap_dims(2, 3), frame_length, 2, False, onesided)
