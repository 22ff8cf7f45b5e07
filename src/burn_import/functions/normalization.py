"""Normalization as exchange formats describe it: from a dim on, with the statistics as further results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.ops import normalization as rows
from burn.ops.activation import wide
from burn.ops.dispatch import cast_to
from burn.ops.linalg import vector_normalize
from burn.shape import axes, axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from burn.ops.declare import B
    from burn.tensor.tensor import Tensor

__all__ = [
    "batch_norm_step", "embed_layer_norm", "layer_norm", "mean_variance_norm", "rms_norm", "skip_layer_norm",
    "skip_rms_norm", "vector_normalize",
]  # fmt: skip


def layer_norm(
    x: Tensor[B],
    gamma: Tensor[Any] | None = None,
    beta: Tensor[Any] | None = None,
    dim: int = -1,
    eps: float = 1e-5,
) -> tuple[Tensor[B], Tensor[B], Tensor[B]]:
    """Standardize from `dim` to the last one, then scale and shift by what broadcasts.

    Gives the result, and in f32 at least the means and the inverses of the standard deviations, whose
    normalized dims have size 1.
    """
    first = axis("layer_norm", dim, len(x.shape))
    dims = tuple(range(first, len(x.shape)))
    values = wide(x)
    mean = values.mean_dims(dims)
    centred = values - mean
    inverse = ((centred * centred).mean_dims(dims) + eps).sqrt().recip()
    if _covers(x, gamma, beta, first):
        return rows.layer_norm(x, gamma, beta, eps), mean, inverse
    return _affine(centred * inverse, gamma, beta, x.dtype), mean, inverse


def _covers(x: Any, gamma: Any, beta: Any, first: int) -> bool:
    """Whether the row serves: a scale with exactly the normalized sizes."""
    sizes = tuple(x.shape[first:])
    return (
        gamma is not None
        and tuple(gamma.shape) == sizes
        and gamma.dtype is x.dtype
        and (beta is None or (tuple(beta.shape) == sizes and beta.dtype is x.dtype))
    )


def _affine(y: Any, gamma: Any, beta: Any, dtype: Any) -> Any:
    y = y if gamma is None else y * wide(gamma)
    return cast_to(y if beta is None else y + wide(beta), dtype)


def rms_norm(
    x: Tensor[B], gamma: Tensor[Any] | None = None, dim: int = -1, eps: float = 1e-5
) -> tuple[Tensor[B], Tensor[B]]:
    """Divide by the root of the mean square from `dim` on, and scale. The inverses of the roots are given back too."""
    first = axis("rms_norm", dim, len(x.shape))
    values = wide(x)
    inverse = ((values * values).mean_dims(tuple(range(first, len(x.shape)))) + eps).sqrt().recip()
    if _covers(x, gamma, None, first):
        return rows.rms_norm(x, gamma, eps), inverse
    normal = cast_to(values * inverse, x.dtype)
    return (normal if gamma is None else normal * gamma), inverse


def mean_variance_norm(x: Tensor[B], dims: Sequence[int] = (0, 2, 3), eps: float = 1e-9) -> Tensor[B]:
    """Subtract the mean along `dims` and divide by the standard deviation plus `eps`."""
    over = axes("mean_variance_norm", dims, len(x.shape))
    values = wide(x)
    mean = values.mean_dims(over)
    spread = (values * values).mean_dims(over) - mean * mean
    return cast_to((values - mean) / (spread.sqrt() + eps), x.dtype)


def batch_norm_step(
    x: Tensor[B],
    gamma: Tensor[Any],
    beta: Tensor[Any],
    mean: Tensor[Any],
    variance: Tensor[Any],
    eps: float = 1e-5,
    momentum: float = 0.9,
) -> tuple[Tensor[B], Tensor[B], Tensor[B]]:
    """Normalize each channel by its own statistics; the running ones move to them by `1 - momentum`."""
    y, own_mean, own_variance = rows.batch_norm_training(x, gamma, beta, eps)
    running = mean * momentum + own_mean * (1.0 - momentum)
    spread = variance * momentum + own_variance * (1.0 - momentum)
    return cast_to(y, x.dtype), cast_to(running, mean.dtype), cast_to(spread, variance.dtype)


def _sum(x: Any, skip: Any, bias: Any) -> Any:
    total = x + skip
    return total if bias is None else total + bias


def skip_layer_norm(
    x: Tensor[B],
    skip: Tensor[Any],
    gamma: Tensor[Any],
    beta: Tensor[Any] | None = None,
    bias: Tensor[Any] | None = None,
    eps: float = 1e-12,
) -> tuple[Tensor[B], Tensor[B], Tensor[B], Tensor[B]]:
    """`layer_norm` of `x + skip + bias`; the sum is the last of the results."""
    total = _sum(x, skip, bias)
    return (*layer_norm(total, gamma, beta, -1, eps), total)


def skip_rms_norm(
    x: Tensor[B],
    skip: Tensor[Any],
    gamma: Tensor[Any],
    bias: Tensor[Any] | None = None,
    eps: float = 1e-12,
) -> tuple[Tensor[B], Tensor[B], Tensor[B]]:
    """`rms_norm` of `x + skip + bias`; the sum is the last of the results."""
    total = _sum(x, skip, bias)
    return (*rms_norm(total, gamma, -1, eps), total)


def embed_layer_norm(
    tokens: Tensor[B],
    segments: Tensor[Any] | None,
    words: Tensor[Any],
    places: Tensor[Any],
    kinds: Tensor[Any] | None,
    gamma: Tensor[Any],
    beta: Tensor[Any],
    mask: Tensor[Any] | None = None,
    positions: Tensor[Any] | None = None,
    eps: float = 1e-12,
) -> tuple[Tensor[B], Tensor[B], Tensor[B]]:
    """Add the embeddings of tokens, positions and segments, and normalize them.

    Gives the result, how many tokens of each item the mask keeps (0 without a mask), and the sum.
    """
    from burn.ops.layers import embedding

    batch, length = tokens.shape
    total: Any = embedding(words, tokens)
    total = total + (places.narrow(0, 0, length) if positions is None else embedding(places, positions))
    if segments is not None and kinds is not None:
        total = total + embedding(kinds, segments)
    kept = tokens.narrow(1, 0, 1).mul(0).reshape((batch,)) if mask is None else mask.sum_dim(1).reshape((batch,))
    return layer_norm(total, gamma, beta, -1, eps)[0], kept.cast("i32"), total
