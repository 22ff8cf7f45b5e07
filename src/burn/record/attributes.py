"""What an object of anybody's class remembers, as JSON has it: its attributes, exactly.

A scheduler or a metric that somebody wrote need not say how it is kept: what it remembers are numbers, strings, arrays
and tensors, in lists, sets, dicts and small objects of its own module. Attributes that are code or settings (functions,
classes, enumerations, paths, configs) stay as the constructor made them. Reading imports nothing and runs no code of
others: the objects that are there are filled; a new one is made without its constructor, and only of a class that
stands beside the owner's own.
"""

from __future__ import annotations

import base64
import enum
import os
import random
import sys
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from burn.config import Config
from burn.device import Device
from burn.errors import ArgumentError
from burn.tensor import Tensor

KIND = "burn"
"""The key of a JSON object that stands for something that JSON has no word for."""

SETTINGS = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, type, np.ufunc,
    enum.Enum, os.PathLike, Config, Device, np.dtype,
)  # fmt: skip
"""What a constructor is given and a run does not change."""

CONTAINERS = (BaseException, dict, list, tuple, set)
SEQUENCES: dict[str, Callable[..., Any]] = {"tuple": tuple, "set": set, "frozenset": frozenset}
GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
FACTORIES: dict[str, Any] = {"int": int, "float": float, "list": list, "dict": dict, "set": set, "None": None}


def plain(value: Any) -> Any:
    """A value as JSON has it; an ArgumentError says what has no such form."""
    return _Writer(None).write(value, "value")


def unplain(value: Any, device: Device | None = None) -> Any:
    """The inverse of `plain`; tensors go to `device`."""
    return _Reader(None, device).read(value)


def attributes(owner: Any, leave_out: tuple[str, ...] = ()) -> dict[str, Any]:
    """What `owner` remembers: its attributes as JSON has them, without code and settings."""
    writer, found, faults = _Writer(owner), {}, []
    for name, value in _items(owner):
        if name in leave_out or isinstance(value, SETTINGS):
            continue
        try:
            found[name] = writer.write(value, name)
        except ArgumentError as error:
            faults.append(str(error))
    if faults:
        raise ArgumentError(f"{type(owner).__name__}: a checkpoint cannot keep {'; '.join(faults)}")
    return found


def load_attributes(owner: Any, saved: dict[str, Any], device: Device | None = None) -> None:
    """Give `owner` the attributes of `saved` back; those that are not there stay as they are."""
    reader = _Reader(owner, device)
    for name, value in saved.items():
        object.__setattr__(owner, name, reader.read(value, getattr(owner, name, None)))


def _items(owner: Any) -> Iterator[tuple[str, Any]]:
    """Attributes of the instance: those of its dict, and those of slots that are filled."""
    yield from getattr(owner, "__dict__", {}).items()
    for each in type(owner).__mro__:
        slots = each.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(owner, name):
                yield name, getattr(owner, name)


def _homes(owner: Any) -> set[str]:
    """Where the classes of an owner's attributes may stand: in the modules of its class and bases, or beside them."""
    modules = {each.__module__ for each in type(owner).__mro__} - {"builtins", "abc", "typing"}
    return set() if owner is None else modules | {each.rpartition(".")[0] for each in modules if "." in each}


def _is_known(kind: type, homes: set[str]) -> bool:
    named = "<locals>" not in kind.__qualname__  # others cannot be found again
    return named and (kind.__module__ in homes or kind.__module__.rpartition(".")[0] in homes)


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


class _Writer:
    def __init__(self, owner: Any) -> None:
        self.homes = _homes(owner)
        self.above: set[int] = set()

    def write(self, value: Any, path: str) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, float, str):
            return value
        if isinstance(value, np.generic | np.ndarray):
            return self._array(value, path)
        if isinstance(value, Tensor):
            return {KIND: "tensor", "value": self._array(value.no_grad().numpy(), path)}
        if id(value) in self.above:
            raise ArgumentError(f"`{path}`, which holds itself")
        self.above.add(id(value))
        try:
            return self._container(value, kind, path)
        finally:
            self.above.discard(id(value))

    def _container(self, value: Any, kind: type, path: str) -> Any:
        if kind is list:
            return self._list(value, path)
        if kind is dict and KIND not in value and all(type(key) is str for key in value):
            return {key: self.write(each, f"{path}[{key!r}]") for key, each in value.items()}
        if kind in (tuple, set, frozenset):
            return {KIND: kind.__name__, "value": self._list(value, path)}
        if kind is deque:
            return {KIND: "deque", "value": self._list(value, path), "maxlen": value.maxlen}
        if kind in (dict, Counter, OrderedDict):
            return {KIND: kind.__name__, "value": self._pairs(value, path)}
        if kind is defaultdict:
            name = getattr(value.default_factory, "__name__", str(value.default_factory))
            if FACTORIES.get(name, self) is value.default_factory:
                return {KIND: "defaultdict", "value": self._pairs(value, path), "factory": name}
        elif kind is random.Random:
            return {KIND: "random", "value": self.write(value.getstate(), path)}
        elif kind is np.random.Generator:
            return {KIND: "generator", "value": self.write(value.bit_generator.state, path)}
        elif (_is_known(kind, self.homes) or kind.__module__.startswith("burn.")) and not isinstance(value, CONTAINERS):
            inside = {name: each for name, each in _items(value) if not isinstance(each, SETTINGS)}
            made = {name: self.write(each, f"{path}.{name}") for name, each in inside.items()}
            return {KIND: "object", "class": _name(kind), "value": made}
        raise ArgumentError(f"`{path}`, a {kind.__name__}")

    def _list(self, values: Any, path: str) -> list[Any]:
        return [self.write(each, f"{path}[{place}]") for place, each in enumerate(values)]

    def _pairs(self, value: Any, path: str) -> list[Any]:
        return [
            [self.write(key, f"a key of {path}"), self.write(each, f"{path}[{key!r}]")] for key, each in value.items()
        ]

    def _array(self, value: Any, path: str) -> Any:
        array = np.asarray(value)
        if array.dtype.hasobject or array.dtype.kind == "V":
            raise ArgumentError(f"`{path}`, an array of {array.dtype}")
        text = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
        name = "scalar" if isinstance(value, np.generic) else "array"
        return {KIND: name, "dtype": array.dtype.str, "shape": list(array.shape), "value": text}


class _Reader:
    def __init__(self, owner: Any, device: Device | None) -> None:
        self.homes, self.device = _homes(owner), device

    def read(self, saved: Any, current: Any = None) -> Any:
        """A saved value; `current` is what stands in its place now."""
        if isinstance(saved, list):
            return self._list(saved, current)
        if not isinstance(saved, dict):
            return saved
        if KIND not in saved:
            there = current if type(current) is dict else {}
            return {key: self.read(each, there.get(key)) for key, each in saved.items()}
        kind, value = saved[KIND], saved["value"]
        if kind in ("array", "scalar"):
            array = np.frombuffer(base64.b64decode(value), np.dtype(saved["dtype"])).reshape(saved["shape"]).copy()
            return array[()] if kind == "scalar" else array
        if kind == "tensor":
            array = self.read(value)
            return Tensor.from_data(array, self.device, array.dtype) if self.device is not None else array
        if kind in SEQUENCES:
            return SEQUENCES[kind](self._list(value, current))
        if kind == "deque":
            return deque(self._list(value, current), saved["maxlen"])
        if kind == "object":
            return self._object(saved["class"], value, current)
        if kind in ("random", "generator"):
            return self._generator(kind, self.read(value), current)
        pairs = [(self.read(key), self.read(each)) for key, each in value]
        if kind == "Counter":
            return Counter(dict(pairs))
        if kind == "defaultdict":
            return defaultdict(FACTORIES[saved["factory"]], pairs)
        return OrderedDict(pairs) if kind == "OrderedDict" else dict(pairs)

    def _list(self, saved: list[Any], current: Any) -> list[Any]:
        there = list(current) if isinstance(current, list | tuple | deque) and len(current) == len(saved) else []
        return [self.read(each, there[place] if there else None) for place, each in enumerate(saved)]

    def _generator(self, kind: str, state: Any, current: Any) -> Any:
        if kind == "random":
            made = random.Random()
            made.setstate(state)
            return made
        name = state["bit_generator"]
        if name not in GENERATORS:
            raise ArgumentError(f"load_state: NumPy has no bit generator {name!r}")
        if not isinstance(current, np.random.Generator) or type(current.bit_generator).__name__ != name:
            current = np.random.Generator(getattr(np.random, name)())
        current.bit_generator.state = state
        return current

    def _object(self, name: str, value: dict[str, Any], current: Any) -> Any:
        made = current if _name(type(current)) == name else self._made(name)
        for key, each in value.items():
            object.__setattr__(made, key, self.read(each, getattr(made, key, None)))
        return made

    def _made(self, name: str) -> Any:
        module, _, path = name.partition(":")
        found: Any = sys.modules.get(module)
        for part in path.split("."):
            found = getattr(found, part, None)
        if not isinstance(found, type) or not _is_known(found, self.homes):
            raise ArgumentError(f"load_state: {name} is no class of the object that was saved")
        return object.__new__(found)
