"""Caches: what was computed for earlier positions of a sequence, so that a later call adds the new ones only."""

from __future__ import annotations

from collections.abc import Callable

from burn.errors import ArgumentError
from burn.tensor import Tensor


class TensorCache:
    """One remembered tensor. It grows along a dim as a sequence does, or is computed once and kept.

    `function` computes what is remembered, `dim` is the dim of positions.

    >>> cache = nn.TensorCache.empty()
    >>> for length in (1, 2, 3):
    ...     doubled = cache.forward_autoregressive(Tensor.ones([1, length, 4]), 1, lambda new: new * 2)
    >>> doubled.shape, cache.length(1)
    (Shape([1, 3, 4]), 3)
    """

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: Tensor | None = None

    @classmethod
    def empty(cls) -> TensorCache:
        """A cache that remembers nothing yet."""
        return cls()

    def length(self, dim: int) -> int:
        """How many positions are remembered along `dim`."""
        return 0 if self.value is None else self.value.shape[dim]

    def unseen(self, tensor: Tensor, dim: int) -> Tensor:
        """The positions of `tensor` (batch, length, size) that come after the remembered ones, along `dim`."""
        known, length = self.length(dim), tensor.shape[1]
        if length <= known:
            raise ArgumentError(
                f"cache: {known} positions are remembered and the sequence has {length}; "
                "give the whole sequence so far with 1 or more new positions, or begin with an empty cache"
            )
        return tensor if not known else tensor.narrow(1, known, length - known)

    def extended(self, new: Tensor, dim: int) -> Tensor:
        """Remember more positions (`new`) along `dim`; what is remembered now, whole."""
        self.value = new if self.value is None else Tensor.cat([self.value, new], dim)
        return self.value

    def forward_autoregressive(self, tensor: Tensor, dim: int, function: Callable[[Tensor], Tensor]) -> Tensor:
        """`function(tensor)`, computed for the new positions only. `dim` is the dim of positions in its results."""
        return self.extended(function(self.unseen(tensor, dim)), dim)

    def forward_full(self, tensor: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
        """`function(tensor)` of the first call, whatever the later ones give."""
        if self.value is None:
            self.value = function(tensor)
        return self.value
