"""Reading and writing parts of a tensor under Burn's names, and `x[...]` as NumPy has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from burn.errors import ArgumentError
from burn.ops import indexing, selection
from burn.shape import axis
from burn.tensor.slicing import Slice, ranges_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import EllipsisType
    from typing import SupportsIndex, TypeAlias

    import numpy as np

    from burn.ops.declare import B
    from burn.tensor.tensor import Tensor

    Index: TypeAlias = SupportsIndex | slice | EllipsisType | Sequence[int] | np.ndarray[Any, Any] | Tensor | None
    """What `x[...]` takes for a dim."""


class IndexingMethods:
    """Parts of a tensor by slices, index values and truth values."""

    __slots__ = ()

    select = indexing.select
    select_assign = indexing.select_assign
    select_dim = indexing.select_dim
    gather = indexing.gather
    gather_nd = indexing.gather_nd
    scatter = indexing.scatter
    scatter_nd = indexing.scatter_nd
    take = indexing.take
    mask_select = indexing.mask_select
    nonzero = indexing.nonzero
    argwhere = indexing.argwhere
    one_hot = indexing.one_hot
    one_hot_fill = indexing.one_hot_fill
    one_hot_values = selection.one_hot_values
    compress = selection.compress
    gather_nd_batched = selection.gather_nd_batched
    reverse_sequence = selection.reverse_sequence
    unique = selection.unique
    wrap_indices = selection.wrap_indices
    write_cache = selection.write_cache

    def slice(self: Tensor[B], spec: Any) -> Tensor[B]:  # type: ignore[misc]
        """Read a part of each dim; the rank stays.

        Arguments:
            spec: parts of the leading dims: ints, ranges, slices, tuples of bounds, strings, or `burn.tensor.s[...]`.

        >>> x = burn.tensor([[1, 2, 3], [4, 5, 6]])
        >>> x.slice([0, range(1, 3)]).tolist(), x.slice("..,-1").tolist()
        ([[2, 3]], [[3], [6]])
        """
        return indexing.slice(self, ranges_of("slice", spec, self.shape))

    def slice_assign(self: Tensor[B], spec: Any, values: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """Write `values` over a part of each dim; their shape must be that of the part.

        Arguments:
            spec: as in `slice`.

        >>> burn.tensor([1, 2, 3]).slice_assign([range(1, 3)], burn.tensor([8, 9])).tolist()
        [1, 8, 9]
        """
        return indexing.slice_assign(self, ranges_of("slice_assign", spec, self.shape), values)

    def slice_fill(self: Tensor[B], spec: Any, value: float) -> Tensor[B]:  # type: ignore[misc]
        """Write the number `value` over a part of each dim.

        Arguments:
            spec: as in `slice`.

        >>> burn.tensor([1, 2, 3]).slice_fill([range(1, 3)], 0).tolist()
        [1, 0, 0]
        """
        return indexing.slice_fill(self, ranges_of("slice_fill", spec, self.shape), value)

    def slice_dim(self: Tensor[B], dim: int, spec: Any) -> Tensor[B]:  # type: ignore[misc]
        """Read a part of one dim.

        Arguments:
            spec: an int, a range, a slice, a tuple of bounds or a string.

        >>> burn.tensor([[1, 2, 3], [4, 5, 6]]).slice_dim(1, range(0, 2)).tolist()
        [[1, 2], [4, 5]]
        """
        place = axis("slice_dim", dim, len(self.shape))
        chosen = Slice.of(spec).resolve(self.shape[place])
        return indexing.slice(self, indexing.one_range(self.shape, place, chosen))

    def __getitem__(self: Tensor[B], key: Index | tuple[Index, ...]) -> Tensor[B]:  # type: ignore[misc]
        from burn.tensor.indexing import get_item

        return get_item(self, key)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise ArgumentError(
            "[]=: a tensor never changes; write x = x.slice_assign(s[...], values), x.slice_fill(s[...], number) "
            "or x.mask_where(mask, values), after from burn.tensor import s"
        )
