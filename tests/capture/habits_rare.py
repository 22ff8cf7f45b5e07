"""Habits of somebody who wants to break it: rare ways to read, to hide and to change things."""

# ruff: noqa: B007, B019, C417, E731, E741, F821, F841, RUF012, RUF015, SIM, UP034

from __future__ import annotations

import array
import collections
import contextlib
import contextvars
import ctypes
import dataclasses
import enum
import functools
import heapq
import operator
import random
import re
import sys
import threading
import types
import typing
import weakref

import numpy as np

import burn
from burn import Cpu, Tensor
from burn.module import Module
from tests.capture.habits import at, habit, nothing


class Options:
    """An object with some attributes."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


@habit(replays=False)
def replaced_dict_of_object():
    o = Options(s=2.0)
    return (lambda x: x * o.s, at(4)(lambda: setattr(o, "__dict__", {"s": 5.0})))


@habit(replays=False)
def class_of_object_changed():

    class A:
        s = 2.0

    class B:
        s = 3.0

    o = A()
    return (lambda x: x * o.s, at(4)(lambda: setattr(o, "__class__", B)))


@habit(replays=False)
def bases_changed():

    class A:
        s = 2.0

    class B:
        s = 3.0

    class C(A):
        pass

    o = C()
    return (lambda x: x * o.s, at(4)(lambda: setattr(C, "__bases__", (B,))))


@habit(replays=False)
def code_of_helper_replaced():

    def h(x):
        return x * 2.0

    def h2(x):
        return x * 5.0

    return (lambda x: h(x), at(4)(lambda: setattr(h, "__code__", h2.__code__)))


@habit(replays=False)
def code_of_f_replaced():

    def f(x):
        return x * 2.0

    def h2(x):
        return x * 5.0

    return (f, at(4)(lambda: setattr(f, "__code__", h2.__code__)))


@habit(replays=False)
def defaults_replaced():

    def h(x, s=2.0):
        return x * s

    return (lambda x: h(x), at(4)(lambda: setattr(h, "__defaults__", (5.0,))))


@habit(replays=False)
def f_defaults_replaced():

    def f(x, s=2.0):
        return x * s

    return (f, at(4)(lambda: setattr(f, "__defaults__", (5.0,))))


@habit(replays=False)
def f_kwdefaults_changed():

    def f(x, *, s=2.0):
        return x * s

    return (f, at(4)(lambda: f.__kwdefaults__.update(s=5.0)))


@habit(replays=False)
def kwdefaults_changed():

    def h(x, *, s=2.0):
        return x * s

    return (lambda x: h(x), at(4)(lambda: h.__kwdefaults__.update(s=5.0)))


@habit(replays=False)
def function_attr_added():

    def h(x):
        return x * (3.0 if hasattr(h, "fast") else 2.0)

    return (lambda x: h(x), at(4)(lambda: setattr(h, "fast", 1)))


@habit(replays=False)
def method_via_dict_lookup_table_strings():

    class A:
        def a(self, x):
            return x * 2.0

        def b(self, x):
            return x * 3.0

    o = A()
    o.mode = "a"

    def f(x):
        return getattr(o, o.mode)(x)

    return (f, at(4)(lambda: setattr(o, "mode", "b")))


@habit(replays=False)
def nested_tuple_list():
    t = ([2.0],)
    return (lambda x: x * t[0][0], at(4)(lambda: t[0].__setitem__(0, 5.0)))


@habit(replays=False)
def frozenset_equal_types():
    o = Options(s=frozenset([1]))
    return (
        lambda x: x * (2.0 if any(e is True for e in o.s) else 3.0),
        at(4)(lambda: setattr(o, "s", frozenset([True]))),
    )


@habit(replays=False)
def dict_key_true_vs_one():
    d = {1: 2.0}
    o = Options(d=d)

    def ch():
        d.clear()
        d[True] = 2.0

    return (lambda x: x * (5.0 if any(k is True for k in o.d) else 3.0), at(4)(ch))


@habit(replays=False)
def subclass_of_list():

    class L(list):
        pass

    l = L([2.0])
    l.s = 1.0

    def ch():
        l.s = 4.0

    return (lambda x: x * l[0] * l.s, at(4)(ch))


@habit(replays=False)
def subclass_of_dict_missing():

    class D(dict):
        default = 2.0

        def __missing__(self, k):
            return self.default

    d = D()
    return (lambda x: x * d["a"], at(4)(lambda: setattr(d, "default", 5.0)))


@habit(replays=False)
def subclass_of_float():

    class F(float):
        def __new__(cls, v, extra):
            s = float.__new__(cls, v)
            s.extra = extra
            return s

    v = F(2.0, 3.0)
    return (lambda x: x * float(v) * v.extra, at(4)(lambda: setattr(v, "extra", 9.0)))


@habit(replays=False)
def array_array():
    a = array.array("d", [2.0])
    return (lambda x: x * a[0], at(4)(lambda: a.__setitem__(0, 5.0)))


@habit(replays=False)
def ctypes_value():
    c = ctypes.c_double(2.0)
    return (lambda x: x * c.value, at(4)(lambda: setattr(c, "value", 5.0)))


@habit(replays=False)
def memoryview_value():
    b = bytearray([2])
    m = memoryview(b)
    return (lambda x: x * float(m[0]), at(4)(lambda: b.__setitem__(0, 5)))


@habit(replays=False)
def np_view_of_other():
    b = np.array([2.0, 3.0])
    v = b[:1]
    return (lambda x: x * float(v[0]), at(4)(lambda: b.__setitem__(0, 5.0)))


@habit(replays=False)
def np_object_array():
    b = np.array([Options(s=2.0)], dtype=object)
    return (lambda x: x * b[0].s, at(4)(lambda: setattr(b[0], "s", 5.0)))


@habit(replays=False)
def big_list():
    l = [2.0] * 100000
    return (lambda x: x * l[0], at(4)(lambda: l.__setitem__(0, 5.0)))


@habit(replays=False)
def deep_nesting():
    d = {"s": 2.0}
    o = d
    for _ in range(300):
        o = {"n": o}

    def f(x):
        p = o
        while "n" in p:
            p = p["n"]
        return x * p["s"]

    return (f, at(4)(lambda: d.update(s=5.0)))


@habit(replays=False)
def wide_graph():

    class N:
        pass

    root = N()
    root.kids = [N() for _ in range(6000)]
    for k in root.kids:
        k.s = 2.0
    return (lambda x: x * root.kids[-1].s, at(4)(lambda: setattr(root.kids[-1], "s", 5.0)))


@habit(replays=False)
def global_generator_started_later():
    g = (float(i) for i in range(100))

    def f(x):
        next(g)
        return x * 2.0

    return (f, nothing, lambda: g.gi_frame.f_locals.get("i") if g.gi_frame else None)


@habit(replays=False)
def iterator_in_for():
    it = iter(range(100))

    def f(x):
        for i in it:
            return x * (2.0 if i < 6 else 3.0)

    return (f, nothing)


@habit(replays=False)
def iterator_in_zip():
    it = iter([2.0] * 6 + [3.0] * 20)

    def f(x):
        for i, _ in zip(it, [0]):
            return x * i

    return (f, nothing)


@habit(replays=False)
def list_pop():
    l = [3.0] * 3 + [2.0] * 20

    def f(x):
        return x * l.pop()

    return (f, nothing, lambda: len(l))


@habit(replays=False)
def list_pop_in_helper_obj():
    o = Options(l=[3.0] * 4 + [2.0] * 5)

    def f(x):
        return x * o.l.pop()

    return (f, nothing, lambda: len(o.l))


@habit(replays=False)
def swap_and_back():
    o = Options(a=[1], b=[2])

    def f(x):
        o.a, o.b = (o.b, o.a)
        return x * float(o.a[0])

    return (f, nothing, lambda: o.a)


@habit(replays=False)
def inplace_list_of_objects_reordered():
    a, b = (Options(s=2.0), Options(s=3.0))
    l = [a, b]
    return (lambda x: x * l[0].s, at(4)(l.reverse))


@habit(replays=False)
def function_in_dict_closure_counter():

    def make():
        n = 0

        def h(x):
            nonlocal n
            n += 1
            return x * (2.0 if n < 6 else 3.0)

        return h

    d = {"h": make()}
    return (lambda x: d["h"](x), nothing)


@habit(replays=False)
def counter_through_partial():

    class C:
        n = 0

        def hit(self, k, x):
            self.n += 1
            return x * (2.0 if self.n < 6 else 3.0)

    c = C()
    p = functools.partial(c.hit, 1)
    return (lambda x: p(x), nothing, lambda: c.n)


@habit(replays=False)
def counter_via_map():

    class C:
        n = 0

        def __call__(self, x):
            self.n += 1
            return x * (2.0 if self.n < 6 else 3.0)

    c = C()
    return (lambda x: list(map(c, [x]))[0], nothing, lambda: c.n)


@habit(replays=False)
def counter_via_sorted_key():
    o = Options(n=0)

    def key(v):
        o.n += 1
        return v

    def f(x):
        sorted([2, 1], key=key)
        return x * 2.0

    return (f, nothing, lambda: o.n)


@habit(replays=False)
def del_method_effect():
    o = Options(n=0)

    class D:
        def __del__(self):
            o.n += 1

    def f(x):
        D()
        return x * 2.0

    return (f, nothing, lambda: o.n)


@habit(replays=False)
def property_setter_effect():

    class A:
        def __init__(self):
            self._v = 0
            self.sets = 0

        @property
        def v(self):
            return self._v

        @v.setter
        def v(self, n):
            self.sets += 1
            self._v = n

    a = A()

    def f(x):
        a.v = 1
        return x * 2.0

    return (f, nothing, lambda: a.sets)


@habit(replays=False)
def setitem_effect():

    class A:
        def __init__(self):
            self.d = {}

        def __setitem__(self, k, v):
            self.d[k] = self.d.get(k, 0) + v

    a = A()

    def f(x):
        a["n"] = 1
        return x * 2.0

    return (f, nothing, lambda: a.d)


@habit(replays=False)
def ior_set():
    o = Options(s=set())
    o.i = iter(range(100))

    def f(x):
        o.s |= {len(o.s)}
        return x * 2.0

    return (f, nothing, lambda: sorted(o.s))


@habit(replays=False)
def class_counter_via_cls():

    class A:
        n = 0

        @classmethod
        def hit(cls):
            cls.n += 1
            return 2.0

    return (lambda x: x * A.hit(), nothing, lambda: A.n)


@habit(replays=False)
def random_choice_alias():
    from random import choice

    def f(x):
        return x * choice([2.0, 3.0])

    return (f, nothing)


@habit(replays=False)
def random_bound_method():
    r = random.random

    def f(x):
        return x * (2.0 if r() < 0.5 else 3.0)

    return (f, nothing)


@habit(replays=False)
def random_in_comprehension():

    def f(x):
        return x * sum(random.random() for _ in range(2))

    return (f, nothing)


@habit(replays=False)
def np_default_rng_inside():

    def f(x):
        return x * (2.0 if np.random.default_rng().random() >= 0 else 3.0)

    return (f, nothing)


@habit(replays=False)
def rng_through_object():

    class A:
        def __init__(self):
            self._rng = np.random.RandomState(0)

        def draw(self):
            return float(self._rng.rand() < 0.5)

    a = A()
    return (lambda x: x * a.draw(), nothing)


@habit(replays=False)
def rng_in_dict_key():
    d = {"rng": random.Random(3)}

    def f(x):
        return x * (2.0 if d["rng"].random() < 0.5 else 3.0)

    return (f, nothing)


@habit(replays=False)
def rng_in_closure_of_partial():
    p = functools.partial(random.Random(3).random)

    def f(x):
        return x * (2.0 if p() < 0.5 else 3.0)

    return (f, nothing)


@habit(replays=False)
def rng_method_kept():
    draw = np.random.default_rng(3).random

    def f(x):
        return x * (2.0 if draw() < 0.5 else 3.0)

    return (f, nothing)


@habit(replays=False)
def map_of_rng():
    draw = random.Random(3).random

    def f(x):
        return x * (2.0 if list(map(lambda _: draw(), [1]))[0] < 0.5 else 3.0)

    return (f, nothing)


@habit(replays=False)
def iter_callable_sentinel():
    draw = random.Random(3).random

    def f(x):
        for v in iter(draw, None):
            return x * (2.0 if v < 0.5 else 3.0)

    return (f, nothing)


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
def obj_eq_used():

    class E:
        def __init__(self, v):
            self.v = v

        def __eq__(self, o):
            return self.v == o.v

        def __hash__(self):
            return 1

    a, b = (E(1), E(1))
    return (lambda x: x * (2.0 if a == b else 3.0), at(4)(lambda: setattr(b, "v", 2)))


@habit(replays=False)
def hash_dict_objects():

    class E:
        def __init__(self, v):
            self.v = v

        def __eq__(self, o):
            return self.v == o.v

        def __hash__(self):
            return hash(self.v)

    k = E(1)
    d = {E(1): 2.0, E(2): 3.0}
    return (lambda x: x * d[k], at(4)(lambda: setattr(k, "v", 2)))


@habit(replays=False)
def len_of_obj():

    class L:
        def __init__(self):
            self.items = [1, 2]

        def __len__(self):
            return len(self.items)

    l = L()
    return (lambda x: x * float(len(l)), at(4)(lambda: l.items.append(1)))


@habit(replays=False)
def bool_of_obj():

    class L:
        def __init__(self):
            self.on = True

        def __bool__(self):
            return self.on

    l = L()
    return (lambda x: x * 2.0 if l else x, at(4)(lambda: setattr(l, "on", False)))


@habit(replays=False)
def contains_of_obj():

    class L:
        def __init__(self):
            self._i = {"a"}

        def __contains__(self, k):
            return k in self._i

    l = L()
    return (lambda x: x * 2.0 if "a" in l else x, at(4)(lambda: l._i.clear()))


@habit(replays=False)
def iter_of_obj():

    class L:
        def __init__(self):
            self._i = [2.0]

        def __iter__(self):
            return iter(self._i)

    l = L()

    def f(x):
        for v in l:
            x = x * v
        return x

    return (f, at(4)(lambda: l._i.append(3.0)))


@habit(replays=False)
def proxy_weakref():
    o = Options(s=2.0)
    p = weakref.proxy(o)
    return (lambda x: x * p.s, at(4)(lambda: setattr(o, "s", 5.0)))


@habit(replays=False)
def weakvalue_dict():
    o = Options(s=2.0)
    d = weakref.WeakValueDictionary(a=o)

    def f(x):
        return x * d["a"].s

    return (f, at(4)(lambda: setattr(o, "s", 5.0)))


@habit(replays=False)
def weakkey_dict():
    o = Options(s=2.0)
    d = weakref.WeakKeyDictionary()
    d[o] = 2.0

    def f(x):
        return x * d[o]

    return (f, at(4)(lambda: d.__setitem__(o, 5.0)))


@habit(replays=False)
def mappingproxy():
    d = {"s": 2.0}
    m = types.MappingProxyType(d)
    return (lambda x: x * m["s"], at(4)(lambda: d.update(s=5.0)))


@habit(replays=False)
def dict_views():
    d = {"s": 2.0}
    v = d.values()
    return (lambda x: x * sum(v), at(4)(lambda: d.update(s=5.0)))


@habit(replays=False)
def dict_items_view_obj():
    d = {"s": 2.0}
    o = Options(v=d.items())

    def f(x):
        for k, v in o.v:
            x = x * v
        return x

    return (f, at(4)(lambda: d.update(s=5.0)))


@habit(replays=False)
def string_template_and_re():
    o = Options(p=re.compile("a"))
    return (lambda x: x * (2.0 if o.p.match("abc") else 3.0), at(4)(lambda: setattr(o, "p", re.compile("b"))))


@habit(replays=False)
def enum_value_mutated():

    class E(enum.Enum):
        A = [2.0]

    return (lambda x: x * E.A.value[0], at(4)(lambda: E.A.value.__setitem__(0, 5.0)))


@habit(replays=False)
def type_object_via_type():

    class A:
        s = 2.0

    a = A()
    return (lambda x: x * type(a).s, at(4)(lambda: setattr(A, "s", 5.0)))


@habit(replays=False)
def super_attr_via_mro():

    class A:
        s = 2.0

    class B(A):
        def g(self):
            return super().s

    b = B()
    return (lambda x: x * b.g(), at(4)(lambda: setattr(A, "s", 5.0)))


@habit(replays=False)
def classvar_dict():

    class A:
        t = {"s": 2.0}

    return (lambda x: x * A().t["s"], at(4)(lambda: A.t.update(s=5.0)))


@habit(replays=False)
def fresh_object_reads_class():

    class A:
        s = 2.0

        def __init__(self):
            self.v = self.s

    return (lambda x: x * A().v, at(4)(lambda: setattr(A, "s", 5.0)))


@habit(replays=False)
def dataclass_default_factory_state():
    n = [2.0]

    @dataclasses.dataclass
    class A:
        v: float = dataclasses.field(default_factory=lambda: n[0])

    return (lambda x: x * A().v, at(4)(lambda: n.__setitem__(0, 5.0)))


@habit(replays=False)
def dataclass_default_class():

    @dataclasses.dataclass
    class A:
        v: float = 2.0

    return (lambda x: x * A().v, at(4)(lambda: setattr(A.__init__, "__defaults__", (5.0,))))


@habit(replays=False)
def namedtuple_default():

    class A(typing.NamedTuple):
        v: float = 2.0

    return (lambda x: x * A().v, nothing)


@habit(replays=False)
def context_decorator():
    o = Options(s=2.0)

    class C(contextlib.ContextDecorator):
        def __enter__(self):
            o.s = 4.0

        def __exit__(self, *a):
            o.s = 2.0

    @C()
    def f(x):
        return x * o.s

    return (f, nothing, lambda: o.s)


@habit(replays=False)
def exitstack():
    o = Options(n=0)

    def f(x):
        with contextlib.ExitStack() as s:
            s.callback(lambda: setattr(o, "n", o.n + 1))
            return x * 2.0

    return (f, nothing, lambda: o.n)


@habit(replays=False)
def exception_sometimes():
    o = Options(bad=False)

    def f(x):
        if o.bad:
            raise ValueError("bad")
        return x * 2.0

    def b(c):
        o.bad = c in (4, 6)

    return (f, b)


@habit(replays=False)
def exception_attr_counter():
    o = Options(n=0)

    def f(x):
        o.n += 1
        if o.n == 5:
            raise ValueError("five")
        return x * 2.0

    return (f, nothing, lambda: o.n)


@habit(replays=False)
def recursion():
    o = Options(d=3)

    def r(x, d):
        return x if d == 0 else r(x * 2.0, d - 1)

    return (lambda x: r(x, o.d), at(4)(lambda: setattr(o, "d", 4)))


@habit(replays=False)
def walrus_and_default_dict_factory():
    d = collections.defaultdict(lambda: 2.0)

    def f(x):
        return x * d["a"]

    return (f, at(4)(lambda: d.update(a=5.0)), lambda: dict(d))


@habit(replays=False)
def module_class_property():

    class N(Module):
        def __init__(self):
            self._o = Opt()

        @property
        def s(self):
            return self._o.s

        def forward(self, x):
            return x * self.s

    class Opt:
        s = 2.0

    n = N()
    return (lambda x: n(x), at(4)(lambda: setattr(n._o, "s", 5.0)))


@habit(replays=False)
def module_submodule_list_swapped():

    class A(Module):
        def __init__(self, s):
            self.s = s

        def forward(self, x):
            return x * self.s

    class N(Module):
        def __init__(self):
            self.l = [A(2.0), A(3.0)]

        def forward(self, x):
            for a in self.l:
                x = a(x)
            return x

    n = N()
    return (lambda x: n(x), at(4)(lambda: n.l.append(A(5.0))))


@habit(replays=False)
def module_dict_keys_renamed():

    class N(Module):
        def __init__(self):
            self.d = {"a": 2.0}

        def forward(self, x):
            return x * (2.0 if "a" in self.d else 3.0)

    n = N()

    def ch():
        n.d["b"] = n.d.pop("a")

    return (lambda x: n(x), at(4)(ch))


@habit(replays=False)
def module_callable_field():

    class N(Module):
        def __init__(self):
            self.t = [2.0]
            t = self.t
            self.act = lambda x: x * t[0]

        def forward(self, x):
            return self.act(x)

    n = N()
    return (lambda x: n(x), at(4)(lambda: n.t.__setitem__(0, 5.0)))


@habit(replays=False)
def module_array_field():

    class N(Module):
        def __init__(self):
            self.w = np.array([2.0])

        def forward(self, x):
            return x * float(self.w[0])

    n = N()
    return (lambda x: n(x), at(4)(lambda: n.w.__setitem__(0, 5.0)))


@habit(replays=False)
def module_dataclass_field():

    @dataclasses.dataclass
    class C:
        s: float = 2.0

    class N(Module):
        def __init__(self):
            self.c = C()

        def forward(self, x):
            return x * self.c.s

    n = N()
    return (lambda x: n(x), at(4)(lambda: setattr(n.c, "s", 5.0)))


@habit(replays=False)
def tensor_in_object_changes():
    o = Options(w=Tensor.from_floats([2.0, 2.0], Cpu()))
    return (lambda x: x * o.w, at(4)(lambda: setattr(o, "w", Tensor.from_floats([5.0, 5.0], Cpu()))))


@habit(replays=False)
def tensor_in_helper_global():
    globals()["HW"] = Tensor.from_floats([2.0, 2.0], Cpu())

    def h(x):
        return x * HW

    return (lambda x: h(x), at(4)(lambda: globals().__setitem__("HW", Tensor.from_floats([5.0, 5.0], Cpu()))))


@habit(replays=False)
def numpy_const_to_tensor():
    a = np.array([2.0, 3.0], np.float32)

    def f(x):
        return x * burn.tensor(a, device=x.device)

    return (f, at(4)(lambda: a.__setitem__(0, 9.0)))


@habit(replays=False)
def thread_local_other():
    l = threading.local()

    def f(x):
        return x * getattr(l, "s", 2.0)

    return (f, at(4)(lambda: setattr(l, "s", 5.0)))


@habit(replays=False)
def setattr_computed():
    o = Options(a0=0, a1=0)

    def f(x):
        for i in range(2):
            setattr(o, f"a{i}", getattr(o, f"a{i}") + 1)
        return x * 2.0

    return (f, nothing, lambda: (o.a0, o.a1))


@habit(replays=False)
def dict_update_vars():
    o = Options(n=0)

    def f(x):
        vars(o).update(n=o.n + 1)
        return x * 2.0

    return (f, nothing, lambda: o.n)


@habit(replays=False)
def dunder_dict_write():
    o = Options(n=0)

    def f(x):
        o.__dict__["n"] = o.__dict__["n"] + 1
        return x * 2.0

    return (f, nothing, lambda: o.n)


@habit(replays=False)
def object_setattr():
    o = Options(n=0)

    def f(x):
        object.__setattr__(o, "n", o.n + 1)
        return x * 2.0

    return (f, nothing, lambda: o.n)


@habit(replays=False)
def operator_setitem():
    d = {"n": 0}

    def f(x):
        operator.setitem(d, "n", d["n"] + 1)
        return x * 2.0

    return (f, nothing, lambda: d["n"])


@habit(replays=False)
def heapq_push():
    h = []
    o = Options(h=h)

    def f(x):
        heapq.heappush(o.h, len(o.h))
        return x * 2.0

    return (f, nothing, lambda: list(h))


@habit(replays=False)
def list_iadd():
    o = Options(h=[])

    def f(x):
        o.h += [1]
        return x * float(len(o.h) > 0)

    return (f, nothing, lambda: len(o.h))


@habit(replays=False)
def np_inplace_arg():
    o = Options(a=np.zeros(3))

    def f(x):
        np.add(o.a, 1.0, out=o.a)
        return x * 2.0

    return (f, nothing, lambda: o.a.tolist())


@habit(replays=False)
def array_fill():
    a = np.zeros(3)

    def f(x):
        a.fill(a[0] + 1)
        return x * 2.0

    return (f, nothing, lambda: a.tolist())


@habit(replays=False)
def big_array_write():
    a = np.zeros(100000)

    def f(x):
        a[0] += 1
        return x * 2.0

    return (f, nothing, lambda: a[0])


@habit(replays=False)
def burn_metric_update():

    class M:
        total = 0.0

        def update(self):
            self.total += 1
            return self

    m = M()

    def f(x):
        m.update().update()
        return x * 2.0

    return (f, nothing, lambda: m.total)


@habit(replays=False)
def type_created_counter():
    seen = []

    class Meta(type):
        def __call__(cls, *a):
            seen.append(1)
            return super().__call__(*a)

    class A(metaclass=Meta):
        s = 2.0

    return (lambda x: x * A().s, nothing, lambda: len(seen))


@habit(replays=False)
def singleton_new():

    class S:
        inst = None
        n = 0

        def __new__(cls):
            if cls.inst is None:
                cls.inst = object.__new__(cls)
            cls.inst.n += 1
            return cls.inst

    return (lambda x: x * (2.0 if S().n < 6 else 3.0), nothing, lambda: S.inst.n if S.inst else 0)


@habit(replays=False)
def async_like_coroutine():
    o = Options(s=2.0)

    async def c():
        return o.s

    def f(x):
        try:
            c().send(None)
        except StopIteration as e:
            return x * e.value

    return (f, at(4)(lambda: setattr(o, "s", 5.0)))


@habit(replays=False)
def contextvar_in_helper():
    v = contextvars.ContextVar("v", default=2.0)

    def h():
        return v.get()

    return (lambda x: x * h(), at(4)(lambda: v.set(5.0)))


@habit(replays=False)
def locale_str():
    o = Options(fmt="{:.0f}")
    return (lambda x: x * float(o.fmt.format(2.4)), at(4)(lambda: setattr(o, "fmt", "{:.1f}")))


@habit(replays=False)
def frame_inspection():

    def h():
        return sys._getframe(1).f_locals["k"]

    o = Options(k=2.0)

    def f(x):
        k = o.k
        return x * h()

    return (f, at(4)(lambda: setattr(o, "k", 5.0)))


@habit(replays=False)
def total_ordering_cmp_to_key():
    o = Options(r=1)

    def cmp(a, b):
        return o.r * (a - b)

    return (lambda x: x * sorted([2.0, 3.0], key=functools.cmp_to_key(cmp))[0], at(4)(lambda: setattr(o, "r", -1)))


@habit(replays=False)
def singledispatch():

    @functools.singledispatch
    def h(a, x):
        return x * 2.0

    return (lambda x: h(1, x), at(4)(lambda: h.register(int, lambda a, x: x * 5.0)))


@habit(replays=False)
def reduce_fn():
    o = Options(l=[2.0, 3.0])
    return (lambda x: x * functools.reduce(operator.mul, o.l), at(4)(lambda: o.l.append(2.0)))


@habit(replays=False)
def closure_cell_of_nested_def():
    o = Options(s=2.0)

    def f(x):

        def g(y):
            return y * o.s

        return g(x)

    return (f, at(4)(lambda: setattr(o, "s", 5.0)))


@habit(replays=False)
def lambda_default_capture_global():
    globals()["GS"] = {"s": 2.0}

    def f(x):
        h = lambda y: y * GS["s"]
        return h(x)

    return (f, at(4)(lambda: GS.update(s=5.0)))


@habit(replays=False)
def method_wrapper_slot():
    l = [2.0]
    get = l.__getitem__
    return (lambda x: x * get(0), at(4)(lambda: l.__setitem__(0, 5.0)))


@habit(replays=False)
def builtin_bound_method_kept():
    d = {"s": 2.0}
    get = d.get
    return (lambda x: x * get("s"), at(4)(lambda: d.update(s=5.0)))


@habit(replays=False)
def builtin_bound_append_kept():
    l = []
    add = l.append

    def f(x):
        add(1)
        return x * 2.0

    return (f, nothing, lambda: len(l))


@habit(replays=False)
def bound_append_in_object():
    l = []
    o = Options(add=l.append)

    def f(x):
        o.add(1)
        return x * 2.0

    return (f, nothing, lambda: len(l))


@habit(replays=False)
def map_bound_append():
    l = []
    add = l.append

    def f(x):
        list(map(add, [1]))
        return x * 2.0

    return (f, nothing, lambda: len(l))


@habit(replays=False)
def str_join_iter():
    it = iter("abcdefghijklmnop")
    o = Options(it=it)

    def f(x):
        return x * (2.0 if next(o.it) < "f" else 3.0)

    return (f, nothing)


@habit(replays=False)
def lru_method():

    class A:
        def __init__(self):
            self.s = 2.0

        @functools.lru_cache
        def g(self):
            return self.s

    a = A()

    def ch():
        a.s = 5.0
        A.g.cache_clear()

    return (lambda x: x * a.g(), at(4)(ch))


@habit(replays=False)
def functools_cache_other_module():

    @functools.cache
    def g(k):
        return {"n": 0}

    def f(x):
        g(1)["n"] += 1
        return x * 2.0

    return (f, nothing, lambda: g(1)["n"])
