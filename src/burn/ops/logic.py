"""Comparisons, truth values and bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from burn.dtype import bool_
from burn.ops import elements
from burn.ops import references as reference
from burn.ops.declare import anything, binary, bitwise, boolean, integral, unary

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor import Tensor

# Comparisons


@binary(dtype=anything, element=lambda b, x, y: b.eq(x, y), reference=np.equal, result=bool_)
def equal(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Tell where two tensors are equal.

    >>> (burn.tensor([1, 2]) == burn.tensor([1, 3])).tolist()
    [True, False]
    """
    ...


@binary(dtype=anything, element=lambda b, x, y: b.ne(x, y), reference=np.not_equal, result=bool_)
def not_equal(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Tell where two tensors differ.

    >>> (burn.tensor([1, 2]) != 1).tolist()
    [False, True]
    """
    ...


@binary(dtype=anything, element=elements.compared("gt"), reference=np.greater, result=bool_)
def greater(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Tell where `x` is greater than `y`.

    >>> (burn.tensor([1, 2, 3]) > 2).tolist()
    [False, False, True]
    """
    ...


@binary(dtype=anything, element=elements.compared("ge"), reference=np.greater_equal, result=bool_)
def greater_equal(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Tell where `x` is greater than `y` or equal to it.

    >>> (burn.tensor([1, 2, 3]) >= 2).tolist()
    [False, True, True]
    """
    ...


@binary(dtype=anything, element=elements.compared("lt"), reference=np.less, result=bool_)
def lower(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Tell where `x` is lower than `y`.

    >>> (burn.tensor([1, 2, 3]) < 2).tolist()
    [True, False, False]
    """
    ...


@binary(dtype=anything, element=elements.compared("le"), reference=np.less_equal, result=bool_)
def lower_equal(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Tell where `x` is lower than `y` or equal to it.

    >>> (burn.tensor([1, 2, 3]) <= 2).tolist()
    [True, True, False]
    """
    ...


# Truth values and bits


@unary(dtype=boolean, element=lambda b, x: b.bit_not(x), reference=np.logical_not)
def bool_not(x: Tensor[B]) -> Tensor[B]:
    """Negate each truth value.

    >>> burn.tensor([True, False]).bool_not().tolist()
    [False, True]
    """
    ...


@binary(dtype=boolean, element=lambda b, x, y: b.bit_and(x, y), reference=np.logical_and)
def bool_and(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Tell where both are true.

    >>> burn.tensor([True, True]).bool_and(burn.tensor([True, False])).tolist()
    [True, False]
    """
    ...


@binary(dtype=boolean, element=lambda b, x, y: b.bit_or(x, y), reference=np.logical_or)
def bool_or(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Tell where either is true.

    >>> burn.tensor([False, False]).bool_or(burn.tensor([True, False])).tolist()
    [True, False]
    """
    ...


@binary(dtype=boolean, element=lambda b, x, y: b.bit_xor(x, y), reference=np.logical_xor)
def bool_xor(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Tell where exactly one is true.

    >>> burn.tensor([True, True]).bool_xor(burn.tensor([True, False])).tolist()
    [False, True]
    """
    ...


@unary(dtype=bitwise, element=lambda b, x: b.bit_not(x), reference=np.invert)
def bitwise_not(x: Tensor[B]) -> Tensor[B]:
    """Flip every bit (the truth value of a bool).

    >>> (~burn.tensor([0, 5])).tolist(), (~burn.tensor([True, False])).tolist()
    ([-1, -6], [False, True])
    """
    ...


@binary(dtype=bitwise, element=lambda b, x, y: b.bit_and(x, y), reference=np.bitwise_and)
def bitwise_and(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Keep the bits that both have.

    >>> (burn.tensor([12, 10]) & 6).tolist()
    [4, 2]
    """
    ...


@binary(dtype=bitwise, element=lambda b, x, y: b.bit_or(x, y), reference=np.bitwise_or)
def bitwise_or(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Keep the bits that either has.

    >>> (burn.tensor([12, 10]) | 6).tolist()
    [14, 14]
    """
    ...


@binary(dtype=bitwise, element=lambda b, x, y: b.bit_xor(x, y), reference=np.bitwise_xor)
def bitwise_xor(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Keep the bits that exactly one has.

    >>> (burn.tensor([12, 10]) ^ 6).tolist()
    [10, 12]
    """
    ...


@binary(dtype=integral, element=lambda b, x, y: b.shl(x, y), reference=reference.left_shift)
def bitwise_left_shift(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Shift the bits left; a shift by the width or more gives 0.

    >>> (burn.tensor([1, 3]) << 2).tolist()
    [4, 12]
    """
    ...


@binary(dtype=integral, element=lambda b, x, y: b.shr(x, y), reference=reference.right_shift)
def bitwise_right_shift(x: Tensor[B], y: Tensor[B] | float) -> Tensor[B]:
    """Shift the bits right, keeping the sign; a shift by the width or more gives 0, or -1 for negatives.

    >>> (burn.tensor([8, -8]) >> 2).tolist()
    [2, -2]
    """
    ...
