"""Pixels of an image file, through Pillow."""

from __future__ import annotations

import importlib
import io
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from burn.errors import DataError, MissingOperation

Array = np.ndarray[Any, Any]

EXTENSIONS = ("bmp", "jpg", "jpeg", "png")

DIRECT = {"L", "RGB", "RGBA", "I;16", "I;16L", "I;16B", "F", "LA"}
"""Modes whose pixels are taken as they are. The others are converted to the nearest of them."""


@cache
def pillow() -> Any:
    """Pillow's `Image` module."""
    try:
        return importlib.import_module("PIL.Image")
    except ModuleNotFoundError:
        raise MissingOperation("image: reading images needs Pillow; write pip install 'burn-dl[data]'") from None


def read_image(path: Path) -> Array:
    """Pixels (height, width, channels), or a DataError that says what is wrong with the file."""
    with _opened(path) as image:
        if image.mode not in DIRECT:
            image = image.convert(_nearest(image))
        pixels = np.asarray(image)
    if pixels.dtype.kind == "u":
        pixels = pixels.astype(pixels.dtype.newbyteorder("="), copy=False)
    return pixels[:, :, None] if pixels.ndim == 2 else pixels


def read_mask(path: Path) -> Array:
    """A mask (height, width) of class numbers. Palette images give their indices, not their colours."""
    with _opened(path) as image:
        if image.mode == "1":
            image = image.convert("L").point(lambda value: value and 1)
        if image.mode not in ("P", "L", "I;16", "I"):
            raise DataError(f"a mask has one number a pixel, and this image is {image.mode}")
        return np.asarray(image).astype(np.int64)


class _opened:
    """An image whose every failure, at opening or decoding, is a DataError."""

    def __init__(self, path: Path) -> None:
        self.path, self.module = path, pillow()

    def __enter__(self) -> Any:
        try:
            # Read at once: Pillow would go to the file in many small steps.
            with open(self.path, "rb", buffering=0) as file:
                data = file.readall()
            self.image = self.module.open(io.BytesIO(data))
            self.image.load()
        except FileNotFoundError:
            raise DataError("there is no such file") from None
        except Exception as error:  # Pillow's decoders raise whatever they stumble over
            if hasattr(self, "image"):
                self.image.close()
            raise DataError(f"is not a whole image: {str(error) or type(error).__name__}") from None
        return self.image

    def __exit__(self, *_: object) -> None:
        self.image.close()


def _nearest(image: Any) -> str:
    if image.mode == "I":
        return "F"
    if image.mode == "1":
        return "L"
    return "RGBA" if "transparency" in image.info or image.mode in ("PA", "RGBa", "La") else "RGB"
