"""Whose code it is: what a captured function may call without being asked, and what it may not.

Code of this package and of NumPy is trusted: it reads nothing but its operands. The rest of the standard library is
known by name: modules of pure functions are fine, all others (clocks, files, logging, randomness) mean that a
function runs plainly. Everything else is the user's, and what it reads is looked at.
"""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from types import BuiltinFunctionType, CodeType, FrameType, ModuleType
from typing import Any

import numpy as np

OURS, LIBRARY, USERS = 0, 1, 2
"""This package; the standard library and NumPy; everybody else."""

_PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_OURS = tuple(os.path.join(_PACKAGES, name) + os.sep for name in ("burn", "furnace", "burn_import", "burn_store"))
_NUMPY = os.path.dirname(np.__file__) + os.sep
_STANDARD = tuple(sysconfig.get_paths()[name] + os.sep for name in ("stdlib", "platstdlib"))
_STANDARD_NAMES = sys.stdlib_module_names
_kinds: dict[str, int] = {}


def kind_of(frame: FrameType) -> int:
    """Whose code runs in a frame."""
    filename = frame.f_code.co_filename
    found = _kinds.get(filename)
    if found is None:
        if filename[:1] == "<" and not filename.startswith("<frozen "):  # written by a program: whose module is it in?
            name = str(frame.f_globals.get("__name__", ""))
            if name.startswith("namedtuple_"):
                return LIBRARY
            known = getattr(sys.modules.get(name), "__dict__", None) is frame.f_globals or name == "burn.capture.guards"
            return OURS if known and name.partition(".")[0] in ("burn", "furnace") else USERS
        found = _kinds[filename] = _kind_of(filename)
    return found


def _kind_of(filename: str) -> int:
    if filename.startswith(_OURS):
        return OURS
    if filename.startswith((_NUMPY, "<frozen ", "<__array_function__")):
        return LIBRARY
    if filename.startswith(_STANDARD) and "site-packages" not in filename and "dist-packages" not in filename:
        return LIBRARY
    return USERS


def is_ours(cls: type) -> bool:
    """Whether a class belongs to this package."""
    return cls.__module__.partition(".")[0] in ("burn", "furnace", "burn_import")


def is_users(module: str | None) -> bool:
    """Whether a module, by its name, is neither ours nor NumPy nor of the standard library."""
    top = (module or "").partition(".")[0]
    return top not in ("burn", "burn_import", "numpy") and top not in _STANDARD_NAMES


_PURE = frozenset(
    "numpy abc ast base64 bisect builtins cmath collections contextlib copy copyreg dataclasses datetime decimal enum "
    "fractions functools genericpath heapq importlib inspect itertools json keyword math ntpath numbers operator "
    "pathlib posixpath pprint re reprlib sre_compile sre_parse statistics string struct textwrap token tokenize types "
    "typing unicodedata weakref zlib _abc _bisect _collections _collections_abc _decimal _functools _heapq _json "
    "_operator _sre _struct _typing _weakref _weakrefset _py_abc __future__ _frozen_importlib "
    "_frozen_importlib_external _imp".split()
)
"""Modules whose functions depend on nothing but their arguments."""

_IMPURE_BUILTINS = frozenset("print input open breakpoint exec eval compile globals help exit quit".split())

_PURE_TYPES: tuple[type, ...] = (
    str, bytes, bytearray, int, float, complex, list, tuple, dict, set, frozenset, range, slice, memoryview, property,
    type(None), type({}.keys()), type({}.values()), type({}.items()), np.ndarray, np.generic, np.dtype, np.ufunc,
)  # fmt: skip
_HARMLESS_TYPES = frozenset("mappingproxy generator coroutine OrderedDict deque defaultdict Pattern Match Struct lock "
                            "RLock _lru_cache_wrapper Decimal Context date datetime timedelta time classmethod "
                            "staticmethod getset_descriptor member_descriptor ReferenceType partial Scanner "
                            "flatiter nditer broadcast method function traceback frame code".split())  # fmt: skip
_CLOCKS = frozenset("now today utcnow fromtimestamp __subclasses__".split())
_FILES = frozenset("tofile dump".split())


def is_pure_module(name: str) -> bool:
    """Whether the functions of a module depend on nothing but their arguments."""
    top = name.partition(".")[0]
    return (top in _PURE or top.startswith("namedtuple_")) and not name.startswith("numpy.random")


def is_harmless(function: Any, by_users: bool = True) -> bool:
    """Whether a function written in C depends on its arguments alone, and changes nothing else.

    Some do not, and the standard library calls them all the same where it makes no difference.
    """
    owner = getattr(function, "__self__", None)
    name = function.__name__
    if owner is None or isinstance(owner, ModuleType):
        module = str(getattr(function, "__module__", None) or getattr(owner, "__name__", ""))
        if module == "builtins":
            return name not in _IMPURE_BUILTINS
        return is_pure_module(module) or (
            module in ("sys", "_thread", "gc", "atexit") and (name in _HARMLESS or (name in _INNER and not by_users))
        )
    if isinstance(owner, type):
        return name not in _CLOCKS
    if name in _FILES and isinstance(owner, np.ndarray):
        return False
    cls = type(owner)
    if by_users and name in ("acquire", "locked", "_is_owned"):
        return False
    return isinstance(owner, _PURE_TYPES) or cls.__name__ in _HARMLESS_TYPES or isinstance(owner, BaseException)


_HARMLESS = frozenset("intern allocate_lock is_finalizing setprofile getprofile audit".split())
_INNER = frozenset("getsizeof getrefcount get_ident exc_info getrecursionlimit _getframe".split())
_SETTINGS = frozenset(
    "geterr seterr geterrcall seterrcall getbufsize setbufsize get_printoptions set_printoptions".split()
)


def reads_settings(code: CodeType) -> bool:
    """Whether a function of NumPy's reads or writes settings of the process."""
    return code.co_name in _SETTINGS and code.co_filename.startswith(_NUMPY)


def name_of(function: Any) -> str:
    """What a function written in C is called by people."""
    owner = getattr(function, "__self__", None)
    name: str = function.__name__
    if owner is None or isinstance(owner, ModuleType):
        module = str(getattr(function, "__module__", None) or getattr(owner, "__name__", ""))
        return name if module in ("builtins", "") else f"{module.lstrip('_')}.{name}"
    cls = owner if isinstance(owner, type) else type(owner)
    module = cls.__module__
    prefix = "" if module in ("builtins", "_io") else f"{module.lstrip('_')}."
    return f"{prefix}{cls.__name__}.{name}" if module != "random" else f"random.{name}"


def is_impure_builtin(value: Any) -> bool:
    """Whether a value is a function written in C that has effects or reads a clock."""
    return isinstance(value, BuiltinFunctionType) and not is_harmless(value)


def where(frame: FrameType | None) -> str:
    """The innermost line of the user's in a stack."""
    while frame is not None and kind_of(frame) != USERS:
        frame = frame.f_back
    if frame is None:
        return "an unknown line"
    filename, line = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(filename, line, frame.f_globals).strip()
    return f"{os.path.basename(filename)}, line {line}" + (f": {text}" if text else "")


class Ignore:
    """What the user knows better: names and paths, or the objects themselves."""

    def __init__(self, given: Any = ()) -> None:
        given = (given,) if isinstance(given, str) else tuple(given)
        self.paths = tuple([each for each in given if isinstance(each, str)])
        self.objects = tuple([each for each in given if not isinstance(each, str)])

    def __bool__(self) -> bool:
        return bool(self.paths or self.objects)

    def matches(self, path: str, value: Any) -> bool:
        """Whether a value is left out."""
        if self.objects and any(each is value for each in self.objects):
            return True
        return any(path == each or path.startswith((f"{each}.", f"{each}[")) for each in self.paths)
