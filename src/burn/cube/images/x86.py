"""Relocations of x86-64, and the jump that reaches what is elsewhere.

Kernels have distances to their constants (PC32). The plan runner is compiled for any distance: its code takes the
address of the table and adds to it (GOTPC64, GOTOFF64, GOT64).
"""

from __future__ import annotations

import struct

from burn.cube.images.relocations import Array, Rule, Wanted, distance, nothing, put, within


def _from_table(contents: Array, places: Array, targets: Array, table: int) -> None:
    put(contents, places, within(targets - table, 63), "<i8")


RULES = {
    1: Rule(Wanted.POINTER, 8, nothing),  # 64
    2: Rule(Wanted.PLACE, 4, distance("<i4", 32)),  # PC32
    4: Rule(Wanted.CALL, 4, distance("<i4", 32)),  # PLT32
    9: Rule(Wanted.SLOT, 4, distance("<i4", 32)),  # GOTPCREL
    24: Rule(Wanted.PLACE, 8, distance("<i8", 63)),  # PC64
    25: Rule(Wanted.PLACE, 8, _from_table),  # GOTOFF64
    26: Rule(Wanted.TABLE, 4, distance("<i4", 32)),  # GOTPC32
    27: Rule(Wanted.SLOT, 8, _from_table),  # GOT64
    29: Rule(Wanted.TABLE, 8, distance("<i8", 63)),  # GOTPC64
    31: Rule(Wanted.CALL, 8, _from_table),  # PLTOFF64
    41: Rule(Wanted.SLOT, 4, distance("<i4", 32)),  # GOTPCRELX
    42: Rule(Wanted.SLOT, 4, distance("<i4", 32)),  # REX_GOTPCRELX
}

JUMP_BYTES = 16


def jump(place: int, slot: int) -> bytes:
    """Code at `place` that goes on at the address in `slot`: jmp *(slot - next)(%rip)."""
    return (b"\xff\x25" + struct.pack("<i", slot - place - 6)).ljust(JUMP_BYTES, b"\xcc")
