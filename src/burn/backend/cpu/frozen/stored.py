"""Frozen plans in files, in the folder of the kernel cache and under its rules.

A file holds what running needs: the form, one image of machine code, and the constants as they lie in memory. A process
that opens it loads neither compiler nor lowering. Constants are not read but mapped, so that all processes which run a
plan share them.

    header, form as JSON, sums of the constants, image, constants

Each part begins at a multiple of 64 bytes, and 64 more end the file.

A file is believed if the cache would believe it and its contents have the SHA-256 in its header, under that of its key.
Anything odd is as if it were absent.
"""

from __future__ import annotations

import hashlib
import itertools
import mmap
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from burn.backend.cpu.addresses import address_of
from burn.backend.cpu.cache import ObjectCache, default_cache
from burn.backend.cpu.frozen.encoding import Malformed, decode, encode
from burn.backend.cpu.frozen.form import Bytes, Form, Frozen
from burn.backend.cpu.frozen.owner import Owner, alone
from burn.backend.cpu.frozen.running import Runner
from burn.backend.cpu.frozen.sums import sums
from burn.cube.images import Image, Unlinkable, is_supported, map_image

MAGIC = b"BURNPLN\0"
VERSION = 1
HEADER = struct.Struct("<8sI4xQQQQ32s32s16x")
"""Magic, version, bytes of the form, of sums, of the image and of all constants, SHA-256 of the key, SHA-256 of these
numbers and of all that follows up to the constants, which have sums of their own."""
KIND = "plan"
LINE = 64
SHARE = 2
"""Plans with constants of more than the cache's limit divided by this are not stored."""
MOST_FORM, MOST_CODE = 64 << 20, 256 << 20


def save(frozen: Frozen, key: str, cache: ObjectCache | None = None) -> bool:
    """Store a frozen plan; False where it is too large for the cache, or nobody could load its code from a file."""
    cache = default_cache() if cache is None else cache
    if cache.directory is None or not is_supported():
        return False
    try:
        code = frozen.image().to_bytes()
    except Unlinkable:
        return False
    form, padded = encode(frozen.form), list(map(_rounded, frozen.form.constants))
    constants = sum(padded)
    if constants > cache.limit // SHARE or len(form) > MOST_FORM or len(code) > MOST_CODE:
        return False
    contents = [each.data for each in frozen.contents]
    parts = [form, sums(contents, padded), code]
    sizes = (*map(len, parts), constants)
    digest = hashlib.sha256(_numbers(sizes))
    for part in _padded(parts):
        digest.update(part)
    header = HEADER.pack(MAGIC, VERSION, *sizes, hashlib.sha256(key.encode()).digest(), digest.digest())
    return cache.write(cache.path_of(key, KIND), [*_padded([header, *parts, *contents]), bytes(LINE)])


def open_stored(key: str, owner: Owner | None = None, cache: ObjectCache | None = None) -> Runner | None:
    """What runs the plan that was stored under a key; None where there is none that can be believed.

    Arguments:
        key: tells apart everything that could make another plan of it: also the processor, and the version.
        owner: gives memory to results: a device, or nothing in particular.
    """
    frozen = load(key, default_cache() if cache is None else cache)
    return None if frozen is None else Runner(frozen, alone() if owner is None else owner)


def load(key: str, cache: ObjectCache) -> Frozen | None:
    """The plan that was stored under a key."""
    if cache.directory is None or not is_supported():
        return None
    with cache.opened(cache.path_of(key, KIND), MOST_FORM + MOST_CODE + cache.limit) as found:
        if found is None or found[1] < HEADER.size + LINE:
            return None
        try:
            whole = memoryview(mmap.mmap(found[0], found[1], access=mmap.ACCESS_READ))
        except (OSError, ValueError):
            return None
    try:
        return _read(whole, key)
    except (Malformed, Unlinkable, OSError):
        return None


def _read(whole: memoryview, key: str) -> Frozen | None:
    fields = HEADER.unpack_from(whole)
    magic, version, *sizes, of_key, of_contents = fields
    *lengths, constants = sizes
    known = (magic, version, of_key) == (MAGIC, VERSION, hashlib.sha256(key.encode()).digest())
    if not known or HEADER.pack(*fields) != whole[: HEADER.size]:
        return None
    begins = list(itertools.accumulate(map(_rounded, lengths), initial=HEADER.size))
    if begins[-1] + constants + LINE != len(whole):
        return None
    digest = hashlib.sha256(_numbers(sizes))
    digest.update(whole[HEADER.size : begins[-1]])
    if digest.digest() != of_contents:
        return None
    text, of_constants, code = (bytes(whole[begin : begin + size]) for begin, size in zip(begins, lengths))
    form = decode(text)
    padded = list(map(_rounded, form.constants))
    if sum(padded) != constants or any(whole[-LINE:]):
        return None
    held = whole[begins[-1] :]
    at = itertools.accumulate(padded, initial=0)
    if sums([held[begin : begin + size] for begin, size in zip(at, padded)], padded) != of_constants:
        return None
    return _frozen(form, Image.from_bytes(code), held)


def _frozen(form: Form, image: Image, constants: memoryview) -> Frozen:
    mapped = map_image(image)
    if not mapped.addresses.keys() >= set(form.kernels):
        raise Malformed("kernels without code")
    memory = np.frombuffer(constants, np.uint8)
    contents: list[Bytes] = []
    begin = 0
    for size in form.constants:
        contents.append(memory[begin : begin + size])
        begin += _rounded(size)
    assert address_of(memory) % LINE == 0
    return Frozen(form, [mapped.addresses[name] for name in form.kernels], contents, lambda: image, [mapped, memory])


def _numbers(sizes: Sequence[int]) -> bytes:
    return struct.pack("<4Q", *sizes)


def _rounded(size: int) -> int:
    return -(-size // LINE) * LINE


def _padded(parts: Sequence[Any]) -> Iterator[Any]:
    """The parts, each up to a multiple of 64 bytes."""
    for part in parts:
        yield part
        size = len(part)
        if size % LINE:
            yield bytes(-size % LINE)
