"""What type checkers infer. A comment after `reveal_type` gives the type, without module names."""

from typing import reveal_type

from burn.backend import Autodiff, NdArray
from burn.tensor import Distribution, Tensor

plain_device = NdArray()
device = NdArray().autodiff()
reveal_type(device)  # Autodiff[NdArray]
reveal_type(Autodiff(NdArray()))  # Autodiff[NdArray]
reveal_type(device.inner())  # NdArray

x = Tensor.ones([2, 2], device)
y = Tensor.from_data([[1.0, 2.0], [3.0, 4.0]], device).require_grad()
plain = Tensor.ones([2, 2], plain_device)
reveal_type(x)  # Tensor[Autodiff[NdArray]]
reveal_type(Tensor.random([2, 2], Distribution.Default, device))  # Tensor[Autodiff[NdArray]]
reveal_type(y)  # Tensor[Autodiff[NdArray]]
reveal_type(plain)  # Tensor[NdArray]

# Chains keep the device.
reveal_type(x.exp())  # Tensor[Autodiff[NdArray]]
reveal_type(x + y)  # Tensor[Autodiff[NdArray]]
reveal_type(x @ y)  # Tensor[Autodiff[NdArray]]
reveal_type(x.matmul(y))  # Tensor[Autodiff[NdArray]]
reveal_type((x + y).matmul(x).exp().sum())  # Tensor[Autodiff[NdArray]]
reveal_type(plain.exp().sum_dim(1))  # Tensor[NdArray]
reveal_type(plain @ plain)  # Tensor[NdArray]

# Numbers on either side.
reveal_type(x + 1.5)  # Tensor[Autodiff[NdArray]]
reveal_type(2 * x)  # Tensor[Autodiff[NdArray]]
reveal_type(1.0 - plain)  # Tensor[NdArray]
reveal_type(-x)  # Tensor[Autodiff[NdArray]]

# A plain tensor meets one that records, in both orders.
reveal_type(x + plain)  # Tensor[Autodiff[NdArray]]
reveal_type(plain + x)  # Tensor[Autodiff[NdArray]]
reveal_type(x.mul(plain))  # Tensor[Autodiff[NdArray]]
reveal_type(plain.mul(x))  # Tensor[Autodiff[NdArray]]
reveal_type(x.matmul(plain))  # Tensor[Autodiff[NdArray]]
reveal_type(plain.matmul(x))  # Tensor[Autodiff[NdArray]]
reveal_type(plain @ x)  # Tensor[Autodiff[NdArray]]

# Gradients live one decorator down.
grads = (x + y).exp().sum().backward()
reveal_type(grads)  # Gradients[NdArray]
reveal_type(grads[y])  # Tensor[NdArray]
reveal_type(y.inner())  # Tensor[NdArray]
reveal_type(x.detach())  # Tensor[Autodiff[NdArray]]

# Comparisons, values and metadata.
reveal_type(x.greater(y))  # Tensor[Autodiff[NdArray]]
reveal_type(x.shape.num_elements())  # int
reveal_type(x.dims())  # tuple[int, ...]


def untyped_device(z: Tensor) -> Tensor:
    """A bare `Tensor` means any device."""
    return (z + z).exp().sum()


reveal_type(untyped_device(plain))  # Tensor[Device]
