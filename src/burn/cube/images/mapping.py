"""An image in the memory of this process: written while nobody may run it, run while nobody may write it."""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
import sys
import weakref
from functools import cache
from typing import Any

from burn.cube.images.image import AARCH64, PAGE, X86_64, Image, Unlinkable

_MACHINES = {"x86_64": X86_64, "aarch64": AARCH64}


class Mapped:
    """Machine code in memory for as long as this object lives: the addresses of its functions by their names."""

    __slots__ = ("__weakref__", "addresses")

    def __init__(self, addresses: dict[str, int]) -> None:
        self.addresses = addresses


@cache
def _machine() -> int | None:
    """The machine of this process, where images can be mapped: Linux, with 64-bit pointers."""
    if not sys.platform.startswith("linux") or sys.byteorder != "little" or sys.maxsize < 1 << 32:
        return None
    return _MACHINES.get(platform.machine())


def is_supported() -> bool:
    """Whether images can be mapped into this process.

    >>> from burn.cube.images import is_supported
    >>> is_supported() in (True, False)
    True
    """
    return _machine() is not None


@cache
def _system() -> Any:
    """The C library, with the few functions that are called here."""
    system = ctypes.CDLL(None, use_errno=True)
    pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    system.mmap.restype, system.mmap.argtypes = pointer, (pointer, size, number, number, number, ctypes.c_long)
    system.mprotect.restype, system.mprotect.argtypes = number, (pointer, size, number)
    system.munmap.restype, system.munmap.argtypes = number, (pointer, size)
    return system


def map_image(image: Image) -> Mapped:
    """Put an image into memory; `Unlinkable` or `OSError` where that cannot be done.

    Arguments:
        image: what `link` made on a machine like this one; nothing else may be run.
    """
    if image.machine != _machine() or PAGE[image.machine] % mmap.PAGESIZE:
        raise Unlinkable(f"image: made for machine {image.machine} and pages of {PAGE.get(image.machine)} bytes")
    contents = bytearray(image.contents)
    for name, slot in image.imports.items():
        struct.pack_into("<Q", contents, slot, address_of(name))
    size = len(contents)
    if size == 0:
        return Mapped({})
    system = _system()
    base = system.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if base in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "cannot map machine code")
    found = Mapped({name: base + offset for name, offset in image.symbols.items()})
    # Not when the interpreter ends: a thread may be in this code then.
    weakref.finalize(found, system.munmap, base, size).atexit = False
    for place, target in image.pointers:
        struct.pack_into("<Q", contents, place, base + target)
    ctypes.memmove(base, (ctypes.c_char * size).from_buffer(contents), size)
    constants = image.code + image.variables
    _protect(base, image.code, mmap.PROT_READ | mmap.PROT_EXEC)
    _protect(base + constants, size - constants, mmap.PROT_READ)
    if image.machine == AARCH64 and image.code:
        _clear_cache()(base, base + image.code)
    return found


def _protect(address: int, size: int, rights: int) -> None:
    if size and _system().mprotect(address, size, rights) != 0:
        raise OSError(ctypes.get_errno(), "cannot protect machine code")


@cache
def address_of(name: str) -> int:
    """The address of a function of the system."""
    for library in (None, "libm.so.6"):
        try:
            function = ctypes.CDLL(library)[name]
        except (OSError, AttributeError):
            continue
        found = ctypes.cast(function, ctypes.c_void_p).value
        if found:
            return found
    raise Unlinkable(f"image: the system has no function {name!r}")


@cache
def _clear_cache() -> Any:
    """What makes new code visible to the processor on ARM."""
    try:
        function = ctypes.CDLL("libgcc_s.so.1")["__clear_cache"]
    except (OSError, AttributeError):
        raise Unlinkable("image: nothing here clears the cache of instructions") from None
    function.restype, function.argtypes = None, (ctypes.c_void_p, ctypes.c_void_p)
    return function
