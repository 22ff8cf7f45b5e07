"""Random tensors. Seed and offset are operands: the row is a function of them, the same on every device."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from burn.dtype import dtype as as_dtype
from burn.errors import ArgumentError, DTypeError
from burn.ops import philox
from burn.ops.declare import creation
from burn.ops.op import Op
from burn.ops.sizes import checked_shape

if TYPE_CHECKING:
    from burn.device import Device
    from burn.ops.declare import Operand
    from burn.tensor import Tensor


def _word(op: Op, name: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{op.name}: {name} must be an int, got {value!r}") from None
    if not 0 <= number < 1 << 64:
        raise ArgumentError(f"{op.name}: {name} must be between 0 and 2**64 - 1, got {number}")
    return number


def _draw(op: Op, device: Device, seed: Any, offset: Any, numbers: tuple[Any, ...], shape: Any, dtype: Any) -> Any:
    """The result and the arguments of a draw with any parameters."""
    target = device.float_dtype if dtype is None else as_dtype(dtype)
    if not target.is_arithmetic:
        raise DTypeError(f"{op.name}: {target} only stores values; draw f32 and convert it")
    sizes = checked_shape(op.name, shape, target)
    arguments = (_word(op, "seed", seed), _word(op, "offset", offset), *map(float, numbers), tuple(sizes), target)
    return sizes, target, arguments


def _uniform_rule(op: Op, device: Device, seed: Any, offset: Any, low: Any, high: Any, shape: Any, dtype: Any) -> Any:
    if low > high:
        raise ArgumentError(f"{op.name}: low is above high: {low} > {high}; exchange them")
    return _draw(op, device, seed, offset, (low, high), shape, dtype)


def _bernoulli_rule(op: Op, device: Device, seed: Any, offset: Any, probability: Any, shape: Any, dtype: Any) -> Any:
    if not 0.0 <= probability <= 1.0:
        raise ArgumentError(f"{op.name}: a probability lies between 0 and 1, got {probability}")
    return _draw(op, device, seed, offset, (probability,), shape, dtype)


def _normal_rule(op: Op, device: Device, seed: Any, offset: Any, mean: Any, std: Any, shape: Any, dtype: Any) -> Any:
    if std < 0.0:
        raise ArgumentError(f"{op.name}: a standard deviation is 0 or more, got {std}")
    return _draw(op, device, seed, offset, (mean, std), shape, dtype)


def _uniform(seed: int, offset: int, low: float, high: float, shape: tuple[int, ...], dtype: Any) -> Any:
    return philox.uniform(seed, offset, math.prod(shape), dtype, low, high).reshape(shape)


def _bernoulli(seed: int, offset: int, probability: float, shape: tuple[int, ...], dtype: Any) -> Any:
    return philox.bernoulli(seed, offset, math.prod(shape), dtype, probability).reshape(shape)


def _normal(seed: int, offset: int, mean: float, std: float, shape: tuple[int, ...], dtype: Any) -> Any:
    return philox.normal(seed, offset, math.prod(shape), dtype, mean, std).reshape(shape)


@creation(rule=_uniform_rule, reference=_uniform)
def random_uniform(
    seed: Operand, offset: Operand, low: Operand, high: Operand, shape: Any, dtype: Any = None
) -> Tensor[Any]:
    """Draw evenly from `low` up to, but not including, `high`. Ints are truncated."""
    ...


@creation(rule=_bernoulli_rule, reference=_bernoulli)
def random_bernoulli(
    seed: Operand, offset: Operand, probability: Operand, shape: Any, dtype: Any = None
) -> Tensor[Any]:
    """Draw 1 with a probability, and 0 otherwise."""
    ...


@creation(rule=_normal_rule, reference=_normal)
def random_normal(
    seed: Operand, offset: Operand, mean: Operand, std: Operand, shape: Any, dtype: Any = None
) -> Tensor[Any]:
    """Draw from the bell curve with a mean and a standard deviation."""
    ...
