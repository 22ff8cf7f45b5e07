"""Counts of sequences of tokens, and pictures from the bytes of a file: work that only the host can do."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.dtype import f32, u8
from burn.errors import ArgumentError, DataError, DTypeError, ShapeError
from burn.ops.declare import hosted
from burn.ops.movement import whole
from burn.ops.op import Op
from burn.shape import Shape

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor

MODES = ("TF", "IDF", "TFIDF")
PIXELS = ("RGB", "BGR", "Grayscale")


def _grams_rule(
    op: Op, x: Any, pool: Any, starts: Any, indexes: Any, weights: Any, min_length: Any, max_length: Any,
    max_skip: Any, mode: Any, size: Any,
) -> Any:  # fmt: skip
    if len(x.shape) not in (1, 2):
        raise ShapeError(f"{op.name}: x must have the shape (tokens,) or (batch, tokens), got {tuple(x.shape)}")
    for name, each in (("x", x), ("pool", pool), ("starts", starts), ("indexes", indexes)):
        if not each.dtype.is_int:
            raise DTypeError(f"{op.name}: {name} must be an int tensor, got {each.dtype}; convert it with .int()")
    if weights is not None and weights.shape != indexes.shape:
        raise ShapeError(
            f"{op.name}: weights {tuple(weights.shape)} must have the shape of indexes {tuple(indexes.shape)}"
        )
    if mode not in MODES:
        raise ArgumentError(f"{op.name}: mode must be one of {', '.join(MODES)}, got {mode!r}")
    first, last = whole(op.name, "min_length", min_length), whole(op.name, "max_length", max_length)
    skip, width = whole(op.name, "max_skip", max_skip), whole(op.name, "size", size)
    if not 1 <= first <= last or skip < 0:
        raise ArgumentError(
            f"{op.name}: needs 1 <= min_length <= max_length and max_skip of 0 or more, got {first}, {last} and {skip}"
        )
    return Shape((*x.shape[:-1], width)), f32, (first, last, skip, mode, width)


def _table(pool: Any, starts: Any) -> dict[tuple[int, ...], int]:
    """Each sequence of the pool and its number; those of length n begin at `starts[n - 1]`."""
    ends = [*starts[1:].tolist(), len(pool)]
    table: dict[tuple[int, ...], int] = {}
    for length, (start, end) in enumerate(zip(starts.tolist(), ends, strict=True), 1):
        for row in pool[start:end].reshape(-1, length).tolist():
            table.setdefault(tuple(row), len(table))
    return table


def _grams(
    x: Any, pool: Any, starts: Any, indexes: Any, weights: Any, min_length: int, max_length: int, max_skip: int,
    mode: str, size: int,
) -> Any:  # fmt: skip
    table = _table(pool, starts)
    rows = x.reshape(-1, x.shape[-1]).tolist() if x.size else [[] for _ in range(x.shape[0] if x.ndim == 2 else 1)]
    out = np.zeros((len(rows), size), np.float32)
    factors = np.ones(len(indexes), np.float32) if weights is None else weights.astype(np.float32)
    for place, tokens in enumerate(rows):
        for length in range(min_length, max_length + 1):
            for stride in range(1, (max_skip + 1 if length > 1 else 1) + 1):
                for start in range(len(tokens) - stride * (length - 1)):
                    found = table.get(tuple(tokens[start : start + stride * (length - 1) + 1 : stride]))
                    if found is None:
                        continue
                    if mode == "IDF":
                        out[place, indexes[found]] = factors[found]
                    else:
                        out[place, indexes[found]] += 1.0 if mode == "TF" else factors[found]
    return out.reshape(*x.shape[:-1], size)


@hosted(rule=_grams_rule, reference=_grams)
def count_sequences(
    x: Tensor[B],
    pool: Tensor[Any],
    starts: Tensor[Any],
    indexes: Tensor[Any],
    weights: Tensor[Any] | None,
    min_length: int,
    max_length: int,
    max_skip: int,
    mode: str,
    size: int,
) -> Tensor[B]:
    """Count which sequences of a pool occur among the tokens `x`, as far as `max_skip` tokens apart.

    `pool` holds the sequences of length 1, then 2 and so on, each group beginning at its entry of `starts`;
    sequence number i counts at place `indexes[i]` of `size`. `mode` is TF (counts), IDF (the weight of what
    occurs) or TFIDF (counts times weights).
    """
    ...


def _image_rule(op: Op, data: Any, pixels: Any) -> Any:
    if data.dtype is not u8 or len(data.shape) != 1:
        raise DTypeError(
            f"{op.name}: data must be the bytes of a file, a vector of u8, got {tuple(data.shape)} {data.dtype}"
        )
    if pixels not in PIXELS:
        raise ArgumentError(f"{op.name}: pixels must be one of {', '.join(PIXELS)}, got {pixels!r}")
    return None, u8, (pixels,)


def _image(data: Any, pixels: str) -> Any:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise DataError("decode_image: needs Pillow; install it with pip install pillow") from None
    try:
        with Image.open(io.BytesIO(data.tobytes())) as image:
            array = np.asarray(image.convert("L" if pixels == "Grayscale" else "RGB"))
    except (UnidentifiedImageError, OSError) as error:
        raise DataError(f"decode_image: these {len(data)} bytes are no picture that Pillow reads: {error}") from None
    if pixels == "Grayscale":
        return array[:, :, None].copy()
    return array.copy() if pixels == "RGB" else np.ascontiguousarray(array[:, :, ::-1])


@hosted(rule=_image_rule, reference=_image)
def decode_image(data: Tensor[B], pixels: str = "RGB") -> Tensor[B]:
    """Read the bytes of a picture file (BMP, JPEG, PNG and the like) as (height, width, channels)."""
    ...
