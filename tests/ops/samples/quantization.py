"""Samples of quantisation rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from burn.errors import ArgumentError, DTypeError, ShapeError
from tests.ops.sample import Sample, call, integers, random, refused, samples

TORCH = {"i8": torch.int8, "u8": torch.uint8, "i32": torch.int32, "f32": torch.float32, "f64": torch.float64}


def _quantize(x: Any, scale: Any, zero: Any = None, low: int = -127, high: int = 127, dtype: str = "i8") -> Any:
    steps = torch.round(x / scale)
    steps = steps if zero is None else steps + zero
    return torch.nan_to_num(torch.clamp(steps, low, high)).to(TORCH[dtype])


@samples("quantize", oracle=_quantize)
def _quantized() -> Iterator[Sample]:
    step = np.array([0.03125])
    yield call(random(3, 4), step)
    yield call(random(4, 3).T, np.array([0.0625]), integers(1), -128, 127)
    yield call(random(2, 3, 4), random(3, 1, low=0.25, high=0.5).round(2))
    yield call(random(), np.array(0.5))
    yield call(random(0, 3), step)
    yield call(random(9, 2)[::2, ::-1], step, low=-7, high=7)
    yield call(random(3, 4), step, integers(4, low=100, high=130), 0, 255, "u8")
    yield call(np.array([0.5, 1.5, 2.5, -0.5, -1.5, 300.0, -300.0]), np.array([1.0]))
    yield call(np.array([float("nan"), float("inf"), -float("inf"), 0.0]), np.array([1.0]), grad=False)
    yield call(np.zeros((2, 2)), np.zeros(1), grad=False)


def _dequantize(x: Any, scale: Any, zero: Any = None, dtype: Any = None) -> Any:
    steps = x.to(scale.dtype) if zero is None else x.to(scale.dtype) - zero.to(scale.dtype)
    return (steps * scale).to(scale.dtype if dtype is None else TORCH[dtype])


@samples("dequantize", oracle=_dequantize)
def _dequantized() -> Iterator[Sample]:
    yield call(integers(3, 4, low=-127, high=128, dtype=np.int8), random(1))
    yield call(integers(4, 3, dtype=np.int8).T, random(4), integers(1, seed=1))
    yield call(integers(2, 3, 4, low=0, dtype=np.uint8), random(3, 1), integers(3, 1, low=0, dtype=np.uint8))
    yield call(integers(dtype=np.int8), random())
    yield call(integers(0, 3, dtype=np.int8), random(1))
    yield call(integers(3, 4, dtype=np.int32), random(1), dtype="f32", grad=False, half=False)


def _fake_quantize(x: Any, scale: Any, zero: Any = None, low: int = -127, high: int = 127) -> Any:
    shift = 0 if zero is None else zero.to(scale.dtype)
    return ((torch.clamp(torch.round(x / scale) + shift, low, high) - shift) * scale).to(x.dtype)


@samples("fake_quantize", oracle=_fake_quantize)
def _faked() -> Iterator[Sample]:
    # The straight-through gradient is not that of the values; tests/quantization compares it with PyTorch's own.
    step = np.array([0.03125])
    yield call(random(3, 4), step, grad=False)
    yield call(random(4, 3).T, np.array([0.0625]), integers(1), -128, 127, grad=False)
    yield call(random(2, 3, 4), np.array([[0.25], [0.5], [0.375]]), grad=False)
    yield call(random(), np.array(0.5), grad=False)
    yield call(random(0, 3), step, grad=False)
    yield call(random(9, 2)[::2, ::-1], step, low=-7, high=7, grad=False)
    yield call(random(3, 4), step, integers(4, low=100, high=130), 0, 255, grad=False)
    yield call(np.array([0.5, 1.5, 2.5, -0.5, -1.5, 300.0, -300.0]), np.array([1.0]), grad=False)


refused("quantize", integers(3), random(1), error=DTypeError, match="needs a float tensor, got i64")
refused("quantize", random(3), integers(1), error=DTypeError, match="scale must be a float tensor")
refused("quantize", random(3), random(1), random(1), error=DTypeError, match="zero must be an int tensor")
refused("quantize", random(3), random(2, 3), error=ShapeError, match=r"scale of shape \(2, 3\) does not fit \(3,\)")
refused("quantize", random(3), random(4), error=ShapeError, match="do not broadcast")
refused(
    "quantize", random(3), random(1), None, -200, 127, error=ArgumentError, match="from -200 to 127 must lie inside"
)
refused("quantize", random(3), random(1), dtype="f32", error=DTypeError, match="dtype must be an integer dtype")
refused("dequantize", random(3), random(1), error=DTypeError, match="needs an int tensor, got f32")
refused("dequantize", integers(3), random(1), None, "i8", error=DTypeError, match="dtype must be a float dtype")
refused("fake_quantize", integers(3), random(1), error=DTypeError, match="needs a float tensor, got i64")
refused("fake_quantize", random(3), random(4), error=ShapeError, match="do not broadcast")
refused("fake_quantize", random(3), random(1), None, 3, -3, error=ArgumentError, match="the range from 3 to -3")
