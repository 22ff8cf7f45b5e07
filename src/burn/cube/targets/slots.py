"""The arguments of a compiled kernel: one 8-byte slot per parameter.

`void kernel(void **slots, int64_t first, int64_t last)`: slot `i` is parameter `i`, a pointer for a buffer, an i64 for
a size, and for a scalar its bytes, lowest address first. `first` and `last` bound the outermost grid axis; a kernel
without one runs when 0 is in the range.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from burn.cube.errors import KernelError
from burn.cube.ir import Kernel

Slots = Any


def pack_slots(
    kernel: Kernel, buffers: Sequence[Any], sizes: Sequence[int] = (), scalars: Sequence[float | int] = ()
) -> Slots:
    """Slots for NumPy arrays (or addresses), sizes and scalars, each in the order of its parameters.

    The caller keeps the arrays alive.
    """
    given = {"buffer": list(buffers), "size": list(sizes), "scalar": list(scalars)}
    for kind, values in given.items():
        wanted = sum(each.kind == kind for each in kernel.parameters)
        if wanted != len(values):
            raise KernelError(f"slots: the kernel takes {wanted} {kind}s, not {len(values)}")
    slots = (ctypes.c_uint64 * max(len(kernel.parameters), 1))()
    rest = {kind: iter(values) for kind, values in given.items()}
    for position, parameter in enumerate(kernel.parameters):
        value = next(rest[parameter.kind])
        if parameter.kind == "buffer":
            slots[position] = value if isinstance(value, int) else value.ctypes.data
        elif parameter.kind == "size":
            slots[position] = int(value) & ((1 << 64) - 1)
        else:
            slots[position] = int.from_bytes(parameter.dtype.numpy.type(value).tobytes(), "little")
    return slots


_prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class CompiledKernel:
    """A kernel in memory: its address, and whatever must live as long as it does."""

    __slots__ = ("address", "_function", "_keep")

    def __init__(self, address: int, keep: Any) -> None:
        self.address = address
        self._keep = keep
        self._function = _prototype(address)

    def __call__(self, slots: Slots, first: int, last: int) -> None:
        """Run iterations `first` to `last` of the outermost grid axis. Other Python threads run meanwhile."""
        self._function(ctypes.addressof(slots) if isinstance(slots, ctypes.Array) else slots, first, last)
