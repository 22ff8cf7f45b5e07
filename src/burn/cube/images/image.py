"""An image: linked machine code that runs wherever it is put, as a value that goes to bytes and back.

Its contents are three parts, each in pages of its own: code, variables, and constants with the *table* at their end.
The table holds addresses that are known only in a process: those of functions of the system (`imports`) and of places
in the image itself (`pointers`). Everything else is relative, so mapping an image is a copy and a few words.

    bytes: header, contents, offsets of symbols, slots of imports, pairs of pointers, names

Reading is strict, so that a damaged file is refused here. Whether the code may be believed is for the cache to say.
"""

from __future__ import annotations

import struct

from burn.classes import dataclass

MAGIC = b"BURNIMG\0"
VERSION = 1
HEADER = struct.Struct("<8sIIQQQIIIIQ")
"""Magic, version, machine, bytes of contents, of code, of variables; how many symbols, imports, pointers; bytes of
names, and of a page."""

X86_64, AARCH64 = 62, 183
"""Machines, by their numbers in ELF files."""

PAGE = {X86_64: 1 << 12, AARCH64: 1 << 16}
"""The largest pages that Linux has there: parts begin at multiples of them."""

LARGEST = 1 << 30
"""Bytes of an image: everything in it is in reach of 32-bit distances."""

WORD = 8


class Unlinkable(ValueError):
    """An object or image that is damaged, or holds what is not understood."""


@dataclass(frozen=True)
class Image:
    """Linked machine code; all numbers are offsets from its begin.

    >>> from burn.cube.images import Image
    >>> image = Image(62, bytes(4096), 4096, 0, {"kernel": 0}, {}, ())
    >>> Image.from_bytes(image.to_bytes()) == image
    True
    """

    machine: int
    """`X86_64` or `AARCH64`."""
    contents: bytes
    code: int
    """Bytes of code, whole pages; variables follow."""
    variables: int
    """Bytes of variables, whole pages; constants follow."""
    symbols: dict[str, int]
    """Where functions are."""
    imports: dict[str, int]
    """Where the address of each function of the system belongs."""
    pointers: tuple[tuple[int, int], ...]
    """Where the address of a place in the image belongs, and which place."""

    def __post_init__(self) -> None:
        page, size = PAGE.get(self.machine), len(self.contents)
        if page is None or size > LARGEST:
            raise Unlinkable(f"image: machine {self.machine}, {size} bytes")
        constants = self.code + self.variables
        if self.code < 0 or self.variables < 0 or self.code % page or self.variables % page or constants > size:
            raise Unlinkable(f"image: {self.code} bytes of code and {self.variables} of variables in {size}")
        if not all(0 <= offset < self.code for offset in self.symbols.values()):
            raise Unlinkable("image: a function outside of the code")
        filled = [*self.imports.values(), *(place for place, _ in self.pointers)]
        if not all(self.code <= place <= size - WORD for place in filled):
            raise Unlinkable("image: an address outside of the data")
        if not all(0 <= target <= size for _, target in self.pointers):
            raise Unlinkable("image: a pointer out of the image")
        if not all(name.isascii() and name.isprintable() and name for name in (*self.symbols, *self.imports)):
            raise Unlinkable("image: a name that is none")

    def to_bytes(self) -> bytes:
        """The image as bytes, for a file."""
        names = "\n".join((*self.symbols, *self.imports)).encode("ascii")
        numbers = [*self.symbols.values(), *self.imports.values(), *(each for pair in self.pointers for each in pair)]
        header = HEADER.pack(
            MAGIC,
            VERSION,
            self.machine,
            len(self.contents),
            self.code,
            self.variables,
            len(self.symbols),
            len(self.imports),
            len(self.pointers),
            len(names),
            PAGE[self.machine],
        )
        return b"".join((header, self.contents, struct.pack(f"<{len(numbers)}Q", *numbers), names))

    @staticmethod
    def from_bytes(data: bytes) -> Image:
        """The image that `to_bytes` wrote; `Unlinkable` for anything else."""
        if len(data) < HEADER.size:
            raise Unlinkable("image: shorter than its header")
        magic, version, machine, size, code, variables, symbols, imports, pointers, length, page = HEADER.unpack_from(
            data
        )
        if (magic, version, page) != (MAGIC, VERSION, PAGE.get(machine)):
            raise Unlinkable("image: not one of ours, or of another version")
        count = symbols + imports + 2 * pointers
        begin = HEADER.size + size
        if size > LARGEST or begin + WORD * count + length != len(data):
            raise Unlinkable(f"image: {len(data)} bytes are not what its header says")
        numbers = struct.unpack_from(f"<{count}Q", data, begin)
        text = data[begin + WORD * count :]
        if not text.isascii():
            raise Unlinkable("image: a name that is none")
        names = text.decode("ascii").split("\n") if text else []
        if len(names) != symbols + imports:
            raise Unlinkable("image: names are missing")
        rest = numbers[symbols + imports :]
        found = Image(
            machine,
            data[HEADER.size : begin],
            code,
            variables,
            dict(zip(names[:symbols], numbers)),
            dict(zip(names[symbols:], numbers[symbols:])),
            tuple(zip(rest[::2], rest[1::2])),
        )
        if (len(found.symbols), len(found.imports)) != (symbols, imports):
            raise Unlinkable("image: a name twice")
        return found
