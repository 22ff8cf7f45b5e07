"""Relocations of 64-bit ARM, and the jump that reaches what is elsewhere.

Addresses are made of a page (ADRP, 4096 bytes) and the place in it, and an image begins at a page, so offsets in the
image give the same bits as addresses do.
"""

from __future__ import annotations

import struct

import numpy as np

from burn.cube.images.image import Unlinkable
from burn.cube.images.relocations import Array, Rule, Wanted, Write, distance, nothing, put, within, words_at


def _branch(bits: int, shift: int) -> Write:
    """A distance in instructions, in `bits` from bit `shift` on."""

    def write(contents: Array, places: Array, targets: Array, table: int) -> None:
        far = within(targets - places, bits + 2)
        if (far & 3).any():
            raise Unlinkable("object: a branch between instructions")
        _fill(contents, places, far >> 2, bits, shift)

    return write


def _page(contents: Array, places: Array, targets: Array, table: int) -> None:
    _address(contents, places, within((targets >> 12) - (places >> 12), 21))


def _near(contents: Array, places: Array, targets: Array, table: int) -> None:
    _address(contents, places, within(targets - places, 21))


def _address(contents: Array, places: Array, values: Array) -> None:
    """The 21 bits of ADR and ADRP: the lowest two at bit 29, the others at bit 5."""
    words = words_at(contents, places) & ~((3 << 29) | (0x7FFFF << 5))
    put(contents, places, words | (values & 3) << 29 | (values >> 2 & 0x7FFFF) << 5, "<u4")


def _in_page(scale: int) -> Write:
    """The place in its page, in units of 2 ** `scale` bytes, at bit 10."""

    def write(contents: Array, places: Array, targets: Array, table: int) -> None:
        low = targets & 0xFFF
        if (low & ((1 << scale) - 1)).any():
            raise Unlinkable("object: an access between its units")
        _fill(contents, places, low >> scale, 12, 10)

    return write


def _fill(contents: Array, places: Array, values: Array, bits: int, shift: int) -> None:
    mask = (1 << bits) - 1
    put(contents, places, words_at(contents, places) & ~np.int64(mask << shift) | (values & mask) << shift, "<u4")


RULES = {
    257: Rule(Wanted.POINTER, 8, nothing),  # ABS64
    260: Rule(Wanted.PLACE, 8, distance("<i8", 63)),  # PREL64
    261: Rule(Wanted.PLACE, 4, distance("<i4", 32)),  # PREL32
    273: Rule(Wanted.PLACE, 4, _branch(19, 5)),  # LD_PREL_LO19
    274: Rule(Wanted.PLACE, 4, _near),  # ADR_PREL_LO21
    275: Rule(Wanted.PLACE, 4, _page),  # ADR_PREL_PG_HI21
    277: Rule(Wanted.PLACE, 4, _in_page(0)),  # ADD_ABS_LO12_NC
    278: Rule(Wanted.PLACE, 4, _in_page(0)),  # LDST8_ABS_LO12_NC
    279: Rule(Wanted.PLACE, 4, _branch(14, 5)),  # TSTBR14
    280: Rule(Wanted.PLACE, 4, _branch(19, 5)),  # CONDBR19
    282: Rule(Wanted.CALL, 4, _branch(26, 0)),  # JUMP26
    283: Rule(Wanted.CALL, 4, _branch(26, 0)),  # CALL26
    284: Rule(Wanted.PLACE, 4, _in_page(1)),  # LDST16_ABS_LO12_NC
    285: Rule(Wanted.PLACE, 4, _in_page(2)),  # LDST32_ABS_LO12_NC
    286: Rule(Wanted.PLACE, 4, _in_page(3)),  # LDST64_ABS_LO12_NC
    299: Rule(Wanted.PLACE, 4, _in_page(4)),  # LDST128_ABS_LO12_NC
    311: Rule(Wanted.SLOT, 4, _page),  # ADR_GOT_PAGE
    312: Rule(Wanted.SLOT, 4, _in_page(3)),  # LD64_GOT_LO12_NC
    314: Rule(Wanted.CALL, 4, distance("<i4", 32)),  # PLT32
}

JUMP_BYTES = 16


def jump(place: int, slot: int) -> bytes:
    """Code at `place` that goes on at the address in `slot`: adrp x16; ldr x16, [x16, ...]; br x16; brk."""
    pages = (slot >> 12) - (place >> 12)
    adrp = 0x90000010 | (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5
    return struct.pack("<4I", adrp, 0xF9400210 | (slot & 0xFFF) >> 3 << 10, 0xD61F0200, 0xD4200000)
