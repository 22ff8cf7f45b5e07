"""Elementwise operations under Burn's names, and Python's operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.dtype import f32
from burn.ops import arithmetic, bits, elementwise, logic, masks
from burn.ops.dispatch import NUMBERS
from burn.symbolic import number

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor.tensor import Tensor


class ElementwiseMethods:
    """Arithmetic, functions of one number, comparisons, truth values and bits."""

    __slots__ = ()

    exp = elementwise.exp
    log = elementwise.log
    log1p = elementwise.log1p
    sqrt = elementwise.sqrt
    recip = elementwise.recip
    erf = elementwise.erf
    sin = elementwise.sin
    cos = elementwise.cos
    tan = elementwise.tan
    sinh = elementwise.sinh
    cosh = elementwise.cosh
    tanh = elementwise.tanh
    asin = elementwise.asin
    acos = elementwise.acos
    atan = elementwise.atan
    asinh = elementwise.asinh
    acosh = elementwise.acosh
    atanh = elementwise.atanh
    abs = __abs__ = elementwise.abs
    neg = __neg__ = elementwise.neg
    sign = elementwise.sign
    floor = __floor__ = elementwise.floor
    ceil = __ceil__ = elementwise.ceil
    round = elementwise.round
    trunc = __trunc__ = elementwise.trunc
    square = elementwise.square
    deg2rad = elementwise.deg2rad
    rad2deg = elementwise.rad2deg
    is_nan = elementwise.is_nan
    is_inf = elementwise.is_inf
    is_finite = elementwise.is_finite

    add = add_scalar = __add__ = arithmetic.add
    sub = sub_scalar = __sub__ = arithmetic.sub
    mul = mul_scalar = __mul__ = arithmetic.mul
    div = div_scalar = arithmetic.div
    __truediv__ = arithmetic.true_div
    __floordiv__ = arithmetic.floor_div
    rem = rem_scalar = remainder = remainder_scalar = __mod__ = arithmetic.rem
    fmod = fmod_scalar = arithmetic.fmod
    powf = powi = arithmetic.pow
    atan2 = arithmetic.atan2
    hypot = arithmetic.hypot
    max_pair = arithmetic.max_pair
    min_pair = arithmetic.min_pair
    clamp_min = arithmetic.clamp_min
    clamp_max = arithmetic.clamp_max

    equal = equal_elem = equal_scalar = logic.equal
    not_equal = not_equal_elem = not_equal_scalar = logic.not_equal
    greater = greater_elem = greater_scalar = __gt__ = logic.greater
    greater_equal = greater_equal_elem = greater_equal_scalar = __ge__ = logic.greater_equal
    lower = lower_elem = lower_scalar = __lt__ = logic.lower
    lower_equal = lower_equal_elem = lower_equal_scalar = __le__ = logic.lower_equal

    bool_not = logic.bool_not
    bool_and = logic.bool_and
    bool_or = logic.bool_or
    bool_xor = logic.bool_xor
    bitwise_not = __invert__ = logic.bitwise_not
    bitwise_and = bitwise_and_scalar = __and__ = logic.bitwise_and
    bitwise_or = bitwise_or_scalar = __or__ = logic.bitwise_or
    bitwise_xor = bitwise_xor_scalar = __xor__ = logic.bitwise_xor
    bitwise_left_shift = bitwise_left_shift_scalar = __lshift__ = logic.bitwise_left_shift
    bitwise_right_shift = bitwise_right_shift_scalar = __rshift__ = logic.bitwise_right_shift

    mask_where = masks.mask_where
    mask_fill = masks.mask_fill
    cast = masks.cast
    cast_saturating = bits.cast_saturating
    bitcast = bits.bitcast

    def powf_scalar(self: Tensor[B], exponent: float) -> Tensor[B]:  # type: ignore[misc]
        """Raise to one power; 1/2, 1, 2, 3 and -1 become plain arithmetic.

        Arguments:
            exponent: an int or a float.

        >>> burn.tensor([2.0, 3.0]).powf_scalar(3).tolist()
        [8.0, 27.0]
        """
        return _fixed_power(self, exponent)

    powi_scalar = powf_scalar

    def __pow__(self: Tensor[B], exponent: Tensor[B] | float) -> Tensor[B]:  # type: ignore[misc]
        if isinstance(exponent, NUMBERS):
            return _fixed_power(self, exponent)
        return arithmetic.pow(self, exponent)

    def __rpow__(self: Tensor[B], base: float) -> Tensor[B]:  # type: ignore[misc]
        return arithmetic.pow(base, self)

    def __radd__(self: Tensor[B], other: float) -> Tensor[B]:  # type: ignore[misc]
        return arithmetic.add(self, other)

    def __rmul__(self: Tensor[B], other: float) -> Tensor[B]:  # type: ignore[misc]
        return arithmetic.mul(self, other)

    def __rsub__(self: Tensor[B], other: float) -> Tensor[B]:  # type: ignore[misc]
        return arithmetic.sub(other, self)

    def __rtruediv__(self: Tensor[B], other: float) -> Tensor[B]:  # type: ignore[misc]
        return arithmetic.true_div(other, self)

    def __rfloordiv__(self: Tensor[B], other: float) -> Tensor[B]:  # type: ignore[misc]
        return arithmetic.floor_div(other, self)

    def __rmod__(self: Tensor[B], other: float) -> Tensor[B]:  # type: ignore[misc]
        return arithmetic.rem(other, self)

    def __rand__(self: Tensor[B], other: int) -> Tensor[B]:  # type: ignore[misc]
        return logic.bitwise_and(self, other)

    def __ror__(self: Tensor[B], other: int) -> Tensor[B]:  # type: ignore[misc]
        return logic.bitwise_or(self, other)

    def __rxor__(self: Tensor[B], other: int) -> Tensor[B]:  # type: ignore[misc]
        return logic.bitwise_xor(self, other)

    def __rlshift__(self: Tensor[B], other: int) -> Tensor[B]:  # type: ignore[misc]
        return logic.bitwise_left_shift(other, self)

    def __rrshift__(self: Tensor[B], other: int) -> Tensor[B]:  # type: ignore[misc]
        return logic.bitwise_right_shift(other, self)

    def __pos__(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        return self

    def __round__(self: Tensor[B], digits: int | None = None) -> Tensor[B]:  # type: ignore[misc]
        if digits is None:
            return self.round()
        return elementwise.round(self * 10.0**digits) / 10.0**digits

    def __eq__(self: Tensor[B], other: Any) -> Tensor[B]:  # type: ignore[misc, override]
        if hasattr(other, "handle") or isinstance(other, NUMBERS):
            return logic.equal(self, other)
        return NotImplemented

    def __ne__(self: Tensor[B], other: Any) -> Tensor[B]:  # type: ignore[misc, override]
        if hasattr(other, "handle") or isinstance(other, NUMBERS):
            return logic.not_equal(self, other)
        return NotImplemented

    __hash__ = object.__hash__

    def rsub_scalar(self: Tensor[B], other: float) -> Tensor[B]:  # type: ignore[misc]
        """Subtract this tensor from a number.

        >>> burn.tensor([1, 2]).rsub_scalar(10).tolist()
        [9, 8]
        """
        return arithmetic.sub(other, self)

    def float(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """Convert to the device's float dtype (a float tensor stays as it is).

        >>> burn.tensor([1, 2]).float().tolist()
        [1.0, 2.0]
        """
        return self if self.dtype.is_float else self.cast(self.device.float_dtype)

    def int(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """Convert to the device's int dtype, truncating towards zero.

        >>> burn.tensor([1.9, -1.9]).int().tolist()
        [1, -1]
        """
        return self if self.dtype.is_int else self.cast(self.device.int_dtype)

    def bool(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """Tell which elements are not zero.

        >>> burn.tensor([0, 2]).bool().tolist()
        [False, True]
        """
        return self if self.dtype.is_bool else self.cast("bool")

    def to_full_precision(self: Tensor[B]) -> Tensor[B]:  # type: ignore[misc]
        """Convert to f32.

        >>> burn.tensor([1.0], dtype="f16").to_full_precision().dtype
        f32
        """
        return self.cast(f32)

    def from_full_precision(self: Tensor[B], tensor: Tensor[Any]) -> Tensor[B]:  # type: ignore[misc]
        """Convert `tensor` to the dtype of this one.

        >>> burn.tensor([1.0], dtype="f16").from_full_precision(burn.tensor([2.0])).dtype
        f16
        """
        return tensor.cast(self.dtype)


def _fixed_power(x: Any, exponent: Any) -> Tensor[Any]:
    exponent = number(exponent)
    rewritten = _FIXED_POWERS.get(exponent) if x.dtype.is_float and isinstance(exponent, int | float) else None
    found: Tensor[Any] = arithmetic.pow(x, exponent) if rewritten is None else rewritten(x)
    return found


_FIXED_POWERS: dict[Any, Any] = {
    0.5: lambda x: x.sqrt(),
    1.0: lambda x: x,
    2.0: lambda x: x * x,
    3.0: lambda x: x * x * x,
    -1.0: lambda x: x.recip(),
}
