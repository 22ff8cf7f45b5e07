"""Watching a recording: which Python runs, what it reads, and what it does that a replay would not do.

`sys.setprofile` tells of every function that is entered, and of every function written in C that is called. The user's
functions are looked around (their globals, what they close over, their defaults) before their first line runs; when
the recording has ended, the same looks tell what was changed. They then guard the capture.
"""

from __future__ import annotations

import builtins
import dataclasses
import dis
import gc
import inspect
import random
import sys
import types
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

import numpy as np

from burn.capture.facts import Facts, facts_of
from burn.capture.guards import Guards, read_place
from burn.capture.keyed import keyed, without_places
from burn.capture.kinds import ATOMS
from burn.capture.looking import Around, Unseen
from burn.capture.looks import MISSING, Aliases, Attribute, Look, contents_of, fields_of, read_slot, slots_of
from burn.capture.settings import SETTINGS, Setting
from burn.capture.trust import (
    LIBRARY,
    OURS,
    USERS,
    Ignore,
    is_harmless,
    is_impure_builtin,
    is_pure_module,
    kind_of,
    name_of,
    reads_settings,
    where,
)
from burn.scalar import Family, Scalar
from burn.symbolic import holds_sizes, is_symbolic
from burn.tensor import Tensor

SILENT = frozenset("math cmath _struct struct _json _decimal numpy _statistics".split())
"""Modules of functions written in C that look into a float without asking it."""

GENERATORS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Watch:
    """One recording being watched."""

    def __init__(self, ignore: Ignore, call: Any, family: Family) -> None:
        self.around = Around(ignore)
        self.ignore = ignore
        self.reason = ""
        self._entered: dict[int, CodeType] = {}
        self._nested: set[int] = set()
        self._functions: dict[int, list[Any]] = {}  # those that were entered, by their code
        self._generators: dict[int, FrameType] = {}
        self._family = family
        self._surroundings = call.surroundings
        self._arguments: list[tuple[Any, Any, str]] = []  # where they stand, and their names
        self._looks: list[tuple[Any, Any, Look]] = []  # the same, and what is looked at
        self._random = random.getstate()
        self._numpy = _numpy_random()
        self._previous: Any = None
        self._skip: set[Any] = set()
        self._returned: list[Scalar] = []
        self._identities = False  # whether code could tell two equal containers from one
        self.names_classes = False
        """Whether code that holds a number asks for a class: a scalar is no plain float."""
        self._try(self._look_at_call, call.args, call.kwargs)

    def _look_at_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        around, surroundings = self.around, self._surroundings
        for function in surroundings.functions:
            around.note_function(function)
        for index, value in enumerate(args):
            self._arguments.append((("args", index), value, surroundings.parameter(index)))
        self._arguments += [(("kwargs", name), value, name) for name, value in kwargs.items()]
        for cell, name in zip(surroundings.cells, surroundings.names):
            self._skip.add(id(cell))
            self._arguments.append(((cell, None), contents_of(cell), name))
        for name in surroundings.global_names:
            self._skip.add((id(surroundings.globals), name))
            self._arguments.append((("globals", name), surroundings.globals.get(name, MISSING), name))
        for position, value in enumerate(surroundings.fixed):
            self._arguments.append((("fixed", position), value, "self" if value is surroundings.owner else "a default"))
        for where_, value, path in self._arguments:
            look = keyed(around, value, path)
            if look is not None:
                self._looks.append((where_, value, look))

    def note(self, what: str, name: str = "") -> None:
        """Remember the first thing that a replay would not do."""
        if not self.reason and not (name and self.ignore.matches(name, MISSING)):
            self.reason = what

    # Events

    def __enter__(self) -> Watch:
        self._previous = sys.getprofile()
        self._collectors = {getattr(each, "__code__", None) for each in gc.callbacks}
        sys.setprofile(self._event)
        return self

    def __exit__(self, *_: Any) -> None:
        sys.setprofile(self._previous)
        self._generators.clear()
        self._functions.clear()
        self._returned.clear()

    def _event(self, frame: FrameType, what: str, arg: Any) -> None:
        kind = kind_of(frame)
        if kind == OURS or frame.f_code in self._collectors:  # the collector comes when it likes, not when it is called
            if what == "call" and (setting := SETTINGS.get(frame.f_code)):
                self.around.always(setting[0], Setting(*setting))
            return
        if what == "call":
            if kind == USERS:
                self._enter(frame)
            else:
                self._enter_library(frame)
        elif what == "c_call":
            if isinstance(getattr(arg, "__self__", None), Scalar):  # float.hex(number)
                arg.__self__.read()
            if (getattr(arg, "__module__", None) or "").partition(".")[0] in SILENT:
                self._look_into(frame)
            if not is_harmless(arg, kind == USERS) and (kind == USERS or _caller(frame) == USERS):
                name = name_of(arg)
                if name not in ("sys.setprofile", "setprofile"):
                    self.note(f"{name} is called at {where(frame)}", name)
        elif what == "return" and kind == USERS:
            self._look_for_classes(frame)
            if not self._family.members:
                return
            if isinstance(arg, Scalar):
                self._returned.append(arg)
            if facts_of(frame.f_code).formats:
                self._look_into(frame)

    def _look_into(self, frame: FrameType) -> None:
        """Functions that look into floats without asking were called: take it that they looked at all of a frame's."""
        if self._family.members:
            for each in [*scalars_in([*frame.f_locals.values()]), *self._returned]:
                each.read()

    def _enter_library(self, frame: FrameType) -> None:
        code = frame.f_code
        if id(code) in self._entered or _caller(frame) != USERS:
            return
        self._entered[id(code)] = code
        module = str(frame.f_globals.get("__name__", ""))
        if not is_pure_module(module) or reads_settings(code):
            name = f"{module}.{code.co_qualname}"
            self.note(f"{name} is called at {where(frame)}", name)
            return
        facts = facts_of(code)
        self._try(self.around.add_names, facts.names, facts.spaces, facts.spaces, facts.asked)

    def _enter(self, frame: FrameType) -> None:
        code = frame.f_code
        if code.co_flags & GENERATORS:
            self._resume(frame)
        self._look_for_classes(frame)
        if id(code) in self._entered:
            if code.co_freevars and id(code) not in self._nested:  # the same code may close over something else
                self._try(self._look_into_functions, code, frame)
            return
        self._entered[id(code)] = code
        facts = facts_of(code)
        self._identities |= facts.identities
        self._nested.update(id(each) for each in facts.nested)
        self._try(self._look_around, code, facts, frame)

    def _look_for_classes(self, frame: FrameType) -> None:
        if not self.names_classes and (paths := facts_of(frame.f_code).classes_of):
            self.names_classes = any(_is_number(path, frame) for path in paths)

    def _try(self, function: Callable[..., Any], *args: Any) -> None:
        try:
            function(*args)
        except Unseen as unseen:
            self.note(str(unseen))
        except RecursionError:
            self.note("what it reads is nested too deeply to be looked at")
        except Exception as error:  # an object of the user's that does not like to be looked at
            self.note(f"something cannot be looked at: {type(error).__name__}: {error}")

    def _resume(self, frame: FrameType) -> None:
        started = _first_resume(frame.f_code)
        if id(frame) in self._generators:
            return
        self._generators[id(frame)] = frame
        if frame.f_lasti > started:
            name = frame.f_code.co_qualname
            self.note(f"the generator {name} goes on at {where(frame.f_back)}", name)

    def _look_around(self, code: CodeType, facts: Facts, frame: FrameType) -> None:
        around = self.around
        scope = frame.f_globals
        builtin = vars(builtins)
        for name in facts.global_names:
            if (id(scope), name) not in self._skip:
                around.place((id(scope), name), scope, name, scope.get(name, MISSING), name)
            if name not in scope and name in builtin:
                around.place((id(builtin), name), builtin, name, builtin[name], name)
        for name in facts.taken:
            value = scope.get(name, builtin.get(name))
            if is_impure_builtin(value):
                self.note(f"{name_of(value)} is given away in {code.co_qualname}", name_of(value))
        for name in facts.imports:
            around.place((id(sys.modules), name), sys.modules, name, sys.modules.get(name, MISSING), name)
        if facts.frames:
            self.note(f"{facts.frames} is read in {code.co_qualname}", facts.frames)
        names = {*facts.names, code.co_name}  # others may have called it by its name
        around.add_names(names, facts.everything, facts.spaces, facts.asked)
        if id(code) not in self._nested:
            self._look_into_functions(code, frame)

    def _look_into_functions(self, code: CodeType, frame: FrameType) -> None:
        """What the function that was entered closes over, and its defaults."""
        around = self.around
        if any(_is_called(each, frame) for each in self._functions.get(id(code), ())):
            return
        found = [each for each in around.functions.get(id(code), ()) if _is_called(each, frame)]
        if not found:
            found = [each for each in gc.get_referrers(code) if isinstance(each, types.FunctionType)]
            found = [each for each in found if _is_called(each, frame)]
        if not found and code.co_freevars:
            self.note(f"what {code.co_qualname} closes over cannot be looked at")
        self._functions.setdefault(id(code), []).extend(found)
        for function in found:
            for name, cell in zip(code.co_freevars, function.__closure__ or ()):
                if id(cell) not in self._skip:
                    around.place(id(cell), cell, None, contents_of(cell), name)
            self._look_at_function(function)
            if function is self._surroundings.functions[-1]:
                continue
            for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
                around.place(("default", id(default)), (default,), 0, default, f"a default of {function.__name__}")

    def _look_at_function(self, function: Any) -> None:
        roots, name, key = self.around.roots, function.__name__, id(function)
        roots["code", key] = (function, "", Attribute(f"the code of {name}", function, "__code__"))
        if function.__defaults__ is not None:
            roots["defaults", key] = (function, "", Attribute(f"the defaults of {name}", function, "__defaults__"))
        if function.__kwdefaults__ is not None:
            defaults = function.__kwdefaults__
            roots["keywords", key] = (function, "", Attribute(f"the defaults of {name}", function, "__kwdefaults__"))
            for each, value in defaults.items():
                self.around.place((id(defaults), each), defaults, each, value, f"a default of {name}")

    # What was changed

    def finish(self) -> str:
        """Why what was recorded cannot be replayed; empty if it can."""
        if not self.reason:
            for value, counted in self.around.counted:
                if counted.moved(value):
                    self.note(f"{counted.path} is used: it draws, or remembers calls", counted.path)
        if random.getstate() != self._random:
            self.note("Python's random draws numbers", "random")
        if _numpy_random() != self._numpy:
            self.note("numpy.random draws numbers", "numpy.random")
        for container, name, look in self.around.roots.values():
            if self.reason:
                break
            if found := look.moved(read_place(container, name, {})):
                self.note(f"{found} is changed", found)
        for _, value, look in self._looks:
            if not self.reason and (found := look.moved(value)):
                self.note(f"{found} is changed", found)
        return self.reason

    @property
    def known(self) -> set[int]:
        """The identities of the objects that were there before the call."""
        return {*self.around._known, *(id(value) for _, value, _ in self._arguments)}

    def guards(self) -> Guards:
        """What guards a capture of this recording."""
        looks: list[Any] = [(*place, look) for place, _, look in self._looks]
        places = self.around.places if self._identities else []
        if len(places) < 2:
            places = []
            looks = [(*place, kept) for *place, look in looks if (kept := without_places(look)) is not None]
        made = Guards([*self.around.roots.values(), *looks], Aliases(places) if places else None)
        self.around.release()
        self._arguments.clear()
        self._looks.clear()
        return made


def floats_in(values: list[Any], depth: int = 2) -> Iterator[Any]:
    """The floats in lists, dicts and objects."""
    for value in values:
        if isinstance(value, float):
            yield value
        elif depth and value is not None and value.__class__ not in ATOMS:
            if isinstance(value, list | tuple):
                yield from floats_in(list(value[:64]), depth - 1)
            elif isinstance(value, dict):
                yield from floats_in(list(value.values())[:64], depth - 1)
            elif dataclasses.is_dataclass(value) and not isinstance(value, type):
                yield from floats_in(list(getattr(value, "__dict__", {}).values()), depth - 1)


MOST_SEARCHED = 2000


def _is_number(path: tuple[str, ...], frame: FrameType) -> bool:
    """Whether a value whose class is asked for may be a float."""
    local = frame.f_locals
    value = local.get(path[0], MISSING) if path else MISSING
    for name in path[1:]:
        value = (fields_of(value) or {}).get(name, MISSING)
    if value is MISSING:
        return _holds_float([*local.values()]) or any(map(_has_open_sizes, local.values()))
    return isinstance(value, float) or is_symbolic((value,))


def _has_open_sizes(value: Any) -> bool:
    return holds_sizes(value) or (isinstance(value, Tensor) and holds_sizes(tuple(value.shape)))


def _holds_float(waiting: list[Any]) -> bool:
    """Whether there is a float behind some values; the constants of modules are none that change."""
    seen: set[int] = set()
    while waiting:
        value = waiting.pop()
        kind = type(value)
        if isinstance(value, float) or len(seen) > MOST_SEARCHED:
            return True
        if kind in ATOMS or id(value) in seen or hasattr(kind, "__tree__") or isinstance(value, _WITHOUT_NUMBERS):
            continue
        seen.add(id(value))
        if isinstance(value, list | tuple | set | frozenset):
            waiting += value
        elif isinstance(value, dict):
            waiting += dict.values(value)
        else:
            waiting += (fields_of(value) or {}).values()
            waiting += [read_slot(slot, value) for slot in slots_of(kind)]
    return False


_WITHOUT_NUMBERS = (Tensor, type, types.ModuleType, types.FunctionType, types.MethodType, types.BuiltinFunctionType)


def scalars_in(values: list[Any]) -> list[Scalar]:
    """The scalars in lists, dicts and objects."""
    return [each for each in floats_in(values) if isinstance(each, Scalar)]


def _numpy_random() -> tuple[Any, ...]:
    """How far NumPy's own stream of random numbers is."""
    state: Any = np.random.get_state(legacy=False)  # noqa: NPY002
    return state["state"]["key"].tobytes(), state["state"]["pos"], state["has_gauss"], state["gauss"]


def _is_called(function: Any, frame: FrameType) -> bool:
    """Whether a function could be the one that runs in a frame: what it closes over is what the frame sees."""
    code = frame.f_code
    if function.__code__ is not code:
        return False
    if not code.co_freevars:
        return True
    local = frame.f_locals
    cells = zip(code.co_freevars, function.__closure__ or ())
    return all(local.get(name, MISSING) is contents_of(cell) for name, cell in cells)


def _caller(frame: FrameType | None) -> int:
    """Whose code called into the library."""
    while frame is not None:
        kind = kind_of(frame)
        if kind != LIBRARY:
            return kind
        frame = frame.f_back
    return OURS


_first: dict[int, tuple[CodeType, int]] = {}


def _first_resume(code: CodeType) -> int:
    """Where a generator stands that was made and not yet asked."""
    found = _first.get(id(code))
    if found is None:
        place = next((each.offset for each in dis.get_instructions(code) if each.opname == "RETURN_GENERATOR"), 0)
        found = _first[id(code)] = (code, place + 4)
    return found[1]
