"""Habits of objects that look attributes up themselves: proxies, descriptors, metaclasses and hooks of modules."""

from __future__ import annotations

import functools
import types
import weakref

from tests.capture.habits import at, habit


@habit()
def module_getattr_hook():
    m = types.ModuleType("mmm2")
    st = {"k": 2.0}
    m.__getattr__ = lambda n: st[n]
    return lambda x: x * m.k, at(4)(lambda: st.update(k=5.0))


@habit()
def module_subclass_property():
    class Mod(types.ModuleType):
        @property
        def k(self):
            return self._k

    m = Mod("mmm3")
    m._k = 2.0
    return lambda x: x * m.k, at(4)(lambda: setattr(m, "_k", 5.0))


@habit(notice="something cannot be looked at: KeyError: '__dataclass_fields__")
def metaclass_getattr():
    reg = {"k": 2.0}

    class M(type):
        def __getattr__(cls, n):
            return reg[n]

    class A(metaclass=M):
        pass

    return lambda x: x * A.k, at(4)(lambda: reg.update(k=5.0))


@habit()
def metaclass_property():
    class M(type):
        @property
        def k(cls):
            return cls._k

    class A(metaclass=M):
        _k = 2.0

    return lambda x: x * A.k, at(4)(lambda: setattr(A, "_k", 5.0))


@habit()
def descriptor_nondata():
    class D:
        def __init__(self):
            self.k = 2.0

        def __get__(self, o, t):
            return self.k

    class A:
        d = D()

    a = A()
    return lambda x: x * a.d, at(4)(lambda: setattr(A.__dict__["d"], "k", 5.0))


@habit()
def descriptor_weakkey():
    class D:
        def __init__(self):
            self.v = weakref.WeakKeyDictionary()

        def __get__(self, o, t):
            return self.v[o]

        def __set__(self, o, v):
            self.v[o] = v

    class A:
        d = D()

    a = A()
    a.d = 2.0
    return lambda x: x * a.d, at(4)(lambda: setattr(a, "d", 5.0))


@habit()
def set_name_descriptor():
    class D:
        def __set_name__(self, o, n):
            self.n = "_" + n

        def __get__(self, o, t):
            return getattr(o, self.n)

        def __set__(self, o, v):
            setattr(o, self.n, v)

    class A:
        d = D()

    a = A()
    a.d = 2.0
    return lambda x: x * a.d, at(4)(lambda: setattr(a, "d", 5.0))


@habit()
def proxy_getattr():
    class P:
        def __init__(s, t):
            object.__setattr__(s, "_t", t)

        def __getattr__(s, n):
            return getattr(s._t, n)

    t = types.SimpleNamespace(k=2.0)
    p = P(t)
    return lambda x: x * p.k, at(4)(lambda: setattr(t, "k", 5.0))


@habit(notice="what it is given raises KeyError")
def proxy_getattribute():
    class P:
        def __init__(s):
            object.__setattr__(s, "d", {"k": 2.0})

        def __getattribute__(s, n):
            return object.__getattribute__(s, "d")[n]

    p = P()
    return lambda x: x * p.k, at(4)(lambda: object.__getattribute__(p, "d").update(k=5.0))


@habit()
def partial_setstate():
    g = functools.partial(lambda x, k: x * k, k=2.0)
    return lambda x: g(x), at(4)(lambda: g.__setstate__((g.func, (), {"k": 5.0}, {})))


@habit()
def class_decorator():
    class Scale:
        def __init__(self, fn):
            self.fn, self.k = fn, 2.0
            functools.update_wrapper(self, fn)

        def __call__(self, x):
            return self.fn(x) * self.k

    @Scale
    def f(x):
        return x * 1.0

    return f, at(4)(lambda: setattr(f, "k", 5.0))


@habit()
def decorator_without_wraps():
    state = {"k": 2.0}

    def wrap(fn):
        def inner(x):
            return fn(x) * state["k"]

        return inner

    @wrap
    def f(x):
        return x * 2.0

    return f, at(4)(lambda: state.update(k=5.0))


@habit()
def weakmethod():
    class A:
        k = 2.0

        def m(self):
            return self.k

    a = A()
    m = weakref.WeakMethod(a.m)
    return lambda x: x * m()(), at(4)(lambda: setattr(a, "k", 5.0))
