"""One builder method per elementary operation, and the small compositions everybody needs.

Floats: `min` and `max` give NaN where either side is NaN (and the right one of equal values); `rem` has the sign
of the dividend, and is exact; `rint` rounds halves to even. Integers: arithmetic wraps; `x / 0` and `x % 0` are
0; a shift by the width or more gives 0, or -1 for `>>` of a negative number. `cast` from float to integer
truncates and saturates, and NaN gives 0.
"""

from __future__ import annotations

import math

from burn.cube.ir import Operand, Value
from burn.cube.recorder import Recorder
from burn.dtype import DType, bool_, i32, i64, u32, u64


class Elementary(Recorder):
    """Operations on values, without memory or control."""

    def _binary(self, name: str, x: Operand, y: Operand) -> Value:
        return self._pure(name, self._lift_all(name, (x, y)))

    # Arithmetic

    def add(self, x: Operand, y: Operand) -> Value:
        """x + y."""
        return self._binary("add", x, y)

    def sub(self, x: Operand, y: Operand) -> Value:
        """x - y."""
        return self._binary("sub", x, y)

    def mul(self, x: Operand, y: Operand) -> Value:
        """x * y."""
        return self._binary("mul", x, y)

    def div(self, x: Operand, y: Operand) -> Value:
        """x / y; integers truncate towards zero."""
        return self._binary("div", x, y)

    def rem(self, x: Operand, y: Operand) -> Value:
        """The remainder with the sign of x."""
        return self._binary("rem", x, y)

    def floor_div(self, x: Operand, y: Operand) -> Value:
        """x / y rounded down."""
        x, y = self._lift_all("floor_div", (x, y))
        rest, quotient = self.rem(x, y), self.div(x, y)
        if x.dtype.is_float:
            return self._floor_div_float(x, y, rest, quotient)
        if x.dtype.is_uint:
            return quotient
        wrong = self.ne(rest, 0) & ((rest ^ y) < 0)
        return quotient - self.cast(wrong, x.dtype)

    def _floor_div_float(self, x: Value, y: Value, rest: Value, quotient: Value) -> Value:
        whole = self.div(x - rest, y)
        whole = self.select(self.ne(rest, 0.0) & self.ne(rest < 0.0, y < 0.0), whole - 1.0, whole)
        down = self.floor(whole)
        down = self.select(whole - down > 0.5, down + 1.0, down)
        down = self.select(self.eq(whole, 0.0), self.copysign(whole, quotient), down)
        return self.select(self.eq(y, 0.0), quotient, down)

    def floor_rem(self, x: Operand, y: Operand) -> Value:
        """The remainder with the sign of y."""
        x, y = self._lift_all("floor_rem", (x, y))
        rest = self.rem(x, y)
        if x.dtype.is_uint:
            return rest
        if x.dtype.is_float:
            moved = self.select(self.ne(rest, 0.0) & self.ne(rest < 0.0, y < 0.0), rest + y, rest)
            return self.select(self.eq(rest, 0.0), self.copysign(rest, y), moved)
        return self.select(self.ne(rest, 0) & ((rest ^ y) < 0), rest + y, rest)

    def min(self, x: Operand, y: Operand) -> Value:
        """The smaller of two."""
        return self._binary("min", x, y)

    def max(self, x: Operand, y: Operand) -> Value:
        """The greater of two."""
        return self._binary("max", x, y)

    def neg(self, x: Value) -> Value:
        """-x."""
        return self._pure("neg", (x,))

    def abs(self, x: Value) -> Value:
        """|x|; the lowest integer stays as it is."""
        return self._pure("abs", (x,))

    def fma(self, x: Operand, y: Operand, z: Operand) -> Value:
        """x * y + z, rounded once."""
        return self._pure("fma", self._lift_all("fma", (x, y, z)))

    def ldexp(self, x: Operand, n: Operand) -> Value:
        """x times 2ⁿ, rounded once; n is a whole number in the dtype of x, below 250 (f32) or 2000 (f64) in size."""
        return self._binary("ldexp", x, n)

    def mulhi(self, x: Operand, y: Operand) -> Value:
        """The upper half of the product of two integers of 32 or 64 bits."""
        return self._binary("mulhi", x, y)

    def floor(self, x: Value) -> Value:
        """Round down."""
        return self._pure("floor", (x,))

    def ceil(self, x: Value) -> Value:
        """Round up."""
        return self._pure("ceil", (x,))

    def rint(self, x: Value) -> Value:
        """Round to the nearest integer, halves to the even one."""
        return self._pure("rint", (x,))

    def trunc(self, x: Value) -> Value:
        """Round towards zero."""
        return self._pure("trunc", (x,))

    def sqrt(self, x: Value) -> Value:
        """The square root, correctly rounded."""
        return self._pure("sqrt", (x,))

    # Mathematics

    def exp(self, x: Value) -> Value:
        """e to the power x."""
        return self._pure("exp", (x,))

    def exp2(self, x: Value) -> Value:
        """2 to the power x."""
        return self._pure("exp2", (x,))

    def expm1(self, x: Value) -> Value:
        """exp(x) - 1, accurate near 0."""
        return self._pure("expm1", (x,))

    def log(self, x: Value) -> Value:
        """The natural logarithm."""
        return self._pure("log", (x,))

    def log2(self, x: Value) -> Value:
        """The logarithm to base 2."""
        return self._pure("log2", (x,))

    def log1p(self, x: Value) -> Value:
        """log(1 + x), accurate near 0."""
        return self._pure("log1p", (x,))

    def tanh(self, x: Value) -> Value:
        """The hyperbolic tangent."""
        return self._pure("tanh", (x,))

    def erf(self, x: Value) -> Value:
        """The error function."""
        return self._pure("erf", (x,))

    def sin(self, x: Value) -> Value:
        """The sine."""
        return self._pure("sin", (x,))

    def cos(self, x: Value) -> Value:
        """The cosine."""
        return self._pure("cos", (x,))

    def tan(self, x: Value) -> Value:
        """The tangent."""
        return self._pure("tan", (x,))

    def sinh(self, x: Value) -> Value:
        """The hyperbolic sine."""
        return self._pure("sinh", (x,))

    def cosh(self, x: Value) -> Value:
        """The hyperbolic cosine."""
        return self._pure("cosh", (x,))

    def asin(self, x: Value) -> Value:
        """The inverse sine."""
        return self._pure("asin", (x,))

    def acos(self, x: Value) -> Value:
        """The inverse cosine."""
        return self._pure("acos", (x,))

    def atan(self, x: Value) -> Value:
        """The inverse tangent."""
        return self._pure("atan", (x,))

    def asinh(self, x: Value) -> Value:
        """The inverse hyperbolic sine."""
        return self._pure("asinh", (x,))

    def acosh(self, x: Value) -> Value:
        """The inverse hyperbolic cosine."""
        return self._pure("acosh", (x,))

    def atanh(self, x: Value) -> Value:
        """The inverse hyperbolic tangent."""
        return self._pure("atanh", (x,))

    def pow(self, x: Operand, y: Operand) -> Value:
        """x to the power y."""
        return self._binary("pow", x, y)

    def atan2(self, y: Operand, x: Operand) -> Value:
        """The angle of the point (x, y)."""
        return self._binary("atan2", y, x)

    # Comparisons, truth and bits

    def lt(self, x: Operand, y: Operand) -> Value:
        """x < y."""
        return self._binary("lt", x, y)

    def le(self, x: Operand, y: Operand) -> Value:
        """x <= y."""
        return self._binary("le", x, y)

    def gt(self, x: Operand, y: Operand) -> Value:
        """x > y."""
        return self._binary("gt", x, y)

    def ge(self, x: Operand, y: Operand) -> Value:
        """x >= y."""
        return self._binary("ge", x, y)

    def eq(self, x: Operand, y: Operand) -> Value:
        """x = y."""
        return self._binary("eq", x, y)

    def ne(self, x: Operand, y: Operand) -> Value:
        """x ≠ y."""
        return self._binary("ne", x, y)

    def isnan(self, x: Value) -> Value:
        """Whether x is NaN."""
        return self._pure("isnan", (x,))

    def isinf(self, x: Value) -> Value:
        """Whether x is infinite."""
        return self.eq(self.abs(x), math.inf)

    def select(self, condition: Value, x: Operand, y: Operand) -> Value:
        """x where the condition holds, else y; both are computed."""
        x, y = self._lift_all("select", (x, y))
        return self._pure("select", (condition, x, y))

    def bit_and(self, x: Operand, y: Operand) -> Value:
        """x & y."""
        return self._binary("bit_and", x, y)

    def bit_or(self, x: Operand, y: Operand) -> Value:
        """x | y."""
        return self._binary("bit_or", x, y)

    def bit_xor(self, x: Operand, y: Operand) -> Value:
        """x ^ y."""
        return self._binary("bit_xor", x, y)

    def bit_not(self, x: Value) -> Value:
        """~x; the negation of a bool."""
        return self._pure("bit_not", (x,))

    def shl(self, x: Operand, y: Operand) -> Value:
        """x << y."""
        return self._binary("shl", x, y)

    def shr(self, x: Operand, y: Operand) -> Value:
        """x >> y, which copies the sign of signed integers."""
        return self._binary("shr", x, y)

    # Dtypes

    def cast(self, x: Value, dtype: DType) -> Value:
        """The number as another dtype."""
        return x if x.dtype is dtype else self._pure("cast", (x,), dtype=dtype)

    def bitcast(self, x: Value, dtype: DType) -> Value:
        """The bits as another dtype of the same size."""
        return x if x.dtype is dtype else self._pure("bitcast", (x,), dtype=dtype)

    # Compositions

    def sigmoid(self, x: Value) -> Value:
        """1 / (1 + exp(-x))."""
        return self.div(1.0, self.exp(-x) + 1.0)

    def sign(self, x: Value) -> Value:
        """-1, 0 or 1; NaN stays."""
        positive, negative = self.cast(x > 0, x.dtype), self.cast(x < 0, x.dtype)
        return self.select(self.isnan(x), x, positive - negative) if x.dtype.is_float else positive - negative

    def copysign(self, x: Value, y: Value) -> Value:
        """|x| with the sign bit of y."""
        bits = u32 if x.dtype.bits == 32 else u64
        sign = 1 << (x.dtype.bits - 1)
        joined = (self.bitcast(x, bits) & (sign - 1)) | (self.bitcast(y, bits) & sign)
        return self.bitcast(joined, x.dtype)

    def clamp(self, x: Value, low: Operand | None, high: Operand | None) -> Value:
        """x held between two ends; NaN stays."""
        x = x if low is None else self.max(x, low)
        return x if high is None else self.min(x, high)

    def sign_bit(self, x: Value) -> Value:
        """Whether the sign bit of a float is set, for -0.0 too."""
        return self.bitcast(x, i32 if x.dtype.bits == 32 else i64) < 0

    def true(self) -> Value:
        """The constant true."""
        return self.const(bool_, True)
