"""Habits of objects that answer for themselves: properties, descriptors, operators and special methods."""

# ruff: noqa: E741

from __future__ import annotations

import contextlib
import functools
import types
import typing

from tests.capture.habits import at, habit, nothing


class Options:
    """An object with some attributes."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


@habit()
def property_of_an_object():
    class Options:
        def __init__(self):
            self._scale = 2.0

        @property
        def scale(self):
            return self._scale

    options = Options()
    return lambda x: x * options.scale, at(4)(lambda: setattr(options, "_scale", 3.0))


@habit()
def descriptor_of_an_object():
    class Stored:
        def __set_name__(self, owner, name):
            self.name = "_" + name

        def __get__(self, instance, owner):
            return instance.__dict__[self.name] * self.factor

        factor = 1.0

    class Options:
        scale = Stored()

        def __init__(self):
            self._scale = 2.0

    options = Options()

    def change():
        options._scale = 3.0
        Stored.factor = 2.0

    return lambda x: x * options.scale, at(4)(change)


@habit()
def getattr_of_an_object():
    class Options:
        def __init__(self):
            self._data = {"scale": 2.0}

        def __getattr__(self, name):
            return self._data[name]

    options = Options()
    return lambda x: x * options.scale, at(4)(lambda: options._data.update(scale=3.0))


@habit()
def getitem_of_an_object():
    class Options:
        def __init__(self):
            self.data = {"scale": 2.0}

        def __getitem__(self, name):
            return self.data[name]

    options = Options()
    return lambda x: x * options["scale"], at(4)(lambda: options.data.update(scale=3.0))


@habit()
def callable_object():
    class Scale:
        def __init__(self):
            self.by = 2.0

        def __call__(self, x):
            return x * self.by

    scale = Scale()
    return lambda x: scale(x), at(4)(lambda: setattr(scale, "by", 3.0))


@habit()
def a_callable_object_itself():
    class Scale:
        def __init__(self):
            self.by = 2.0

        def __call__(self, x):
            return x * self.by

    scale = Scale()
    return scale, at(4)(lambda: setattr(scale, "by", 3.0))


@habit()
def operator_overloads_of_an_object():
    class Number:
        def __init__(self):
            self.value = 2.0

        def __rmul__(self, x):
            return x * self.value

    number = Number()
    scale = types.SimpleNamespace(number=number)

    def f(x):
        return x * (3.0 * scale.number)

    return f, at(4)(lambda: setattr(number, "value", 3.0))


@habit()
def a_context_manager():
    options = types.SimpleNamespace(scale=2.0)

    class Doubled:
        def __enter__(self):
            return options.scale * 2.0

        def __exit__(self, *_):
            return False

    def f(x):
        with Doubled() as scale:
            return x * scale

    return f, at(4)(lambda: setattr(options, "scale", 3.0))


@habit()
def a_context_manager_from_a_generator():
    options = types.SimpleNamespace(scale=2.0)

    @contextlib.contextmanager
    def scaled():
        yield options.scale

    def f(x):
        with scaled() as scale:
            return x * scale

    return f, at(4)(lambda: setattr(options, "scale", 3.0))


@habit()
def a_named_tuple_with_a_method():
    class Options(typing.NamedTuple):
        scale: float

        def doubled(self):
            return self.scale * 2.0

    box = types.SimpleNamespace(options=Options(2.0))
    return lambda x: x * box.options.doubled(), at(4)(lambda: setattr(box, "options", Options(3.0)))


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
def locale_str():
    o = Options(fmt="{:.0f}")
    return (lambda x: x * float(o.fmt.format(2.4)), at(4)(lambda: setattr(o, "fmt", "{:.1f}")))


@habit(replays=False)
def total_ordering_cmp_to_key():
    o = Options(r=1)

    def cmp(a, b):
        return o.r * (a - b)

    return (lambda x: x * sorted([2.0, 3.0], key=functools.cmp_to_key(cmp))[0], at(4)(lambda: setattr(o, "r", -1)))


@habit(replays=False)
def method_wrapper_slot():
    l = [2.0]
    get = l.__getitem__
    return (lambda x: x * get(0), at(4)(lambda: l.__setitem__(0, 5.0)))
