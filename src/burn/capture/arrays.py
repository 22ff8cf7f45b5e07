"""NumPy arrays in the place of tensors: what `Compiled.numpy` takes and gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from burn.device import Device
from burn.tensor import Tensor
from burn.tensor.methods.creation import tensor


def as_tensors(value: Any, device: Device) -> Any:
    """The same lists, tuples and dicts with a tensor of `device` for each array."""
    return _mapped(lambda each: tensor(each, device=device) if isinstance(each, np.ndarray) else each, value)


def as_arrays(value: Any) -> Any:
    """The same lists, tuples and dicts with an array for each tensor."""
    return _mapped(lambda each: each.numpy() if isinstance(each, Tensor) else each, value)


def holds_arrays(value: Any) -> bool:
    """Whether an array is among the members of lists, tuples and dicts."""
    if isinstance(value, list | tuple):
        return any(map(holds_arrays, value))
    return any(map(holds_arrays, value.values())) if isinstance(value, dict) else isinstance(value, np.ndarray)


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    kind = type(value)
    if kind is list or kind is tuple:
        return kind([_mapped(function, each) for each in value])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return kind(*[_mapped(function, each) for each in value])
    if kind is dict:
        return {key: _mapped(function, each) for key, each in value.items()}
    return function(value)
