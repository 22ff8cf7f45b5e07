"""Habits of telling equal values apart: which containers are one, what keys are, in which order members come."""

# ruff: noqa: E742, F841, UP042

from __future__ import annotations

import collections
import datetime
import enum
import fractions
import math
import pathlib
import types

import numpy as np

from tests.capture.habits import at, habit, nothing


@habit()
def alias_lists_closure():
    a = [1.0]
    box = types.SimpleNamespace(b=a)
    return lambda x: x * 2.0 if box.b is a else x * 3.0, at(4)(lambda: setattr(box, "b", [1.0]))


@habit()
def alias_lists_args():
    def f(x, p, q):
        return x * 2.0 if p is q else x * 3.0

    def args(call):
        a = [1, 2]
        return (a, a) if call < 4 else (a, [1, 2])

    return f, nothing, None, args


@habit()
def alias_id():
    a = [1.0]
    box = types.SimpleNamespace(b=a)
    return lambda x: x * 2.0 if id(box.b) == id(a) else x * 3.0, at(4)(lambda: setattr(box, "b", [1.0]))


@habit()
def alias_through_temporary():
    a = [1.0]
    box = types.SimpleNamespace(b=a)

    def f(x):
        a.append(2.0)
        n = len(box.b)
        a.pop()
        return x * float(n)

    return f, at(4)(lambda: setattr(box, "b", [1.0]))


@habit()
def alias_args_through_temporary():
    def f(x, p, q):
        p.append(2)
        n = len(q)
        p.pop()
        return x * float(n)

    def args(call):
        a = [1, 2]
        return (a, a) if call < 4 else (a, [1, 2])

    return f, nothing, None, args


@habit()
def dict_true_one_args():
    def f(x, d):
        return x * 2.0 if next(iter(d)) is True else x * 3.0

    return f, nothing, None, lambda c: ({True: 1} if c < 4 else {1: 1},)


@habit()
def dict_float_int_key_args():
    def f(x, d):
        return x * 2.0 if isinstance(next(iter(d)), float) else x * 3.0

    return f, nothing, None, lambda c: ({2.0: 1} if c < 4 else {2: 1},)


@habit()
def dict_tuple_key_args():
    def f(x, d):
        return x * 2.0 if next(iter(d))[0] is True else x * 3.0

    return f, nothing, None, lambda c: ({(True, 2): 1} if c < 4 else {(1, 2): 1},)


@habit()
def dict_key_neg_zero_args():
    def f(x, d):
        return x * math.copysign(1.0, next(iter(d)))

    return f, nothing, None, lambda c: ({0.0: 1} if c < 4 else {-0.0: 1},)


@habit()
def hash_eq_key():
    class K:
        def __init__(s, v):
            s.v = v

        def __hash__(s):
            return 1

        def __eq__(s, o):
            return s.v == o.v

    k = K(1)
    d = {k: 2.0}
    return lambda x: x * d.get(K(1), 3.0), at(4)(lambda: setattr(k, "v", 2))


@habit()
def set_order():
    s = {8, 0}

    def ch():
        s.clear()
        s.add(0)
        s.add(8)

    return lambda x: x * float(next(iter(s)) + 1), at(4)(ch)


@habit()
def frozenset_order():
    o = types.SimpleNamespace(s=frozenset([8, 0]))
    return lambda x: x * float(next(iter(o.s)) + 1), at(4)(lambda: setattr(o, "s", frozenset([0, 8])))


@habit(replays=False)
def set_order_args():
    def f(x, s):
        return x * float(next(iter(s)) + 1)

    return f, nothing, None, lambda c: ({8, 0} if c < 4 else {0, 8},)


@habit()
def deque_maxlen_read():
    o = types.SimpleNamespace(d=collections.deque([1], maxlen=2))
    return lambda x: x * float(o.d.maxlen), at(4)(lambda: setattr(o, "d", collections.deque([1], maxlen=5)))


@habit()
def slice_with_mutable():
    lst = [1]
    s = slice(lst, None)
    return lambda x: x * float(s.start[0]), at(4)(lambda: lst.__setitem__(0, 5))


@habit()
def cyclic_swap():
    a = [2.0]
    a.append(a)
    b_ = [2.0, [7.0]]
    return lambda x: x * a[1][0], at(4)(lambda: a.__setitem__(1, [5.0]))


@habit()
def tuple_of_mutables():
    t = ([2.0], {"k": 1.0})
    return lambda x: x * t[0][0] * t[1]["k"], at(4)(lambda: t[1].update(k=5.0))


@habit()
def fraction_subclass_state():
    class F(fractions.Fraction):
        __slots__ = ("k",)

    v = F(2)
    v.k = 2.0
    return lambda x: x * v.k, at(4)(lambda: setattr(v, "k", 5.0))


@habit()
def path_subclass_state():
    class P(type(pathlib.Path())):
        pass

    p = P("a")
    p.k = 2.0
    return lambda x: x * p.k, at(4)(lambda: setattr(p, "k", 5.0))


@habit(notice="d is a .*D, which cannot be looked at")
def datetime_subclass_state():
    class D(datetime.datetime):
        pass

    d = D(2020, 1, 1)
    d.k = 2.0
    return lambda x: x * d.k, at(4)(lambda: setattr(d, "k", 5.0))


@habit()
def tzinfo_state():
    class Z(datetime.tzinfo):
        h = 2

        def utcoffset(self, dt):
            return datetime.timedelta(hours=self.h)

        def dst(self, dt):
            return None

    z = Z()
    t = datetime.datetime(2020, 1, 1, tzinfo=z)
    return lambda x: x * (t.utcoffset().total_seconds() / 3600), at(4)(lambda: setattr(z, "h", 5))


@habit()
def np_structured():
    a = np.zeros(1, dtype=[("k", "f4")])
    a["k"] = 2
    return lambda x: x * float(a["k"][0]), at(4)(lambda: a["k"].fill(5))


@habit(notice="v is an array of 800,000 bytes")
def np_readonly_view_of_writable_big():
    base = np.ones(100_000)
    v = base.view()
    v.setflags(write=False)
    return lambda x: x * float(v[0]), at(4)(lambda: base.fill(5.0))


@habit()
def np_matrix_sub():
    class A(np.ndarray):
        pass

    a = np.ones(2).view(A)
    a.k = 2.0
    return lambda x: x * a.k, at(4)(lambda: setattr(a, "k", 5.0))


@habit()
def np_masked():
    a = np.ma.array([1.0, 2.0], mask=[False, False])
    return lambda x: x * float(a.sum()), at(4)(lambda: a.__setitem__(1, np.ma.masked))


@habit()
def str_vs_strenum_arg():
    class M(str, enum.Enum):
        A = "a"

    return (
        lambda x, m: x * (2.0 if isinstance(m, enum.Enum) else 3.0),
        nothing,
        None,
        lambda c: (M.A if c < 4 else "a",),
    )


@habit()
def int_subclass():
    class I(int):
        pass

    i = I(2)
    i.k = 2.0
    return lambda x: x * i.k * int(i), at(4)(lambda: setattr(i, "k", 5.0))


@habit()
def str_subclass():
    class S(str):
        pass

    s = S("2")
    s.k = 2.0
    return lambda x: x * s.k, at(4)(lambda: setattr(s, "k", 5.0))


@habit()
def simplenamespace_sub():
    class N(types.SimpleNamespace):
        pass

    n = N(k=2.0)
    return lambda x: x * n.k, at(4)(lambda: setattr(n, "k", 5.0))
