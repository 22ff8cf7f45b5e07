"""The accuracy that is stated is held: every family of kernels, over shapes and instruction sets, against f64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import burn
from burn.backend import Autodiff, Cpu
from burn.backend.cpu.accuracy import BOUNDS, UNIT
from burn.backend.cpu.features import runnable
from burn.ops.attention import attention
from burn.ops.convolution import conv
from burn.tensor import module

torch = pytest.importorskip("torch")
functional = torch.nn.functional

SETS = [each for each in runnable() if each in ("baseline", "avx2", "avx512")] or ["native"]
Answer = tuple[Any, Any, Any]
"""What was found, what is exact, and the measure of the error."""


def draw(shape: tuple[int, ...], kind: str, seed: int = 0) -> Any:
    """Numbers of both signs, or positive ones, whose roundings do not cancel."""
    random = np.random.default_rng([seed, *shape])
    return (random.standard_normal(shape) if kind == "normal" else random.random(shape)).astype(np.float32)


def product(device: Any, kind: str, m: int, k: int, n: int, turned: bool = False) -> Answer:
    x, y = draw((m, k), kind), draw((n, k) if turned else (k, n), kind, 1)
    other = burn.tensor(y, device=device)
    found = burn.tensor(x, device=device).matmul(other.transpose() if turned else other).numpy()
    x, y = x.astype(np.float64), (y.T if turned else y).astype(np.float64)
    return found, x @ y, np.abs(x) @ np.abs(y)


def _tensors(*arrays: Any) -> list[Any]:
    return [torch.tensor(each, dtype=torch.float64).requires_grad_() for each in arrays]


def convolution(device: Any, kind: str, n: int, c: int, size: int, o: int, k: int, groups: int = 1) -> Answer:
    x, w = draw((n, c, size, size), kind), draw((o, c // groups, k, k), kind, 1)
    found = conv(*(burn.tensor(each, device=device) for each in (x, w)), 1, k // 2, 1, groups).numpy()
    exact, terms = (
        functional.conv2d(*_tensors(*given), padding=k // 2, groups=groups).detach().numpy()
        for given in ((x, w), (np.abs(x), np.abs(w)))
    )
    return found, exact, terms


def gradient(which: int) -> Callable[..., Answer]:
    def answer(device: Any, kind: str, n: int, c: int, size: int, o: int, k: int) -> Answer:
        given = [draw((n, c, size, size), kind), draw((o, c, k, k), kind, 1)]
        pull = draw((n, o, size, size), kind, 2)
        tracked = Autodiff(device)
        leaves = [burn.tensor(each, device=tracked).require_grad() for each in given]
        grads = (conv(*leaves, 1, k // 2) * burn.tensor(pull, device=tracked)).sum().backward()
        both = []
        for arrays, weight in ((given, pull), ([np.abs(each) for each in given], np.abs(pull))):
            tensors = _tensors(*arrays)
            made = functional.conv2d(*tensors, padding=k // 2)
            both.append(torch.autograd.grad(made, tensors, torch.tensor(weight, dtype=torch.float64))[which].numpy())
        return leaves[which].grad(grads).numpy(), *both

    return answer


def total(device: Any, kind: str, shape: tuple[int, ...], dims: tuple[int, ...]) -> Answer:
    x = draw(shape, kind)
    found = burn.tensor(x, device=device).sum_dims(dims).numpy()
    mean = burn.tensor(x, device=device).mean_dims(dims).numpy() * np.float64(np.prod([shape[d] for d in dims]))
    exact, terms = (each.astype(np.float64).sum(dims, keepdims=True) for each in (x, np.abs(x)))
    worse = np.where(np.abs(mean - exact) > np.abs(found - exact) + UNIT * np.abs(exact), mean, found)
    return worse, exact, terms


def running(device: Any, kind: str, shape: tuple[int, ...], dim: int) -> Answer:
    x = draw(shape, kind)
    exact, terms = (each.astype(np.float64).cumsum(dim) for each in (x, np.abs(x)))
    return burn.tensor(x, device=device).cumsum(dim).numpy(), exact, terms


def variance(device: Any, kind: str, rows: int, length: int) -> Answer:
    x = draw((rows, length), kind)
    exact = x.astype(np.float64).var(1, ddof=1, keepdims=True)
    return burn.tensor(x, device=device).var(1).numpy(), exact, exact


def norm(device: Any, kind: str, rows: int, length: int) -> Answer:
    x = draw((rows, length), kind)
    given = burn.tensor(x, device=device)
    exact = np.sqrt((x.astype(np.float64) ** 2).sum(1, keepdims=True))
    return (given * given).sum_dim(1).sqrt().numpy(), exact, exact


def softmax(device: Any, kind: str, rows: int, length: int) -> Answer:
    x = draw((rows, length), kind) * 4
    far = x.max(1, keepdims=True).astype(np.float64) - x
    powers = np.exp(-far)
    exact = powers / powers.sum(1, keepdims=True)
    return burn.tensor(x, device=device).softmax(1).numpy(), exact, exact * (1 + far)


def log_of_sum(device: Any, kind: str, rows: int, length: int) -> Answer:
    x = draw((rows, length), kind) * 4
    given = burn.tensor(x, device=device)
    top = x.max(1, keepdims=True).astype(np.float64)
    exact = top + np.log(np.exp(x - top).sum(1, keepdims=True))
    found = ((given - given.max_dim(1)).exp().sum_dim(1).log() + given.max_dim(1)).numpy()
    return found, exact, np.maximum(np.abs(exact), 1)


def attended(device: Any, kind: str, queries: int, keys: int, size: int) -> Answer:
    q, k = (draw((2, 2, count, size), "normal", count) for count in (queries, keys))
    v = draw((2, 2, keys, size), kind, 3)
    found = attention(*(burn.tensor(each, device=device) for each in (q, k, v))).numpy()
    q, k, v = (each.astype(np.float64) for each in (q, k, v))
    scores, magnitudes = (x @ y.swapaxes(-1, -2) / np.sqrt(size) for x, y in ((q, k), (np.abs(q), np.abs(k))))
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    shares = powers / powers.sum(-1, keepdims=True)
    return found, shares @ v, shares @ np.abs(v) * (1 + magnitudes.max(-1, keepdims=True))


def window_mean(device: Any, kind: str, channels: int, size: int, kernel: int) -> Answer:
    x = draw((2, channels, size, size), kind)
    found = module.avg_pool2d(burn.tensor(x, device=device), kernel, 2, kernel // 2).numpy()
    exact, terms = (
        functional.avg_pool2d(*_tensors(each), kernel, 2, kernel // 2).detach().numpy() for each in (x, np.abs(x))
    )
    return found, exact, terms


def layer_norm(device: Any, kind: str, rows: int, length: int) -> Answer:
    x = draw((rows, length), kind)
    given = burn.tensor(x, device=device)
    centred = given - given.mean_dim(1)
    found = (centred / ((centred * centred).mean_dim(1) + 1e-5).sqrt()).numpy()
    exact = functional.layer_norm(*_tensors(x), (length,), eps=1e-5).detach().numpy()
    return found, exact, 1 + np.abs(exact)


IMAGES = [(1, 16, 12, 16, 3), (2, 64, 20, 64, 5), (1, 512, 14, 64, 1), (1, 2048, 7, 32, 1), (1, 3, 30, 24, 7)]
CASES: dict[str, tuple[Callable[..., Answer], list[tuple[Any, ...]], dict[str, Any]]] = {
    "products": (
        product,
        [(64, 64, 64), (7, 500, 33), (129, 3000, 65), (16, 20000, 40), (4, 30000, 8), (3, 9, 2), (65, 257, 130)],
        {},
    ),
    "dot products": (product, [(1, 1000, 7, True), (2, 100_000, 5, True), (4, 64, 3, True), (1, 9000, 1)], {}),
    "convolutions, directly": (
        convolution,
        [*IMAGES, (1, 32, 9, 32, 13, 32), (2, 12, 17, 20, 3, 4)],
        {"accuracy": "exact"},
    ),
    "convolutions, Winograd two by two": (
        convolution,
        [(1, 32, 28, 32, 3), (1, 512, 14, 64, 3), (2, 64, 33, 64, 3)],
        {"accuracy": "exact"},
    ),
    "convolutions, Winograd four by four": (
        convolution,
        [(1, 32, 28, 32, 3), (1, 512, 14, 64, 3), (2, 64, 33, 64, 3)],
        {},
    ),
    "gradients of images, directly": (gradient(0), [each for each in IMAGES if each[-1] != 3], {}),
    "gradients of images, Winograd": (gradient(0), [(1, 32, 28, 32, 3), (1, 64, 14, 512, 3)], {}),
    "gradients of weights": (gradient(1), [*IMAGES, (4, 16, 64, 16, 3), (2, 8, 90, 8, 1), (1, 4, 300, 4, 3)], {}),
    "sums and means": (
        total,
        [
            ((5, 1000), (1,)),
            ((16, 100_000), (1,)),
            ((1, 1_000_000), (1,)),
            ((1000, 33), (0,)),
            ((100_000, 16), (0,)),
            ((8, 64, 32, 32), (0, 2, 3)),
            ((700, 5, 40), (0, 2)),
        ],
        {},
    ),
    "running sums": (running, [((8, 10_000), 1), ((3000, 20), 0), ((3, 1), 1)], {}),
    "variances": (variance, [(16, 50_000), (7, 33), (3, 2)], {}),
    "norms": (norm, [(16, 50_000), (7, 33)], {}),
    "softmax": (softmax, [(16, 50_000), (9, 77), (3, 1)], {}),
    "log of a sum of exponentials": (log_of_sum, [(16, 50_000), (9, 77)], {}),
    "attention": (attended, [(64, 64, 32), (50, 2000, 16), (33, 9000, 8), (130, 97, 64)], {}),
    "means of windows": (window_mean, [(5, 17, 3), (16, 40, 9), (3, 64, 33), (2, 64, 63)], {}),
    "layer norm": (layer_norm, [(16, 768), (5, 20_000)], {}),
}


TILES = {
    "convolutions, directly": None,
    "convolutions, Winograd two by two": "in tiles of 2",
    "convolutions, Winograd four by four": "in tiles of 4",
    "gradients of images, directly": None,
    "gradients of images, Winograd": "in tiles of 4",
}
"""Which kernel a family is about, as its plan tells."""


def test_every_stated_bound_is_tested() -> None:
    assert CASES.keys() == BOUNDS.keys()


@pytest.mark.parametrize("features", SETS)
@pytest.mark.parametrize("kind", ["normal", "positive"])
@pytest.mark.parametrize("family", CASES)
def test_the_stated_accuracy_is_held(family: str, kind: str, features: str) -> None:
    answer, cases, settings = CASES[family]
    device = Cpu(features=features, **settings)
    for case in cases:
        found, exact, measure = answer(device, kind, *case)
        units = np.max(np.abs(found - exact) / np.maximum(measure, 1e-30)) / UNIT
        if family in TILES:
            described = device.plans.latest().describe()
            assert TILES[family] in described if TILES[family] else "in tiles of" not in described
        assert units <= BOUNDS[family].limit, f"{family} {case}: {units:.1f} units"
