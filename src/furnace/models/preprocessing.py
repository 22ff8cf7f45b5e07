"""Pictures to tensors, as a model's JSON declares it.

    "preprocessing": {"size": [224, 224], "mode": "RGB", "layout": "NCHW", "fit": "crop",
                      "scale": 255.0, "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}

Only `mode`, `L` or `RGB`, and `layout` must fit the input's shape; what is left out means: the size of the input,
RGB for three channels, L for one, stretched, divided by 255, mean 0 and deviation 1.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import numpy as np

from furnace import datatypes
from furnace.datatypes import Array
from furnace.errors import BadRequest, ModelError, UnsupportedContent
from furnace.signature import TensorSpec

FORMATS = {"image/png": "PNG", "image/jpeg": "JPEG"}
PIXELS = 64 << 20
_CHOICES = {"mode": ("L", "RGB"), "layout": ("NCHW", "NHWC", "NHW"), "fit": ("stretch", "crop", "pad")}


@dataclass(frozen=True, slots=True)
class Preprocessing:
    """How a picture becomes one row of an input."""

    input: str
    size: tuple[int, int]
    mode: str
    layout: str
    fit: str
    scale: float
    mean: tuple[float, ...]
    std: tuple[float, ...]
    datatype: str

    def apply(self, body: bytes | memoryview, content_type: str) -> Array:
        """The input of one picture."""
        array = self._pixels(_opened(body, content_type))
        values = (array / self.scale - np.asarray(self.mean)) / np.asarray(self.std)
        if self.layout == "NCHW":
            values = values.transpose(2, 0, 1)
        elif self.layout == "NHW":
            values = values[:, :, 0]
        return np.ascontiguousarray(values[None].astype(datatypes.numpy_type(self.datatype)))

    def _pixels(self, image: Any) -> Array:
        from PIL import Image, ImageOps

        height, width = self.size
        converted = image.convert(self.mode)
        if self.fit == "crop":
            fitted = ImageOps.fit(converted, (width, height), Image.Resampling.BILINEAR)
        elif self.fit == "pad":
            fitted = ImageOps.pad(converted, (width, height), Image.Resampling.BILINEAR)
        else:
            fitted = converted.resize((width, height), Image.Resampling.BILINEAR)
        pixels = np.asarray(fitted, np.float64)
        return pixels[:, :, None] if pixels.ndim == 2 else pixels


def declared(settings: dict[str, Any] | None, specs: tuple[TensorSpec, ...]) -> Preprocessing | None:
    """The preprocessing of a model, or what follows from an input that looks like pictures; None when none does."""
    if settings is not None and not isinstance(settings, dict):
        raise ModelError(f"preprocessing: expected an object, found {type(settings).__name__}")
    spec = _spec(settings, specs)
    if spec is None or spec.shape is None:
        return None
    given = dict(settings or {})
    faults = [f"{key} is {given[key]!r}, expected one of {', '.join(options)}"
              for key, options in _CHOICES.items() if key in given and given[key] not in options]  # fmt: skip
    if faults:
        raise ModelError(f"preprocessing: {'; '.join(faults)}")
    layout = given.get("layout") or _layout(spec)
    if layout is None:
        return None
    channels, height, width = _sizes(spec, layout)
    mode = given.get("mode") or ("RGB" if channels == 3 else "L")
    size: Any = given.get("size") or (height, width)
    faults = _number_faults(given, len(mode))
    if not (isinstance(size, list | tuple) and len(size) == 2 and all(type(each) is int and each > 0 for each in size)):
        if settings is None:
            return None
        faults.append(f"size is {size!r}, expected [height, width]")
    if channels is not None and channels != len(mode):
        faults.append(f"mode {mode!r} has {len(mode)} channels, the input {spec} has {channels}")
    if faults:
        if settings is None:
            return None
        raise ModelError(f"preprocessing: {'; '.join(faults)}")
    return Preprocessing(
        spec.name,
        (int(size[0]), int(size[1])),
        mode,
        layout,
        given.get("fit", "stretch"),
        float(given.get("scale", 255.0)),
        tuple(map(float, given.get("mean", [0.0] * len(mode)))),
        tuple(map(float, given.get("std", [1.0] * len(mode)))),
        spec.datatype or "FP32",
    )


def _spec(settings: dict[str, Any] | None, specs: tuple[TensorSpec, ...]) -> TensorSpec | None:
    name = (settings or {}).get("input")
    needed = [each for each in specs if not each.optional]
    if name is None:
        return needed[0] if len(needed) == 1 else None
    found = next((each for each in specs if each.name == name), None)
    if found is None:
        known = ", ".join(each.name for each in specs)
        raise ModelError(f"preprocessing: input is {name!r}, and the model has {known}")
    return found


def _number_faults(given: dict[str, Any], channels: int) -> list[str]:
    faults = []
    scale = given.get("scale", 255.0)
    if not _is_number(scale) or scale == 0:
        faults.append(f"scale is {scale!r}, expected a number that is not 0")
    for key in ("mean", "std"):
        values = given.get(key, [1.0] * channels)
        if not (isinstance(values, list) and len(values) == channels and all(map(_is_number, values))):
            faults.append(f"{key} is {values!r}, expected a list of {channels} numbers")
        elif key == "std" and not all(values):
            faults.append("std has a 0")
    return faults


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _layout(spec: TensorSpec) -> str | None:
    assert spec.shape is not None
    if len(spec.shape) == 4:
        if spec.shape[1] in (1, 3):
            return "NCHW"
        return "NHWC" if spec.shape[3] in (1, 3) else None
    return "NHW" if len(spec.shape) == 3 and spec.shape[1] not in (1, 3) else None


def _sizes(spec: TensorSpec, layout: str) -> tuple[int | None, int | None, int | None]:
    assert spec.shape is not None
    places = {letter: place for place, letter in enumerate(layout)}
    if len(spec.shape) != len(layout):
        raise ModelError(f"preprocessing: layout {layout} has {len(layout)} dims, the input {spec} has others")

    def size(letter: str) -> int | None:
        found = spec.shape[places[letter]] if spec.shape is not None and letter in places else None
        return found if isinstance(found, int) else None

    return (size("C") if "C" in places else 1), size("H"), size("W")


def _opened(body: bytes | memoryview, content_type: str) -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise UnsupportedContent("pictures need Pillow on the server: pip install 'burn-dl[serve]'") from error
    if content_type not in FORMATS:
        raise UnsupportedContent(f"{content_type} is not read here; send {' or '.join(FORMATS)}")
    try:
        image = Image.open(io.BytesIO(body), formats=[FORMATS[content_type]])
        if image.width * image.height > PIXELS:
            raise BadRequest(f"the picture has {image.width} x {image.height} pixels, the limit is {PIXELS}")
        image.load()
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise BadRequest(f"the body is not a picture of the kind {content_type}: {error}") from None
    return image
