"""The identity: a module that does nothing, for a place where one is expected."""

from __future__ import annotations

from burn.module import Module
from burn.tensor import Tensor


class Identity(Module):
    """Gives back what it is given.

    `torch.nn.Identity`.

    >>> nn.Identity()(burn.tensor([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """

    def forward(self, x: Tensor) -> Tensor:
        """`x` itself."""
        return x
