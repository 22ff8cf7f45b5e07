"""Tensors made of nothing: filled, counted, uninitialised."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.dtype import dtype as as_dtype
from burn.errors import ArgumentError
from burn.ops.declare import creation
from burn.ops.dispatch import as_element
from burn.ops.op import Op
from burn.ops.sizes import checked_shape
from burn.symbolic import index, is_size

if TYPE_CHECKING:
    from burn.device import Device
    from burn.dtype import DType
    from burn.ops.declare import Operand
    from burn.tensor import Tensor


def _full_rule(op: Op, device: Device, value: Any, shape: Any, dtype: Any) -> Any:
    target = _default_dtype(device, value) if dtype is None else as_dtype(dtype)
    sizes = checked_shape(op.name, shape, target)
    return sizes, target, (as_element(value, target), tuple(sizes), target)


def _default_dtype(device: Device, value: Any) -> DType:
    if isinstance(value, bool | np.bool_):
        return as_dtype("bool")
    return device.int_dtype if isinstance(value, int | np.integer) else device.float_dtype


@creation(rule=_full_rule, reference=lambda value, shape, dtype: np.full(shape, value, dtype.numpy))
def full(value: Operand, shape: Any, dtype: Any = None) -> Tensor[Any]:
    """Fill a shape with one value. Without a dtype the value decides: float, int or bool."""
    ...


def _empty_rule(op: Op, device: Device, shape: Any, dtype: Any) -> Any:
    target = device.float_dtype if dtype is None else as_dtype(dtype)
    sizes = checked_shape(op.name, shape, target)
    return sizes, target, (tuple(sizes), target)


@creation(rule=_empty_rule, reference=lambda shape, dtype: np.zeros(shape, dtype.numpy))
def empty(shape: Any, dtype: Any = None) -> Tensor[Any]:
    """Take memory for a shape without writing to it: the values are whatever was there."""
    ...


def _arange_rule(op: Op, device: Device, start: Any, stop: Any, step: Any, dtype: Any) -> Any:
    whole = all(isinstance(each, np.integer) or is_size(each) for each in (start, stop, step))
    target = (device.int_dtype if whole else device.float_dtype) if dtype is None else as_dtype(dtype)
    if step == 0:
        raise ArgumentError(f"{op.name}: step must not be 0")
    if whole:
        first, last, apart = map(index, (start, stop, step))
        count = max(0, -((first - last) // apart))
    else:
        count = max(0, math.ceil((stop - start) / step))
    return checked_shape(op.name, (count,), target), target, (start, step, count, target)


def _counted_rule(op: Op, device: Device, start: Any, step: Any, count: Any, dtype: DType) -> Any:
    """The rule for what kernels receive: how many there are, and not where they end."""
    if step == 0 or not all(isinstance(each, int | float) for each in (start, step)):
        raise ArgumentError(f"{op.name}: start and step are numbers and step is not 0, got {start!r} and {step!r}")
    return checked_shape(op.name, (count,), dtype), dtype, (start, step, count, dtype)


def _arange(start: Any, step: Any, count: int, dtype: DType) -> Any:
    if isinstance(start, float) or isinstance(step, float):
        return (np.arange(count, dtype=np.float64) * step + start).astype(dtype.numpy)
    return (np.arange(count, dtype=np.int64) * step + start).astype(dtype.numpy)


@creation(rule=_arange_rule, reference=_arange, recorded=_counted_rule)
def arange(start: Operand, stop: Operand, step: Operand = 1, dtype: Any = None) -> Tensor[Any]:
    """Count from `start` up to, but not including, `stop`."""
    ...


def _literal_rule(op: Op, device: Device, data: Any, shape: Any, dtype: Any) -> Any:
    target = as_dtype(dtype)
    sizes = checked_shape(op.name, shape, target)
    if not isinstance(data, bytes) or len(data) != sizes.num_elements() * target.numpy.itemsize:
        needed = sizes.num_elements() * target.numpy.itemsize
        given = len(data) if isinstance(data, bytes) else type(data).__name__
        raise ArgumentError(f"{op.name}: {tuple(sizes)} of {target} is {needed} bytes, got {given}")
    return sizes, target, (data, tuple(sizes), target)


@creation(
    rule=_literal_rule,
    reference=lambda data, shape, dtype: np.frombuffer(data, dtype.numpy).reshape(shape).copy(),
)
def literal(data: bytes, shape: Any, dtype: Any) -> Tensor[Any]:
    """Make a tensor of elements written down in the program: their bytes, in row-major order."""
    ...
