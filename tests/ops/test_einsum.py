"""Einstein summation against NumPy's and PyTorch's, forward and backward, on every device stack."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import burn
from burn.errors import ArgumentError, DTypeError, ShapeError
from burn.tensor.linalg import einsum
from tests.stacks import GRADIENT_STACKS, STACKS

EQUATIONS: list[tuple[str, list[tuple[int, ...]]]] = [
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
    ("ij,jk", [(2, 3), (3, 4)]),
    ("ba", [(2, 3)]),
    ("ii", [(3, 3)]),
    ("ii->i", [(3, 3)]),
    ("iji->j", [(3, 2, 3)]),
    ("iii->i", [(3, 3, 3)]),
    ("i,j->ij", [(3,), (4,)]),
    ("i,i", [(3,), (3,)]),
    ("ij->", [(2, 3)]),
    ("...ij,...jk->...ik", [(5, 2, 3), (3, 4)]),
    ("...ij,...jk", [(5, 1, 2, 3), (6, 3, 4)]),
    ("i...->...", [(3, 2, 4)]),
    ("i...j->j...", [(3, 2, 4)]),
    ("...,...", [(2, 3), (3,)]),
    ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
    ("ij,ij->ij", [(2, 3), (2, 3)]),
    ("ab,bc,cd,de->ae", [(2, 3), (3, 4), (4, 2), (2, 3)]),
    ("ij,kl,m->mki", [(2, 3), (4, 2), (5,)]),
    ("ij,ij->i", [(2, 3), (1, 3)]),
    ("iij,jk->ik", [(2, 2, 3), (3, 2)]),
    ("aB,Bc->ac", [(2, 3), (3, 2)]),
    ("ij,jk->ik", [(2, 0), (0, 4)]),
    (" b i j , b j -> b i ", [(2, 3, 4), (2, 4)]),
    ("->", [()]),
    (",i->i", [(), (3,)]),
]


def values(shapes: list[tuple[int, ...]]) -> list[Any]:
    generator = np.random.default_rng(0)
    return [generator.uniform(-1, 1, shape) for shape in shapes]


@pytest.mark.parametrize("stack", STACKS)
def test_every_equation_matches_pytorch(stack: str) -> None:
    for equation, shapes in EQUATIONS:
        arrays = values(shapes)
        ours = einsum(equation, *(burn.tensor(each, device=STACKS[stack]) for each in arrays))
        theirs = torch.einsum(equation, *map(torch.from_numpy, arrays)).numpy()
        assert tuple(ours.shape) == theirs.shape, equation
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-10, atol=1e-12, err_msg=equation)


@pytest.mark.parametrize("stack", GRADIENT_STACKS)
def test_every_gradient_matches_pytorch(stack: str) -> None:
    for equation, shapes in EQUATIONS:
        arrays = values(shapes)
        leaves = [burn.tensor(each, device=GRADIENT_STACKS[stack]).require_grad() for each in arrays]
        grads = (einsum(equation, *leaves) ** 2).sum().backward()
        sources = [torch.from_numpy(each.copy()).requires_grad_(True) for each in arrays]
        (torch.einsum(equation, *sources) ** 2).sum().backward()
        for leaf, source in zip(leaves, sources, strict=True):
            np.testing.assert_allclose(
                np.asarray(leaf.grad(grads)), source.grad.numpy(), rtol=1e-9, atol=1e-11, err_msg=equation
            )


def test_integers_and_floats_meet_in_one_dtype() -> None:
    x, y = burn.tensor(np.arange(6).reshape(2, 3)), burn.tensor(np.arange(3))
    np.testing.assert_array_equal(np.asarray(einsum("ij,j->i", x, y)), np.arange(6).reshape(2, 3) @ np.arange(3))
    assert einsum("ij,j->i", x, y.float()).dtype.is_float


@pytest.mark.parametrize(
    ("equation", "shapes", "error", "message"),
    [
        ("ij,jk->ik", [(2, 3)], ArgumentError, "names 2 tensors, got 1"),
        ("ij->ik", [(2, 3)], ArgumentError, r"\['k'\] name no dim"),
        ("ij->ii", [(2, 3)], ArgumentError, "a letter comes twice"),
        ("i1->i", [(2, 3)], ArgumentError, "may hold letters"),
        ("i......->i", [(2, 3)], ArgumentError, "may hold letters"),
        ("i", [(2, 3)], ShapeError, r"names 1 dims, tensors\[0\] has 2"),
        ("ijk", [(2, 3)], ShapeError, r"names 3 dims, tensors\[0\] has 2"),
        ("ij,jk->ik", [(2, 3), (4, 2)], ShapeError, "'j' of 'ij,jk->ik' is 3 and 4"),
        ("ii", [(2, 3)], ShapeError, "'i' of 'ii' is 2 and 3"),
    ],
)
def test_a_bad_equation_is_refused_with_a_reason(
    equation: str, shapes: list[tuple[int, ...]], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        einsum(equation, *map(burn.tensor, values(shapes)))


def test_bools_are_refused() -> None:
    with pytest.raises(DTypeError, match="einsum: needs numbers, got bool"):
        einsum("i", burn.tensor([True]))
    with pytest.raises(ArgumentError, match="needs an equation and tensors"):
        einsum("i")
