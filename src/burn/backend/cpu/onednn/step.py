"""Steps: a shared primitive with the buffers of one plan instance.

A native runner needs a function and its arguments: `address` and `arguments` are exactly a call of
`dnnl_primitive_execute`. Another buffer for a role is one more native call (`rebinding`) or `rebind` from
Python; neither looks at the primitive. A step belongs to one plan instance: two threads that run the same
plan at once each have steps, buffers and scratchpad of their own and share the primitives.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from ctypes import c_void_p
from typing import Any

import numpy as np

from burn.backend.cpu.onednn.library import Argument, Library
from burn.backend.cpu.onednn.primitive import Primitive
from burn.errors import ArgumentError

ALIGNMENT = 64


class Step:
    """One call of one primitive. Pointers are addresses; the caller keeps the buffers alive."""

    __slots__ = ("primitive", "address", "arguments", "unbound", "_library", "_memories", "_array", "_scratchpad")

    primitive: Primitive
    address: int  # of dnnl_primitive_execute
    arguments: tuple[int, int, int, int]  # primitive, stream, number of arguments, their array
    unbound: set[str]  # roles without a pointer: the step must not run before it is empty

    def __init__(self, library: Library, primitive: Primitive, pointers: Mapping[str, int]) -> None:
        self._library, self.primitive, self._memories = library, primitive, {}
        self._scratchpad: Any = None
        roles = [*primitive.layouts, *(("scratchpad",) if primitive.scratchpad else ())]
        self._array = (Argument * len(roles))()
        for slot, role in zip(self._array, roles):
            memory = library.make("dnnl_memory_create", self._descriptor(role), library.engine, None)
            self._memories[role] = slot.memory = memory
            slot.index = primitive.indices[role]
        self.unbound = set(roles)
        self.address = library.address("dnnl_primitive_execute")
        self.arguments = (primitive.handle(), library.stream, len(roles), ctypes.addressof(self._array))
        for role, pointer in pointers.items():
            self.rebind(role, pointer)

    def _descriptor(self, role: str) -> int:
        if role != "scratchpad":
            return self.primitive.layouts[role].handle(self._library)
        found: int = self._library.native.dnnl_primitive_desc_query_md(self.primitive.descriptor, 255, 80)
        return found

    def memory(self, role: str) -> int:
        """The `dnnl_memory_t` that stands for a role."""
        try:
            return self._memories[role]
        except KeyError:
            known = ", ".join(self._memories)
            raise ArgumentError(
                f"{self.primitive.operation}: there is no buffer {role!r}; its buffers are {known}"
            ) from None

    def rebind(self, role: str, pointer: int) -> None:
        """Use the buffer at `pointer` for this role from the next run on."""
        self._library.set_data_handle(self.memory(role), pointer)
        self.unbound.discard(role)

    def rebinding(self, role: str, pointer: int) -> tuple[int, tuple[int, int]]:
        """The native call (address, arguments) that does what `rebind` does; counts as bound from now on."""
        arguments = (self.memory(role), pointer)
        self.unbound.discard(role)
        return self._library.address("dnnl_memory_set_data_handle"), arguments

    def run(self) -> None:
        """Run now, in the calling thread, without the GIL."""
        if self.unbound:
            self._bind_scratchpad()
        library, threads = self._library, self.primitive.threads
        if library.threads() == threads:
            status = library.execute(*self.arguments)
        else:
            with library.limited_to(threads):
                status = library.execute(*self.arguments)
        library.check(status, self.primitive.operation)

    def _bind_scratchpad(self) -> None:
        missing = sorted(self.unbound - {"scratchpad"})
        if missing:
            raise ArgumentError(
                f"{self.primitive.operation}: no pointer for {', '.join(missing)}; "
                f"write step.rebind({missing[0]!r}, pointer) before running"
            )
        self._scratchpad = np.empty(self.primitive.scratchpad + ALIGNMENT, np.uint8)
        start = self._scratchpad.ctypes.data
        self.rebind("scratchpad", start + -start % ALIGNMENT)

    def __del__(self) -> None:
        for memory in getattr(self, "_memories", {}).values():
            self._library.native.dnnl_memory_destroy(c_void_p(memory))
