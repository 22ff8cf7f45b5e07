"""PyTorch's versions of layers that keep their parameters otherwise than we do."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

LSTM = ("input_gate", "forget_gate", "cell_gate", "output_gate")
GRU = ("reset_gate", "update_gate", "new_gate")
RNN = ("gate",)
GATES = {"LSTM": LSTM, "GRU": GRU, "RNN": RNN}


class Layers:
    """How layers are computed: whole, or operation by operation, so that each can be rounded (see `reference`)."""

    step_by_step = False


def batch_norm(
    x: Any, mean: Any, variance: Any, gamma: Any, beta: Any, training: bool, momentum: float, epsilon: float
) -> Any:
    """`F.batch_norm`; a noisy run goes step by step, since gradients cancel inside."""
    found = F.batch_norm(x, mean, variance, gamma, beta, training, momentum, epsilon)
    if not (Layers.step_by_step and training):
        return found
    return scaled(normed(x, (0, *range(2, x.ndim)), epsilon), gamma, beta)


def layer_norm(x: Any, gamma: Any, beta: Any, epsilon: float) -> Any:
    """`F.layer_norm` of the last dim."""
    if not Layers.step_by_step:
        return F.layer_norm(x, x.shape[-1:], gamma, beta, epsilon)
    y = normed(x, (-1,), epsilon) * gamma
    return y if beta is None else y + beta


def rms_norm(x: Any, gamma: Any, epsilon: float) -> Any:
    """`F.rms_norm` of the last dim."""
    if not Layers.step_by_step:
        return F.rms_norm(x, x.shape[-1:], gamma, epsilon)
    return normed(x, (-1,), epsilon, centred=False) * gamma


def group_norm(x: Any, groups: int, gamma: Any, beta: Any, epsilon: float) -> Any:
    """`F.group_norm`."""
    if not Layers.step_by_step:
        return F.group_norm(x, groups, gamma, beta, epsilon)
    return scaled(normed(x.reshape(len(x), groups, -1), (-1,), epsilon).reshape(x.shape), gamma, beta)


def normed(x: Any, dims: tuple[int, ...], epsilon: float, centred: bool = True) -> Any:
    """Mean 0 (where asked for) and variance 1."""
    x = x - x.mean(dims, keepdim=True) if centred else x
    return x * ((x * x).mean(dims, keepdim=True) + epsilon).rsqrt()


def scaled(x: Any, gamma: Any, beta: Any) -> Any:
    """Each channel scaled and shifted."""
    if gamma is None:
        return x
    shape = (1, -1) + (1,) * (x.ndim - 2)
    return x * gamma.reshape(shape) + beta.reshape(shape)


def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """Our weights are (inputs, outputs)."""
    return F.linear(x, weight.mT, bias)


def recurrent(kind: str, x: Any, p: dict[str, Any], prefix: str, hidden: int, bias: bool, **settings: Any) -> Any:
    """All hidden states of `torch.nn.LSTM`, `GRU` or `RNN` with the gates of ours joined.

    `directions` has the prefixes of our parts: one, or the forward and the reverse one.
    """
    directions = settings.pop("directions", ("",))
    layer = getattr(torch.nn, kind)(
        x.shape[-1], hidden, bias=bias, bidirectional=len(directions) == 2, dtype=x.dtype, **settings
    )
    values = {}
    for direction, ending in zip(directions, ("", "_reverse")):
        for ours, theirs in (("input_transform", "ih"), ("hidden_transform", "hh")):
            for name in ("weight", "bias") if bias else ("weight",):
                parts = [p[f"{prefix}.{direction}{gate}.{ours}.{name}"].mT if name == "weight" else
                         p[f"{prefix}.{direction}{gate}.{ours}.{name}"] for gate in GATES[kind]]  # fmt: skip
                values[f"{name}_{theirs}_l0{ending}"] = torch.cat(parts)
    return torch.func.functional_call(layer, values, (x,))[0]


def attention(
    x: Any, memory: Any, p: dict[str, Any], prefix: str, heads: int, hide: Any = False, quiet: bool = False
) -> Any:
    """Attention of `x` to `memory` with four linear maps."""

    def mapped(value: Any, name: str) -> Any:
        return linear(value, p[f"{prefix}.{name}.weight"], p.get(f"{prefix}.{name}.bias"))

    def split(value: Any) -> Any:
        return value.unflatten(-1, (heads, -1)).transpose(1, 2)

    query, key, value = (split(mapped(*each)) for each in ((x, "query"), (memory, "key"), (memory, "value")))
    found = weighed(query, key, value, hide, quiet)
    return mapped(found.transpose(1, 2).flatten(2), "output")


def weighed(query: Any, key: Any, value: Any, hide: Any = False, quiet: bool = False) -> Any:
    """`softmax(query @ keyᵀ / sqrt(size)) @ value`; `hide` is true, for a causal mask, or a mask."""
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if hide is not False:
        scores = scores.masked_fill(
            causal(*scores.shape[-2:]) if hide is True else hide, -1.0e4 if quiet else -torch.inf
        )
    weights = torch.exp(scores) / (1 + torch.exp(scores).sum(-1, keepdim=True)) if quiet else torch.softmax(scores, -1)
    return weights @ value


def causal(queries: int, keys: int) -> Any:
    """True where a key lies after the query."""
    return torch.ones(queries, keys, dtype=torch.bool).triu(1)


def padded(x: Any, pairs: list[tuple[int, int]], mode: str = "constant", value: float = 0.0) -> Any:
    """Padding of the last dims, given from the first of them to the last."""
    flat = [size for pair in reversed(pairs) for size in pair]
    return F.pad(x, flat, mode, value) if mode == "constant" else F.pad(x, flat, mode)


def celu(x: Any, alpha: float) -> Any:
    """`F.celu`, which divides by an alpha rounded to f32 in its gradient."""
    return torch.where(x > 0, x, alpha * torch.expm1(torch.clamp_max(x, 0.0) / alpha))
