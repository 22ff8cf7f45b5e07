"""`x[...]` in NumPy's sense: ints drop dims, None adds one, index values and masks pick elements.

Ints, slices, None and `...` become one slice and one reshape. Index tensors then read from what is
left: one of them takes slices along its dim, several are broadcast together and read tuple by tuple.
Their dims stand where the first of them stood, or in front when something lies between them.
"""

from __future__ import annotations

import builtins
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.errors import DTypeError, IndexingError
from burn.ops import indexing, joining
from burn.shape import broadcast_all
from burn.symbolic import Size, index, is_size, is_symbolic
from burn.tensor.data import TensorData
from burn.tensor.methods.creation import place

if TYPE_CHECKING:
    from burn.tensor.tensor import Tensor


class _Parts:
    """A key, sorted: what to slice, which dims stay, and which index tensors read from the rest."""

    def __init__(self) -> None:
        self.ranges: list[tuple[int, int, int]] = []
        self.sizes: list[int] = []
        """The shape after slicing, without the dims of ints and with those of None."""
        self.indices: list[tuple[int, Any]] = []
        """Index tensors, and the dim of that shape which each one addresses."""
        self.first: int | None = None
        """How many dims stand before the first int or index tensor."""
        self.apart = False
        """Whether something lies between them."""
        self._closed = False

    def keep(self, size: int, chosen: tuple[int, int, int] | None) -> None:
        if chosen is not None:
            self.ranges.append(chosen)
        self.sizes.append(size)
        self.separate()

    def separate(self) -> None:
        self._closed = self.first is not None

    def address(self) -> None:
        if self.first is None:
            self.first = len(self.sizes)
        elif self._closed:
            self.apart = True

    def drop(self, index: int) -> None:
        self.address()
        self.ranges.append((index, 1, 1))

    def read(self, size: int, values: Any) -> None:
        self.address()
        self.ranges.append((0, size, 1))
        self.indices.append((len(self.sizes), values))
        self.sizes.append(size)


def get_item(x: Tensor[Any], key: Any) -> Tensor[Any]:
    """`x[key]`."""
    entries = [_entry(x, each) for each in (key if isinstance(key, tuple) else (key,))]
    used = sum(_width(each) for each in entries)
    if used > len(x.shape):
        raise IndexingError(f"[]: {used} indices for a tensor of rank {len(x.shape)}: too many")
    if sum(each is Ellipsis for each in entries) > 1:
        raise IndexingError("[]: ... may stand only once in an index")
    if not any(each is Ellipsis for each in entries):
        entries.append(Ellipsis)
    parts = _Parts()
    for entry in entries:
        _sort(x, entry, parts, len(x.shape) - used)
    if any(chosen != (0, size, 1) for chosen, size in zip(parts.ranges, x.shape, strict=True)):
        x = indexing.slice(x, parts.ranges)
    if x.shape != tuple(parts.sizes):
        x = x.reshape(parts.sizes)
    return _read(x, parts) if parts.indices else x


def _entry(x: Tensor[Any], value: Any) -> Any:
    """One part of a key: None, `...`, a slice, an int, a NumPy array of ints or bools, or such a tensor."""
    if value is None or value is Ellipsis or isinstance(value, builtins.slice):
        return value
    if isinstance(value, bool | np.bool_):
        raise IndexingError(f"[]: {value} alone is no index; use a mask of the shape of the tensor")
    if isinstance(value, type(x)) or hasattr(value, "handle"):
        if not (value.dtype.is_int or value.dtype.is_bool):
            raise DTypeError(f"[]: an index tensor must hold ints or bools, got {value.dtype}")
        return value
    if not isinstance(value, np.ndarray):
        try:
            return index(value)
        except TypeError:
            pass
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.asarray(None)
    if array.size == 0 and not isinstance(value, np.ndarray):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iub":
        raise IndexingError(f"[]: {value!r} is no index; use ints, slices, None, ..., or a tensor of ints or bools")
    return place(TensorData(array), x.device) if array.dtype.kind == "b" else array


def _width(entry: Any) -> int:
    """How many dims of the tensor an entry uses up."""
    if entry is None or entry is Ellipsis:
        return 0
    return len(entry.shape) if _is_mask(entry) else 1


def _is_mask(entry: Any) -> bool:
    return hasattr(entry, "handle") and entry.dtype.is_bool


def _sort(x: Tensor[Any], entry: Any, parts: _Parts, rest: int) -> None:
    dim = len(parts.ranges)
    if entry is None:
        parts.keep(1, None)
    elif entry is Ellipsis:
        parts.separate()
        for size in x.shape[dim : dim + rest]:
            parts.keep(size, (0, size, 1))
    elif isinstance(entry, builtins.slice):
        start, count, step = _span(entry, x.shape[dim])
        parts.keep(count, (start, count, step) if count else (0, 0, 1))
    elif is_size(entry):
        parts.drop(_inside(entry, dim, x.shape[dim]))
    elif _is_mask(entry):
        if entry.shape != x.shape[dim : dim + len(entry.shape)]:
            raise IndexingError(f"[]: a mask of shape {tuple(entry.shape)} does not fit {tuple(x.shape)} at dim {dim}")
        if not entry.shape:
            raise IndexingError("[]: a mask must have at least one dim")
        for size, column in zip(entry.shape, entry.nonzero(), strict=True):
            parts.read(size, column)
    else:
        parts.read(x.shape[dim], _positions(x, entry, dim))


def _span(entry: builtins.slice, size: Size) -> tuple[Size, Size, int]:
    """Where a slice begins in a dim of a size, how many elements it has, and its step."""
    try:
        if is_symbolic((size, entry.start, entry.stop)):
            return _symbolic_span(entry, size)
        span = range(*entry.indices(size))
    except (TypeError, ValueError) as error:
        raise IndexingError(f"[]: {entry} is no slice: {error}") from None
    return span.start, len(span), span.step


def _symbolic_span(entry: builtins.slice, size: Size) -> tuple[Size, Size, int]:
    step = 1 if entry.step is None else operator.index(entry.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    first, last = (0, size) if step > 0 else (-1, size - 1)

    def clamped(given: Any, otherwise: Size) -> Size:
        if given is None:
            return otherwise
        place = index(given)
        return min(max(place + size if place < 0 else place, first), last)

    start, stop = clamped(entry.start, first if step > 0 else last), clamped(entry.stop, last if step > 0 else first)
    apart = stop - start if step > 0 else start - stop
    return start, max(-(-apart // abs(step)), 0), step


def _inside(index: Size, dim: int, size: Size) -> Size:
    if not -size <= index < size:
        raise IndexingError(f"[]: index {index} is out of range for dim {dim} of size {size}")
    return index + size if index < 0 else index


def _positions(x: Tensor[Any], entry: Any, dim: int) -> Tensor[Any]:
    """Index values from 0 on. What is on the host is checked here, a tensor by the kernel that reads."""
    size = x.shape[dim]
    dtype = x.device.int_dtype
    if isinstance(entry, np.ndarray):
        for bad in entry[(entry < -size) | (entry >= size)].reshape(-1)[:1]:
            _inside(int(bad), dim, size)
        return place(TensorData(np.where(entry < 0, entry + size, entry).astype(dtype.numpy)), x.device)
    if entry.dtype.is_uint:
        return entry  # type: ignore[no-any-return]
    entry = entry.cast(dtype)
    return entry.mask_where(entry.lower(0).bool_and(entry.greater_equal(-size)), entry + size)  # type: ignore[no-any-return]


def _read(x: Tensor[Any], parts: _Parts) -> Tensor[Any]:
    """Read index tensors, and put their dims where NumPy puts them."""
    dims = [dim for dim, _ in parts.indices]
    assert parts.first is not None
    if len(dims) == 1:
        values = parts.indices[0][1]
        found, rank, stands = indexing.take(x, dims[0], values), len(values.shape), dims[0]
    else:
        shape = broadcast_all("[]", [values.shape for _, values in parts.indices])
        columns = [values.expand(shape).unsqueeze_dim(-1) for _, values in parts.indices]
        others = [dim for dim in range(len(x.shape)) if dim not in dims]
        found = indexing.gather_nd(x.permute([*dims, *others]), joining.cat(columns, -1))
        rank, stands = len(shape), 0
    target = 0 if parts.apart else parts.first
    if stands == target or rank == 0:
        return found
    return found.movedim(range(stands, stands + rank), range(target, target + rank))
