"""Samples of products, norms and decompositions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from burn.errors import ArgumentError, DTypeError, ShapeError
from tests.ops.sample import Sample, booleans, call, distinct, integers, random, refused, samples


def _float(function: Any) -> Any:
    """A torch function that is given ints as floats, as ours takes them."""
    return lambda x, *arguments, **kwargs: function(x if x.is_floating_point() else x.float(), *arguments, **kwargs)


# Products


@samples("matmul", oracle=torch.matmul)
def _matmul() -> Iterator[Sample]:
    for left, right in [
        ((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((3, 4), (2, 4, 1)),
        ((1, 1), (1, 1)), ((0, 3), (3, 2)), ((3, 0), (0, 2)), ((2, 0, 3), (3, 4)), ((3, 1, 7), (1, 7, 3)),
    ]:  # fmt: skip
        yield call(random(*left, seed=1), random(*right, seed=2))
    yield call(random(4, 3, seed=1).T, random(8, 10, seed=2)[::2, ::2])
    yield call(random(2, 3, 4, seed=1)[:, ::2], random(5, 4, seed=2).T)
    yield call(integers(3, 4), integers(4, 2, seed=1))
    yield call(integers(2, 3, 4), integers(4, 2, seed=1))
    yield call(integers(3, 4, dtype=np.int8, low=-100, high=100), integers(4, 2, dtype=np.int8, low=50, high=100))


refused("matmul", random(32, 784), random(512, 10), error=ShapeError,
        match=r"^matmul: inner dimensions differ: \(32, 784\) @ \(512, 10\): 784 != 512$")  # fmt: skip
refused("matmul", random(2, 3, 4), random(3, 4, 5), error=ShapeError, match="do not broadcast: 2 != 3")
refused("matmul", random(4), random(4, 5), error=ShapeError, match=r"x has shape \(4,\).*write x @ y")
refused("matmul", random(4, 5), random(5), error=ShapeError, match=r"y has shape \(5,\)")
refused("matmul", booleans(2, 2), booleans(2, 2), error=DTypeError, match="needs numbers, got bool")
refused("matmul", random(2, 2), 3.0, error=DTypeError, match="must be a Tensor, got float")


@samples("dot", oracle=lambda x, y: torch.dot(x, y).reshape(1))
def _dot() -> Iterator[Sample]:
    yield call(random(5), random(5, seed=1))
    yield call(random(1), random(1, seed=1))
    yield call(random(0), random(0, seed=1))
    yield call(random(10)[::2], random(5, seed=1)[::-1])
    yield call(integers(5), integers(5, seed=1))


refused("dot", random(3), random(4), error=ShapeError, match=r"two vectors of one length, got \(3,\) and \(4,\)")
refused("dot", random(3, 3), random(3, 3), error=ShapeError, match="write x @ y for matrices")


@samples("matvec", oracle=lambda m, v: torch.matmul(m, v.unsqueeze(-1)).squeeze(-1))
def _matvec() -> Iterator[Sample]:
    yield call(random(3, 4), random(4, seed=1))
    yield call(random(2, 3, 4), random(2, 4, seed=1))
    yield call(random(2, 3, 4), random(4, seed=1))
    yield call(random(1, 3, 4), random(5, 4, seed=1))
    yield call(random(4, 3).T, random(8, seed=1)[::2])
    yield call(random(0, 4), random(4, seed=1))
    yield call(integers(3, 4), integers(4, seed=1))


refused("matvec", random(3, 4), random(3), error=ShapeError, match="inner dimensions differ.*4 != 3")
refused("matvec", random(3), random(3), error=ShapeError, match="needs a matrix and a vector")
refused("matvec", random(2, 3, 4), random(3, 4), error=ShapeError, match="do not broadcast")


@samples("outer", oracle=lambda x, y: x.unsqueeze(-1) * y.unsqueeze(-2))
def _outer() -> Iterator[Sample]:
    yield call(random(3), random(4, seed=1))
    yield call(random(2, 3), random(2, 5, seed=1))
    yield call(random(1, 3), random(4, 2, seed=1))
    yield call(random(0), random(4, seed=1))
    yield call(random(6)[::2], random(4, seed=1)[::-1])
    yield call(integers(3), integers(2, seed=1))


def _outer_oracle(x: torch.Tensor, y: torch.Tensor, dim: int) -> torch.Tensor:
    dim %= x.ndim
    return x.unsqueeze(dim + 1) * y.unsqueeze(dim)


@samples("outer_dim", oracle=_outer_oracle)
def _outer_dim() -> Iterator[Sample]:
    yield call(random(3), random(4, seed=1), 0)
    yield call(random(2, 3), random(5, 3, seed=1), 0)
    yield call(random(2, 3, 4), random(2, 6, 4, seed=1), -2)
    yield call(random(3, 2).T, random(4, 4, seed=1)[::2], 1)


refused("outer_dim", random(3), random(2, 3), 0, error=ShapeError, match="two tensors of one rank")
refused("outer_dim", random(2, 3), random(4, 3), 1, error=ShapeError, match="do not broadcast")
refused("outer", random(), random(), error=ShapeError, match="0-d")


@samples("cross", oracle=lambda x, y, dim=-1: torch.linalg.cross(*torch.broadcast_tensors(x, y), dim=dim))
def _cross() -> Iterator[Sample]:
    yield call(random(3), random(3, seed=1))
    yield call(random(4, 3), random(4, 3, seed=1))
    yield call(random(3, 4), random(3, 4, seed=1), 0)
    yield call(random(2, 1, 3), random(5, 3, seed=1), -1)
    yield call(random(2, 3, 5), random(3, 1, seed=1), 1)
    yield call(random(3, 5).T, random(10, 3, seed=1)[::2])
    yield call(random(0, 3), random(0, 3, seed=1))
    yield call(integers(4, 3), integers(4, 3, seed=1))


refused("cross", random(4), random(4), error=ShapeError, match=r"dim -1 of x \(4,\) has size 4, which must be 3")
refused("cross", random(2, 3), random(2, 1), error=ShapeError, match="y .* has size 1, which must be 3")


# Diagonals


def _matrices() -> Iterator[Sample]:
    yield call(random(3, 3))
    yield call(random(3, 5))
    yield call(random(5, 3))
    yield call(random(2, 4, 3, 2))
    yield call(random(1, 1))
    yield call(random(0, 3))
    yield call(random(3, 0))
    yield call(random(4, 3).T)
    yield call(random(6, 4)[::2, ::-1])
    yield call(integers(3, 4))


samples("diag", oracle=lambda x: torch.diagonal(x, dim1=-2, dim2=-1))(_matrices)
samples("trace", oracle=lambda x: torch.diagonal(x, dim1=-2, dim2=-1).sum(-1)[..., None, None])(_matrices)
refused("diag", random(3), error=ShapeError, match=r"needs matrices in the last two dims, got shape \(3,\)")
refused("trace", random(3), error=ShapeError, match="needs matrices")
refused("trace", booleans(3, 3), error=DTypeError, match="needs numbers, got bool")


# Norms


def along(*attributes: Any, zeros: bool = True) -> Callable[[], Iterator[Sample]]:
    """Samples of a norm; a vector of zeros has a gradient by convention, which differences do not see."""

    def generate() -> Iterator[Sample]:
        yield call(random(3, 4), *attributes, 1)
        yield call(random(3, 4), *attributes, -2)
        yield call(distinct(2, 3, 2), *attributes, 1)
        yield call(random(1), *attributes, 0)
        yield call(random(0, 3), *attributes, 1)
        yield call(random(4, 3).T, *attributes, 0)
        yield call(integers(3, 4, low=1), *attributes, 1)
        if zeros:
            yield call(np.array([[0.0, 0.0], [3.0, -4.0]]), *attributes, 1)

    return generate


def _norm(x: torch.Tensor, p: Any, dim: int) -> torch.Tensor:
    return torch.linalg.vector_norm(x if x.is_floating_point() else x.float(), float(p), dim, keepdim=True)


@samples("vector_norm", oracle=_norm)
def _vector_norms() -> Iterator[Sample]:
    for p in (2.0, 1.0, 0.0, 3.0, 1.5, 0.5, math.inf, -math.inf, 4, -2.0):
        yield from along(p, zeros=p >= 0.0)()


samples("l0_norm", oracle=lambda x, dim: _norm(x, 0, dim))(along())
samples("l1_norm", oracle=lambda x, dim: _norm(x, 1, dim))(along(zeros=False))
samples("l2_norm", oracle=lambda x, dim: _norm(x, 2, dim))(along(zeros=False))
samples("lp_norm", oracle=_norm)(along(2.5, zeros=False))
samples("max_abs_norm", oracle=lambda x, dim: _norm(x, math.inf, dim))(along(zeros=False))
samples("min_abs_norm", oracle=lambda x, dim: _norm(x, -math.inf, dim))(along(zeros=False))
refused("vector_norm", random(3), 2.0, 1, error=ShapeError, match="dim 1 is out of range")
refused("vector_norm", random(3), "two", 0, error=ArgumentError, match="p must be a number, got 'two'")
refused("vector_norm", random(3), math.nan, 0, error=ArgumentError, match=r"must not be NaN; write Norm\.L2")


@samples("vector_normalize", oracle=_float(lambda x, p=2.0, dim=-1, eps=1e-12: functional.normalize(x, p, dim, eps)))
def _normalized() -> Iterator[Sample]:
    yield call(random(3, 4))
    yield call(random(3, 4), 1.0, 0)
    yield call(random(2, 3, 4), math.inf, 1, 0.5)
    yield call(random(3, 4), 2.0, -1, 100.0)
    yield call(random(4, 3).T, 3.0, 0)
    yield call(random(0, 3))
    yield call(integers(3, 4, low=1))


def _cosine(x: torch.Tensor, y: torch.Tensor, dim: int, eps: float | None = None) -> torch.Tensor:
    return functional.cosine_similarity(x, y, dim, 1e-30 if eps is None else eps).unsqueeze(dim)


@samples("cosine_similarity", oracle=_cosine)
def _cosines() -> Iterator[Sample]:
    yield call(random(3, 4), random(3, 4, seed=1), 1)
    yield call(random(3, 4), random(3, 4, seed=1), 0, 1e-8)
    yield call(random(2, 3, 4), random(1, 3, 4, seed=1), -2)
    yield call(random(4, 3).T, random(6, 4, seed=1)[::2], 1)
    yield call(random(0, 3), random(0, 3, seed=1), 1)


refused("vector_normalize", random(3), 2.0, 0, "small", error=ArgumentError, match="eps must be a number")
refused("cosine_similarity", random(3), random(4), 0, error=ShapeError, match="do not broadcast")


# Decompositions


def _regular(*shape: int, seed: int = 0) -> Any:
    """Matrices far from singular."""
    least = min(shape[-2:])
    return random(*shape, seed=seed) + np.eye(*shape[-2:]) * (least + 1)


def _squares() -> Iterator[Sample]:
    yield call(_regular(3, 3), tolerance=1e-4)
    yield call(_regular(2, 1, 4, 4), tolerance=1e-3)
    yield call(_regular(1, 1))
    yield call(_regular(0, 2, 2))
    yield call(_regular(3, 3).T, tolerance=1e-4)
    yield call(_regular(6, 3)[::2], tolerance=1e-4)
    yield call(integers(3, 3, low=1) + np.eye(3, dtype=np.int64) * 9, tolerance=1e-4)


@samples("det", oracle=_float(torch.linalg.det))
def _det() -> Iterator[Sample]:
    # PyTorch gives a singular matrix no gradient, although it has one
    yield call(np.array([[1.0, 2.0], [2.0, 4.0]]), oracle=False, tolerance=1e-5)
    yield call(random(0, 0))
    yield from _squares()


def _cofactor(x: torch.Tensor) -> torch.Tensor:
    return torch.linalg.det(x)[..., None, None] * torch.linalg.inv(x).mT


samples("cofactor", oracle=_float(_cofactor))(_squares)
samples("inverse", oracle=_float(torch.linalg.inv))(_squares)


@samples("solve", oracle=torch.linalg.solve)
def _solve() -> Iterator[Sample]:
    yield call(_regular(3, 3), random(3, 2, seed=1), tolerance=1e-4)
    yield call(_regular(2, 3, 3), random(2, 3, 1, seed=1), tolerance=1e-4)
    yield call(_regular(3, 3), random(4, 3, 2, seed=1), tolerance=1e-4)
    yield call(_regular(2, 1, 2, 2), random(3, 2, 4, seed=1), tolerance=1e-4)
    yield call(_regular(3, 3).T, random(6, 2, seed=1)[::2], tolerance=1e-4)


for _name in ("det", "cofactor", "inverse"):
    refused(
        _name, random(2, 3), error=ShapeError, match=r"needs square matrices in the last two dims, got shape \(2, 3\)"
    )
    refused(_name, random(3), error=ShapeError, match="needs matrices")
refused("inverse", np.zeros((2, 2)), error=ArgumentError, match="a matrix is singular: it has no inverse")
refused("solve", np.zeros((2, 2)), random(2, 1), error=ArgumentError, match="a matrix is singular")
refused("solve", random(2, 2), random(3, 1), error=ShapeError, match="different numbers of rows: 2 != 3")


def _rectangles() -> Iterator[Sample]:
    yield call(random(3, 3, seed=3), tolerance=1e-3)
    yield call(random(5, 3, seed=3), tolerance=1e-3)
    yield call(random(3, 5, seed=3), tolerance=1e-3)
    yield call(random(2, 1, 4, 3, seed=3), tolerance=1e-3)
    yield call(random(1, 1, seed=3))
    yield call(random(4, 3, seed=3).T, tolerance=1e-3)
    yield call(random(0, 3, 2, seed=3))
    yield call(integers(3, 3, low=1) + np.eye(3, dtype=np.int64) * 9, tolerance=1e-4)


samples("lu", oracle=_float(lambda x: tuple(torch.linalg.lu(x))))(_rectangles)


def _compact(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    factors, pivots = torch.linalg.lu_factor(x)
    permutation, _, _ = torch.lu_unpack(factors, pivots)
    return factors, permutation.argmax(-2)


samples("lu_decomposition", oracle=_float(_compact))(_squares)


@samples("qr", oracle=_float(lambda x, reduced=True: tuple(torch.linalg.qr(x, "reduced" if reduced else "complete"))))
def _qr() -> Iterator[Sample]:
    yield from _rectangles()
    yield call(random(3, 3, seed=3), False, tolerance=1e-3)
    yield call(random(3, 5, seed=3), False, tolerance=1e-3)
    yield call(random(5, 3, seed=3), False, grad=False, tolerance=1e-3)


refused("lu", random(3), error=ShapeError, match="needs matrices")
refused("lu_decomposition", random(2, 3), error=ShapeError, match="needs square matrices")
refused("qr", random(3), error=ShapeError, match="needs matrices")
refused("qr", random(3, 3), "reduced", error=ArgumentError, match="reduced must be True or False, got 'reduced'")
