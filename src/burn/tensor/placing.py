"""Where a new tensor goes: the device, dtype and shape that were asked for, as users write them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from burn.device import Device
from burn.device import given_device as device_of
from burn.dtype import DType
from burn.errors import ArgumentError, shown
from burn.guesses import not_a_device
from burn.shape import Shape, as_shape


def _is_size(value: Any) -> bool:
    if value.__class__ is int:
        return True
    if isinstance(value, DType | str) or hasattr(value, "handle") or isinstance(value, np.ndarray):
        return False
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def split(operation: str, values: tuple[Any, ...], device: Any, dtype: Any) -> tuple[tuple[Any, ...], Any, Any]:
    """Positional arguments as what comes first, a device, and a dtype: the last two may also stand by name."""
    count = len(values)
    after_device = count > 2 and (values[-2] is None or isinstance(values[-2], Device))
    if after_device and dtype is None and isinstance(values[-1], str | type | np.dtype):
        dtype, count = values[-1], count - 1
        values = values[:count]
    while count and (isinstance(values[count - 1], Device | DType) or (count > 1 and values[count - 1] is None)):
        count -= 1
    rest = values[count:]
    if len(rest) > 2 or (len(rest) == 2 and isinstance(rest[0], DType)):
        raise ArgumentError(f"{operation}: takes one device and then one dtype, got {', '.join(map(shown, rest))}")
    for each in rest:
        if isinstance(each, DType):
            if dtype is not None:
                raise ArgumentError(f"{operation}: the dtype is given twice, as {each} and {dtype}")
            dtype = each
        elif each is not None:
            if device is not None:
                raise ArgumentError(f"{operation}: the device is given twice, as {each!r} and {device!r}")
            device = each
    return values[:count], device, dtype


def sized(operation: str, values: tuple[Any, ...], device: Any, dtype: Any) -> tuple[Shape, Any, Any]:
    """A shape (one sequence, or numbers), the device and the dtype of a new tensor.

    `zeros([2, 3])`, `zeros(2, 3)`, `zeros([2, 3], device)`, `zeros([2, 3], device, dtype)`.
    """
    if len(values) == 1 and values[0].__class__ in (list, tuple, Shape, int):
        return as_shape(operation, values[0]), device_of(operation, device), dtype
    sizes, device, dtype = split(operation, values, device, dtype)
    if not sizes:
        raise ArgumentError(f"{operation}: needs a shape; write {operation}([2, 3]) or {operation}(2, 3)")
    if len(sizes) == 1:
        return as_shape(operation, sizes[0]), device_of(operation, device), dtype
    if all(map(_is_size, sizes)):
        return as_shape(operation, sizes), device_of(operation, device), dtype
    if not _is_size(sizes[0]) and len(sizes) == 2:
        raise not_a_device(operation, sizes[1])
    if all(map(_is_size, sizes[:-1])):
        raise not_a_device(operation, sizes[-1])
    raise ArgumentError(
        f"{operation}: takes a shape, a device and a dtype, got {', '.join(map(shown, values))}; "
        f"write {operation}((2, 3), device=..., dtype=...)"
    )


def with_gradient(device: Any, required: Any) -> Any:
    """The device of a tensor that is made with `requires_grad`: one that records a graph, if it is required."""
    return device.autodiff() if required else device


__all__ = ["device_of", "not_a_device", "sized", "split", "with_gradient"]
