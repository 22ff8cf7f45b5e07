"""Samples of rows that exchange formats need: bits, integer products, linear quantisation, aggregates, losses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import torch
from onnx.reference import ReferenceEvaluator
from torch.nn import functional

from burn.errors import ArgumentError, DTypeError, ShapeError
from tests.ops.sample import Sample, call, distinct, integers, random, refused, samples

ONNX = {"u8": 2, "i8": 3, "u16": 4, "i16": 5, "i32": 6, "f32": 1, "f64": 11, "f8e4m3fn": 17, "f8e5m2": 19}


def evaluated(kind: str, inputs: list[Any], outputs: int = 1, opset: int = 25, **attributes: Any) -> Any:
    """What the evaluator of the standard makes of one node."""
    given = {f"x{i}": np.asarray(each.detach()) for i, each in enumerate(inputs) if each is not None}
    names = [f"x{i}" if each is not None else "" for i, each in enumerate(inputs)]
    while names and not names[-1]:
        names.pop()
    results = [f"y{i}" for i in range(outputs)]
    node = onnx.helper.make_node(kind, names, results, **attributes)
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in results]
    starts = [
        onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(each.dtype), each.shape)
        for name, each in given.items()
    ]
    graph = onnx.helper.make_graph([node], "one", starts, ends)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
    found = [torch.from_numpy(np.array(each)) for each in ReferenceEvaluator(model).run(None, given)]
    return found[0] if outputs == 1 else tuple(found)


# Bits


@samples("bitcast")
def _bitcast() -> Iterator[Sample]:
    yield call(random(3, 4).astype(np.float32), "i32")
    yield call(integers(3, 4, dtype=np.int32).T, "f32")
    yield call(integers(4, dtype=np.int64)[::2], "f64")
    yield call(np.array([-1, 0, 5], np.int8), "u8")
    yield call(np.array([True, False]), "u8")
    yield call(np.array(1.5, np.float32), "u32")
    yield call(np.zeros((0, 2), np.int16), "f16")


refused("bitcast", np.zeros(2, np.int32), "i64", error=DTypeError, match="i32 has 32 bits and i64 has 64")


@samples("cast_saturating")
def _cast_saturating() -> Iterator[Sample]:
    edge = np.array([0.0, 1.0, -3.3, 447.0, 500.0, 1e9, -1e9, np.inf, -np.inf, np.nan, 1e-3])
    for kind in ("f8e4m3fn", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz"):
        yield call(edge, kind, grad=False, half=False)
    yield call(random(3, 4).T, "f8e4m3fn", grad=False, half=False)
    yield call(integers(3), "i8")
    yield call(random(3), "f32", half=False, grad=False)
    yield call(random(), "i32", grad=False)


refused("cast_saturating", random(2), "f8e8m0", "odd", error=ArgumentError, match="nearest, up, down")


# Integer products


def _integer_matmul(x: Any, y: Any, x_zero: Any = None, y_zero: Any = None) -> Any:
    left, right = x.long(), y.long()
    if x_zero is not None:
        left = left - (x_zero.long() if x_zero.dim() > 1 else x_zero.long().reshape(-1, 1))
    if y_zero is not None:
        right = right - (y_zero.long() if y_zero.dim() > 1 else y_zero.long().reshape(1, -1))
    return torch.matmul(left, right).int()


def small(*shape: int, seed: int = 0, signed: bool = False) -> Any:
    if signed:
        return integers(*shape, seed=seed, low=-128, high=128, dtype=np.int8)
    return integers(*shape, seed=seed, low=0, high=256, dtype=np.uint8)


@samples("matmul_integer", oracle=_integer_matmul)
def _matmul_integer() -> Iterator[Sample]:
    yield call(small(3, 4), small(4, 5, signed=True))
    yield call(small(3, 4), small(4, 5, signed=True), np.array(128, np.uint8), np.array(3, np.int8))
    yield call(small(3, 4), small(4, 5), small(3, seed=1), small(5, seed=2))
    yield call(small(2, 3, 4), small(4, 5), small(2, 3, 1, seed=1), None)
    yield call(small(4, 3).T, small(5, 4, signed=True).T, small(1, seed=1))
    yield call(np.full((2, 900), 255, np.uint8), np.full((900, 3), 255, np.uint8))  # sums beyond what f32 holds
    yield call(small(3, 600), small(600, 2, signed=True), np.array(0, np.uint8), np.array(-128, np.int8))
    yield call(small(0, 4), small(4, 5))
    yield call(small(2, 0), small(0, 5))


refused("matmul_integer", random(2, 3), small(3, 2), error=DTypeError, match="x must be an i8 or u8 tensor")
refused("matmul_integer", small(2, 3), small(4, 2), error=ShapeError, match="inner dimensions differ")
refused("matmul_integer", small(2, 3), small(3, 2), small(5), error=ShapeError, match="must hold one number, or 2")


def _integer_conv(
    x: Any, weight: Any, x_zero: Any = None, weight_zero: Any = None, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Any:  # fmt: skip
    left = x.double() - (0 if x_zero is None else x_zero.double())
    right = weight.double()
    if weight_zero is not None:
        right = right - weight_zero.double().reshape(-1, *(1,) * (right.dim() - 1))
    if isinstance(padding, list | tuple) and isinstance(padding[0], list | tuple):
        left, padding = functional.pad(left, [n for pair in reversed(padding) for n in pair]), 0
    kind = {3: functional.conv1d, 4: functional.conv2d, 5: functional.conv3d}[x.dim()]
    return kind(left, right, None, stride, padding, dilation, groups).int()


@samples("conv_integer", oracle=_integer_conv)
def _conv_integer() -> Iterator[Sample]:
    yield call(small(2, 3, 5, 6), small(4, 3, 3, 2, signed=True))
    yield call(small(1, 2, 7), small(4, 1, 3), np.array([7], np.uint8), small(4, seed=1), 2, 1, 1, 2)
    yield call(small(1, 3, 6, 6), small(2, 3, 2, 2), np.array(255, np.uint8), None, (1, 2), ((0, 1), (2, 0)), (2, 1))
    yield call(np.full((1, 70, 4, 4), 255, np.uint8), np.full((2, 70, 3, 3), 255, np.uint8))  # beyond f32, in pieces
    yield call(np.full((1, 128, 5, 5), 255, np.uint8), np.full((2, 64, 3, 3), 255, np.uint8), groups=2)
    yield call(small(2, 2, 4, 3, 3), small(2, 2, 2, 2, 2, signed=True))


refused("conv_integer", small(1, 3, 4, 4), small(2, 2, 3, 3), error=ShapeError, match="takes 2 in each of 1 groups")
refused("conv_integer", small(1, 3, 4, 4), random(2, 3, 3, 3), error=DTypeError, match="weight must be an i8 or u8")


# Steps


def _quantized(
    x: Any, scale: Any, zero: Any = None, dim: int = 1, block_size: int = 0, dtype: Any = None,
    saturate: bool = True, precision: Any = None,
) -> Any:  # fmt: skip
    more = {} if dtype is None else {"output_dtype": ONNX[dtype]}
    return evaluated(
        "QuantizeLinear", [x, scale, zero], axis=dim, block_size=block_size, saturate=int(saturate), **more
    )


@samples("quantize_linear", oracle=_quantized)
def _quantize_linear() -> Iterator[Sample]:
    step = np.array(0.03125)
    yield call(random(3, 4), step, grad=False)
    yield call(random(4, 3).T, step, np.array(128, np.uint8), grad=False)
    yield call(random(2, 3, 4), random(3, low=0.1, high=0.4), small(3), 1, grad=False)
    yield call(random(2, 3, 4), random(4, low=0.1, high=0.4), small(4, signed=True), -1, grad=False)
    yield call(random(3, 6), random(3, 3, low=0.1, high=0.4), None, 1, 2, "i16", grad=False)
    yield call(random(3, 5), random(3, 3, low=0.1, high=0.4), small(3, 3, signed=True), 1, 2, grad=False)
    yield call(random(0, 3), step, grad=False)
    yield call(random(), step, None, 0, 0, "u16", grad=False)
    yield call(random(8, 2)[::2], np.array([0.25]), grad=False)


refused("quantize_linear", random(2, 3), random(2), dim=1, error=ShapeError, match=r"scale must have the shape \(3,\)")
refused("quantize_linear", random(2, 3), np.array(1.0), dtype="f32", error=DTypeError, match="small float format")
refused(
    "quantize_linear", random(2, 3), np.array(1.0), np.array(0, np.int8), dtype="u8",
    error=DTypeError, match="zero is i8 and dtype is u8",
)  # fmt: skip
refused("quantize_linear", random(2), np.array(1.0), block_size=-1, dim=0, error=ArgumentError, match="block_size")


def _dequantized(
    x: Any, scale: Any, zero: Any = None, dim: int = 1, block_size: int = 0, dtype: Any = None
) -> Any:  # fmt: skip
    def spread(value: Any) -> Any:
        if value.numel() == 1:
            return value.reshape(())
        if block_size:
            return value.repeat_interleave(block_size, dim).narrow(dim, 0, x.shape[dim])
        return value.reshape([-1 if each == dim % x.dim() else 1 for each in range(x.dim())])

    steps = x.to(scale.dtype) if zero is None else x.to(scale.dtype) - spread(zero).to(scale.dtype)
    return steps * spread(scale)


@samples("dequantize_linear", oracle=_dequantized)
def _dequantize_linear() -> Iterator[Sample]:
    yield call(small(3, 4), np.array(0.5))
    yield call(small(4, 3).T, np.array([0.25]), np.array(128, np.uint8))
    yield call(small(2, 3, 4), random(3), small(3, seed=1))
    yield call(small(2, 3, 4, signed=True), random(2), small(2, signed=True), 0)
    yield call(small(3, 5), random(3, 3), small(3, 3, seed=1), 1, 2)
    yield call(integers(2, 3, dtype=np.int32), np.array(0.5))
    yield call(small(0, 3), np.array(0.5))
    yield call(integers(2, 3, low=0, dtype=np.uint16), random(2), None, -2)


refused("dequantize_linear", np.array([True]), np.array(1.0), dim=0, error=DTypeError, match="got bool")
refused("dequantize_linear", small(2, 3), random(4), error=ShapeError, match=r"must have the shape \(3,\)")


def _dynamic(x: Any) -> Any:
    y, scale, zero = evaluated("DynamicQuantizeLinear", [x.float()], 3, 11)
    return y, scale.to(x.dtype), zero


@samples("dynamic_quantize", oracle=_dynamic)
def _dynamic_quantize() -> Iterator[Sample]:
    yield call(random(3, 4), grad=False, tolerance=1e-6)
    yield call(random(3, 4, low=0.5, high=1.0).T, grad=False, tolerance=1e-6)
    yield call(np.array([-3.0, -1.0]), grad=False, tolerance=1e-6)
    yield call(np.zeros(3), grad=False, tolerance=1e-6)


refused("dynamic_quantize", random(0, 2), error=ShapeError, match="no elements")
refused("dynamic_quantize", integers(2), error=DTypeError, match="float")


@samples("requantize")
def _requantize() -> Iterator[Sample]:
    sums = integers(3, 4, low=-3000, high=3000, dtype=np.int32)
    yield call(sums, np.array(0.05, np.float32))
    yield call(sums.T, np.array(0.05, np.float32), np.array(-3, np.int8))
    yield call(sums, random(4, low=0.01, high=0.1).astype(np.float32), np.array(128, np.uint8), "u8")
    yield call(np.zeros((0, 3), np.int32), np.array(1, np.float32))


refused("requantize", small(2), np.array(1, np.float32), error=DTypeError, match="needs an i32 tensor")
refused("requantize", np.zeros(2, np.int32), np.zeros(3, np.float32), error=ShapeError, match="do not broadcast")


# Aggregates


def _torch_extreme(name: str, limit: float) -> Any:
    def oracle(x: Any, dims: Any) -> Any:
        dims = (dims,) if isinstance(dims, int) else tuple(dims)
        if x.numel() == 0:
            shape = [1 if each in [d % x.dim() for d in dims] else size for each, size in enumerate(x.shape)]
            return torch.full(shape, limit, dtype=x.dtype)
        return getattr(torch, name)(x.to(torch.uint8) if x.dtype == torch.bool else x, dims, True).to(x.dtype)

    return oracle


def _extremes() -> Iterator[Sample]:
    yield call(distinct(3, 4), 1)
    yield call(distinct(2, 3, 4), (0, 2))
    yield call(distinct(4, 3).T, [0, 1])
    yield call(np.zeros((2, 0)), 1)
    yield call(np.array([[True, False], [False, False]]), 1)
    yield call(integers(3, 4, dtype=np.uint8, low=0), -1)


samples("largest_dims", oracle=_torch_extreme("amax", -np.inf))(_extremes)
samples("smallest_dims", oracle=_torch_extreme("amin", np.inf))(_extremes)
refused("largest_dims", random(2, 3), 2, error=ShapeError, match="dim 2 is out of range")
refused("smallest_dims", random(2, 3), (0, 0), error=ShapeError, match="twice")


def _log_sum_exp(x: Any, dims: Any) -> Any:
    return torch.logsumexp(x, dims, keepdim=True)


@samples("log_sum_exp_dims", oracle=_log_sum_exp)
def _log_sum_exps() -> Iterator[Sample]:
    yield call(random(3, 4), 1)
    yield call(random(2, 3, 4), (0, 2))
    yield call(random(4, 3).T, [0, 1])
    yield call(np.zeros((2, 0)), 1)
    yield call(np.array([[1000.0, 1001.0], [-1000.0, -1001.0]]), 1, half=False)
    yield call(np.array([[-np.inf, -np.inf], [np.inf, 0.0]]), 1, grad=False)


refused("log_sum_exp_dims", random(2, 3), 2, error=ShapeError, match="dim 2 is out of range")


def _hardmax(x: Any, dim: int) -> Any:
    if x.numel() == 0:
        return x
    return functional.one_hot(x.argmax(dim), x.shape[dim]).movedim(-1, dim).to(x.dtype)


@samples("hardmax", oracle=_hardmax)
def _hardmaxes() -> Iterator[Sample]:
    yield call(distinct(3, 4), 1)
    yield call(distinct(2, 3, 4), 1)
    yield call(distinct(4, 3).T, -2)
    yield call(np.array([[1.0, 1.0, 0.0]]), 1, grad=False)
    yield call(np.zeros((0, 3)), 1)


refused("hardmax", random(3), 1, error=ShapeError, match="dim 1 is out of range")


@samples("swish", oracle=lambda x, alpha=1.0: x * torch.sigmoid(alpha * x))
def _swish() -> Iterator[Sample]:
    yield call(random(3, 4))
    yield call(random(4, 3).T, 1.7)
    yield call(random(), 0.5)
    yield call(random(0, 2))


refused("swish", random(2), "much", error=ArgumentError, match="alpha must be a number")


# Losses


def _likelihood(x: Any, targets: Any, weight: Any = None, ignore_index: Any = None, reduction: str = "mean") -> Any:
    ignored = -1000 if ignore_index is None else ignore_index
    if weight is None or not weight.requires_grad:
        return functional.nll_loss(x, targets, weight, ignore_index=ignored, reduction=reduction)
    kept = targets != ignored
    chosen = targets.clamp_min(0)
    shares = weight[chosen] * kept
    loss = -x.gather(1, chosen.unsqueeze(1)).squeeze(1) * shares
    return {"none": lambda: loss, "sum": lambda: loss.sum(), "mean": lambda: loss.sum() / shares.sum()}[reduction]()


def _entropy(x: Any, targets: Any, weight: Any = None, ignore_index: Any = None, reduction: str = "mean") -> Any:
    logarithms = torch.log_softmax(x, 1)
    return _likelihood(logarithms, targets, weight, ignore_index, reduction), logarithms


def _losses() -> Iterator[Sample]:
    targets = integers(4, low=0, high=3)
    yield call(random(4, 3), targets)
    yield call(random(4, 3), targets, random(3, seed=1, low=0.2, high=2.0), None, "sum")
    yield call(random(3, 4).T, targets, random(3, seed=1, low=0.2, high=2.0))
    yield call(random(4, 3), targets, None, 1, "mean")
    yield call(random(2, 3, 4, 2), integers(2, 4, 2, low=0, high=3), random(3, low=0.2, high=2.0), 0, "none")
    yield call(random(2, 3, 5), np.array([[0, -1, 2, -1, 1], [-1, 1, 1, 0, 2]]), None, -1, "sum")
    yield call(random(2, 3, 4), integers(2, 4, low=0, high=3), None, None, "none")


samples("negative_log_likelihood", oracle=_likelihood)(_losses)
samples("softmax_cross_entropy", oracle=_entropy)(_losses)
for _name in ("negative_log_likelihood", "softmax_cross_entropy"):
    refused(_name, random(4, 3), integers(3, low=0), error=ShapeError, match=r"targets \(batch, ...\)")
    refused(_name, random(4, 3), random(4), error=DTypeError, match="targets must be an int tensor")
    refused(_name, random(4, 3), integers(4, low=0, high=3), random(2), error=ShapeError, match=r"shape \(3,\)")
    refused(_name, random(4, 3), integers(4, low=0, high=3), reduction="all", error=ArgumentError, match="one of none")
