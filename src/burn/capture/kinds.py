"""Kinds of values: which classes are compared by value, known by identity, or cannot be looked at."""

from __future__ import annotations

import collections
import datetime
import enum
import fractions
import functools
import pathlib
import random
import re
import threading
import types
import typing
import uuid
from collections.abc import Callable
from operator import is_
from typing import Any

import numpy as np

from burn.device import Device
from burn.dtype import DType

ATOMS: frozenset[Any] = frozenset(
    (int, float, bool, str, bytes, complex, type(None), type(...), type(NotImplemented), range)
)  # fmt: skip
VALUES: tuple[type, ...] = (
    datetime.date, datetime.time, datetime.timedelta, datetime.timezone, fractions.Fraction, re.Pattern,
    pathlib.PurePath, uuid.UUID, np.dtype, types.CodeType,
)  # fmt: skip
"""Immutable classes that compare by value."""
INNER: dict[type, tuple[str, ...]] = {
    slice: ("start", "stop", "step"),
    types.GenericAlias: ("__origin__", "__args__"),
    types.UnionType: ("__args__",),
    functools.partial: ("func", "args", "keywords"),
    property: ("fget", "fset", "fdel"),
    functools.cached_property: ("func",),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    datetime.datetime: ("tzinfo",),
    datetime.time: ("tzinfo",),
}
"""Classes written in C that hold other values, by attributes that are always there."""
FIXED: tuple[type, ...] = (
    types.ModuleType, types.BuiltinFunctionType, types.WrapperDescriptorType, types.MethodDescriptorType,
    types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType, types.GeneratorType,
    types.CoroutineType, types.AsyncGeneratorType, np.ufunc, Device, DType,
)  # fmt: skip
"""What is known by its identity: it holds nothing, or what it holds is noticed elsewhere."""

COUNTED: dict[type, Callable[[Any], Any]] = {
    random.Random: lambda value: value.getstate(),
    np.random.Generator: lambda value: repr(value.bit_generator.state),
    np.random.RandomState: lambda value: repr(value.get_state(legacy=False)),
    np.random.BitGenerator: lambda value: repr(value.state),
    type(functools.lru_cache(is_)): lambda value: value.cache_info(),
}
"""Classes whose objects move on when they are used, and what tells how far they are."""

OF_FUNCTIONS = frozenset(
    "__code__ __defaults__ __kwdefaults__ __doc__ __name__ __qualname__ __annotations__ __module__ __closure__".split()
)
"""What a function has beside its attributes, and may be another."""

SEQUENCES = (list, tuple, collections.deque)

HARMLESS = frozenset(
    ("lock", "RLock", "object", "ContextVar", "Token", "ellipsis", "LogRecord", "TypeVar", "_tuplegetter", "ZoneInfo")
)


def is_transparent(kind: type) -> bool:
    """Whether objects of a class hold nothing but attributes, slots and an immutable value."""
    return all(
        each in TRANSPARENT or (each.__flags__ & _HEAP and not each.__flags__ & _IMMUTABLE) for each in kind.__mro__
    )


_HEAP, _IMMUTABLE = 1 << 9, 1 << 8
TRANSPARENT = frozenset(
    (
        object,
        types.SimpleNamespace,
        threading.local,
        datetime.tzinfo,
        int,
        float,
        str,
        bytes,
        complex,
        enum.Enum,
        typing.Generic,
    )
)
"""Classes written in C whose objects hold nothing but attributes and an immutable value."""
