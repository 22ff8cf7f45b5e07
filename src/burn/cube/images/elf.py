"""Relocatable ELF files of 64 bits, as LLVM writes them: sections, symbols, relocations.

Only what kernels and the plan runner consist of is read; anything else that would have to be loaded is `Unlinkable`.
All offsets are checked against the bounds of the file before they are used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from burn.classes import dataclass
from burn.cube.images.image import PAGE, Unlinkable

Array = np.ndarray[Any, Any]

_HEADER = np.dtype(
    [("ident", "V16"), ("type", "<u2"), ("machine", "<u2"), ("version", "<u4"), ("entry", "<u8"), ("programs", "<u8"),
     ("sections", "<u8"), ("flags", "<u4"), ("size", "<u2"), ("program_size", "<u2"), ("program_count", "<u2"),
     ("section_size", "<u2"), ("section_count", "<u2"), ("names", "<u2")]
)  # fmt: skip
_SECTION = np.dtype(
    [("name", "<u4"), ("type", "<u4"), ("flags", "<u8"), ("address", "<u8"), ("offset", "<u8"), ("size", "<u8"),
     ("link", "<u4"), ("info", "<u4"), ("align", "<u8"), ("entry", "<u8")]
)  # fmt: skip
_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_RELOCATION = np.dtype([("offset", "<u8"), ("kind", "<u4"), ("symbol", "<u4"), ("addend", "<i8")])

_IDENT = b"\x7fELF\x02\x01\x01"
"""64 bits, the lowest byte first, version 1."""

PROGBITS, SYMBOLS, RELA, NOBITS, REL, GROUP, MORE_SECTIONS = 1, 2, 4, 8, 9, 17, 18
WRITE, ALLOC, EXECUTE, TLS = 1, 2, 4, 0x400
LOCAL, GLOBAL, WEAK = 0, 1, 2
FUNCTION, SECTION, FILE = 2, 3, 4
UNDEFINED, RESERVED = 0, 0xFF00

MOST_ALIGNED = 4096
_UNWIND = b".eh_frame"


@dataclass
class Section:
    """Bytes to be put into memory."""

    flags: int
    align: int
    size: int
    contents: Array | None
    """None where they are zeros."""
    relocations: Array | None = None
    offset: int = 0
    """Where linking puts it."""


@dataclass
class ObjectFile:
    """What has to be loaded, and what its symbols mean."""

    machine: int
    sections: dict[int, Section]
    section_of: Array
    """The section of each symbol."""
    value_of: Array
    """The offset of each symbol in its section."""
    defined: dict[str, int]
    """Global names that are found here, with the numbers of their symbols."""
    functions: list[str]
    """Those of them that may be called."""
    undefined: dict[str, int]
    """Names that are found elsewhere."""


def read(contents: bytes) -> ObjectFile:
    """Take an object file apart."""
    (header,) = _table(contents, 0, _HEADER.itemsize, _HEADER).tolist()
    machine, sections, size, count = header[2], header[6], header[11], header[12]
    if not contents.startswith(_IDENT) or header[1] != 1 or machine not in PAGE:
        raise Unlinkable("object: not a relocatable ELF file of 64 bits for a machine that is known")
    if size != _SECTION.itemsize or count == 0:
        raise Unlinkable("object: no sections")
    rows = _table(contents, sections, count * size, _SECTION).tolist()
    if header[13] >= count:
        raise Unlinkable("object: no names of sections")
    names = _bytes_of(contents, rows[header[13]])
    found: dict[int, Section] = {}
    tables = []
    for number, row in enumerate(rows):
        if row[1] == SYMBOLS:
            tables.append(row)
        elif number and row[2] & ALLOC and _name(names, row[0]) != _UNWIND:
            found[number] = _section(contents, row)
        elif row[1] in (GROUP, MORE_SECTIONS):
            raise Unlinkable(f"object: a section of type {row[1]}")
    if len(tables) != 1 or tables[0][6] >= count:
        raise Unlinkable("object: not one table of symbols")
    symbols = _table(contents, tables[0][4], tables[0][5], _SYMBOL)
    for row in rows:
        if row[1] in (RELA, REL) and row[7] in found:
            section = found[row[7]]
            if row[1] == REL or section.relocations is not None or section.contents is None:
                raise Unlinkable("object: relocations of a kind that is not known")
            section.relocations = _table(contents, row[4], row[5], _RELOCATION)
            used = section.relocations["symbol"]
            if used.size and int(used.max()) >= len(symbols):
                raise Unlinkable("object: a relocation without a symbol")
    return _named(machine, found, symbols, _bytes_of(contents, rows[tables[0][6]]))


def _named(machine: int, sections: dict[int, Section], symbols: Array, names: bytes) -> ObjectFile:
    """The object with its symbols by name."""
    defined: dict[str, int] = {}
    functions: list[str] = []
    undefined: dict[str, int] = {}
    info = symbols["info"]
    if (info & 15 > FILE).any():
        raise Unlinkable("object: symbols of a type that is not known")
    for number in np.flatnonzero(info >> 4 != LOCAL).tolist():
        start, kind, _, section, value, _ = symbols[number].tolist()
        name = _name(names, start).decode("ascii", "replace")
        if kind & 15 > SECTION or not name:
            raise Unlinkable(f"object: {name!r} is a symbol of type {kind & 15}")
        if section == UNDEFINED:
            if kind >> 4 != GLOBAL:
                raise Unlinkable(f"object: {name!r} need not be there")
            undefined[name] = number
            continue
        if section not in sections or name in defined or value > sections[section].size:
            raise Unlinkable(f"object: {name!r} is not in a section that is loaded")
        defined[name] = number
        if kind & 15 == FUNCTION and sections[section].flags & EXECUTE and value < sections[section].size:
            functions.append(name)
    section_of = symbols["section"].astype(np.int64)
    section_of[section_of >= RESERVED] = UNDEFINED
    return ObjectFile(machine, sections, section_of, symbols["value"].astype(np.int64), defined, functions, undefined)


def _section(contents: bytes, row: tuple[Any, ...]) -> Section:
    _, kind, flags, _, offset, size, _, _, align, _ = row
    if kind not in (PROGBITS, NOBITS) or flags & TLS or (flags & WRITE and flags & EXECUTE):
        raise Unlinkable(f"object: a section of type {kind} with flags {flags:#x}")
    align = max(align, 1)
    if align > MOST_ALIGNED or align & (align - 1):
        raise Unlinkable(f"object: a section at multiples of {align}")
    if kind == NOBITS:
        return Section(flags, align, size, None)
    return Section(flags, align, size, _table(contents, offset, size, np.dtype(np.uint8)))


def _table(contents: bytes, offset: int, size: int, kind: np.dtype[Any]) -> Array:
    """Rows of a kind at a place of the file."""
    if offset + size > len(contents) or size % kind.itemsize:
        raise Unlinkable(f"object: {size} bytes at {offset} of {len(contents)}")
    return np.frombuffer(contents, kind, size // kind.itemsize, offset)


def _bytes_of(contents: bytes, row: tuple[Any, ...]) -> bytes:
    """The bytes of a section of names."""
    return _table(contents, row[4], row[5], np.dtype(np.uint8)).tobytes()


def _name(names: bytes, start: int) -> bytes:
    end = names.find(b"\0", start)
    if start >= len(names) or end < 0:
        raise Unlinkable("object: a name that does not end")
    return names[start:end]
