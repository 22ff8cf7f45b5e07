"""The meaning of every pure operation, as NumPy computes it: the definition that targets are tested against."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from burn.cube.errors import KernelError
from burn.cube.ir import Kernel, Operation, walk
from burn.cube.rewrite import rewrite
from burn.cube.rounding import fma
from burn.dtype import DType

Array = Any


def without_fma(kernel: Kernel) -> Kernel:
    """The kernel with fused multiply-adds written out, which NumPy lacks."""
    return rewrite(kernel, {"fma": fma}) if any(each.name == "fma" for each in walk(kernel.body)) else kernel


def compute(operation: Operation, operands: list[Array]) -> Array:
    """The result of a pure operation on NumPy scalars and arrays."""
    name, dtype = operation.name, operation.result.dtype
    if name == "const":
        return dtype.numpy.type(dict(operation.attributes)["value"])
    if name == "cast":
        return cast(operands[0], dtype)
    if name == "bitcast":
        return operands[0].view(dtype.numpy)
    function = FUNCTIONS.get(name)
    if function is None:
        raise KernelError(f"interpret: {name} is not implemented by the interpreter")
    result = function(*operands)
    return result if isinstance(result, np.ndarray | np.generic) and result.dtype == dtype.numpy else _as(result, dtype)


def _as(result: Array, dtype: DType) -> Array:
    return np.asarray(result).astype(dtype.numpy)[()]


def cast(x: Array, dtype: DType) -> Array:
    """The number as another dtype: floats saturate and NaN gives 0 where integers are asked for."""
    if dtype.is_int and x.dtype.kind not in "iub":
        limits = dtype.iinfo()
        wide = np.trunc(x.astype(np.float64))
        inside = (wide >= float(limits.min)) & (wide < float(limits.max) + (1.0 if dtype.bits < 64 else 0.0))
        kept = np.where(inside, wide, 0.0).astype(dtype.numpy)
        low, high = dtype.numpy.type(limits.min), dtype.numpy.type(limits.max)
        beyond = np.where(np.isnan(wide), dtype.numpy.type(0), np.where(wide < 0, low, high))
        return np.where(inside, kept, beyond)[()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return x.astype(dtype.numpy)


def _divide(x: Array, y: Array) -> Array:
    if x.dtype.kind not in "iu":
        return np.divide(x, y)
    safe = np.where(y == 0, np.ones_like(y), y)
    if x.dtype.kind == "u":
        return np.where(y == 0, np.zeros_like(x), x // safe)
    minus = y == -1
    safe = np.where(minus, np.ones_like(y), safe)
    down = np.floor_divide(x, safe)
    quotient = down + ((down * safe != x) & ((x < 0) != (safe < 0)))
    return np.where(y == 0, np.zeros_like(x), np.where(minus, np.negative(x), quotient)).astype(x.dtype)


def _remainder(x: Array, y: Array) -> Array:
    return (x - _divide(x, y) * y) * (y != 0)


def _shift(function: Callable[[Array, Array], Array], left: bool) -> Callable[[Array, Array], Array]:
    def shift(x: Array, y: Array) -> Array:
        inside = (y >= 0) & (y < x.dtype.itemsize * 8)
        beyond = np.zeros_like(x) if left or x.dtype.kind == "u" else np.where(x < 0, -1, 0).astype(x.dtype)
        return np.where(inside, function(x, np.where(inside, y, np.zeros_like(y))), beyond)

    return shift


def _multiply_high(x: Array, y: Array) -> Array:
    """Products of Python's integers, which have no width."""
    bits, dtype = x.dtype.itemsize * 8, x.dtype
    pairs = np.broadcast(x, y)
    upper = [(int(left) * int(right)) >> bits for left, right in pairs]
    return np.array(upper, dtype).reshape(pairs.shape)[()]


def _extreme(better: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    def extreme(x: Array, y: Array) -> Array:
        left: Array = better(x, y) | np.not_equal(x, x)
        return np.where(left, x, y)

    return extreme


FUNCTIONS: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": _divide,
    "rem": _remainder,
    "min": _extreme(np.less),
    "max": _extreme(np.greater),
    "neg": np.negative,
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "rint": np.rint,
    "trunc": np.trunc,
    "sqrt": np.sqrt,
    "mulhi": _multiply_high,
    "ldexp": lambda x, n: np.ldexp(x, np.where(np.isnan(n), 0.0, n).astype(np.int32)),
    "bit_and": np.bitwise_and,
    "bit_or": np.bitwise_or,
    "bit_xor": np.bitwise_xor,
    "bit_not": np.invert,
    "shl": _shift(np.left_shift, left=True),
    "shr": _shift(np.right_shift, left=False),
    "div_unchecked": _divide,
    "rem_unchecked": _remainder,
    "shl_unchecked": np.left_shift,
    "shr_unchecked": np.right_shift,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "isnan": np.isnan,
    "select": np.where,
}
