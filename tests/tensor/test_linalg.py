"""Linear algebra beyond the row tests: the operator `@`, norms by name, identities of decompositions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

import burn
from burn.backend import Autodiff, LibTorch, NdArray
from burn.errors import ArgumentError, AutodiffError, ShapeError
from burn.tensor import Tensor, linalg
from burn.tensor.linalg import Norm

DEVICES = [NdArray(), LibTorch("cpu")]


def values(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def on(device: burn.Device, array: Any) -> Tensor[Any]:
    return burn.tensor(array, device=device, dtype="f64")


@pytest.mark.parametrize("device", DEVICES, ids=repr)
@pytest.mark.parametrize(
    "left, right",
    [
        ((4,), (4,)),
        ((3, 4), (4,)),
        ((4,), (4, 5)),
        ((2, 3, 4), (4,)),
        ((4,), (2, 4, 5)),
        ((0,), (0,)),
        ((3, 4), (4, 5)),
    ],
)
def test_the_operator_takes_vectors_as_numpy_does(left: Any, right: Any, device: burn.Device) -> None:
    x, y = values(*left), values(*right, seed=1)
    tx, ty = on(Autodiff(device), x).require_grad(), on(Autodiff(device), y).require_grad()
    out = tx @ ty
    np.testing.assert_allclose(np.asarray(out), x @ y, rtol=1e-12)
    assert out.shape == (x @ y).shape
    grads = out.sum().backward()
    px, py = (torch.tensor(each, requires_grad=True) for each in (x, y))
    (px @ py).sum().backward()
    np.testing.assert_allclose(np.asarray(tx.grad(grads)), px.grad, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(ty.grad(grads)), py.grad, rtol=1e-12)


def test_the_operator_refuses_what_cannot_be_multiplied() -> None:
    device = NdArray()
    with pytest.raises(ShapeError, match=r"^matmul: inner dimensions differ: \(32, 784\) @ \(512, 10\): 784 != 512$"):
        Tensor.zeros((32, 784), device) @ Tensor.zeros((512, 10), device)
    with pytest.raises(ShapeError, match=r"inner dimensions differ: \(3,\) @ \(4,\): 3 != 4"):
        Tensor.zeros((3,), device) @ Tensor.zeros((4,), device)
    with pytest.raises(ShapeError, match=r"\(2, 3\) @ \(4,\): 3 != 4"):
        Tensor.zeros((2, 3), device) @ Tensor.zeros((4,), device)
    with pytest.raises(ShapeError, match="a 0-d tensor"):
        Tensor.zeros((), device) @ Tensor.zeros((4,), device)
    with pytest.raises(TypeError):
        Tensor.zeros((2, 2), device) @ 2.0  # type: ignore[operator]


def test_a_constant_meets_a_tracked_matrix() -> None:
    device = NdArray()
    x = on(device, values(3, 4))
    w = on(Autodiff(device), values(4, 2, seed=1)).require_grad()
    grads = (x @ w).sum().backward()
    np.testing.assert_allclose(np.asarray(w.grad(grads)), np.asarray(x).T @ np.ones((3, 2)), rtol=1e-12)


@pytest.mark.parametrize("device", DEVICES, ids=repr)
@pytest.mark.parametrize("half", ["f16", "bf16"])
def test_halves_accumulate_in_f32(half: str, device: burn.Device) -> None:
    # 4096 ones and one 2048: in f16 itself the sum would stop growing
    x = burn.tensor(np.r_[2048.0, np.ones(4096)].reshape(1, -1), device=device, dtype=half)
    y = Tensor.ones((4097, 1), device, dtype=half)
    assert float((x @ y).into_scalar()) == pytest.approx(6144, rel=4e-3)


def test_integers_wrap() -> None:
    x = burn.tensor([[100, 100]], device=NdArray(), dtype="i8")
    assert (x @ burn.tensor([[2], [1]], device=NdArray(), dtype="i8")).tolist() == [[300 - 256]]


def test_unsigned_matrices_are_multiplied_everywhere() -> None:
    for device in DEVICES:
        x = burn.tensor([[1, 2], [3, 4]], device=device, dtype="u32")
        assert (x @ x).tolist() == [[7, 10], [15, 22]]


def test_norms_by_name_are_norms_by_number() -> None:
    x = on(NdArray(), values(3, 4))
    for norm, p in [
        (Norm.L0, 0),
        (Norm.L1, 1),
        (Norm.L2, 2),
        (Norm.LInf, math.inf),
        (Norm.LNegInf, -math.inf),
        (Norm.Lp(3), 3),
    ]:
        by_name, by_number = linalg.vector_norm(x, norm, 1), linalg.vector_norm(x, p, 1)
        np.testing.assert_array_equal(np.asarray(by_name), np.asarray(by_number))
        assert linalg.vector_normalize(x, norm, 1, 1e-5).shape == (3, 4)


def test_equal_extremes_share_the_gradient() -> None:
    x = burn.tensor([[3.0, -3.0, 1.0]], device=Autodiff(NdArray())).require_grad()
    grads = linalg.max_abs_norm(x, 1).sum().backward()
    assert np.asarray(x.grad(grads)).tolist() == [[0.5, -0.5, 0.0]]


def test_the_norm_of_zeros_has_the_gradient_zero() -> None:
    for p in (1.0, 2.0, 3.0, 1.5, 0.5):
        x = burn.tensor([[0.0, 0.0]], device=Autodiff(NdArray())).require_grad()
        grads = linalg.vector_norm(x, p, 1).sum().backward()
        assert np.asarray(x.grad(grads)).tolist() == [[0.0, 0.0]]


def test_cosine_similarity_of_zeros_is_zero() -> None:
    zeros = Tensor.zeros((2, 3), NdArray())
    assert linalg.cosine_similarity(zeros, zeros.ones_like(), 1).tolist() == [[0.0], [0.0]]


@pytest.mark.parametrize("device", DEVICES, ids=repr)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 3, 4, 4)])
def test_the_parts_multiply_to_the_whole(shape: tuple[int, ...], device: burn.Device) -> None:
    x = on(device, values(*shape))
    p, lower, upper = linalg.lu(x)
    np.testing.assert_allclose(np.asarray(p @ lower @ upper), np.asarray(x), atol=1e-12)
    for reduced in (True, False):
        q, r = linalg.qr(x, reduced)
        np.testing.assert_allclose(np.asarray(q @ r), np.asarray(x), atol=1e-12)
        identity = np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], q.shape[-1], q.shape[-1]))
        np.testing.assert_allclose(np.asarray(q.transpose() @ q), identity, atol=1e-12)


def test_lu_decomposition_orders_the_rows() -> None:
    x = on(NdArray(), values(2, 5, 5))
    compact, order = linalg.lu_decomposition(x)
    assert order.dtype is burn.i64
    lower, upper = np.tril(np.asarray(compact), -1) + np.eye(5), np.triu(np.asarray(compact))
    rows = np.take_along_axis(np.asarray(x), np.asarray(order)[..., None], axis=-2)
    np.testing.assert_allclose(lower @ upper, rows, atol=1e-12)
    _, small = linalg.lu_decomposition(burn.tensor([[0.0, 1.0], [1.0, 0.0]], device=NdArray(int=burn.i32)))
    assert small.dtype is burn.i32
    assert small.tolist() == [1, 0]


def test_a_singular_matrix_has_a_determinant_and_its_gradient() -> None:
    x = burn.tensor([[1.0, 2.0], [2.0, 4.0]], device=Autodiff(NdArray())).require_grad()
    out = linalg.det(x)
    assert out.shape == ()
    np.testing.assert_allclose(np.asarray(x.grad(out.backward())), [[4.0, -2.0], [-2.0, 1.0]], rtol=1e-5)


@pytest.mark.parametrize("device", DEVICES, ids=repr)
def test_a_singular_matrix_has_no_inverse(device: burn.Device) -> None:
    zeros = Tensor.zeros((2, 2), device)
    with pytest.raises(ArgumentError, match="inverse: a matrix is singular"):
        linalg.inverse(zeros)
    with pytest.raises(ArgumentError, match="solve: a matrix is singular"):
        linalg.solve(zeros, zeros)


def test_qr_says_when_it_has_no_gradient() -> None:
    x = on(Autodiff(NdArray()), values(5, 3)).require_grad()
    q, _ = linalg.qr(x, False)
    with pytest.raises(AutodiffError, match="reduced=True"):
        q.sum().backward()


def test_the_determinant_has_a_second_derivative() -> None:
    device = NdArray(float=burn.f64)
    inner = on(Autodiff(device), values(3, 3)).require_grad()
    outer = Tensor.from_inner(inner).require_grad()
    first = outer.grad(linalg.det(outer).backward())
    assert first is not None
    second = inner.grad((first * first).sum().backward())
    x = torch.tensor(np.asarray(inner), requires_grad=True)
    (t_first,) = torch.autograd.grad(torch.linalg.det(x), x, create_graph=True)
    (t_second,) = torch.autograd.grad((t_first * t_first).sum(), x)
    np.testing.assert_allclose(np.asarray(second), t_second.numpy(), rtol=1e-8)


def test_outer_and_trace_have_burns_shapes() -> None:
    device = NdArray()
    assert linalg.outer(Tensor.ones((2, 3), device), Tensor.ones((2, 4), device)).shape == (2, 3, 4)
    assert linalg.outer_dim(Tensor.ones((3, 2), device), Tensor.ones((4, 2), device), 0).shape == (3, 4, 2)
    assert linalg.trace(Tensor.ones((5, 3, 3), device)).shape == (5, 1, 1)
    assert linalg.diag(Tensor.ones((5, 3, 4), device, dtype="bool")).shape == (5, 3)
    assert Tensor.ones((3,), device).dot(Tensor.ones((3,), device)).tolist() == [3.0]
