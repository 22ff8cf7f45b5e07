"""The disk cache of compiled objects.

Machine code from a file is run as it is, so a file is believed only if nobody else can have made
it: it is a plain file of ours that no other user may write, it names the key it was stored under,
and its contents have the SHA-256 written in its header. Anything else is treated as absent and is
rebuilt. Files appear by renaming a finished one, so processes that share a folder never see half
of one. A folder that cannot be used costs one warning and the time of compiling.

    cache = default_cache()
    code = cache.load_or_build(kernel_key(program.hash, features.target), lambda: compile_object(...))

`BURN_CACHE` names another folder, or `off`; `BURN_CACHE_LIMIT` the bytes it may hold.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import re
import stat
import struct
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from burn.errors import ArgumentError
from burn.version import __version__

MAGIC = b"BURNOBJ\0"
VERSION = 1
HEADER = struct.Struct("<8sI4xQ32s32s")
"""Magic, version, size of the object, SHA-256 of the key, SHA-256 of the object."""

DEFAULT_LIMIT = 512 << 20
LARGEST_OBJECT = 256 << 20
STALE_SECONDS = 3600.0
"""Unfinished files older than this were left by a process that died."""

_UNFINISHED = ".unfinished-"
_is_object = re.compile(r"[0-9a-f]{64}\.object").fullmatch


_is_version = re.compile(rb"^version_version = '([\w.+]+)'$", re.MULTILINE)


@cache
def _llvm_version() -> str:
    """The version of the compiler, which is not loaded for that where its file of versions is plain."""
    module = sys.modules.get("llvmlite")
    try:
        if module is None and (found := find_spec("llvmlite")) is not None and found.origin:
            plain = _is_version.search(Path(found.origin).with_name("_version.py").read_bytes())
            if plain:
                return plain[1].decode("ascii")
        return str(importlib.import_module("llvmlite").__version__)
    except (ImportError, OSError, ValueError):
        return "none"


def kernel_key(program: str, features: str) -> str:
    """The key of an object: what it computes, for which CPU, made by which engine and which LLVM."""
    parts = (program, features, __version__, _llvm_version())
    return hashlib.sha256("\0".join(f"{len(part)}:{part}" for part in parts).encode()).hexdigest()


def _user() -> int | None:
    """Our user id; None on systems that have none, where the profile folder is private anyway."""
    return os.geteuid() if hasattr(os, "geteuid") else None


def _fault(status: os.stat_result) -> str | None:
    """Why a file or folder cannot be believed."""
    user = _user()
    if user is None:
        return None
    if status.st_uid != user:
        return f"it belongs to user {status.st_uid}, not to {user}"
    if status.st_mode & 0o022:
        return f"others may write to it (mode {stat.S_IMODE(status.st_mode):04o})"
    return None


class ObjectCache:
    """Bytes under keys, in a folder. `directory=None` is a cache that holds nothing."""

    def __init__(self, directory: Path | None, limit: int = DEFAULT_LIMIT) -> None:
        if limit < 0:
            raise ArgumentError(f"ObjectCache: limit is {limit}; write 0 or a number of bytes")
        self.directory = directory
        self.limit = limit
        self._lock = threading.Lock()
        self._held: int | None = None
        self._ready: bool | None = None
        self._warned = False
        _instances.add(self)

    def path_of(self, key: str) -> Path:
        """The file of `key`; the folder must not be None."""
        assert self.directory is not None
        return self.directory / f"{hashlib.sha256(key.encode()).hexdigest()}.object"

    # Reading

    def load(self, key: str) -> bytes | None:
        """The bytes stored under `key`, or None where there are none that can be believed."""
        if self.directory is None or not self._usable(create=False):
            return None
        path = self.path_of(key)
        try:
            contents = _read_ours(path)
        except OSError:
            return None
        data = None if contents is None else _verified(key, contents)
        if data is not None:
            with contextlib.suppress(OSError):
                os.utime(path)  # the least recently used files go first
        return data

    def load_or_build(self, key: str, build: Callable[[], bytes]) -> bytes:
        """The bytes stored under `key`, made by `build` and stored where they are missing."""
        data = self.load(key)
        if data is None:
            data = build()
            self.store(key, data)
        return data

    # Writing

    def store(self, key: str, data: bytes) -> None:
        """Keep `data` under `key`. Failing to is no error: the next process builds it again."""
        if self.directory is None or len(data) > min(LARGEST_OBJECT, self.limit) or not self._usable(create=True):
            return
        header = HEADER.pack(MAGIC, VERSION, len(data), _digest(key.encode()), _digest(data))
        unfinished = self.directory / f"{_UNFINISHED}{os.getpid()}-{os.urandom(8).hex()}"
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
            with open(os.open(unfinished, flags, 0o600), "wb") as file:
                file.write(header)
                file.write(data)
            with contextlib.suppress(FileNotFoundError):  # another process has cleared the folder meanwhile
                os.replace(unfinished, self.path_of(key))
        except OSError as error:
            with contextlib.suppress(OSError):
                unfinished.unlink()
            self._warn(f"cannot write to it: {error.strerror or error}")
            return
        self._account(HEADER.size + len(data))

    def clear(self) -> int:
        """Remove every object; says how many bytes that freed."""
        freed = 0
        with self._lock:
            for path, size, _ in self._entries(unfinished=True):
                with contextlib.suppress(OSError):
                    path.unlink()
                    freed += size
            self._held = None
        return freed

    def size(self) -> int:
        """The bytes that all objects take together."""
        return sum(size for _, size, _ in self._entries())

    # Inside

    def _usable(self, create: bool) -> bool:
        """Whether the folder is ours alone; made, with all its parents, where `create` says so."""
        if self._ready is False or (self._ready and not create):
            return self._ready
        assert self.directory is not None
        try:
            if create:
                self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            status = os.stat(self.directory)
        except FileNotFoundError:
            return False  # not made yet: nothing to read, and a later `store` makes it
        except OSError as error:
            self._ready = False
            self._warn(f"cannot use it: {error.strerror or error}")
            return False
        fault = _fault(status) if stat.S_ISDIR(status.st_mode) else "it is not a folder"
        self._ready = fault is None
        if fault:
            self._warn(fault)
        return self._ready

    def _warn(self, reason: str) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"kernel cache: {str(self.directory)!r} is not used: {reason}; kernels are compiled again in every "
                "process; set BURN_CACHE to a folder of your own, or to `off`",
                RuntimeWarning,
                stacklevel=3,
            )

    def _entries(self, unfinished: bool = False) -> list[tuple[Path, int, float]]:
        """Path, size and time of last use of each object, and of files left unfinished where asked."""
        found: list[tuple[Path, int, float]] = []
        if self.directory is None:
            return found
        try:
            with os.scandir(self.directory) as entries:
                for entry in entries:
                    if _is_object(entry.name) or (unfinished and entry.name.startswith(_UNFINISHED)):
                        with contextlib.suppress(OSError):
                            status = entry.stat(follow_symlinks=False)
                            found.append((Path(entry.path), status.st_size, status.st_mtime))
        except OSError:
            return found
        return found

    def _account(self, written: int) -> None:
        """Add to the size known so far; look at the folder only at first and when the limit is passed."""
        with self._lock:
            self._held = None if self._held is None else self._held + written
            if self._held is None or self._held > self.limit:
                self._held = self._trim()

    def _trim(self) -> int:
        """Remove what was used longest ago until three quarters of the limit are left."""
        entries = self._entries(unfinished=True)
        now = time.time()
        for path, _, when in entries:
            if path.name.startswith(_UNFINISHED) and now - when > STALE_SECONDS:
                with contextlib.suppress(OSError):
                    path.unlink()
        objects = sorted((entry for entry in entries if _is_object(entry[0].name)), key=lambda entry: entry[2])
        held = sum(size for _, size, _ in objects)
        if held <= self.limit:
            return held
        for path, size, _ in objects[:-1]:  # the newest was just stored and stays
            if held <= self.limit * 3 // 4:
                break
            with contextlib.suppress(OSError):
                path.unlink()
                held -= size
        return held


def _read_ours(path: Path) -> bytes | None:
    """The contents of a plain file that only we can have written."""
    # Without O_NONBLOCK, opening a pipe that somebody put here would wait for ever.
    flags = sum(getattr(os, name, 0) for name in ("O_RDONLY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
    descriptor = os.open(path, flags)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or _fault(status) or status.st_size > LARGEST_OBJECT + HEADER.size:
            return None
        with open(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _verified(key: str, contents: bytes) -> bytes | None:
    """The object in `contents`, if the file is whole and is the one of `key`."""
    if len(contents) < HEADER.size:
        return None
    magic, version, size, key_digest, data_digest = HEADER.unpack_from(contents)
    data = contents[HEADER.size :]
    if (magic, version, size, key_digest) != (MAGIC, VERSION, len(data), _digest(key.encode())):
        return None
    return data if _digest(data) == data_digest else None


_instances: weakref.WeakSet[ObjectCache] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for each in _instances:
        each._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def cache_directory() -> Path | None:
    """The folder named by `BURN_CACHE`, or the one for caches of this user; None for `off` or no home."""
    chosen = os.environ.get("BURN_CACHE")
    if chosen == "off":
        return None
    if chosen:
        return Path(chosen).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):  # the XDG rules ask to ignore relative paths
        return Path(base) / "burn" / "kernels"
    try:
        return Path.home() / ".cache" / "burn" / "kernels"
    except RuntimeError:
        return None


@cache
def default_cache() -> ObjectCache:
    """The cache of this process."""
    text = os.environ.get("BURN_CACHE_LIMIT", "")
    if text and not text.isdecimal():
        raise ArgumentError(f"BURN_CACHE_LIMIT: {text!r} is not a number of bytes; write for example 536870912")
    return ObjectCache(cache_directory(), int(text) if text else DEFAULT_LIMIT)


def clear_cache_command(arguments: Sequence[str] | None = None) -> int:
    """`burn clear-cache`: remove every compiled kernel from the disk."""
    import argparse  # of no use to those who only compute

    parser = argparse.ArgumentParser(prog="burn clear-cache", description="Remove every compiled kernel from the disk.")
    parser.parse_args(arguments)
    store = ObjectCache(cache_directory())
    if store.directory is None:
        print("there is no kernel cache here")
        return 0
    freed = store.clear()
    print(f"removed {freed / 2**20:.1f} MiB from {store.directory}")
    return 0
