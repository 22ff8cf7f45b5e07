"""Products and linear algebra under Burn's names, and the operator `@`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from burn.errors import DTypeError, ShapeError
from burn.ops import linalg

if TYPE_CHECKING:
    from burn.backend.autodiff import Autodiff
    from burn.ops.declare import B, I
    from burn.tensor.tensor import Tensor


class LinalgMethods:
    """Products of matrices and vectors."""

    __slots__ = ()

    matmul = linalg.matmul
    dot = linalg.dot
    cross = linalg.cross

    @overload
    def __matmul__(self: Tensor[Autodiff[I]], other: Tensor[I]) -> Tensor[Autodiff[I]]: ...  # type: ignore[misc]
    @overload
    def __matmul__(self: Tensor[I], other: Tensor[Autodiff[I]]) -> Tensor[Autodiff[I]]: ...  # type: ignore[misc]
    @overload
    def __matmul__(self: Tensor[B], other: Tensor[B]) -> Tensor[B]: ...  # type: ignore[misc]
    @overload
    def __matmul__(self: Tensor, other: Tensor) -> Tensor: ...  # type: ignore[misc]

    def __matmul__(self: Any, other: Any) -> Any:
        """Multiply as NumPy and PyTorch do: a vector on the left is a row, on the right a column.

        The dim added for a vector is dropped again, so two vectors give a 0-d tensor; `dot` gives
        shape [1]. `matmul` itself takes matrices only.
        """
        if not hasattr(other, "handle"):
            if isinstance(other, list | tuple):
                given = type(other).__name__
                raise DTypeError(f"matmul: y must be a Tensor, got {given}; write burn.tensor(...) around it")
            return NotImplemented
        left, right = self.shape, other.shape
        if len(left) >= 2 and len(right) >= 2:
            return linalg.matmul(self, other)
        if not left or not right:
            raise ShapeError(
                f"matmul: {tuple(left)} @ {tuple(right)}: a 0-d tensor has no dims to multiply over; use *"
            )
        row, column = len(left) == 1, len(right) == 1
        if left[-1] != right[0 if column else -2]:
            inner = right[0 if column else -2]
            raise ShapeError(f"matmul: inner dimensions differ: {tuple(left)} @ {tuple(right)}: {left[-1]} != {inner}")
        x = self.reshape((1, *left)) if row else self
        y = other.reshape((*right, 1)) if column else other
        out = linalg.matmul(x, y)
        shape = list(out.shape)
        if row:
            del shape[-2]
        if column:
            del shape[-1]
        return out.reshape(shape)
