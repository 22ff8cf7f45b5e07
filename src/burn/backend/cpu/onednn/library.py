"""The shared library: where it is, whether it loads, and the functions everything else here calls.

oneDNN is optional. It is opened on first use and never at import; when it is absent, too old or cannot
be loaded, `available()` is False and `reason()` says why, so that a planner falls back.

    BURN_ONEDNN=/path/to/libdnnl.so.3    uses this file and no other
    BURN_ONEDNN=off                      uses none: our own kernels do all the work
    ONEDNN_MAX_CPU_ISA=AVX2              oneDNN's own cap on instruction sets; ours is not applied on top

CPU execution is synchronous and a stream has no state, so one engine and one stream serve every thread.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import c_char_p, c_float, c_int, c_int32, c_int64, c_size_t, c_uint, c_void_p
from pathlib import Path
from typing import Any

from burn.errors import MissingOperation, OutOfMemory

DISTRIBUTION = "onednn-cpu-gomp"
FILE = "libdnnl.so.3"
OVERRIDE, OFF = "BURN_ONEDNN", "off"

Dims = c_int64 * 12  # oneDNN's DNNL_MAX_NDIMS
STATUS = {
    1: "out of memory", 2: "invalid arguments", 3: "not implemented", 4: "last implementation reached",
    5: "runtime error", 6: "a required argument is missing", 7: "invalid graph", 8: "invalid graph operation",
}  # fmt: skip
INSTRUCTION_SETS = {
    "SSE41": 0x1, "AVX": 0x3, "AVX2": 0x7, "AVX2_VNNI": 0xF, "AVX2_VNNI_2": 0x1F, "AVX512_CORE": 0x27,
    "AVX512_CORE_VNNI": 0x67, "AVX512_CORE_BF16": 0xE7, "AVX512_CORE_FP16": 0x1EF, "AVX512_CORE_AMX": 0xFEF,
    "AVX512_CORE_AMX_FP16": 0x1FEF,
}  # fmt: skip
# Virtual machines advertise AMX and then trap: without a probe that says otherwise, it stays off.
UNPROBED = "AVX512_CORE_FP16"

_CPU, _IN_ORDER = 1, 1
_SEQUENTIAL, _OPENMP = 1, 2
_OUT_OF_MEMORY = 1
_VNNI = 0x40 | 0x8  # of AVX-512, of AVX2


class Argument(ctypes.Structure):
    """`dnnl_exec_arg_t`: which argument of a primitive, and the memory object for it."""

    _fields_ = (("index", c_int), ("memory", c_void_p))


class _Version(ctypes.Structure):
    _fields_ = (
        ("major", c_int), ("minor", c_int), ("patch", c_int), ("hash", c_char_p), ("cpu", c_uint), ("gpu", c_uint),
    )  # fmt: skip


_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "dnnl_version": (ctypes.POINTER(_Version), []),
    "dnnl_set_max_cpu_isa": (c_int, [c_int]),
    "dnnl_get_effective_cpu_isa": (c_int, []),
    "dnnl_engine_create": (c_int, [c_void_p, c_int, c_size_t]),
    "dnnl_stream_create": (c_int, [c_void_p, c_void_p, c_uint]),
    "dnnl_memory_desc_create_with_strides": (c_int, [c_void_p, c_int, c_void_p, c_int, c_void_p]),
    "dnnl_memory_desc_create_with_tag": (c_int, [c_void_p, c_int, c_void_p, c_int, c_int]),
    "dnnl_memory_desc_clone": (c_int, [c_void_p, c_void_p]),
    "dnnl_memory_desc_destroy": (c_int, [c_void_p]),
    "dnnl_memory_desc_query": (c_int, [c_void_p, c_int, c_void_p]),
    "dnnl_memory_desc_get_size": (c_size_t, [c_void_p]),
    "dnnl_memory_create": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p]),
    "dnnl_memory_destroy": (c_int, [c_void_p]),
    "dnnl_memory_set_data_handle": (c_int, [c_void_p, c_void_p]),
    "dnnl_primitive_attr_create": (c_int, [c_void_p]),
    "dnnl_primitive_attr_destroy": (c_int, [c_void_p]),
    "dnnl_primitive_attr_set_post_ops": (c_int, [c_void_p, c_void_p]),
    "dnnl_primitive_attr_set_scratchpad_mode": (c_int, [c_void_p, c_int]),
    "dnnl_post_ops_create": (c_int, [c_void_p]),
    "dnnl_post_ops_destroy": (c_int, [c_void_p]),
    "dnnl_post_ops_append_eltwise": (c_int, [c_void_p, c_int, c_float, c_float]),
    "dnnl_post_ops_append_sum": (c_int, [c_void_p, c_float, c_int32, c_int]),
    "dnnl_post_ops_append_binary": (c_int, [c_void_p, c_int, c_void_p]),
    "dnnl_primitive_desc_query": (c_int, [c_void_p, c_int, c_int, c_void_p]),
    "dnnl_primitive_desc_query_md": (c_void_p, [c_void_p, c_int, c_int]),
    "dnnl_primitive_desc_destroy": (c_int, [c_void_p]),
    "dnnl_primitive_create": (c_int, [c_void_p, c_void_p]),
    "dnnl_primitive_destroy": (c_int, [c_void_p]),
    "dnnl_primitive_execute": (c_int, [c_void_p, c_void_p, c_int, c_void_p]),
}


class Library:
    """An opened oneDNN: its functions, one engine, one stream."""

    __slots__ = ("path", "version", "engine", "stream", "native", "execute", "set_data_handle", "_openmp")

    def __init__(self, path: str) -> None:
        # First, and for everybody: oneDNN and our kernels must share one pool. The loader finds by name the
        # libgomp that somebody (PyTorch, for one) may already have mapped.
        self._openmp = ctypes.CDLL("libgomp.so.1", mode=ctypes.RTLD_GLOBAL)
        self.path = path
        self.native = native = ctypes.CDLL(path)
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(native, name)
            function.restype, function.argtypes = result, arguments
        found = native.dnnl_version().contents
        self.version = f"{found.major}.{found.minor}.{found.patch}"
        if found.major != 3 or found.minor < 2:
            raise OSError(f"{path} is oneDNN {self.version}; 3.2 or a later 3.x is needed")
        if found.cpu not in (_SEQUENTIAL, _OPENMP):
            raise OSError(f"{path} is built for another threading runtime than OpenMP")
        if not (os.environ.get("ONEDNN_MAX_CPU_ISA") or os.environ.get("DNNL_MAX_CPU_ISA")):
            # By call and not by environment: PyTorch's own oneDNN and child processes are none of our business.
            cap = INSTRUCTION_SETS.get(_proven_instruction_set(), INSTRUCTION_SETS[UNPROBED])
            self.check(native.dnnl_set_max_cpu_isa(cap), "dnnl_set_max_cpu_isa")
        self.engine = self.make("dnnl_engine_create", _CPU, 0)
        self.stream = self.make("dnnl_stream_create", self.engine, _IN_ORDER)
        self.execute = native.dnnl_primitive_execute
        # A few nanoseconds of work: keeping the GIL is cheaper than giving it away.
        self.set_data_handle = ctypes.PyDLL(path).dnnl_memory_set_data_handle
        self.set_data_handle.argtypes = [c_void_p, c_void_p]

    def check(self, status: int, operation: str) -> None:
        """Raise what a status other than success means."""
        if status == 0:
            return
        message = f"{operation}: oneDNN {self.version} answers {STATUS.get(status, 'unknown')} (status {status})"
        raise (OutOfMemory if status == _OUT_OF_MEMORY else MissingOperation)(message)

    def make(self, function: str, *arguments: Any) -> int:
        """Call a function that stores a new object in its first argument."""
        created = c_void_p()
        self.check(getattr(self.native, function)(ctypes.byref(created), *arguments), function)
        assert created.value is not None
        return created.value

    def address(self, function: str) -> int:
        """The entry point of a function, for a native runner."""
        found = ctypes.cast(getattr(self.native, function), c_void_p).value
        assert found is not None
        return found

    def instruction_set(self) -> str:
        """The widest instruction set that oneDNN generates code for."""
        value = self.native.dnnl_get_effective_cpu_isa()
        return next((name for name, each in INSTRUCTION_SETS.items() if each == value), hex(value))

    def has_exact_bytes(self) -> bool:
        """Whether products of bytes are summed exactly; before VNNI pairs of them saturate at 16 bits."""
        return bool(self.native.dnnl_get_effective_cpu_isa() & _VNNI)

    def threads(self) -> int:
        """How many threads a parallel region of the calling thread gets."""
        found: int = self._openmp.omp_get_max_threads()
        return found

    @contextmanager
    def limited_to(self, threads: int) -> Iterator[None]:
        """Make, or run, primitives with this many threads in the calling thread."""
        before = self.threads()
        self._openmp.omp_set_num_threads(c_int(threads))
        try:
            yield
        finally:
            self._openmp.omp_set_num_threads(c_int(before))


def _proven_instruction_set() -> str:
    """The name of the widest instruction set that was tried on this machine."""
    try:
        from burn.backend.cpu.features import host_features

        found = host_features().onednn_isa
    except (ImportError, MissingOperation):
        found = None
    return UNPROBED if found is None else found[0]


def find() -> str | None:
    """The path of the library, without opening it."""
    override = os.environ.get(OVERRIDE)
    if override is not None:
        return override
    try:
        files = importlib.metadata.files(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    places = [Path(str(each.locate())) for each in files if each.name == FILE]
    places.append(Path(sys.prefix, "lib", FILE))
    return next((str(place.resolve()) for place in places if place.is_file()), None)


_lock = threading.Lock()
_library: Library | None = None
_reason: str | None = None


def _open() -> Library | None:
    global _library, _reason
    if _library is not None or _reason is not None:
        return _library
    with _lock:
        if _library is None and _reason is None:
            path = find()
            if path == OFF:
                _reason = f"switched off by {OVERRIDE}={OFF}"
            elif path is None:
                _reason = f"{FILE} is not installed; write pip install 'burn-dl[onednn]'"
            else:
                try:
                    _library = Library(path)
                except (OSError, AttributeError, MissingOperation) as error:
                    _reason = f"{path} cannot be used: {error}"
    return _library


def available() -> bool:
    """Whether the library can be used; opens it on the first call."""
    return _open() is not None


def reason() -> str | None:
    """Why the library cannot be used, or None if it can."""
    return None if available() else _reason


def load() -> Library:
    """The library, opened on the first call."""
    found = _open()
    if found is None:
        raise MissingOperation(f"onednn: {_reason}")
    return found
