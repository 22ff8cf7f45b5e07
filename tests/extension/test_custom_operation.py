"""An operation from outside: body, kernel for one backend, backward rules for all and for one stack."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import burn
from burn import Autodiff, BalancedCheckpointing, LibTorch, NdArray, Tensor
from burn.backend.autodiff.graph import Recipe
from burn.errors import ArgumentError
from burn.extension import kernel, operation, operation_of
from burn.ops.op import TABLE
from examples.custom_operation import fused
from examples.custom_operation.__main__ import main

SHAPES = [
    ((2, 5, 7), (2, 7, 3), (2, 5, 3)),
    ((2, 5, 7), (1, 7, 3), (3,)),
    ((2, 3, 70, 4), (3, 4, 6), (1, 6)),
    ((1, 1, 2, 9), (2, 3, 9, 1), (2, 3, 1, 1)),
]
STACKS = [
    NdArray().autodiff(),
    LibTorch("cpu").autodiff(),
    Autodiff(NdArray(), BalancedCheckpointing),
    Autodiff(Autodiff(NdArray())),
]


@pytest.fixture(params=["generic", "own rules on LibTorch"], autouse=True)
def rules(request):
    if request.param != "generic":
        fused.register_torch()
    yield
    op = operation_of(fused.matmul_add_relu_custom)
    op._stack_vjps.clear()
    op._forget()


def arrays(shapes):
    generator = np.random.default_rng(0)
    return [generator.normal(size=shape) for shape in shapes]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("device", STACKS, ids=repr)
def test_the_fused_operation_equals_the_reference_and_pytorch(device, shapes):
    values = arrays(shapes)
    theirs = [torch.tensor(value, requires_grad=True) for value in values]
    expected = torch.relu(theirs[0] @ theirs[1] + theirs[2])
    expected.sum().backward()
    for function in (fused.matmul_add_relu_custom, fused.matmul_add_relu_reference):
        leaves = [burn.tensor(value, device=device).require_grad() for value in values]
        output = function(*leaves)
        np.testing.assert_allclose(output.numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-12)
        grads = output.backward()
        for leaf, other in zip(leaves, theirs, strict=True):
            np.testing.assert_allclose(leaf.grad(grads).numpy(), other.grad.numpy(), rtol=1e-9, atol=1e-12)


def test_the_fused_operation_is_one_node_and_only_tracked_operands_get_gradients():
    device = NdArray().autodiff()
    lhs, rhs, bias = (burn.tensor(value, device=device) for value in arrays(SHAPES[0]))
    output = fused.matmul_add_relu_custom(lhs, rhs.require_grad(), bias)
    node = output.handle.node
    assert node.parents[0] is None
    assert node.parents[1] is not None
    assert node.saved[1] is None, "rhs is only needed for the gradient of lhs, which is not tracked"
    assert node.saved[0] is not None


def test_the_untracked_path_keeps_no_state():
    device = NdArray().autodiff()
    output = fused.matmul_add_relu_custom(*(burn.tensor(value, device=device) for value in arrays(SHAPES[0])))
    assert output.handle.node is None


def test_the_kernel_runs_on_its_backend_and_the_body_elsewhere():
    op = operation_of(fused.matmul_add_relu_custom)
    assert NdArray().kernels[op] is not None
    assert LibTorch("cpu").kernels[op] is None


def test_a_compute_bound_operation_is_kept_and_a_memory_bound_one_is_recomputed():
    device = Autodiff(NdArray(), BalancedCheckpointing)
    operands = [burn.tensor(value, device=device).require_grad() for value in arrays(SHAPES[0])]
    assert fused.matmul_add_relu_custom(*operands).handle.recipe is None

    @operation(vjp=dict(x=lambda g: g * 2.0))
    def doubled(x: Tensor) -> Tensor:
        """Double each element."""
        return x + x

    try:
        assert isinstance(doubled(operands[0]).handle.recipe, Recipe)
    finally:
        del TABLE["doubled"]


def test_a_name_that_is_taken_is_refused():
    with pytest.raises(ArgumentError, match="exp: an operation of this name exists in burn.ops.elementwise"):

        @operation()
        def exp(x: Tensor) -> Tensor:
            """Clash."""
            return x


def test_a_kernel_for_something_that_is_no_operation_is_refused():
    with pytest.raises(ArgumentError, match="'len' is no operation: declare it with @operation"):
        kernel(len, NdArray)


def test_the_example_runs(capsys):
    main()
    printed = capsys.readouterr().out
    assert printed.count("largest difference") == 4
    assert all(float(line.split()[-1]) < 1e-4 for line in printed.splitlines())
