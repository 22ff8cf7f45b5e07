"""Habits of changing what lies around: lists, sets, arrays and attributes."""

# ruff: noqa: E741

from __future__ import annotations

import collections
import heapq
import operator
import types

import numpy as np

from tests.capture.habits import habit, nothing

LOG: list[int] = []


class Options:
    """An object with some attributes."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


@habit(notice="log is changed")
def append_to_a_log():
    log = []

    def f(x):
        log.append(len(log))
        return x * 2.0

    return f, nothing, lambda: list(log)


@habit(notice="LOG is changed")
def append_to_a_global_log_in_a_helper():
    LOG.clear()

    def f(x):
        logging_helper()
        return x * 2.0

    return f, nothing, lambda: list(LOG)


def logging_helper():
    LOG.append(len(LOG))


@habit(notice="seen is changed")
def add_to_a_set():
    seen = set()

    def f(x):
        seen.add(len(seen))
        return x * 2.0

    return f, nothing, lambda: sorted(seen)


@habit(notice="window is changed")
def append_to_a_deque():
    window = collections.deque(maxlen=3)

    def f(x):
        window.append(len(window))
        return x * float(len(window))

    return f, nothing, lambda: list(window)


@habit(notice="a default of helper is changed")
def append_to_a_default():
    def helper(x, log=[]):  # noqa: B006
        log.append(1)
        return x * float(len(log))

    return lambda x: helper(x), nothing, lambda: len(helper.__defaults__[0])


@habit(notice="history is changed")
def write_into_an_array():
    history = np.zeros(4)

    def f(x):
        history[0] += 1.0
        return x * 2.0

    return f, nothing, lambda: history.tolist()


@habit(notice="buffer is changed")
def write_into_a_bytearray():
    buffer = bytearray(4)

    def f(x):
        buffer[0] += 1
        return x * 2.0

    return f, nothing, lambda: bytes(buffer)


@habit()
def a_temporary_change():
    options = types.SimpleNamespace(scale=2.0)

    def f(x):
        old, options.scale = options.scale, 5.0
        try:
            return x * options.scale
        finally:
            options.scale = old

    return f, nothing, lambda: options.scale


@habit()
def a_helper_with_an_accumulator_argument():
    def collect(x, into):
        into.append(x * 2.0)
        return into

    def f(x):
        return collect(x + 1.0, collect(x, []))[1]

    return f, nothing


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
def ior_set():
    o = Options(s=set())
    o.i = iter(range(100))

    def f(x):
        o.s |= {len(o.s)}
        return x * 2.0

    return (f, nothing, lambda: sorted(o.s))


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
