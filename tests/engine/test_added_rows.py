"""Rows added as CONTRIBUTING says: the row, one line for each eager backend, and nothing else.

`squash` is PyTorch's softsign and `energy_dims` a sum of squares; both are unknown to every engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import burn
from burn import Tensor
from burn.backend import Cpu, LibTorch, NdArray
from burn.backend.cpu.hosted import HOST_CALLS
from burn.ops.declare import floating, numeric, prepared, primitive, unary
from burn.ops.op import TABLE
from burn.ops.reduce import reduction_rule
from burn.shape import Shape
from burn.tensor import module
from tests.stacks import GRADIENT_STACKS, STACKS

BEFORE = set(TABLE)


@unary(
    dtype=floating,
    element=lambda b, x: x / (b.abs(x) + 1.0),
    reference=lambda x: x / (np.abs(x) + 1),
    vjp=dict(x=lambda g, x: g / ((x.abs() + 1.0) * (x.abs() + 1.0))),
)
def squash(x: Tensor) -> Tensor:
    """Bring each element between -1 and 1."""


@primitive(
    rule=reduction_rule,
    reduction="sum",
    element=lambda b, x: x * x,
    reference=lambda x, dims: (x * x).sum(axis=dims, keepdims=True),
    prepare=prepared(numeric),
    vjp=dict(x=lambda g, x: g * x * 2.0),
)
def energy_dims(x: Tensor, dims: Any) -> Tensor:
    """Sum the squares along several dims, which are kept with size 1."""


@unary(dtype=floating, reference=np.cbrt)
def root_without_element(x: Tensor) -> Tensor:
    """Take the cubic root of each element."""


@primitive(
    rule=lambda op, x: (Shape(x.shape[:1]), x.dtype, ()),
    view=lambda walk, shape: ((sum(walk.strides),), walk.offset),
    reference=np.diagonal,
    vjp=dict(x=lambda g, x_shape: g.reshape((1, -1)).expand(x_shape) * Tensor.eye(x_shape[0], g.device)),
)
def diagonal_of(x: Tensor) -> Tensor:
    """Take the diagonal of a square matrix."""


ADDED = {name: TABLE.pop(name) for name in TABLE.keys() - BEFORE}
"""Other tests look at the whole table: the rows are in it only while these tests run."""


@pytest.fixture(autouse=True)
def kernels_of_the_eager_backends(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One line each: `squash = ...` in the class of the backend."""
    before = set(TABLE)
    TABLE.update(ADDED)
    for backend, name, kernel in (
        (NdArray, "diagonal_of", np.diagonal),
        (NdArray, "squash", lambda x: x / (np.abs(x) + 1)),
        (NdArray, "energy_dims", lambda x, dims: np.square(x).sum(dims, keepdims=True)),
        (LibTorch, "squash", torch.nn.functional.softsign),
        (LibTorch, "energy_dims", lambda x, dims: (x * x).sum(dims, keepdim=True, dtype=x.dtype)),
    ):  # fmt: skip
        monkeypatch.setattr(backend, name, staticmethod(kernel), raising=False)
    Cpu().sync()  # what was recorded before is no part of the plans below
    yield
    for name in TABLE.keys() - before:
        del TABLE[name]


def drawn(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def theirs(x: Any, dims: tuple[int, ...]) -> Any:
    """The network of the tests in PyTorch: softsign and sums of squares among operations of every kind."""
    y = torch.nn.functional.softsign(x * 2.0).exp()
    return y / (1.0 + (y * y).sum(dims, keepdim=True))


def ours(x: Any, dims: tuple[int, ...]) -> Any:
    y = squash(x * 2.0).exp()
    return y / (energy_dims(y, dims) + 1.0)


DIMS = {"rows": (2,), "several trailing": (1, 2), "columns": (0,), "middle": (1,), "everything": (0, 1, 2)}


@pytest.mark.parametrize("dims", DIMS)
@pytest.mark.parametrize("stack", STACKS)
def test_an_added_row_computes_on_every_device(stack: str, dims: str) -> None:
    array = drawn(5, 7, 33)
    found = np.asarray(ours(Tensor.from_data(array, STACKS[stack]), DIMS[dims]))
    expected = theirs(torch.tensor(array, dtype=torch.float64), DIMS[dims]).numpy()
    np.testing.assert_allclose(found, expected, rtol=2e-6)


@pytest.mark.parametrize("dims", DIMS)
@pytest.mark.parametrize("stack", GRADIENT_STACKS)
def test_an_added_row_has_gradients_on_every_device(stack: str, dims: str) -> None:
    array = drawn(5, 7, 33)
    x = Tensor.from_data(array, GRADIENT_STACKS[stack]).require_grad()
    grads = ours(x, DIMS[dims]).sum().backward()
    leaf = torch.tensor(array, dtype=torch.float64, requires_grad=True)
    theirs(leaf, DIMS[dims]).sum().backward()
    assert leaf.grad is not None
    np.testing.assert_allclose(np.asarray(x.grad(grads)), leaf.grad.numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dims", DIMS)
def test_an_added_row_is_captured_with_its_gradient(dims: str) -> None:
    device = Cpu().autodiff()

    def step(x: Any) -> Any:
        leaf = x.require_grad()
        result = ours(leaf, DIMS[dims])
        return result.inner(), leaf.grad(result.sum().backward())

    call = burn.compile(step)
    for seed in range(3):
        array = drawn(5, 7, 33, seed=seed)
        result, gradient = call(Tensor.from_data(array, device))
    assert str(call.explain()).startswith("captured")
    leaf = torch.tensor(array, dtype=torch.float64, requires_grad=True)
    expected = theirs(leaf, DIMS[dims])
    expected.sum().backward()
    assert leaf.grad is not None
    np.testing.assert_allclose(np.asarray(result), expected.detach().numpy(), rtol=2e-6)
    np.testing.assert_allclose(np.asarray(gradient), leaf.grad.numpy(), rtol=1e-4, atol=1e-6)


def latest(device: Any) -> list[str]:
    plan: str = device.plans.latest().describe()
    return plan.splitlines()


def test_added_rows_share_one_loop_with_their_neighbours() -> None:
    x = Tensor.from_data(drawn(6, 40), Cpu())
    np.asarray(ours(x, (1,)))
    assert [line.split()[0] for line in latest(Cpu())] == ["kernel"]


def test_an_added_row_follows_a_product_in_its_kernel() -> None:
    left, right = drawn(40, 30), drawn(30, 50, seed=1)
    found = squash(Tensor.from_data(left, Cpu()).matmul(Tensor.from_data(right, Cpu())))
    exact = left.astype(np.float64) @ right.astype(np.float64)
    np.testing.assert_allclose(np.asarray(found), exact / (1 + np.abs(exact)), rtol=1e-5, atol=1e-5)
    assert [line.split()[0] for line in latest(Cpu())] == ["kernel"]


def test_a_reduction_over_many_elements_is_cut_and_stays_exact() -> None:
    array = drawn(2, 150_000)
    found = np.asarray(energy_dims(Tensor.from_data(array, Cpu()), (1,)))
    np.testing.assert_allclose(found, np.square(array.astype(np.float64)).sum(1, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int32"])
def test_added_rows_take_the_dtypes_of_their_domain(dtype: str) -> None:
    exact = torch.tensor(np.round(drawn(4, 19) * 8)).double()
    theirs: Any = getattr(torch, dtype)
    x = Tensor.from_data(exact.numpy(), Cpu()).cast(
        {"float16": "f16", "bfloat16": "bf16", "float64": "f64"}.get(dtype, "i32")
    )

    def same(found: Any, expected: Any) -> None:
        np.testing.assert_array_equal(np.asarray(found).astype(np.float64), expected.to(theirs).double().numpy())

    same(energy_dims(x, (0,)), (exact * exact).sum(0, keepdim=True))
    if theirs.is_floating_point:
        same(squash(x), torch.nn.functional.softsign(exact))


def test_a_reduction_of_single_elements_still_maps_them() -> None:
    x, weight = drawn(1, 16, 8, 8), drawn(32, 16, 3, 3, seed=1)
    image = module.conv2d(Tensor.from_data(x, Cpu()), Tensor.from_data(weight, Cpu()))
    expected = torch.nn.functional.conv2d(torch.tensor(x).double(), torch.tensor(weight).double())
    found = np.asarray(energy_dims(image, (0,)))
    np.testing.assert_allclose(found, (expected * expected).numpy(), rtol=1e-4, atol=1e-4)


def test_an_added_view_is_read_where_it_lies() -> None:
    array = drawn(12, 12)
    found = diagonal_of(Tensor.from_data(array, Cpu()).transpose()) * 2.0 + 1.0
    np.testing.assert_array_equal(np.asarray(found), np.diagonal(array) * 2 + 1)
    assert [line.split()[0] for line in latest(Cpu())] == ["kernel"]
    x = Tensor.from_data(array, Cpu().autodiff()).require_grad()
    gradient = x.grad((diagonal_of(x) * 3.0).sum().backward())
    np.testing.assert_array_equal(np.asarray(gradient), np.eye(12) * 3)


def redeclared(factor: float) -> Any:
    """The same row with another element, as an edited file would have it."""

    @unary(dtype=floating, element=lambda b, x: x * factor, reference=lambda x: x * factor)
    def stretched(x: Tensor) -> Tensor:
        """Multiply each element."""

    return stretched


def test_a_row_whose_element_changed_gets_other_machine_code() -> None:
    left, right = Tensor.from_data(np.eye(16, dtype=np.float32), Cpu()), Tensor.from_data(drawn(16, 24), Cpu())
    for factor in (2.0, 5.0):
        found = np.asarray(redeclared(factor)(left.matmul(right)))
        np.testing.assert_allclose(found, np.asarray(right) * factor, rtol=1e-6)


def test_a_row_without_an_element_runs_on_numpy_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NdArray, "root_without_element", staticmethod(np.cbrt), raising=False)
    before = HOST_CALLS["root_without_element"]
    array = drawn(3, 4)
    found = np.asarray(root_without_element(Tensor.from_data(array, Cpu()) * 8.0) + 1.0)
    np.testing.assert_allclose(found, np.cbrt(array * 8.0) + 1.0, rtol=1e-6)
    assert "numpy   root_without_element: its row has no element" in latest(Cpu())
    assert HOST_CALLS["root_without_element"] == before + 1
