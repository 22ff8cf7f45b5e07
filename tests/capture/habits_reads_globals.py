"""Habits of reading globals, Python modules and settings of the process, changed between calls."""

# ruff: noqa: F821, F841

from __future__ import annotations

import contextvars
import os
import sys
import types

from burn import Cpu, Tensor
from tests.capture.habits import at, habit, nothing

settings = types.ModuleType("settings")
settings.scale = 2.0
settings.inner = types.SimpleNamespace(scale=2.0)
FLAG = True
TABLE = {"scale": 2.0}


class Options:
    """An object with some attributes."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


@habit()
def attribute_of_a_python_module():
    settings.scale = 2.0
    return lambda x: x * settings.scale, at(4)(lambda: setattr(settings, "scale", 3.0))


@habit()
def object_inside_of_a_python_module():
    settings.inner.scale = 2.0
    return lambda x: x * settings.inner.scale, at(4)(lambda: setattr(settings.inner, "scale", 3.0))


@habit()
def a_global_flag():
    globals()["FLAG"] = True

    def f(x):
        return x * 2.0 if FLAG else x

    return f, at(4)(lambda: globals().update(FLAG=False))


@habit()
def a_global_in_a_helper():
    globals()["FLAG"] = True

    def f(x):
        return helper_with_flag(x)

    return f, at(4)(lambda: globals().update(FLAG=False))


def helper_with_flag(x):
    return x * 2.0 if FLAG else x


@habit()
def a_global_table_in_a_helper_of_a_helper():
    TABLE["scale"] = 2.0
    return lambda x: outer_helper(x), at(4)(lambda: TABLE.update(scale=3.0))


def outer_helper(x):
    return inner_helper(x)


def inner_helper(x):
    return x * TABLE["scale"]


@habit(notice="os")
def an_environment_variable():
    os.environ["BURN_HABIT"] = "2"

    def f(x):
        return x * float(os.environ["BURN_HABIT"])

    return f, at(4)(lambda: os.environ.update(BURN_HABIT="3"))


@habit(notice="os")
def an_environment_variable_by_getenv():
    os.environ["BURN_HABIT"] = "2"

    def f(x):
        return x * float(os.getenv("BURN_HABIT", "1"))

    return f, at(4)(lambda: os.environ.update(BURN_HABIT="3"))


@habit(notice="ContextVar.get|contextvars")
def a_context_variable():
    scale = contextvars.ContextVar("scale", default=2.0)
    return lambda x: x * scale.get(), at(4)(lambda: scale.set(3.0))


@habit()
def a_local_import():
    def f(x):
        import math

        return x * math.sqrt(4.0)

    return f, nothing


@habit(notice="gc|setrecursionlimit|called at")
def a_system_setting():
    def f(x):
        sys.setrecursionlimit(sys.getrecursionlimit())
        return x * 2.0

    return f, nothing


@habit(notice="open|called at")
def reading_a_file():
    def f(x):
        with open(__file__, encoding="utf-8") as file:
            return x * (2.0 if file.readline() else 3.0)

    return f, nothing


@habit(notice="stat|exists|called at")
def looking_for_a_file():
    def f(x):
        return x * (2.0 if os.path.exists("/nowhere/at/all") else 3.0)

    return f, nothing


@habit(replays=False)
def global_del():
    globals()["GONE"] = 2.0

    def f(x):
        try:
            return x * GONE
        except NameError:
            return x

    return (f, at(4)(lambda: globals().pop("GONE")))


@habit(replays=False)
def global_appears():
    globals().pop("COMES", None)

    def f(x):
        try:
            return x * COMES
        except NameError:
            return x

    return (f, at(4)(lambda: globals().__setitem__("COMES", 5.0)))


@habit(replays=False)
def helper_global_appears():
    globals().pop("COMES2", None)

    def h():
        try:
            return COMES2
        except NameError:
            return 1.0

    return (lambda x: x * h(), at(4)(lambda: globals().__setitem__("COMES2", 5.0)))


@habit(replays=False)
def dynamic_globals_lookup():
    globals()["DYN_a"] = 2.0

    def f(x):
        return x * globals()["DYN_" + "a"]

    return (f, at(4)(lambda: globals().__setitem__("DYN_a", 5.0)))


@habit(replays=False)
def sys_modules_lookup():
    m = types.ModuleType("zz_mod")
    m.s = 2.0
    sys.modules["zz_mod"] = m

    def f(x):
        import zz_mod

        return x * zz_mod.s

    return (f, at(4)(lambda: setattr(m, "s", 5.0)))


@habit(replays=False)
def import_from_inside():
    m = types.ModuleType("zz_mod2")
    m.s = 2.0
    sys.modules["zz_mod2"] = m

    def f(x):
        from zz_mod2 import s

        return x * s

    return (f, at(4)(lambda: setattr(m, "s", 5.0)))


@habit(replays=False)
def tensor_in_helper_global():
    globals()["HW"] = Tensor.from_floats([2.0, 2.0], Cpu())

    def h(x):
        return x * HW

    return (lambda x: h(x), at(4)(lambda: globals().__setitem__("HW", Tensor.from_floats([5.0, 5.0], Cpu()))))


@habit(replays=False)
def contextvar_in_helper():
    v = contextvars.ContextVar("v", default=2.0)

    def h():
        return v.get()

    return (lambda x: x * h(), at(4)(lambda: v.set(5.0)))


@habit(replays=False)
def frame_inspection():

    def h():
        return sys._getframe(1).f_locals["k"]

    o = Options(k=2.0)

    def f(x):
        k = o.k
        return x * h()

    return (f, at(4)(lambda: setattr(o, "k", 5.0)))
