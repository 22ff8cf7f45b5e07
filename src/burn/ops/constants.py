"""Constants: arrays computed on the host that a composite needs on a device.

Weights of a resampling, index tables, divisors of windows: what depends on shapes and attributes
alone is computed with NumPy and written into the program, so that a captured one holds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from burn.ops import creation
from burn.ops.creation import literal

if TYPE_CHECKING:
    from burn.device import Device
    from burn.dtype import DType
    from burn.tensor import Tensor


def constant(array: Any, dtype: DType, device: Device) -> Tensor[Any]:
    """A tensor with the values of `array`."""
    values = np.asarray(array, dtype.numpy)
    return literal(values.tobytes(), values.shape, dtype, device=device)


def arange(start: Any, stop: Any, step: Any, dtype: DType, device: Device) -> Tensor[Any]:
    """A tensor that counts from `start` up to, but not including, `stop`."""
    return creation.arange(start, stop, step, dtype, device=device)


def along(array: Any, dim: int, rank: int, dtype: DType, device: Device) -> Tensor[Any]:
    """A tensor of one dim's values, shaped to broadcast along `dim` of a tensor of `rank` dims."""
    values = np.asarray(array)
    return constant(values.reshape((values.size,) + (1,) * (rank - 1 - dim)), dtype, device)


def indices(array: Any, device: Device) -> Tensor[Any]:
    """A tensor of index values in the device's int dtype."""
    return constant(array, device.int_dtype, device)
