"""Grids of coordinates."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from burn.classes import dataclass
from burn.errors import ArgumentError, ShapeError
from burn.ops.joining import stack

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor


class GridIndexing(enum.Enum):
    """In which order the dims of a grid stand."""

    Matrix = "ij"
    """As the tensors are given."""

    Cartesian = "xy"
    """The first two exchanged."""


class GridSparsity(enum.Enum):
    """How much of a grid is written out."""

    Dense = "dense"
    """Every tensor has the shape of the grid."""

    Sparse = "sparse"
    """Every tensor has size 1 along all dims but its own."""


class IndexPos(enum.Enum):
    """Where the dim stands that tells the coordinates apart."""

    First = "first"
    Last = "last"


@dataclass(frozen=True)
class GridOptions:
    """Order and sparsity of a grid."""

    indexing: GridIndexing = GridIndexing.Matrix
    sparsity: GridSparsity = GridSparsity.Dense


def meshgrid(
    tensors: Sequence[Tensor[B]],
    indexing: GridIndexing | GridSparsity | GridOptions | str = GridIndexing.Matrix,
    *,
    sparse: bool = False,
) -> list[Tensor[B]]:
    """Spread vectors over the grid they span: one tensor of coordinates for each vector.

    `indexing` is `GridIndexing.Matrix` ("ij") or `GridIndexing.Cartesian` ("xy"), or a
    `GridSparsity` or `GridOptions` as in Burn. With `sparse`, each tensor keeps size 1 along the
    other dims and broadcasts to the grid.
    """
    options = _options(indexing, sparse)
    vectors = list(tensors)
    for position, each in enumerate(vectors):
        if not hasattr(each, "handle"):
            raise ArgumentError(f"meshgrid: tensors[{position}] must be a Tensor, got {type(each).__name__}")
        if len(each.shape) != 1:
            raise ShapeError(f"meshgrid: tensors[{position}] must be a vector, got shape {tuple(each.shape)}")
    rank = len(vectors)
    shape = [each.shape[0] for each in vectors]
    exchanged = options.indexing is GridIndexing.Cartesian and rank > 1
    result = []
    for position, each in enumerate(vectors):
        spread = each.reshape([shape[position] if dim == position else 1 for dim in range(rank)])
        if options.sparsity is GridSparsity.Dense:
            spread = spread.expand(shape)
        result.append(spread.swap_dims(0, 1) if exchanged else spread)
    return result


def meshgrid_stack(tensors: Sequence[Tensor[B]], index_pos: IndexPos | str = IndexPos.First) -> Tensor[B]:
    """The coordinates of the grid that vectors span, in one tensor: the coordinate is the first dim or the last."""
    position = _member(IndexPos, "meshgrid_stack", "index_pos", index_pos)
    vectors = list(tensors)
    if not vectors:
        raise ArgumentError("meshgrid_stack: needs at least one tensor, got an empty list")
    return stack(meshgrid(vectors), 0 if position is IndexPos.First else len(vectors))


def _options(indexing: Any, sparse: bool) -> GridOptions:
    if isinstance(indexing, GridSparsity):
        indexing = GridOptions(sparsity=indexing)
    if not isinstance(indexing, GridOptions):
        indexing = GridOptions(_member(GridIndexing, "meshgrid", "indexing", indexing))
    return GridOptions(indexing.indexing, GridSparsity.Sparse) if sparse else indexing


def _member(kind: type[enum.Enum], operation: str, name: str, value: Any) -> Any:
    """A member of an enumeration, or its value."""
    try:
        return kind(value)
    except ValueError:
        choices = ", ".join(f"{kind.__name__}.{each.name}" for each in kind)
        raise ArgumentError(f"{operation}: {name} must be one of {choices}, got {value!r}") from None
