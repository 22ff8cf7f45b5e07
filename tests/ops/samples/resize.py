"""Samples of resizing: ONNX's reference evaluator answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from burn.errors import ArgumentError, DTypeError, ShapeError
from tests.ops.onnx_oracle import onnx_node
from tests.ops.sample import Sample, booleans, call, integers, random, refused, samples


def _resized(
    x: Any, sizes: Any = None, scales: Any = None, mode: str = "nearest", dims: Any = None, *,
    coordinates: str = "half_pixel", rounding: str = "round_prefer_floor", cubic_coefficient: float = -0.75,
    exclude_outside: bool = False, antialias: bool = False, region: Any = None, extrapolation: float = 0.0,
    aspect: str = "stretch",
) -> Any:  # fmt: skip
    settings: dict[str, Any] = {} if dims is None else {"axes": [dim % x.dim() for dim in dims]}
    return onnx_node(
        "Resize", x, None if region is None else np.array(region, np.float64),
        None if scales is None else np.array(scales, np.float64), None if sizes is None else np.array(sizes, np.int64),
        mode=mode, coordinate_transformation_mode=coordinates, nearest_mode=rounding, cubic_coeff_a=cubic_coefficient,
        exclude_outside=int(exclude_outside), antialias=int(antialias), extrapolation_value=extrapolation,
        keep_aspect_ratio_policy=aspect, **settings,
    )  # fmt: skip


@samples("resize", oracle=_resized)
def _resize() -> Iterator[Sample]:
    yield call(random(1, 2, 3, 4), (1, 2, 5, 7), mode="linear")
    yield call(random(1, 2, 3, 4), (1, 2, 7, 3), mode="cubic", cubic_coefficient=-0.5, tolerance=3e-6)
    yield call(random(2, 5, 4), scales=(2.0, 0.6), dims=(-2, 2), mode="linear", antialias=True)
    yield call(random(2, 3, 4), (5, 6), None, "nearest", (1, 2))
    yield call(random(1, 1, 9, 20), scales=(1.0, 1.0, 0.5, 0.2), mode="cubic", antialias=True, tolerance=3e-6)
    yield call(random(4, 4), (3, 5), mode="linear", coordinates="tf_crop_and_resize", region=(0.4, 0.6, 0.7, 1.3),
               extrapolation=10.0)  # fmt: skip
    for coordinates in ("half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"):
        for mode in ("nearest", "linear", "cubic"):
            yield call(random(2, 3, 4), scales=(1.0, 2.3, 0.6), mode=mode, coordinates=coordinates,
                       tolerance=3e-6)  # fmt: skip
        yield call(random(3, 4), (1, 1), mode="linear", coordinates=coordinates)
    for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        yield call(random(6, 4), scales=(0.5, 1.5), rounding=rounding, coordinates="asymmetric")
        yield call(random(4, 4), (8, 7), rounding=rounding, coordinates="half_pixel")
    yield call(random(1, 1, 4, 4), scales=(1.0, 1.0, 0.8, 0.8), mode="cubic", exclude_outside=True, tolerance=3e-6)
    yield call(random(1, 1, 2, 4), (7, 8), dims=(2, 3), aspect="not_larger")
    yield call(random(1, 1, 2, 4), (7, 8), dims=(2, 3), mode="linear", aspect="not_smaller")
    yield call(random(4, 4), (3, 3), coordinates="tf_crop_and_resize", region=(0.1, 0.2, 0.9, 0.8))
    yield call(random(4, 3).T, (5, 8), mode="linear")
    yield call(random(3, 8)[:, ::2], (5, 8), mode="cubic", tolerance=3e-6)  # its coefficients are f32
    yield call(random(2, 3, 2, 2, 3), (2, 3, 3, 4, 2), mode="linear")
    yield call(integers(3, 4, low=0, high=200, dtype=np.uint8), (5, 6), mode="linear")
    yield call(integers(3, 4), (2, 6), mode="cubic")
    yield call(integers(3, 4), (6, 2))
    yield call(booleans(3, 4), (6, 2), oracle=False)
    yield call(random(3, 4), (3, 4), mode="linear")
    yield call(random(0, 4), (8,), dims=(1,), mode="linear", oracle=False)
    yield call(random(3), (0,), mode="linear", oracle=False)


refused("resize", random(3), error=ArgumentError, match="give either sizes or scales")
refused("resize", random(3), (3,), (1.0,), error=ArgumentError, match="give either sizes or scales")
refused("resize", random(3), (3, 4), error=ArgumentError, match="sizes needs 1 numbers")
refused("resize", random(3), scales=(0.0,), error=ArgumentError, match="scales must be above 0")
refused("resize", random(3), (4,), mode="area", error=ArgumentError, match="mode must be one of 'nearest'")
refused("resize", random(3), (4,), coordinates="centre", error=ArgumentError, match="coordinates must be one of")
refused("resize", random(3), (4,), rounding="up", error=ArgumentError, match="rounding must be one of")
refused("resize", random(3), (4,), aspect="keep", error=ArgumentError, match="aspect must be one of")
refused("resize", random(3), (4,), antialias=True, error=ArgumentError, match="mode='nearest' has no antialias")
refused("resize", random(3), (4,), coordinates="tf_crop_and_resize", error=ArgumentError, match="needs a region")
refused("resize", random(3), (4,), coordinates="tf_crop_and_resize", region=(0.0,), error=ArgumentError,
        match="region needs 2 numbers")  # fmt: skip
refused("resize", booleans(3), (4,), mode="linear", error=DTypeError, match="needs numbers, got bool")
refused("resize", random(0), (4,), error=ShapeError, match="has an empty dim")
refused("resize", random(3), (4,), dims=(2,), error=ShapeError, match="dim 2 is out of range")
