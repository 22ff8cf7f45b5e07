"""Movement under Burn's names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from typing_extensions import TypeVar

from burn.device import Device, current_device
from burn.errors import ArgumentError, ShapeError, shown
from burn.ops import choices, joining, movement, padding
from burn.shape import as_shape, axis

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.shape import ShapeLike
    from burn.tensor.tensor import Tensor

D = TypeVar("D", bound=Device, default=Device)


class DimIter:
    """The slices of size 1 along a dim, one after the other, or backwards with `reversed`."""

    def __init__(self, tensor: Tensor[Any], dim: int) -> None:
        self._tensor = tensor
        self._dim = dim
        self._left = iter(range(tensor.shape[dim]))

    def __iter__(self) -> Iterator[Tensor[Any]]:
        return self

    def __next__(self) -> Tensor[Any]:
        return self._tensor.narrow(self._dim, next(self._left), 1)

    def __reversed__(self) -> Iterator[Tensor[Any]]:
        return (self._tensor.narrow(self._dim, index, 1) for index in reversed(list(self._left)))

    def __len__(self) -> int:
        return self._left.__length_hint__()  # type: ignore[attr-defined, no-any-return]


def _distances(operation: str, shape: ShapeLike, device: Device | None) -> tuple[Any, Any]:
    sizes = as_shape(operation, shape)
    if len(sizes) < 2:
        raise ShapeError(f"{operation}: {tuple(sizes)} must have at least 2 dims: the last two are the matrices")
    return movement.diagonals(sizes, current_device() if device is None else device), sizes


class MovementMethods:
    """Operations that only rearrange elements."""

    __slots__ = ()

    reshape = movement.reshape
    expand = movement.expand
    permute = movement.permute
    flip = movement.flip
    unfold = movement.unfold
    swap_dims = movement.swap_dims
    movedim = movement.movedim
    flatten = movement.flatten
    squeeze = movement.squeeze
    squeeze_dims = movement.squeeze_dims
    unsqueeze_dim = movement.unsqueeze_dim
    unsqueeze_dims = movement.unsqueeze_dims
    tril = movement.tril
    triu = movement.triu

    cat = staticmethod(joining.cat)
    stack = staticmethod(joining.stack)
    repeat_dim = joining.repeat_dim
    roll = joining.roll
    roll_dim = joining.roll_dim
    pad = joining.pad
    pad_or_crop = padding.pad_or_crop
    center_crop_pad = padding.center_crop_pad
    broadcast_with = choices.broadcast_with
    eye_like = choices.eye_like
    narrow = joining.narrow
    chunk = joining.chunk
    split = joining.split
    split_with_sizes = joining.split_with_sizes

    def squeeze_dim(self: Tensor[B], dim: int) -> Tensor[B]:  # type: ignore[misc]
        """Remove a dim, which must have size 1.

        >>> Tensor.zeros([2, 1, 3]).squeeze_dim(1).shape
        Shape([2, 3])
        """
        return self.squeeze(axis("squeeze_dim", dim, len(self.shape)))

    def squeeze_all(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """Remove every dim of size 1.

        >>> Tensor.zeros([1, 2, 1]).squeeze_all().shape
        Shape([2])
        """
        return self.squeeze()

    def iter_dim(self, dim: int) -> DimIter:
        """Go through the slices of size 1 along a dim, which stays.

        >>> [each.tolist() for each in burn.tensor([[1, 2], [3, 4]]).iter_dim(1)]
        [[[1], [3]], [[2], [4]]]
        """
        return DimIter(self, axis("iter_dim", dim, len(self.shape)))  # type: ignore[arg-type, attr-defined]

    def inplace(self: Tensor[B], function: Callable[[Tensor[B]], Tensor[B]]) -> Tensor[B]:  # type: ignore[misc]
        """`function` of this tensor: write `x = x.inplace(f)`. The device decides whether memory is reused.

        >>> burn.tensor([1, 2]).inplace(lambda x: x + 1).tolist()
        [2, 3]
        """
        if not callable(function):
            raise ArgumentError(f"inplace: needs a function, got {shown(function)}; write x.inplace(lambda x: x + 1.0)")
        return function(self)

    def extract(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """This tensor: nothing needs to be left in its place.

        >>> burn.tensor([1, 2]).extract().tolist()
        [1, 2]
        """
        return self

    # Masks are true outside what they are named after: they mark what is to be filled.

    @staticmethod
    def tril_mask(shape: ShapeLike, offset: int = 0, device: D | None = None) -> Tensor[D]:
        """Make a mask of a shape: False in the lower triangle, up to the diagonal `offset`, and True above it.

        >>> Tensor.tril_mask([2, 2]).tolist()
        [[False, True], [False, False]]
        """
        distances, sizes = _distances("tril_mask", shape, device)
        return distances.greater(offset).expand(sizes)  # type: ignore[no-any-return]

    @staticmethod
    def triu_mask(shape: ShapeLike, offset: int = 0, device: D | None = None) -> Tensor[D]:
        """Make a mask of a shape: False in the upper triangle, from the diagonal `offset`, and True below it.

        >>> Tensor.triu_mask([2, 2]).tolist()
        [[False, False], [True, False]]
        """
        distances, sizes = _distances("triu_mask", shape, device)
        return distances.lower(offset).expand(sizes)  # type: ignore[no-any-return]

    @staticmethod
    def diag_mask(shape: ShapeLike, offset: int = 0, device: D | None = None) -> Tensor[D]:
        """Make a mask of a shape: False on the diagonal `offset` and True elsewhere.

        >>> Tensor.diag_mask([2, 2]).tolist()
        [[False, True], [True, False]]
        """
        distances, sizes = _distances("diag_mask", shape, device)
        return distances.not_equal(offset).expand(sizes)  # type: ignore[no-any-return]

    @staticmethod
    def cartesian_grid(shape: ShapeLike, device: D | None = None) -> Tensor[D]:
        """The coordinates of every place of a shape: the result has one more dim, with one number per dim.

        >>> Tensor.cartesian_grid([2, 2]).tolist()
        [[[0, 0], [0, 1]], [[1, 0], [1, 1]]]
        """
        sizes = as_shape("cartesian_grid", shape)
        if not sizes:
            raise ShapeError("cartesian_grid: the shape must have at least 1 dim")
        chosen = current_device() if device is None else device
        columns = []
        for dim, size in enumerate(sizes):
            places = movement.positions(size, chosen).reshape((size,) + (1,) * (len(sizes) - dim))
            columns.append(places.expand((*sizes, 1)))
        return joining.cat(columns, -1)
