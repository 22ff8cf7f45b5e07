"""The short names of PyTorch and NumPy that are ours, too: `x.T`, `x.view(3, 2)`, `x.masked_fill(mask, 0.0)`.

A name that means what one of Burn's means is that method under a second name. What is not here and not Burn's is
answered with what to write instead (`burn.tensor.guesses`).
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, overload

import numpy as np

from burn.device import Device
from burn.dtype import DType, bf16, f16, f64, i8, i16, i64, u8
from burn.dtype import dtype as as_dtype
from burn.errors import ArgumentError, CallError, ShapeError, shown
from burn.ops import arithmetic, elementwise, indexing, joining, linalg, logic, masks, movement
from burn.ops.dispatch import NUMBERS
from burn.shape import as_ints
from burn.shape import axis as one_axis
from burn.tensor.methods.creation import CreationMethods
from burn.tensor.placing import device_of, not_a_device

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from burn.dtype import DTypeLike
    from burn.ops.declare import B
    from burn.tensor.tensor import Tensor

    Name = Literal["f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8", "bool"]
    Target: TypeAlias = Device | DType | Tensor | np.dtype[Any] | type | Name
    """Where `x.to(...)` goes: another device, another dtype, or those of another tensor."""


D = TypeVar("D", bound=Device)


class FamiliarMethods:
    """Names that users of PyTorch and NumPy know.

    >>> x = burn.tensor([[1, 2, 3], [4, 5, 6]])
    >>> x.T.tolist(), x.ndim, x.size(), x.size(-1), x.numel(), x.dim(), x.nelement()
    ([[1, 4], [2, 5], [3, 6]], 2, Shape([2, 3]), 3, 6, 2, 6)
    >>> x.view(3, 2).shape, x.view_as(x.T).shape, x.mT.shape, x.ravel().shape, x.contiguous().is_contiguous()
    (Shape([3, 2]), Shape([3, 2]), Shape([3, 2]), Shape([6]), True)
    >>> x.repeat(1, 2).shape, x.tile(2).shape, x.unsqueeze(0).shape, x[:1].expand_as(x).tolist()
    (Shape([2, 6]), Shape([2, 6]), Shape([1, 2, 3]), [[1, 2, 3], [1, 2, 3]])
    >>> x.transpose(0, 1).shape, x.to(burn.f32).dtype, x.astype("i32").dtype, x.type_as(x.float()).dtype
    (Shape([3, 2]), f32, i32, f32)
    >>> x.half().dtype, x.double().dtype, x.bfloat16().dtype, x.long().dtype
    (f16, f64, bf16, i64)
    >>> x.short().dtype, x.char().dtype, x.byte().dtype
    (i16, i8, u8)
    >>> x.where(x > 2, 0).tolist(), x.clamp(max=2).tolist(), x.pow(2).tolist(), x.cpu() is x
    ([[0, 0, 3], [4, 5, 6]], [[1, 2, 2], [2, 2, 2]], [[1, 4, 9], [16, 25, 36]], True)
    >>> x.floor_divide(2).tolist(), x.true_divide(2).shape, x.reshape_as(x.T).shape
    ([[0, 1, 1], [2, 2, 3]], Shape([2, 3]), Shape([3, 2]))
    >>> [row.tolist() for row in x.unbind()], x.unflatten(1, (3, 1)).shape, x.masked_select(x > 4).tolist()
    ([[1, 2, 3], [4, 5, 6]], Shape([2, 3, 1]), [5, 6])
    >>> x.logical_and(x > 1).all().item(), x.logical_or(x).all().item()
    (False, True)
    >>> x.logical_xor(x).any().item(), x.logical_not().any().item(), x.requires_grad
    (False, False, False)
    >>> x.new_zeros(2).tolist(), x.new_ones(2).tolist(), x.new_full((2,), 7).tolist(), x.new_tensor([1]).tolist()
    ([0, 0], [1, 1], [7, 7], [1])
    >>> y = burn.tensor([1.0, 4.0])
    >>> y.rsqrt().tolist(), y.log2().tolist(), y.exp2().tolist(), y.frac().tolist(), y.new_empty(2).shape
    ([1.0, 0.5], [0.0, 2.0], [2.0, 16.0], [0.0, 0.0], Shape([2]))
    >>> burn.tensor([0.0]).expm1().tolist(), burn.tensor([100.0]).log10().tolist()
    ([0.0], [2.0])
    """

    __slots__ = ()

    # The same under a second name

    multiply = arithmetic.mul
    subtract = arithmetic.sub
    true_divide = divide = arithmetic.true_div
    floor_divide = arithmetic.floor_div
    arctan2 = arithmetic.atan2
    maximum = arithmetic.max_pair
    minimum = arithmetic.min_pair
    eq = logic.equal
    ne = logic.not_equal
    gt = logic.greater
    ge = logic.greater_equal
    lt = logic.lower
    le = less_equal = logic.lower_equal
    less = logic.lower
    reciprocal = elementwise.recip
    negative = elementwise.neg
    absolute = elementwise.abs
    arcsin = elementwise.asin
    arccos = elementwise.acos
    arctan = elementwise.atan
    arcsinh = elementwise.asinh
    arccosh = elementwise.acosh
    arctanh = elementwise.atanh
    fix = elementwise.trunc
    isnan = elementwise.is_nan
    isinf = elementwise.is_inf
    isfinite = elementwise.is_finite
    masked_fill = masks.mask_fill
    masked_select = indexing.mask_select
    scatter_add = indexing.scatter
    swapaxes = swapdims = movement.swap_dims
    moveaxis = movement.movedim
    mm = bmm = linalg.matmul
    mv = linalg.matvec
    outer = linalg.outer
    trace = linalg.trace

    # What it is

    @property
    def T(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """The dims in reverse order: of a matrix, its transpose."""
        return self.permute(tuple(reversed(range(len(self.shape)))))

    @property
    def mT(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """The last two dims exchanged: each matrix of a batch transposed."""
        return movement.transpose(self)

    @property
    def ndim(self) -> builtins.int:
        """The number of dims."""
        return len(self.shape)  # type: ignore[attr-defined]

    def dim(self) -> builtins.int:
        """The number of dims."""
        return len(self.shape)  # type: ignore[attr-defined]

    @overload
    def size(self) -> tuple[builtins.int, ...]: ...
    @overload
    def size(self, dim: builtins.int) -> builtins.int: ...
    def size(self: Any, dim: builtins.int | None = None) -> Any:
        """The sizes of all dims, or that of one `dim`."""
        return self.shape if dim is None else self.shape[one_axis("size", dim, len(self.shape))]

    def numel(self: Tensor[B]) -> builtins.int:  # type: ignore[misc]
        """The number of elements."""
        return self.shape.num_elements()

    nelement = numel

    def is_contiguous(self) -> builtins.bool:
        """Whether the elements lie in row-major order: to the user, they always do."""
        return True

    def contiguous(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """This tensor: how it lies in memory is the device's business."""
        return self

    @property
    def requires_grad(self: Tensor[B]) -> builtins.bool:  # type: ignore[misc]
        """Whether `backward` keeps the gradient of this tensor."""
        return self.is_require_grad()

    @requires_grad.setter
    def requires_grad(self: Any, value: Any) -> NoReturn:
        raise ArgumentError(
            "requires_grad: nothing is changed in place; write model = model.freeze() and model = model.unfreeze() "
            "for parameters, x.detach() and x.require_grad() for tensors"
        )

    # Where it is, and in which dtype

    @overload
    def to(self, target: D, /) -> Tensor[D]: ...
    @overload
    def to(self, *target: Target, device: Device | None = None, dtype: DTypeLike | None = None) -> Tensor: ...
    def to(self: Any, *target: Any, device: Any = None, dtype: Any = None) -> Tensor:
        """This tensor on another device, in another dtype, or both: `target` is one of them, or a tensor like that."""
        if len(target) == 1 and target[0] is self.device and dtype is None and device is None:
            return self  # type: ignore[no-any-return]
        for each in target:
            if hasattr(each, "handle"):
                device, dtype = each.device, each.dtype
            elif isinstance(each, Device):
                device = each
            elif (
                isinstance(each, DType | np.dtype | type) and not (isinstance(each, type) and issubclass(each, Device))
            ) or (isinstance(each, str) and _names_dtype(each)):
                dtype = each
            else:
                raise not_a_device("to", each, "NdArray()")
        if not target and device is dtype is None:
            raise CallError("to: missing where to; write x.to(device), x.to(burn.f16) or x.to(device, burn.f16)")
        moved: Tensor[Any] = self if device is None else self.to_device(device)
        return moved if dtype is None else moved.cast(dtype)

    def cpu(self: Tensor[B]) -> Tensor:  # type: ignore[misc]
        """This tensor where the processor has it: itself, unless its device computes elsewhere."""
        if self.device.place == "Cpu":
            return self
        return self.to_device(device_of("cpu", None))

    def astype(self: Tensor[B], dtype: Any) -> Tensor[B]:  # type: ignore[misc]
        """Convert to another dtype."""
        return self.cast(dtype)

    def type_as(self: Tensor[B], other: Tensor[Any]) -> Tensor[B]:  # type: ignore[misc]
        """Convert to the dtype of `other`."""
        return self.cast(other.dtype)

    def half(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """Convert to f16."""
        return self.cast(f16)

    def bfloat16(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """Convert to bf16."""
        return self.cast(bf16)

    def double(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """Convert to f64."""
        return self.cast(f64)

    def long(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """Convert to i64."""
        return self.cast(i64)

    def short(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """Convert to i16."""
        return self.cast(i16)

    def char(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """Convert to i8."""
        return self.cast(i8)

    def byte(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """Convert to u8."""
        return self.cast(u8)

    # Shapes

    def view(self: Tensor[B], *shape: Any) -> Tensor[B]:  # type: ignore[misc]
        """Give the same elements another `shape`: one -1 is inferred."""
        if len(shape) == 1 and (isinstance(shape[0], DType | np.dtype | type)):
            raise ArgumentError(
                f"view: {shape[0]} is a dtype; write x.bitcast(dtype) for the same bits in another dtype"
            )
        return movement.reshape(self, *shape)

    def view_as(self: Tensor[B], other: Tensor[Any]) -> Tensor[B]:  # type: ignore[misc]
        """Give the same elements the shape of `other`."""
        return movement.reshape(self, other.shape)

    reshape_as = view_as

    def expand_as(self: Tensor[B], other: Tensor[Any]) -> Tensor[B]:  # type: ignore[misc]
        """Repeat dims of size 1, up to the shape of `other`."""
        return movement.expand(self, other.shape)

    def ravel(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """All elements along one dim."""
        return movement.reshape(self, (-1,)) if self.shape.num_elements() else movement.reshape(self, (0,))

    def repeat(self: Tensor[B], *sizes: Any) -> Tensor[B]:  # type: ignore[misc]
        """Lay copies side by side: `sizes[i]` of them along dim `i`, where dims without a size stay as they are.

        As many numbers as dims mean the same in PyTorch. More of them add dims in front, as there.

        >>> burn.tensor([[1, 2]]).repeat(2, 2).tolist()
        [[1, 2, 1, 2], [1, 2, 1, 2]]
        """
        times = as_ints("repeat", "sizes", sizes[0] if len(sizes) == 1 else sizes)
        rank = len(self.shape)
        if len(times) > rank and min(times) >= 0:
            return joining.repeat(movement.reshape(self, (*(1,) * (len(times) - rank), *self.shape)), times)
        if len(sizes) > 1 and len(times) < rank:
            raise ShapeError(
                f"repeat: {len(times)} numbers for a tensor of shape {tuple(self.shape)}; give one for each of its "
                f"{rank} dims"
            )
        return joining.repeat(self, times)

    def tile(self: Tensor[B], *sizes: Any) -> Tensor[B]:  # type: ignore[misc]
        """Lay copies side by side: `sizes` count from the last dim, and more of them than dims add dims in front."""
        times = as_ints("tile", "sizes", sizes[0] if len(sizes) == 1 else sizes)
        return self.repeat((1,) * (len(self.shape) - len(times)) + times)

    def unsqueeze(  # type: ignore[misc]
        self: Tensor[B], place: builtins.int | None = None, *, dim: builtins.int | None = None, rank: Any = None
    ) -> Tensor[B]:
        """Put a dim of size 1 at `dim`, as in PyTorch, or dims in front until there are `rank`, as in Burn.

        A number by its `place` is PyTorch's dim where the tensor has more dims than that or it is negative; Burn's rank
        where it is higher than the number of dims. Without one, a dim is put in front.

        >>> x = Tensor.zeros(2, 3)
        >>> x.unsqueeze().shape, x.unsqueeze(-1).shape, x.unsqueeze(dim=2).shape, x.unsqueeze(rank=4).shape
        (Shape([1, 2, 3]), Shape([2, 3, 1]), Shape([2, 3, 1]), Shape([1, 1, 2, 3]))
        """
        dims = len(self.shape)
        if (place is not None) + (dim is not None) + (rank is not None) > 1:
            raise CallError("unsqueeze: give one of dim and rank; write x.unsqueeze(dim=0) or x.unsqueeze(rank=4)")
        if dim is None and isinstance(place, int | np.integer):
            number = builtins.int(place)
            if number == dims and dims:
                raise ArgumentError(
                    f"unsqueeze: {number} is both PyTorch's dim at the end and Burn's rank of a tensor of shape "
                    f"{tuple(self.shape)}; write x.unsqueeze(dim={number}) or x.unsqueeze(rank={number})"
                )
            if number < dims:
                dim = number
        if dim is not None:
            return movement.unsqueeze_dim(self, dim)
        return movement.unsqueeze(self, place if rank is None else rank)

    def transpose(self: Tensor[B], *dims: Any) -> Tensor[B]:  # type: ignore[misc]
        """Exchange the last two dims; with two `dims`, exchange these; with more of them, put all in that order.

        >>> x = Tensor.zeros(2, 3, 4)
        >>> x.transpose().shape, x.transpose(0, 2).shape, x.transpose(1, 2, 0).shape
        (Shape([2, 4, 3]), Shape([4, 3, 2]), Shape([3, 4, 2]))
        """
        if not dims:
            return movement.transpose(self)
        if len(dims) == 2:
            return movement.swap_dims(self, *dims)
        return movement.permute(self, *dims)

    def t(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """Exchange the last two dims.

        >>> Tensor.zeros(2, 3).t().shape
        Shape([3, 2])
        """
        return movement.transpose(self)

    def unflatten(self: Tensor[B], dim: builtins.int, sizes: Sequence[builtins.int]) -> Tensor[B]:  # type: ignore[misc]
        """Cut one `dim` into dims of `sizes`, one of which may be -1."""
        place = one_axis("unflatten", dim, len(self.shape))
        given = as_ints("unflatten", "sizes", sizes)
        part = self.shape[place]
        found = type(self.shape)((part,)).reshape(given)
        return movement.reshape(self, (*self.shape[:place], *found, *self.shape[place + 1 :]))

    def unbind(self: Tensor[B], dim: builtins.int = 0) -> tuple[Tensor[B], ...]:  # type: ignore[misc]
        """The slices along `dim`, without it."""
        place = one_axis("unbind", dim, len(self.shape))
        return tuple(movement.squeeze(each, place) for each in joining.split(self, 1, place))

    # Elements

    def clamp(  # type: ignore[misc]
        self: Tensor[B], min: float | Tensor[Any] | None = None, max: float | Tensor[Any] | None = None
    ) -> Tensor[B]:
        """Bring every element into the range from `min` to `max`, either of which may be left out.

        >>> burn.tensor([-2, 0, 3]).clamp(-1, 1).tolist(), burn.tensor([-2, 0, 3]).clamp(min=0).tolist()
        ([-1, 0, 1], [0, 0, 3])
        """
        if min is None and max is None:
            raise CallError("clamp: missing min or max; write x.clamp(min, max), x.clamp(min=0.0) or x.clamp(max=1.0)")
        if min is not None and max is not None:
            return arithmetic.clamp(self, min, max)
        low: Any = min
        high: Any = max
        bounded: Any = arithmetic.clamp_max(self, high) if min is None else arithmetic.clamp_min(self, low)
        return bounded  # type: ignore[no-any-return]

    clip = clamp

    def pow(self: Tensor[B], exponent: Tensor[B] | float) -> Tensor[B]:  # type: ignore[misc]
        """Raise each element to an `exponent`."""
        return self**exponent

    def where(self: Tensor[B], condition: Tensor[Any], other: Tensor[Any] | float) -> Tensor:  # type: ignore[misc]
        """Keep the elements where `condition` is true, and take those of `other` elsewhere."""
        return where(condition, self, other)

    def index_select(self: Tensor[B], dim: builtins.int, indices: Tensor[Any]) -> Tensor[B]:  # type: ignore[misc]
        """Read whole slices along `dim`, one for each of the `indices`.

        >>> x = burn.tensor([[1, 2], [3, 4]])
        >>> x.index_select(0, burn.tensor([1])).tolist()
        [[3, 4]]
        """
        return indexing.select(self, dim, indices)

    def index_add(  # type: ignore[misc]
        self: Tensor[B], dim: builtins.int, indices: Tensor[Any], values: Tensor[Any]
    ) -> Tensor[B]:
        """Add `values` to whole slices along `dim`, one for each of the `indices`.

        >>> Tensor.zeros(2, 2).index_add(0, burn.tensor([1]), Tensor.ones(1, 2)).tolist()
        [[0.0, 0.0], [1.0, 1.0]]
        """
        return indexing.select_assign(self, dim, indices, values)

    def logical_not(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """Tell where an element is zero."""
        return logic.bool_not(self.bool())

    def logical_and(self: Tensor[B], other: Tensor[Any]) -> Tensor[B]:  # type: ignore[misc]
        """Tell where neither element is zero."""
        return logic.bool_and(self.bool(), other.bool())

    def logical_or(self: Tensor[B], other: Tensor[Any]) -> Tensor[B]:  # type: ignore[misc]
        """Tell where one of the elements, or both, are not zero."""
        return logic.bool_or(self.bool(), other.bool())

    def logical_xor(self: Tensor[B], other: Tensor[Any]) -> Tensor[B]:  # type: ignore[misc]
        """Tell where exactly one of the elements is zero."""
        return logic.bool_xor(self.bool(), other.bool())

    def rsqrt(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """Compute `1 / sqrt(x)`."""
        return elementwise.recip(elementwise.sqrt(self))

    def log2(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """Take the logarithm to base 2."""
        return elementwise.log(self) * 1.4426950408889634

    def log10(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """Take the logarithm to base 10."""
        return elementwise.log(self) * 0.4342944819032518

    def exp2(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """Raise 2 to the power of each element."""
        return 2.0**self

    def expm1(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """Compute `exp(x) - 1`, exact near zero."""
        half = elementwise.tanh(self * 0.5)
        return elementwise.exp(self) * half + half

    def frac(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """The part behind the point, with the sign of the element."""
        return self - elementwise.trunc(self)

    # New tensors like this one

    def new_zeros(self: Tensor[B], *shape: Any, dtype: Any = None) -> Tensor[B]:  # type: ignore[misc]
        """Fill another `shape` with 0, in the dtype and on the device of this tensor."""
        return CreationMethods.zeros(*shape, device=self.device, dtype=self.dtype if dtype is None else dtype)

    def new_ones(self: Tensor[B], *shape: Any, dtype: Any = None) -> Tensor[B]:  # type: ignore[misc]
        """Fill another `shape` with 1, in the dtype and on the device of this tensor."""
        return CreationMethods.ones(*shape, device=self.device, dtype=self.dtype if dtype is None else dtype)

    def new_empty(self: Tensor[B], *shape: Any, dtype: Any = None) -> Tensor[B]:  # type: ignore[misc]
        """Take memory of another `shape`, in the dtype and on the device of this tensor."""
        return CreationMethods.empty(*shape, device=self.device, dtype=self.dtype if dtype is None else dtype)

    def new_full(self: Tensor[B], shape: Any, fill_value: Any, *, dtype: Any = None) -> Tensor[B]:  # type: ignore[misc]
        """Fill another `shape` with `fill_value`, in the dtype and on the device of this tensor."""
        return CreationMethods.full(shape, fill_value, self.device, self.dtype if dtype is None else dtype)

    def new_tensor(self: Tensor[B], data: Any, *, dtype: Any = None) -> Tensor[B]:  # type: ignore[misc]
        """Make a tensor of `data`, in the dtype and on the device of this tensor."""
        return CreationMethods.from_data(data, self.device, self.dtype if dtype is None else dtype)


def where(condition: Any, x: Any, y: Any) -> Tensor:
    """Take `x` where `condition` is true and `y` elsewhere; either may be a number.

    >>> x = burn.tensor([1.0, -2.0])
    >>> burn.where(x > 0, x, 0.0).tolist()
    [1.0, 0.0]
    """
    if not hasattr(condition, "handle"):
        raise ArgumentError(f"where: condition must be a tensor of truth values, got {shown(condition)}")
    if hasattr(x, "handle") and hasattr(y, "handle"):
        return masks.mask_where(y, condition, x)
    first, second = (_made(each, x if hasattr(x, "handle") else y, condition) for each in (x, y))
    return masks.mask_where(second, condition, first)


def _made(value: Any, beside: Any, condition: Any) -> Any:
    """`value` as a tensor: a number takes the dtype of what it stands beside, as in arithmetic."""
    if hasattr(value, "handle"):
        return value
    if isinstance(value, np.ndarray):
        from burn.ops.dispatch import from_array

        return from_array("where", value, condition.device)
    if not isinstance(value, NUMBERS):
        raise ArgumentError(f"where: needs tensors or numbers, got {shown(value)}")
    device = condition.device
    if not hasattr(beside, "handle"):
        plain: Any = value
        return CreationMethods.full((), plain, device)
    dtype = beside.dtype
    if isinstance(value, float | np.floating) and not dtype.is_float:
        dtype = device.float_dtype
    elif dtype.is_bool and not isinstance(value, bool | np.bool_):
        dtype = device.int_dtype
    number: Any = value
    return CreationMethods.full((), number, device, dtype)


def _names_dtype(name: str) -> builtins.bool:
    try:
        as_dtype(name)
    except TypeError:
        return False
    return True


__all__ = ["FamiliarMethods", "where"]
