"""The identity: a module that does nothing, for a place where one is expected."""

from __future__ import annotations

from typing import Any

from burn.module import Module
from burn.tensor import Tensor


class Identity(Module):
    """Gives back what it is given."""

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """`x` itself."""
        return x
