"""Run the fused operation and its reference, forward and backward, and compare them."""

from __future__ import annotations

from burn.backend import NdArray
from burn.tensor import Distribution, Tensor
from examples.custom_operation.fused import matmul_add_relu_custom, matmul_add_relu_reference


def main() -> None:
    device = NdArray().autodiff()
    device.seed(42)
    shapes = ([2, 32, 48], [1, 48, 24], [24])
    operands = [Tensor.random(shape, Distribution.Normal(0.0, 1.0), device) for shape in shapes]
    results = []
    for function in (matmul_add_relu_reference, matmul_add_relu_custom):
        leaves = [operand.require_grad() for operand in operands]
        output = function(*leaves)
        grads = output.backward()
        results.append([output.inner(), *(leaf.grad(grads) for leaf in leaves)])
    for name, expected, fused in zip(("output", "lhs", "rhs", "bias"), *results, strict=True):
        difference = (expected - fused).abs().max().item()
        print(f"{name:>6}: largest difference {difference:.2e}")


if __name__ == "__main__":
    main()
