"""Layouts: what a buffer holds and how its elements are ordered.

A layout is strided (row-major, channels-last, transposed: all the same idea), or left open for a primitive
to choose (`Layout.any`), or packed: the blocked form a primitive chose, which only oneDNN reads and a
`reorder` fills. Shapes are logical: an image is (batch, channels, height, width) in every order.

The stride of a dim of size 1 means nothing, and yet oneDNN recognises an order by all of its strides and
falls to reference loops when one looks odd; `seen_as` gives such a buffer the strides of a known order.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_int, c_int64, c_void_p
from math import prod
from typing import Any

from burn.backend.cpu.onednn.library import Dims, Library, load
from burn.dtype import DType, bf16, f16, f32, i8, i32, u8
from burn.errors import DTypeError, MissingOperation

DTYPES = {f16: 1, bf16: 2, f32: 3, i32: 4, i8: 5, u8: 6}
_BY_CODE = {code: dtype for dtype, code in DTYPES.items()}

_TAG_ANY = 1
_QUERY_STRIDES = 14
_QUERY_NDIMS, _QUERY_DIMS, _QUERY_DATA_TYPE, _QUERY_PADDED_DIMS = 256, 257, 258, 260
_QUERY_FORMAT_KIND, _QUERY_BLOCK_COUNT, _QUERY_BLOCKS, _QUERY_BLOCK_DIMS = 262, 263, 264, 265
_BLOCKED = 2

Sizes = tuple[int, ...]


def check_dtype(dtype: DType) -> None:
    """Refuse a dtype that oneDNN does not know."""
    if dtype not in DTYPES:
        raise DTypeError(f"onednn: {dtype} has no counterpart; cast to one of {', '.join(d.name for d in DTYPES)}")


class Layout:
    """Shape, dtype and order of the elements of one buffer. A value: equal layouts hash equal."""

    __slots__ = ("shape", "dtype", "strides", "blocks", "size", "_key", "_handle", "_library")

    shape: Sizes
    dtype: DType
    strides: Sizes | None  # in elements; None when open or packed
    blocks: str | None  # how a packed layout is blocked; None when strided or open
    size: int  # in bytes; 0 when open

    def __init__(self, shape: Sizes, dtype: DType, strides: Sizes | None, blocks: str | None, size: int) -> None:
        self.shape, self.dtype, self.strides, self.blocks, self.size = shape, dtype, strides, blocks, size
        self._key = (shape, dtype, strides, blocks, size)
        self._handle: int | None = None
        self._library: Library | None = None

    @staticmethod
    def strided(shape: Sizes, strides: Sizes, dtype: DType = f32) -> Layout:
        """Elements at the given strides, counted in elements."""
        check_dtype(dtype)
        last = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
        found = Layout(tuple(shape), dtype, tuple(strides), None, (last + 1) * dtype.size if prod(shape) else 0)
        return found.seen_as(Layout.row_major(found.shape, dtype)) or found if 1 in shape else found

    @staticmethod
    def row_major(shape: Sizes, dtype: DType = f32) -> Layout:
        """The last dim varies fastest."""
        return Layout.ordered(shape, tuple(range(len(shape))), dtype)

    @staticmethod
    def channels_last(shape: Sizes, dtype: DType = f32) -> Layout:
        """A logical (batch, channels, *spatial) whose dim 1 varies fastest: NHWC for images."""
        return Layout.ordered(shape, (0, *range(2, len(shape)), 1), dtype)

    @staticmethod
    def ordered(shape: Sizes, order: Sizes, dtype: DType = f32) -> Layout:
        """Dense, with the dims from outermost to innermost as `order` lists them."""
        check_dtype(dtype)
        strides, step = [0] * len(shape), 1
        for dim in reversed(order):
            strides[dim] = step
            step *= max(shape[dim], 1)
        return Layout(tuple(shape), dtype, tuple(strides), None, prod(shape) * dtype.size)

    @staticmethod
    def any(shape: Sizes, dtype: DType = f32) -> Layout:
        """An order the primitive is free to choose; ask it for `layouts[role]` afterwards."""
        check_dtype(dtype)
        return Layout(tuple(shape), dtype, None, None, 0)

    @property
    def is_open(self) -> bool:
        """Whether the order is still to be chosen."""
        return self.strides is None and self.blocks is None

    def seen_as(self, other: Layout) -> Layout | None:
        """`other`, if it puts every element where this layout has it; an open layout is left as it is."""
        if self.is_open:
            return self
        if self.strides is None or other.strides is None or self.shape != other.shape or self.dtype != other.dtype:
            return None
        differ = (size != 1 and one != two for size, one, two in zip(self.shape, self.strides, other.strides))
        return None if any(differ) else other

    def reshaped(self, shape: Sizes, strides: Sizes) -> Layout:
        """The same buffer seen with another shape; an open layout stays open and ignores the strides."""
        if self.blocks is not None:
            raise MissingOperation(f"onednn: {self} is packed and has one shape only")
        return Layout.any(shape, self.dtype) if self.is_open else Layout.strided(shape, strides, self.dtype)

    def permuted(self, order: Sizes) -> Layout:
        """The same buffer with its dims in another order."""
        strides = self.strides or self.shape
        return self.reshaped(tuple(self.shape[dim] for dim in order), tuple(strides[dim] for dim in order))

    def expanded(self, rank: int) -> Layout:
        """The same buffer with dims of size 1 in front, up to `rank`."""
        missing = rank - len(self.shape)
        strides = self.strides or self.shape
        outer = max((size * stride for size, stride in zip(self.shape, strides)), default=1)
        return self.reshaped((1,) * missing + self.shape, (outer,) * missing + strides) if missing > 0 else self

    def handle(self, library: Library) -> int:
        """The `dnnl_memory_desc_t`, made on first use and owned by this layout."""
        if self._handle is None:
            dims, code = Dims(*self.shape), DTYPES[self.dtype]
            if self.strides is None:
                function, order = "dnnl_memory_desc_create_with_tag", _TAG_ANY
            else:
                function, order = "dnnl_memory_desc_create_with_strides", Dims(*self.strides)  # type: ignore[assignment]
            self._handle = library.make(function, len(self.shape), dims, code, order)
            self._library = library
        return self._handle

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None and self._library is not None:
            self._library.native.dnnl_memory_desc_destroy(self._handle)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        order = "any order" if self.is_open else self.blocks or f"strides {self.strides}"
        return f"{self.dtype}{self.shape} {order}"


def images(*layouts: Layout) -> tuple[Layout, ...]:
    """All of them channels-last, or else all of them row-major, where they can be seen so; or as they are."""
    for order in (Layout.channels_last, Layout.row_major):
        seen = [each.seen_as(order(each.shape, each.dtype)) for each in layouts]
        whole = tuple(each for each in seen if each is not None)
        if len(whole) == len(layouts):
            return whole
    return layouts


def chosen(descriptor: int) -> Layout | None:
    """The layout that a descriptor inside a primitive states; None for an argument that is not there."""
    library = load()
    query = library.native.dnnl_memory_desc_query

    def number(what: int) -> int:
        result = c_int()
        library.check(query(descriptor, what, ctypes.byref(result)), "dnnl_memory_desc_query")
        return result.value

    def numbers(what: int, count: int) -> Sizes:
        result: Any = POINTER(c_int64)()
        library.check(query(descriptor, what, ctypes.byref(result)), "dnnl_memory_desc_query")
        return tuple(result[index] for index in range(count))

    rank = number(_QUERY_NDIMS)
    if rank == 0:
        return None
    shape = numbers(_QUERY_DIMS, rank)
    dtype = _BY_CODE[number(_QUERY_DATA_TYPE)]
    size = int(library.native.dnnl_memory_desc_get_size(descriptor))
    if number(_QUERY_FORMAT_KIND) != _BLOCKED:
        blocks = f"opaque at {descriptor:#x}"  # no two compare equal: their contents cannot be read
    else:
        strides, padded = numbers(_QUERY_STRIDES, rank), numbers(_QUERY_PADDED_DIMS, rank)
        count = number(_QUERY_BLOCK_COUNT)
        if count == 0 and padded == shape:
            plain = Layout.strided(shape, strides, dtype)
            if plain.size == size:
                return plain
        inner = zip(numbers(_QUERY_BLOCKS, count), numbers(_QUERY_BLOCK_DIMS, count))
        named = "".join(f"{block}{chr(ord('a') + dim)}" for block, dim in inner)
        blocks = f"strides {strides} blocks {named or 'none'} padded {padded}"
    layout = Layout(shape, dtype, None, blocks, size)
    clone = c_void_p()
    library.check(library.native.dnnl_memory_desc_clone(ctypes.byref(clone), descriptor), "dnnl_memory_desc_clone")
    layout._handle, layout._library = clone.value, library
    return layout
