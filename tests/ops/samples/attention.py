"""Samples of attention and the CTC loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from burn.errors import ArgumentError, DTypeError, IndexingError, ShapeError
from tests.ops.sample import Sample, booleans, call, integers, random, refused, samples


def _attended(
    q: Any, k: Any, v: Any, mask: Any = None, bias: Any = None, scale: Any = None, softcap: Any = None,
    is_causal: bool = False,
) -> Any:  # fmt: skip
    shape = (*torch.broadcast_shapes(q.shape[:-2], k.shape[:-2]), q.shape[-2], k.shape[-2])
    visible = torch.ones(shape, dtype=torch.bool) if mask is None else (~mask).expand(shape)
    if is_causal:
        visible = visible & torch.ones(shape, dtype=torch.bool).tril(k.shape[-2] - q.shape[-2])
    if softcap is None:
        extra = torch.zeros(shape, dtype=q.dtype) if bias is None else bias.expand(shape)
        extra = extra.masked_fill(~visible, -torch.inf)
        result = functional.scaled_dot_product_attention(q, k, v, extra, scale=scale)
        return torch.where(visible.any(-1, keepdim=True), result, torch.zeros_like(result))
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    scores = softcap * torch.tanh(scores / softcap) + (0.0 if bias is None else bias)
    return torch.softmax(scores.masked_fill(~visible, -torch.inf), -1) @ v


@samples("attention", oracle=_attended)
def _attention() -> Iterator[Sample]:
    q, k, v = random(2, 2, 3, 4), random(2, 2, 5, 4, seed=1), random(2, 2, 5, 3, seed=2)
    yield call(q, k, v)
    yield call(q, k, v, booleans(2, 2, 3, 5), random(1, 2, 3, 5, seed=3))
    yield call(q, k, v, None, None, 0.3, None, True)
    yield call(q, k, v, None, random(3, 5, seed=3), None, 2.5, True)
    yield call(random(3, 4), random(3, 4, seed=1), random(3, 2, seed=2), is_causal=True)
    yield call(random(5, 2), random(3, 2, seed=1), random(3, 2, seed=2), is_causal=True)  # some see nothing
    yield call(random(2, 3, 4), random(4, 5, 2).T, random(2, 5, 1), booleans(5))
    yield call(q, k, v, np.ones((3, 5), bool))
    yield call(random(0, 3, 4), random(0, 5, 4), random(0, 5, 3))
    yield call(random(2, 2), random(3, 2, seed=1), random(3, 2, seed=2), None, np.array([[0.0, -np.inf, 1.0]] * 2))


def _log_probs(*shape: int, seed: int = 0) -> Any:
    x = random(*shape, seed=seed)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def _ctc(log_probs: Any, targets: Any, inputs: Any, lengths: Any, blank: int = 0) -> Any:
    """Torch's loss. Its gradient takes the softmax before it into account; the true one does not."""
    loss = functional.ctc_loss(log_probs, targets, inputs, lengths, blank, "none")
    if log_probs.requires_grad:
        used = torch.arange(log_probs.shape[0])[:, None] < inputs
        through_softmax = (log_probs.exp().sum(-1) * used).sum(0)
        loss = loss - (through_softmax - through_softmax.detach())
    return loss


@samples("ctc_loss", oracle=_ctc)
def _ctc_loss() -> Iterator[Sample]:
    yield call(_log_probs(6, 2, 4), integers(2, 3, low=1, high=4), np.array([6, 5]), np.array([3, 2]))
    yield call(_log_probs(4, 1, 3), np.array([[1, 1]]), np.array([4]), np.array([2]))  # a repeated letter
    yield call(_log_probs(5, 3, 4), integers(3, 2, low=0, high=3), np.array([5, 3, 4]), np.array([2, 0, 1]), 3)
    yield call(_log_probs(2, 1, 3), np.array([[1, 1]]), np.array([2]), np.array([2]), grad=False)  # does not fit
    yield call(_log_probs(3, 2, 3), np.array([[1, -1], [2, 1]]), np.array([3, 3]), np.array([1, 2]), oracle=False)
    yield call(_log_probs(4, 3, 2).T, np.array([[2], [1], [0]]), np.array([2, 2, 1]), np.array([1, 1, 1]), 3)


def _ctc_backward(g: Any, log_probs: Any, targets: Any, inputs: Any, lengths: Any, blank: int = 0) -> Any:
    leaf = log_probs.detach().requires_grad_()
    (found,) = torch.autograd.grad((_ctc(leaf, targets, inputs, lengths, blank) * g).sum(), leaf)
    return found.detach()


@samples("ctc_loss_backward", oracle=_ctc_backward)
def _ctc_loss_backward() -> Iterator[Sample]:
    yield call(random(2), _log_probs(6, 2, 4), integers(2, 3, low=1, high=4), np.array([6, 5]), np.array([3, 2]))
    yield call(random(1), _log_probs(4, 1, 3), np.array([[1, 1]]), np.array([4]), np.array([2]))
    yield call(random(1), _log_probs(2, 1, 3), np.array([[1, 1]]), np.array([2]), np.array([2]), oracle=False)


Q, K, V = random(2, 3, 4), random(2, 5, 4), random(2, 5, 6)
refused("attention", Q, random(2, 5, 3), V, error=ShapeError, match=r"\(2, 3, 4\), key \(2, 5, 3\).*same size")
refused("attention", Q, K, random(2, 4, 6), error=ShapeError, match="one value for each key")
refused("attention", Q, random(3, 5, 4), random(3, 5, 6), error=ShapeError, match="do not broadcast")
refused("attention", random(4), K, V, error=ShapeError, match=r"\(length, size\)")
refused("attention", Q, K, V, random(3, 5), error=DTypeError, match="mask must be a bool tensor")
refused("attention", Q, K, V, booleans(3, 4), error=ShapeError, match="do not broadcast")
refused("attention", Q, K, V, booleans(4, 2, 3, 5), error=ShapeError, match=r"mask \(4, 2, 3, 5\) must broadcast to")
refused("attention", Q, K, V, softcap=0.0, error=ArgumentError, match="softcap must be positive")
refused("attention", Q, K, V, scale="big", error=ArgumentError, match="scale must be a number")
P, T, N, L = _log_probs(4, 1, 3), np.array([[1, 2]]), np.array([4]), np.array([2])
refused("ctc_loss", random(4, 3), T, N, L, error=ShapeError, match=r"\(time, batch, classes\), got \(4, 3\)")
refused("ctc_loss", P, np.array([1, 2]), N, L, error=ShapeError, match=r"\(1, length\).*got \(2,\)")
refused("ctc_loss", P, T, np.array([4, 4]), L, error=ShapeError, match="input_lengths must have the shape")
refused("ctc_loss", P, T, N, L, 3, error=ArgumentError, match="blank must be between 0 and 2")
refused("ctc_loss", P, random(1, 2), N, L, error=DTypeError, match="needs an int tensor")
refused("ctc_loss", P, np.array([[1, 3]]), N, L, error=IndexingError, match="targets must be between 0 and 2, got 3")
refused("ctc_loss", P, T, np.array([5]), L, error=IndexingError, match="input_lengths must be between 0 and 4, got 5")
refused("ctc_loss", P, T, N, np.array([3]), error=IndexingError, match="target_lengths must be between 0 and 2")
refused("ctc_loss_backward", random(2), P, T, N, L, error=ShapeError, match=r"\(1,\), got \(2,\)")
