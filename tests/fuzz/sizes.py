"""Functions called with many sizes: one plan that was made for any of them gives what an eager call gives, bit for bit.

A seed is a random function whose steps ask tensors for their shapes, as users write them, and a list of sizes. It runs
under `burn.compile`, which records it with open sizes at the second one, and plainly.
"""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

import burn
from burn import Tensor
from burn.tensor.module import (
    ConvOptions,
    adaptive_avg_pool2d,
    avg_pool2d,
    conv2d,
    max_pool2d,
)

Step = tuple[str, Callable[..., Any]]

LENGTHS = (2, 3, 4, 5, 7, 8, 11, 15, 16, 17, 23, 24, 31, 32, 33, 48, 63, 64, 65, 100, 129, 200, 257)
BATCHES = (1, 2, 3, 4, 5, 8, 16, 17, 33)


class Drawn:
    """A function of a seed: steps over tensors, each named, and weights that never change size."""

    def __init__(self, seed: int) -> None:
        self.chooser = random.Random(f"sizes {seed}")
        self.numbers = np.random.default_rng(seed)
        self.steps: list[Step] = []
        self.weights: list[Any] = []
        self.images = self.chooser.random() < 0.35
        self.width = self.chooser.choice((8, 12, 16, 32, 48, 64))
        for _ in range(self.chooser.choice((1, 2, 3, 4, 6, 9))):
            self.steps.append(self.chooser.choice(IMAGES if self.images else SEQUENCES)(self))

    def weight(self, *shape: int) -> int:
        """The number of a tensor that is the same in all calls."""
        made = self.numbers.standard_normal(shape) / np.sqrt(shape[-1] if len(shape) < 3 else np.prod(shape[1:]))
        self.weights.append(burn.tensor(made.astype(np.float32), device=burn.Cpu()))
        return len(self.weights) - 1

    def inputs(self, batch: int, length: int) -> list[Any]:
        """The tensors of a call."""
        shape = (batch, self.width, min(length, 40), self.width) if self.images else (batch, length, self.width)
        return [burn.tensor(self.numbers.standard_normal(shape).astype(np.float32), device=burn.Cpu())]

    def function(self) -> Callable[..., Any]:
        """What is captured."""
        steps = [step for _, step in self.steps]

        def run(held: Any, x: Any) -> Any:
            others = []
            for step in steps:
                found = step(held, x)
                x, more = found if isinstance(found, tuple) else (found, None)
                others += [] if more is None else [more]
            return [x, *others]

        return run


def _linear(w: Drawn) -> Step:
    weight, bias = w.weight(w.width, w.width), w.weight(w.width)
    return "linear", lambda held, x: x.matmul(held[weight]) + bias


def _wide(w: Drawn) -> Step:
    one, two = w.weight(w.width, 3 * w.width), w.weight(3 * w.width, w.width)
    return "wide", lambda held, x: x.matmul(held[one]).gelu().matmul(held[two])


def _norm(w: Drawn) -> Step:
    gain = w.weight(w.width)

    def norm(held: Any, x: Any) -> Any:
        apart = x - x.mean_dim(x.rank - 1)
        return apart / (apart.square().mean_dim(x.rank - 1) + 1e-5).sqrt() * held[gain]

    return "norm", norm


def _attention(w: Drawn) -> Step:
    heads = w.chooser.choice((1, 2, 4))
    masked = w.chooser.random() < 0.4

    def attend(held: Any, x: Any) -> Any:
        batch, length, width = x.shape
        q = x.reshape([batch, length, heads, width // heads]).permute([0, 2, 1, 3])
        scores = q.matmul(q.swap_dims(2, 3)) / 4.0
        if masked:
            later = Tensor.ones([length, length], x.device).triu(1).bool()
            scores = scores.mask_fill(later.unsqueeze().expand(scores.shape), -1e9)
        return scores.softmax(-1).matmul(q).permute([0, 2, 1, 3]).reshape([batch, length, width])

    return "attention", attend


def _last(w: Drawn) -> Step:
    return "last", lambda held, x: (x, x[:, -1])


def _shift(w: Drawn) -> Step:
    return "shift", lambda held, x: Tensor.cat([x[:, 1:], x[:, :1]], 1)


def _cache(w: Drawn) -> Step:
    return "cache", lambda held, x: (x, Tensor.cat([x, x[:, -1:]], 1))


def _every_other(w: Drawn) -> Step:
    return "every other", lambda held, x: (x, x[:, ::2].sum_dim(1))


def _positions(w: Drawn) -> Step:
    table = w.weight(300, w.width)

    def place(held: Any, x: Any) -> Any:
        length = x.shape[1]
        return x + held[table][:length] + Tensor.arange(length, x.device).float().reshape([1, length, 1]) * 0.01

    return "positions", place


def _pooled(w: Drawn) -> Step:
    kind = w.chooser.choice(("sum", "mean", "max", "argmax"))

    def pool(held: Any, x: Any) -> Any:
        if kind == "argmax":
            return x, x.argmax(1)
        found = {"sum": x.sum_dim, "mean": x.mean_dim, "max": x.max_dim}[kind](1)
        return x + found, found

    return f"pooled {kind}", pool


def _running(w: Drawn) -> Step:
    return "cumsum", lambda held, x: x.cumsum(1) * 0.1


def _flat(w: Drawn) -> Step:
    weight = w.weight(w.width, w.width)

    def flat(held: Any, x: Any) -> Any:
        batch, length, width = x.shape
        return x.reshape([batch * length, width]).matmul(held[weight]).tanh().reshape([batch, length, width])

    return "flat", flat


def _turned(w: Drawn) -> Step:
    return "turned", lambda held, x: (x, x.swap_dims(1, 2).matmul(x))


def _branch(w: Drawn) -> Step:
    limit = w.chooser.choice((10, 24, 64))
    return "branch", lambda held, x: x * 2.0 if x.shape[1] > limit else x - 1.0


def _scaled(w: Drawn) -> Step:
    return "scaled", lambda held, x: x * x.shape[2] ** -0.5 + x.shape[0]


def _convolution(w: Drawn) -> Step:
    groups = w.chooser.choice((1, 1, w.width))
    size = w.chooser.choice((1, 3, 5))
    options = ConvOptions(padding=size // 2, groups=groups)
    weight, bias = w.weight(w.width, w.width // groups, size, size), w.weight(w.width)
    return f"conv {size} / {groups}", lambda held, x: conv2d(x, held[weight], held[bias], options).relu()


def _pooling(w: Drawn) -> Step:
    kind = w.chooser.choice((max_pool2d, avg_pool2d))
    return kind.__name__, lambda held, x: kind(x, 3, 1, 1)


def _squeeze(w: Drawn) -> Step:
    weight = w.weight(w.width, w.width)

    def squeeze(held: Any, x: Any) -> Any:
        batch, channels = x.shape[:2]
        found = adaptive_avg_pool2d(x, [1, 1]).reshape([batch, channels]).matmul(held[weight]).sigmoid()
        return x * found.reshape([batch, channels, 1, 1])

    return "squeeze", squeeze


def _image_norm(w: Drawn) -> Step:
    gain = w.weight(w.width)
    return "image norm", lambda held, x: x * held[gain].reshape([1, -1, 1, 1]) + x.mean_dim(1)


def _tokens(w: Drawn) -> Step:
    return "tokens", lambda held, x: (x, x.reshape([x.shape[0], x.shape[1], -1]).swap_dims(1, 2).softmax(-1))


SEQUENCES = (
    _linear, _linear, _wide, _norm, _norm, _attention, _attention, _last, _shift, _cache, _every_other, _positions,
    _pooled, _running, _flat, _turned, _branch, _scaled,
)  # fmt: skip
IMAGES = (_convolution, _convolution, _convolution, _pooling, _squeeze, _image_norm, _tokens)


def check(seed: int) -> str | None:
    """A report if a call under capture differs from a plain one."""
    drawn = Drawn(seed)
    function = drawn.function()
    open_lengths, open_batches = drawn.chooser.choice(((True, False), (False, True), (True, True)))
    notices: list[str] = []
    captured = burn.compile(function, notice=notices.append)
    first = drawn.chooser.choice(LENGTHS), drawn.chooser.choice(BATCHES)
    title = " · ".join(name for name, _ in drawn.steps)
    seen = set()
    for turn in range(8):
        length = drawn.chooser.choice(LENGTHS) if open_lengths else first[0]
        batch = drawn.chooser.choice(BATCHES) if open_batches else first[1]
        given = drawn.inputs(batch, length)
        seen.add(tuple(given[0].shape))
        try:
            found, expected = captured(drawn.weights, *given), function(drawn.weights, *given)
            for number, (mine, plain) in enumerate(zip(found, expected, strict=True)):
                one, other = mine.numpy(), plain.numpy()
                if one.shape != other.shape or not np.array_equal(one, other, equal_nan=True):
                    apart = np.abs(one - other).max() if one.shape == other.shape else (one.shape, other.shape)
                    return f"call {turn}, batch {batch}, length {length}, result {number}: {apart}\n{title}"
        except Exception:
            return f"call {turn}, batch {batch}, length {length}\n{title}\n{traceback.format_exc(limit=-6)}"
    if notices:
        return f"{notices[0]}\n{title}"
    if len({shape for shape in seen if shape[0] > 1}) > 2 and not captured.open_captures():
        return f"nothing was recorded with open sizes for {sorted(seen)}\n{title}"
    return None
