"""Habits of counting and of remembering calls."""

# ruff: noqa: RUF015

from __future__ import annotations

import functools
import types

from burn.lr_scheduler import StepLrSchedulerConfig
from burn.module import Module
from tests.capture.habits import habit, nothing

COUNT = 0


class Options:
    """An object with some attributes."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


@habit(notice="counts is changed")
def count_in_a_dict():
    counts = {"n": 0}

    def f(x):
        counts["n"] += 1
        return x * 2.0

    return f, nothing, lambda: counts["n"]


@habit(notice=r"self.n is changed")
def count_in_self():
    class Trainer:
        def __init__(self):
            self.n = 0

        def step(self, x):
            self.n += 1
            return x * 2.0

    trainer = Trainer()
    return trainer.step, nothing, lambda: trainer.n


@habit(notice="meter.n is changed")
def count_in_an_object():
    meter = types.SimpleNamespace(n=0)

    def f(x):
        meter.n += 1
        return x * 2.0

    return f, nothing, lambda: meter.n


@habit(notice="net is changed in place")
def count_in_a_module():
    class Net(Module):
        def __init__(self):
            self.seen = 0

        def forward(self, x):
            self.seen += 1
            return x * 2.0

    net = Net()
    return lambda x: net(x), nothing, lambda: net.seen


@habit(notice="n is changed")
def count_in_the_closure_of_a_helper():
    n = 0

    def helper():
        nonlocal n
        n += 1

    def f(x):
        helper()
        return x * 2.0

    return f, nothing, lambda: n


@habit(notice="COUNT is changed")
def count_in_a_global_of_a_helper():
    globals()["COUNT"] = 0

    def f(x):
        counting_helper()
        return x * 2.0

    return f, nothing, lambda: COUNT


def counting_helper():
    global COUNT
    COUNT += 1


@habit(replays=False)
def count_in_a_name_of_its_own():
    n = 0

    def f(x):
        nonlocal n
        n += 1
        return x * float(n)

    return f, nothing, lambda: n


@habit(notice="Net.made is changed")
def count_on_a_class():
    class Net:
        made = 0

        def act(self, x):
            Net.made += 1
            return x * 2.0

    net = Net()
    return lambda x: net.act(x), nothing, lambda: Net.made


@habit(notice="helper.calls is changed")
def count_on_a_function():
    def helper(x):
        helper.calls += 1
        return x * 2.0

    helper.calls = 0
    return lambda x: helper(x), nothing, lambda: helper.calls


@habit(notice="wrapper.calls is changed|f.calls is changed|calls is changed")
def count_in_a_wrapper():
    def counted(function):
        @functools.wraps(function)
        def wrapper(x):
            wrapper.calls += 1
            return function(x)

        wrapper.calls = 0
        return wrapper

    @counted
    def f(x):
        return x * 2.0

    return f, nothing, lambda: f.calls


@habit(notice="scheduler|StepLr")
def stepping_a_scheduler():
    scheduler = StepLrSchedulerConfig(1.0, 2, 0.5).init()
    return lambda x: x * scheduler.step(), nothing


@habit(notice="layer.state is changed|self.state is changed")
def a_state_machine():
    class Layer:
        def __init__(self):
            self.state = 0

        def act(self, x):
            self.state = (self.state + 1) % 3
            return x * float(self.state)

    layer = Layer()
    return layer.act, nothing, lambda: layer.state


@habit(replays=False)
def every_third_call_is_another():
    calls = types.SimpleNamespace(n=0)

    def f(x):
        return x * 2.0 if calls.n % 3 else x * 5.0

    def between(call):
        calls.n = call

    return f, between


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
def exception_attr_counter():
    o = Options(n=0)

    def f(x):
        o.n += 1
        if o.n == 5:
            raise ValueError("five")
        return x * 2.0

    return (f, nothing, lambda: o.n)
