"""Habits of reading lists, dicts, sets, arrays and what is like them, changed between calls."""

# ruff: noqa: B007, E741

from __future__ import annotations

import array
import collections
import ctypes
import json
import math
import re
import types
import weakref

import numpy as np

import burn
from tests.capture.habits import at, habit, nothing


class Options:
    """An object with some attributes."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


@habit()
def ordered_dict():
    options = collections.OrderedDict(scale=2.0, shift=1.0)
    return lambda x: x * options["scale"] + options["shift"], at(4)(lambda: options.update(scale=4.0))


@habit()
def order_of_a_dict():
    parts = {"a": 2.0, "b": 3.0}

    def f(x):
        for name in parts:
            x = x * 2.0 if name == "a" else x + 1.0
        return x

    def change():
        parts["a"] = parts.pop("a")

    return f, at(4)(change)


@habit()
def order_of_an_ordered_dict():
    parts = collections.OrderedDict(a=2.0, b=3.0)
    order = types.SimpleNamespace(parts=parts)

    def f(x):
        for name in order.parts:
            x = x * 2.0 if name == "a" else x + 1.0
        return x

    return f, at(4)(lambda: parts.move_to_end("a"))


@habit()
def members_of_a_set():
    chosen = {"double"}
    return lambda x: x * 2.0 if "double" in chosen else x, at(4)(chosen.clear)


@habit()
def defaultdict_of_numbers():
    table = collections.defaultdict(float, scale=2.0)
    return lambda x: x * table["scale"], at(5)(lambda: table.update(scale=1.0))


@habit()
def a_counter():
    counts = collections.Counter(a=2)
    return lambda x: x * float(counts["a"]), at(4)(lambda: counts.update("a"))


@habit()
def chain_map():
    chain = collections.ChainMap({}, {"scale": 2.0})
    return lambda x: x * chain["scale"], at(4)(lambda: chain.maps[0].update(scale=5.0))


@habit()
def user_dict():
    table = collections.UserDict(scale=2.0)
    return lambda x: x * table["scale"], at(4)(lambda: table.update(scale=5.0))


@habit()
def length_of_a_list():
    layers = [1, 2]
    return lambda x: x * float(len(layers)), at(3, 5)(lambda: layers.append(0))


@habit()
def length_of_a_deque():
    window = collections.deque([1.0, 2.0], maxlen=3)
    return lambda x: x * sum(window), at(4)(lambda: window.append(5.0))


@habit()
def numpy_array_edited_in_place():
    weights = np.array([2.0, 3.0])
    return lambda x: x * float(weights[0]), at(4)(lambda: weights.__setitem__(0, 5.0))


@habit()
def numpy_array_as_a_constant():
    weights = np.array([2.0, 3.0], np.float32)

    def f(x):
        return x * float(weights.sum())

    return f, at(3, 6)(lambda: weights.__imul__(2.0))


@habit()
def large_read_only_array():
    weights = np.ones(100_000)
    weights.setflags(write=False)
    return lambda x: x * float(weights[0]), nothing


@habit(notice="weights is an array of 800,000 bytes")
def large_array():
    weights = np.ones(100_000)
    return lambda x: x * float(weights[0]), at(4)(lambda: weights.__setitem__(0, 5.0))


@habit()
def comprehensions():
    options = types.SimpleNamespace(scales=[2.0, 3.0])

    def f(x):
        return x * sum([each * 2.0 for each in options.scales]) + max(each for each in options.scales)

    return f, at(4)(lambda: options.scales.append(4.0))


@habit()
def true_and_one_are_not_one():
    options = types.SimpleNamespace(scale=1)
    return lambda x: x * (2.0 if options.scale is True else 3.0), at(4)(lambda: setattr(options, "scale", True))


@habit()
def a_negative_zero():
    options = types.SimpleNamespace(zero=0.0)
    return lambda x: x * math.copysign(2.0, options.zero), at(4)(lambda: setattr(options, "zero", -0.0))


@habit()
def sorting_by_a_key():
    options = types.SimpleNamespace(weights=[3.0, 1.0, 2.0], reverse=False)

    def f(x):
        return x * sorted(options.weights, key=lambda each: -each if options.reverse else each)[0]

    return f, at(4)(lambda: setattr(options, "reverse", True))


@habit()
def json_of_a_table():
    table = {"scale": 2.0}
    return lambda x: x * json.loads(json.dumps(table))["scale"], at(4)(lambda: table.update(scale=3.0))


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
def inplace_list_of_objects_reordered():
    a, b = (Options(s=2.0), Options(s=3.0))
    l = [a, b]
    return (lambda x: x * l[0].s, at(4)(l.reverse))


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
def walrus_and_default_dict_factory():
    d = collections.defaultdict(lambda: 2.0)

    def f(x):
        return x * d["a"]

    return (f, at(4)(lambda: d.update(a=5.0)), lambda: dict(d))


@habit(replays=False)
def numpy_const_to_tensor():
    a = np.array([2.0, 3.0], np.float32)

    def f(x):
        return x * burn.tensor(a, device=x.device)

    return (f, at(4)(lambda: a.__setitem__(0, 9.0)))


@habit()
def whether_an_array_may_be_written():
    values = np.ones(3)
    return lambda x: x * (2.0 if values.flags.writeable else 6.0), at(4)(lambda: values.setflags(write=False))


@habit()
def how_an_array_lies():
    holder = Options(values=np.ones((2, 2)))

    def change():
        holder.values = np.asfortranarray(holder.values)

    return lambda x: x * (2.0 if holder.values.flags.c_contiguous else 6.0), at(4)(change)
