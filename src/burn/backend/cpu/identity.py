"""Which processor this is: all that LLVM looks at to describe it, so that its description can be kept.

On x86-64 that is what the CPUID instruction says. The system's own list will not do, since an emulator shows that of
the machine below it. On 64-bit ARM LLVM reads the system's list, and so do we.
"""

from __future__ import annotations

import ctypes
import platform
import struct
from functools import cache

from burn.backend.cpu.listed import described
from burn.backend.cpu.native import assemble, load
from burn.cube.images import is_supported

_ASKING = """
define void @ask(i32 %leaf, i32 %part, ptr %out) nounwind {
  %found = call { i32, i32, i32, i32 } asm sideeffect "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx}"(i32 %leaf, i32 %part)
  %a = extractvalue { i32, i32, i32, i32 } %found, 0
  %b = extractvalue { i32, i32, i32, i32 } %found, 1
  %c = extractvalue { i32, i32, i32, i32 } %found, 2
  %d = extractvalue { i32, i32, i32, i32 } %found, 3
  %bp = getelementptr i32, ptr %out, i64 1
  %cp = getelementptr i32, ptr %out, i64 2
  %dp = getelementptr i32, ptr %out, i64 3
  store i32 %a, ptr %out, align 4
  store i32 %b, ptr %bp, align 4
  store i32 %c, ptr %cp, align 4
  store i32 %d, ptr %dp, align 4
  ret void
}

define void @saved(ptr %out) nounwind {
  %found = call { i32, i32 } asm sideeffect "xgetbv", "={ax},={dx},{cx}"(i32 0)
  %a = extractvalue { i32, i32 } %found, 0
  %d = extractvalue { i32, i32 } %found, 1
  %dp = getelementptr i32, ptr %out, i64 1
  store i32 %a, ptr %out, align 4
  store i32 %d, ptr %dp, align 4
  ret void
}
"""

_ALL = (0, 1, 2, 3)
_LEAVES = (
    (0x1, 0, (0, 2, 3)), (0x7, 0, _ALL), (0x7, 1, _ALL), (0x7, 2, _ALL), (0xD, 1, (0,)), (0x14, 0, (1, 2)),
    (0x19, 0, (1,)), (0x1E, 1, _ALL), (0x21, 0, (0,)), (0x24, 0, _ALL), (0x29, 0, (1,)),
    (0x80000001, 0, _ALL), (0x80000002, 0, _ALL), (0x80000003, 0, _ALL), (0x80000004, 0, _ALL),
    (0x80000008, 0, (1,)), (0x80000021, 0, (0,)),
)  # fmt: skip
"""Leaf, part and registers: without those that tell cores of one processor apart."""

_OSXSAVE = 1 << 27


@cache
def identity() -> str:
    """What tells this processor from those that LLVM describes in other words; empty where nobody can tell."""
    if not is_supported():
        return ""
    if platform.machine() != "x86_64":
        return "\n".join(sorted(described("CPU implementer", "CPU variant", "CPU part", "CPU revision", "Features")))
    addresses = load(assemble(_ASKING, "identity"), ["ask", "saved"]).addresses
    ask = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)(addresses["ask"])
    found = ctypes.create_string_buffer(16)

    def registers(leaf: int, part: int) -> tuple[int, ...]:
        ask(leaf, part, ctypes.addressof(found))
        return struct.unpack("<4I", found.raw)

    first, extended = registers(0, 0), registers(0x80000000, 0)
    words = [f"{first} {extended}"]
    for leaf, part, kept in _LEAVES:
        if leaf <= (extended[0] if leaf >> 31 else first[0]):
            all_four = registers(leaf, part)
            words.append(f"{leaf:x}.{part}: {[all_four[each] for each in kept]}")
            if leaf == 1 and all_four[2] & _OSXSAVE:
                ctypes.CFUNCTYPE(None, ctypes.c_void_p)(addresses["saved"])(ctypes.addressof(found))
                words.append(f"saved: {struct.unpack('<2I', found.raw[:8])}")
    return "\n".join(words)
