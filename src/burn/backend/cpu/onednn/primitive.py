"""Primitives: compiled operations, shared by everyone who asks for the same one.

A primitive is code for one set of layouts and settings and one number of threads; it holds no data and may
run in many threads at once. It never keeps scratch memory: in oneDNN's library-managed mode that memory
belongs to the *thread which made the primitive*, and running it in another reads a null pointer. Here the
caller provides it, under the role `scratchpad`; steps of one plan run in turn and can share one buffer of
the largest size.

The number of threads is part of the key, because partial results are laid out for it: a primitive made for
two threads must run where `omp_get_max_threads()` is two.
"""

from __future__ import annotations

import ctypes
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from ctypes import c_char_p, c_float, c_void_p
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from burn.backend.cpu.onednn.layout import Layout, chosen
from burn.backend.cpu.onednn.library import STATUS, Dims, Library, load
from burn.backend.cpu.onednn.post_operations import Binary, PostOperation, attributes
from burn.dtype import i8, u8
from burn.errors import MissingOperation, OutOfMemory

if TYPE_CHECKING:
    from burn.backend.cpu.onednn.step import Step

# What the buffers of a primitive are called here, and the numbers oneDNN knows them by.
ROLES: Final = {
    "x": 1, "out": 17, "weight": 33, "y": 33, "bias": 41, "mean": 49, "variance": 50, "scale": 51, "shift": 52,
    "workspace": 64, "scratchpad": 80, "x_gradient": 129, "gradient": 145, "weight_gradient": 161,
    "bias_gradient": 169, "scale_gradient": 255, "shift_gradient": 256,
}  # fmt: skip
_OPERAND, _SECOND = 32768, 2

TRAINING, INFERENCE, BACKWARD, BACKWARD_DATA = 64, 96, 128, 160
_IMPLEMENTATION, _ARGUMENT = 8, 255
_OUT_OF_MEMORY = 1
CAPACITY = 1024
_PRODUCTS = frozenset(("matmul", "convolution_forward", "deconvolution_forward"))

Setting: TypeAlias = "Layout | Primitive | int | float | tuple[int, ...] | None"


class Primitive:
    """One compiled operation. Make `Step`s of it; ask it for the layouts it chose."""

    __slots__ = (
        "operation", "implementation", "threads", "layouts", "indices", "scratchpad",
        "descriptor", "_library", "_handle", "_lock", "_uses", "_recipe",
    )  # fmt: skip

    operation: str
    implementation: str  # oneDNN's own name, such as brg:avx512_core
    threads: int
    layouts: Mapping[str, Layout]  # by role, the scratchpad left out
    scratchpad: int  # bytes

    def __init__(
        self, library: Library, operation: str, settings: Mapping[str, Setting], roles: Sequence[str],
        post: Sequence[PostOperation],
    ) -> None:  # fmt: skip
        self._library, self._lock = library, threading.Lock()
        self._handle: int | None = None
        self.operation, self.threads = operation, library.threads()
        self._recipe = (operation, dict(settings), tuple(roles), tuple(post))
        self._uses = tuple(settings.values())  # a forward primitive that hints at this one lives as long
        self.descriptor = 0
        self.descriptor = _describe(library, operation, settings, post)
        name = c_char_p()
        query = library.native.dnnl_primitive_desc_query
        library.check(query(self.descriptor, _IMPLEMENTATION, 0, ctypes.byref(name)), operation)
        self.implementation = (name.value or b"").decode()
        self.indices = {role: ROLES[role] for role in (*roles, "workspace", "scratchpad")}
        for index, each in enumerate(post):
            if isinstance(each, Binary):
                self.indices[f"operand_{index}"] = _OPERAND * (index + 1) | _SECOND
        found = {role: self._layout(index) for role, index in self.indices.items()}
        present = {role: layout for role, layout in found.items() if layout is not None}
        scratchpad = present.pop("scratchpad", None)
        self.scratchpad = 0 if scratchpad is None else scratchpad.size
        self.layouts = present

    def _layout(self, index: int) -> Layout | None:
        descriptor = self._library.native.dnnl_primitive_desc_query_md(self.descriptor, _ARGUMENT, index)
        return None if descriptor is None else chosen(descriptor)

    def handle(self) -> int:
        """The `dnnl_primitive_t`; its code is generated on first use."""
        if self._handle is None:
            with self._lock:
                if self._handle is None:
                    with self._library.limited_to(self.threads):
                        self._handle = self._library.make("dnnl_primitive_create", self.descriptor)
        return self._handle

    @property
    def is_reference(self) -> bool:
        """Whether oneDNN fell back to plain loops, which are correct and very slow."""
        return self.implementation.startswith(("ref", "simple:any"))

    def serial(self) -> Primitive:
        """The same operation on the same layouts for one thread: where a plan is not admitted to the team."""
        if self.threads == 1:
            return self
        operation, settings, roles, post = self._recipe
        fixed = {
            name: self.layouts.get(name, value) if isinstance(value, Layout) else value
            for name, value in settings.items()
        }
        with self._library.limited_to(1):
            return create(operation, fixed, roles, post)

    def step(self, pointers: Mapping[str, int] | None = None) -> Step:
        """An instance of its own, with its own buffers, to run or to put into a plan."""
        from burn.backend.cpu.onednn.step import Step

        return Step(self._library, self, pointers or {})

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self._library.native.dnnl_primitive_destroy(self._handle)
        if getattr(self, "descriptor", 0):
            self._library.native.dnnl_primitive_desc_destroy(self.descriptor)

    def __repr__(self) -> str:
        return f"<{self.operation} by {self.implementation} on {self.threads} threads: {_listed(self.layouts)}>"


def _listed(settings: Mapping[str, Any]) -> str:
    shown = ((name, value) for name, value in settings.items() if not isinstance(value, Primitive | None))
    return ", ".join(f"{name} {value}" for name, value in shown)


def _native(library: Library, setting: Setting) -> Any:
    if isinstance(setting, Layout):
        return c_void_p(setting.handle(library))
    if isinstance(setting, Primitive):
        return c_void_p(setting.descriptor)
    if isinstance(setting, tuple):
        return Dims(*setting)
    return c_float(setting) if isinstance(setting, float) else setting


def _describe(library: Library, operation: str, settings: Mapping[str, Setting], post: Sequence[PostOperation]) -> int:
    """The `dnnl_primitive_desc_t`: oneDNN's choice of an implementation, or the reason there is none."""
    function = getattr(library.native, f"dnnl_{operation}_primitive_desc_create")
    layouts = [each for each in settings.values() if isinstance(each, Layout)]
    told = f"{_listed(settings)}{f', then {list(post)}' if post else ''}"
    if any(0 in each.shape for each in layouts):
        # oneDNN returns without touching the output, even where the result is zeros.
        raise MissingOperation(f"onednn {operation}: empty buffers are left to the caller: {told}")
    if operation in _PRODUCTS and any(each.dtype in (i8, u8) for each in layouts) and not library.has_exact_bytes():
        raise MissingOperation(f"onednn {operation}: byte products saturate without VNNI instructions: {told}")
    try:
        values = [_native(library, each) for each in settings.values()]
        engine = c_void_p(library.engine)
        if operation == "reorder":
            values = [values[0], engine, values[1], engine]
        else:
            values.insert(0, engine)
        created = c_void_p()
        with attributes(library, post) as attribute:
            status = function(ctypes.byref(created), *values, c_void_p(attribute))
    except MissingOperation as error:
        raise MissingOperation(f"onednn {operation}: cannot describe {told}: {error}") from error
    if status:
        message = f"onednn {operation}: {STATUS.get(status, 'unknown')} (status {status}): {told}"
        raise (OutOfMemory if status == _OUT_OF_MEMORY else MissingOperation)(message)
    assert created.value is not None
    return created.value


_cache: OrderedDict[Any, Primitive] = OrderedDict()
_cache_lock = threading.Lock()


def create(
    operation: str, settings: Mapping[str, Setting], roles: Sequence[str], post: Sequence[PostOperation] = ()
) -> Primitive:
    """The primitive of these settings, in the order of oneDNN's C function; made once and then found again."""
    library = load()
    key = (operation, tuple(settings.items()), tuple(roles), tuple(post), library.threads())
    with _cache_lock:
        found = _cache.get(key)
        if found is not None:
            _cache.move_to_end(key)
            return found
    made = Primitive(library, operation, settings, roles, post)  # unlocked: making takes milliseconds
    with _cache_lock:
        found = _cache.setdefault(key, made)
        while len(_cache) > CAPACITY:
            _cache.popitem(last=False)
    return found


def cached() -> int:
    """How many primitives the cache holds."""
    return len(_cache)


def clear() -> None:
    """Forget the cached primitives; those in use live on."""
    with _cache_lock:
        _cache.clear()
