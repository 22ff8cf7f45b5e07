"""What the mathematical expansions are written with: a builder, and the choice between fused and plain products.

Targets with a fused multiply-add get it in polynomials and reductions; the others get a product and a sum. Both
keep the stated errors. Expansions choose with `select`, never by a branch, except where a rare case is dear.
"""

from __future__ import annotations

from collections.abc import Sequence

from burn.cube.builder import KernelBuilder
from burn.cube.ir import Operand, Value
from burn.dtype import DType, f32, i32, i64, u32, u64

ROUND = {32: 1.5 * 2.0**23, 64: 1.5 * 2.0**52}
"""Added to a small number, it rounds it to an integer and leaves that integer in the low bits."""

FRACTION = {32: 23, 64: 52}
BIAS = {32: 127, 64: 1023}


class Writer:
    """A builder for one dtype's worth of mathematics."""

    def __init__(self, builder: KernelBuilder, fused: bool) -> None:
        self.b = builder
        self.fused = fused

    def signed(self, x: Value) -> DType:
        """The signed integers as wide as a float."""
        return i32 if x.dtype is f32 else i64

    def unsigned(self, x: Value) -> DType:
        """The unsigned integers as wide as a float."""
        return u32 if x.dtype is f32 else u64

    def multiply_add(self, x: Operand, y: Operand, z: Operand) -> Value:
        """x * y + z, fused where the target is."""
        if self.fused:
            return self.b.fma(x, y, z)
        return self.b.add(self.b.mul(x, y), z)

    def polynomial(self, x: Value, coefficients: Sequence[Operand]) -> Value:
        """A polynomial by Horner's rule, highest power first."""
        result: Operand = coefficients[0]
        for each in coefficients[1:]:
            result = self.multiply_add(result, x, each)
        assert isinstance(result, Value)
        return result

    def shift_left(self, x: Value, count: int) -> Value:
        """x << count, for a constant count inside the width."""
        return self.b._pure("shl_unchecked", (x, self.b.const(x.dtype, count)))

    def shift_right(self, x: Value, count: int) -> Value:
        """x >> count, for a constant count inside the width."""
        return self.b._pure("shr_unchecked", (x, self.b.const(x.dtype, count)))

    def nearest(self, x: Value, factor: float) -> tuple[Value, Value]:
        """The integer nearest to x * factor, as a float and in the low bits of a signed integer.

        The bits are those of a number near `ROUND`; adding to their top or masking their bottom uses them.
        """
        magic = ROUND[x.dtype.bits]
        shifted = self.multiply_add(x, factor, magic)
        return shifted - magic, self.b.bitcast(shifted, self.signed(x))

    def power_of_two(self, bits: Value, dtype: DType) -> Value:
        """2 to the power held in the low bits of an integer; the exponent must be that of a normal number."""
        fraction = FRACTION[dtype.bits]
        return self.b.bitcast(self.shift_left(bits + BIAS[dtype.bits], fraction), dtype)

    def at_least(self, x: Value, low: float) -> Value:
        """x, or `low` where x is below it; NaN stays."""
        return self.b.select(x < low, low, x)

    def at_most(self, x: Value, high: float) -> Value:
        """x, or `high` where x is above it; NaN stays."""
        return self.b.select(x > high, high, x)

    def keep_zero(self, x: Value, result: Value) -> Value:
        """The result of an odd function, whose zeros keep their sign."""
        return self.b.select(self.b.eq(x, 0.0), x, result)
