"""The first steps: two tensors and their sum, then a gradient.

python -m examples.quickstart
"""

from burn.backend import Autodiff, NdArray
from burn.tensor import Distribution, Tensor


def addition() -> None:
    """Add two tensors: one of explicit values, one of ones with the same shape."""
    device = NdArray()
    tensor_1 = Tensor.from_data([[2.0, 3.0], [4.0, 5.0]], device)
    tensor_2 = Tensor.ones_like(tensor_1)
    print(tensor_1 + tensor_2)


def gradient() -> None:
    """Differentiate `exp((x + y) @ x')` with respect to `y`. The gradients are a value, not a side effect."""
    device = Autodiff(NdArray())
    device.seed(42)
    x = Tensor.random([2, 3], Distribution.Default, device)
    y = Tensor.random([2, 3], Distribution.Default, device).require_grad()

    result = (x + y).matmul(x.transpose()).exp()
    grads = result.backward()
    y_grad = y.grad(grads)

    print(result)
    print(y_grad)


def main() -> None:
    """Print both samples."""
    addition()
    gradient()


if __name__ == "__main__":
    main()
