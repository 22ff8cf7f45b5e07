"""Samples of normalization rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.nn import functional

from burn.errors import ArgumentError, DTypeError, ShapeError
from tests.ops.sample import Sample, call, integers, random, refused, samples


def _standardized(x: Any, dims: Any, eps: float = 1e-5) -> Any:
    dims = (dims,) if isinstance(dims, int) else tuple(dims)
    centred = x - x.mean(dims, keepdim=True)
    return centred / (centred.square().mean(dims, keepdim=True) + eps).sqrt()


@samples("standardize", oracle=_standardized)
def _standardize() -> Iterator[Sample]:
    yield call(random(3, 5), -1)
    yield call(random(2, 3, 4), (0, 2), 1e-3)
    yield call(random(4, 5).T, 0)
    yield call(random(2, 3), [0, 1])
    yield call(random(0, 3), 1)
    yield call(random(6, 8)[::2, ::2], 1)


def _shape(x: Any, gamma: Any) -> Any:
    return x.shape[-1:] if gamma is None else gamma.shape


@samples(
    "layer_norm",
    oracle=lambda x, gamma=None, beta=None, eps=1e-5: functional.layer_norm(x, _shape(x, gamma), gamma, beta, eps),
)
def _layer_norm() -> Iterator[Sample]:
    yield call(random(3, 5), random(5, seed=1), random(5, seed=2))
    yield call(random(2, 3, 4), random(3, 4, seed=1), None, 1e-3)
    yield call(random(2, 3), None, random(3, seed=1))
    yield call(random(3))
    yield call(random(0, 4), random(4, seed=1), random(4, seed=2))
    yield call(random(5, 3, 2).T, random(10, seed=1)[::2], random(5, seed=2))


@samples("rms_norm", oracle=lambda x, gamma=None, eps=1e-5: functional.rms_norm(x, _shape(x, gamma), gamma, eps))
def _rms_norm() -> Iterator[Sample]:
    yield call(random(3, 5), random(5, seed=1))
    yield call(random(2, 3, 4), random(3, 4, seed=1), 1e-3)
    yield call(random(2, 3))
    yield call(random(0, 4), random(4, seed=1))
    yield call(random(5, 3, 2).T, random(10, seed=1)[::2])


def _batch(x: Any, gamma: Any, beta: Any, mean: Any, variance: Any, eps: float = 1e-5) -> Any:
    if not mean.requires_grad:
        return functional.batch_norm(x, mean, variance, gamma, beta, False, 0.0, eps)

    def channels(value: Any) -> Any:
        return value.reshape(-1, *(1,) * (x.dim() - 2))

    y = (x - channels(mean)) / (channels(variance) + eps).sqrt()
    y = y if gamma is None else y * channels(gamma)
    return y if beta is None else y + channels(beta)


@samples("batch_norm", oracle=_batch)
def _batch_norm() -> Iterator[Sample]:
    def given(n: int) -> Any:
        return random(n, seed=1), random(n, seed=2), random(n, seed=3), random(n, seed=4, low=0.5, high=2)

    yield call(random(2, 3, 4, 2), *given(3))
    yield call(random(4, 3), *given(3), 1e-3)
    yield call(random(2, 3, 5), None, None, *given(3)[2:])
    yield call(random(0, 3, 5), *given(3))
    yield call(random(2, 2, 2, 3, 2).T, *given(3)[:2], *given(3)[2:])


def _trained(x: Any, gamma: Any = None, beta: Any = None, eps: float = 1e-5) -> Any:
    dims = [dim for dim in range(x.dim()) if dim != 1]
    y = functional.batch_norm(x, None, None, gamma, beta, True, 0.0, eps)
    return y, x.mean(dims), x.var(dims, unbiased=False)


@samples("batch_norm_training", oracle=_trained)
def _batch_norm_training() -> Iterator[Sample]:
    yield call(random(2, 3, 4, 2), random(3, seed=1), random(3, seed=2))
    yield call(random(4, 3), random(3, seed=1), None, 1e-3)
    yield call(random(2, 3, 5))
    yield call(random(5, 3, 2).T, random(6, seed=1)[::2], random(3, seed=2))


@samples(
    "group_norm",
    oracle=lambda x, groups, gamma=None, beta=None, eps=1e-5: functional.group_norm(x, groups, gamma, beta, eps),
)
def _group_norm() -> Iterator[Sample]:
    yield call(random(2, 4, 3), 2, random(4, seed=1), random(4, seed=2))
    yield call(random(2, 6, 2, 2), 3, None, None, 1e-3)
    yield call(random(2, 4), 1, random(4, seed=1), random(4, seed=2))
    yield call(random(3, 5, 4, 2).T, 4, random(4, seed=1))
    yield call(random(0, 4, 3), 2, oracle=False)


@samples(
    "instance_norm",
    oracle=lambda x, gamma=None, beta=None, eps=1e-5: functional.instance_norm(x, None, None, gamma, beta, eps=eps),
)
def _instance_norm() -> Iterator[Sample]:
    yield call(random(2, 3, 4), random(3, seed=1), random(3, seed=2))
    yield call(random(2, 3, 2, 3), None, None, 1e-3)
    yield call(random(4, 3, 2).T, random(3, seed=1))


@samples("linear", oracle=lambda x, weight, bias=None: functional.linear(x, weight.T, bias))
def _linear() -> Iterator[Sample]:
    yield call(random(3, 4), random(4, 5, seed=1), random(5, seed=2))
    yield call(random(2, 3, 4), random(4, 2, seed=1))
    yield call(random(4), random(4, 2, seed=1), random(2, seed=2))
    yield call(random(2, 1, 3, 4), random(4, 1, seed=1), random(1, seed=2))
    yield call(random(0, 4), random(4, 2, seed=1), random(2, seed=2))
    yield call(random(4, 3).T, random(5, 4, seed=1).T, random(10, seed=2)[::2])


@samples("embedding", oracle=lambda weights, indices: functional.embedding(indices, weights))
def _embedding() -> Iterator[Sample]:
    yield call(random(5, 3), integers(2, 4, low=0, high=5))
    yield call(random(5, 3), integers(4, low=0, high=5))
    yield call(random(5, 3), integers(low=2, high=3))
    yield call(random(3, 5).T, integers(2, 1, 2, low=0, high=5))
    yield call(random(5, 3), integers(0, 2, low=0, high=5))


def _added(g: Any, indices: Any, count: int) -> Any:
    table = torch.zeros(count, g.shape[-1], dtype=g.dtype)
    return table.index_add(0, indices.reshape(-1), g.reshape(-1, g.shape[-1]))


@samples("embedding_backward", oracle=_added)
def _embedding_backward() -> Iterator[Sample]:
    yield call(random(2, 4, 3), integers(2, 4, low=0, high=5), 5)
    yield call(random(4, 3), integers(4, low=1, high=2), 5)  # one row gets them all
    yield call(random(0, 3), integers(0, low=0, high=5), 5)
    yield call(random(3, 4).T, integers(4, low=0, high=5), 6)


for _name in ("layer_norm", "rms_norm"):
    refused(
        _name,
        random(2, 3),
        random(4),
        error=ShapeError,
        match=r"gamma must have the last sizes of x \(2, 3\), got \(4,\)",
    )
    refused(_name, random(2, 3), random(2, 2, 3), error=ShapeError, match=r"got \(2, 2, 3\)")
    refused(_name, random(), error=ShapeError, match="0-d")
    refused(_name, integers(2, 3), error=DTypeError, match="needs a float tensor")
    refused(_name, random(2, 3), eps=-1.0, error=ArgumentError, match="eps must be 0 or more")
refused("layer_norm", random(2, 3), random(3), random(2), error=ShapeError, match="beta must have the last sizes")
refused("standardize", random(2, 3), 2, error=ShapeError, match="dim 2 is out of range")
refused("standardize", random(2, 3), 1, "small", error=ArgumentError, match="eps must be a number")
S = random(3)
refused("batch_norm", random(2, 3), S, S, S, random(4), error=ShapeError, match=r"variance must have the shape \(3,\)")
refused("batch_norm", random(3), S, S, S, S, error=ShapeError, match="must have a batch and channels")
refused("batch_norm_training", random(2, 3), random(2), error=ShapeError, match=r"gamma must have the shape \(3,\)")
refused("batch_norm_training", random(0, 3), error=ShapeError, match="no elements a channel")
refused("group_norm", random(2, 4, 3), 3, error=ShapeError, match="num_groups=3 must divide the 4 channels")
refused("group_norm", random(2, 4, 3), 2, S, error=ShapeError, match=r"gamma must have the shape \(4,\)")
refused("instance_norm", random(2, 4, 3), S, error=ShapeError, match=r"gamma must have the shape \(4,\)")
refused("linear", random(2, 3), random(4, 5), error=ShapeError, match=r"\(2, 3\).*\(4, 5\)")
refused("linear", random(2, 3), random(3), error=ShapeError, match=r"\(in, out\), got \(3,\)")
refused("linear", random(2, 3), random(3, 4), random(3), error=ShapeError, match=r"bias must have the shape \(4,\)")
refused("linear", random(), random(3, 4), error=ShapeError, match="last dim")
refused("embedding", random(2, 3), random(4), error=DTypeError, match="indices must be an int tensor")
refused("embedding", random(2), integers(4), error=ShapeError, match=r"\(count, size\)")
refused("embedding", random(2, 3), integers(1, low=2, high=3), error=IndexError, match="index 2 is out of range")
refused("embedding_backward", random(2, 3), integers(3), 4, error=ShapeError, match=r"\(2, 3\).*\(3,\)")
refused("embedding_backward", random(2, 3), integers(2), 4.5, error=ArgumentError, match="count must be an int")


def _responded(x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> Any:
    before = (size - 1) // 2
    squares = functional.pad(x.square().movedim(1, -1), (before, size - 1 - before)).unfold(-1, size, 1).mean(-1)
    return x / (bias + alpha * squares.movedim(-1, 1)) ** beta


@samples("local_response_norm", oracle=_responded)
def _local_response_norm() -> Iterator[Sample]:
    yield call(random(2, 5, 3, 2), 3, 0.5, 0.6, 1.5)
    yield call(random(2, 3, 4), 2, alpha=0.9)
    yield call(random(2, 3), 7, 1.0, 0.75, 2.0)
    yield call(random(3, 4, 5, 2).T, 1)


refused("local_response_norm", random(2, 3), 0, error=ArgumentError, match="size must be 1 or more")
refused("local_response_norm", random(3), 2, error=ShapeError, match="needs a batch and channels")
refused("local_response_norm", integers(2, 3), 2, error=DTypeError, match="needs a float tensor")
