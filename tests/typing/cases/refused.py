"""What type checkers must refuse: every line that ends in `# refused`, and no other."""

from burn.backend import NdArray
from burn.tensor import Tensor

plain = Tensor.ones([2, 2], NdArray())
tracked = Tensor.ones([2, 2], NdArray().autodiff()).require_grad()

plain.backward()  # refused
plain.exp().sum().backward()  # refused
tracked.inner().backward()  # refused
(plain + plain).backward()  # refused

grads = tracked.exp().backward()
tracked.grad(grads)
grads[tracked].backward()  # refused
plain + "one"  # refused
tracked.no_such_operation()  # refused
