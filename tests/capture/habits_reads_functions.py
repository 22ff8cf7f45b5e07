"""Habits of reading through functions: closures, defaults, wrappers, partials and bound methods."""

# ruff: noqa: E731, F821

from __future__ import annotations

import functools
import operator
import types

from tests.capture.habits import at, habit


class Options:
    """An object with some attributes."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


@habit()
def state_of_a_wraps_wrapper():
    def scaled(function):
        @functools.wraps(function)
        def wrapper(x):
            return function(x) * wrapper.scale

        wrapper.scale = 2.0
        return wrapper

    @scaled
    def f(x):
        return x + 1.0

    return f, at(4)(lambda: setattr(f, "scale", 3.0))


@habit()
def closure_of_a_wraps_wrapper():
    options = {"scale": 2.0}

    def scaled(function):
        @functools.wraps(function)
        def wrapper(x):
            return function(x) * options["scale"]

        return wrapper

    @scaled
    def f(x):
        return x + 1.0

    return f, at(4)(lambda: options.update(scale=3.0))


@habit()
def closure_of_a_helper():
    def make(scale):
        def helper(x):
            return x * scale[0]

        return helper

    scale = [2.0]
    helper = make(scale)
    return lambda x: helper(x), at(4)(lambda: scale.__setitem__(0, 3.0))


@habit()
def name_in_the_closure_of_a_helper_bound_anew():
    scale = 2.0

    def helper(x):
        return x * scale

    def change():
        nonlocal scale
        scale = 5.0

    return lambda x: helper(x), at(4)(change)


@habit()
def helpers_made_in_a_loop():
    state = [{"scale": float(i)} for i in range(3)]
    helpers = [lambda x, each=each: x + each["scale"] for each in state]

    def f(x):
        for helper in helpers:
            x = helper(x)
        return x

    return f, at(4)(lambda: state[1].update(scale=9.0))


@habit()
def closures_made_in_a_loop():
    def make(each):
        return lambda x: x + each["scale"]

    state = [{"scale": float(i)} for i in range(3)]
    helpers = [make(each) for each in state]

    def f(x):
        for helper in helpers:
            x = helper(x)
        return x

    return f, at(4)(lambda: state[2].update(scale=9.0))


@habit()
def a_partial():
    options = {"scale": 2.0}
    scaled = functools.partial(lambda x, options: x * options["scale"], options=options)
    return lambda x: scaled(x), at(4)(lambda: options.update(scale=3.0))


@habit()
def a_partial_itself():
    options = {"scale": 2.0}
    return functools.partial(lambda options, x: x * options["scale"], options), at(4)(lambda: options.update(scale=3.0))


@habit()
def a_partialmethod():
    class Layer:
        def scaled(self, by, x):
            return x * by * self.extra

        doubled = functools.partialmethod(scaled, 2.0)
        extra = 1.0

    layer = Layer()
    return lambda x: layer.doubled(x), at(4)(lambda: setattr(Layer, "extra", 3.0))


@habit()
def a_table_of_lambdas():
    table = {"up": lambda x: x * 2.0, "down": lambda x: x * 0.5}
    return lambda x: table["up"](x), at(4)(lambda: table.update(up=lambda x: x * 9.0))


@habit()
def a_helper_replaced():
    globals()["replaced_helper"] = _first_helper
    return (lambda x: replaced_helper(x)), at(4)(lambda: globals().update(replaced_helper=_second_helper))


def _first_helper(x):
    return x * 2.0


def _second_helper(x):
    return x * 3.0


replaced_helper = _first_helper


@habit()
def a_bound_method_kept():
    class Net:
        def __init__(self):
            self.by = 2.0

        def act(self, x):
            return x * self.by

    net = Net()
    act = net.act
    return lambda x: act(x), at(4)(lambda: setattr(net, "by", 3.0))


@habit()
def default_argument_that_is_mutable():
    def f(x, options={"scale": 2.0}):  # noqa: B006
        return x * options["scale"]

    return f, at(4)(lambda: f.__defaults__[0].update(scale=3.0))


@habit()
def default_argument_of_a_helper():
    def helper(x, options={"scale": 2.0}):  # noqa: B006
        return x * options["scale"]

    return lambda x: helper(x), at(4)(lambda: helper.__defaults__[0].update(scale=3.0))


@habit()
def keyword_default_of_a_helper():
    def helper(x, *, options=types.SimpleNamespace(scale=2.0)):  # noqa: B008
        return x * options.scale

    return lambda x: helper(x), at(4)(lambda: setattr(helper.__kwdefaults__["options"], "scale", 3.0))


@habit()
def attribute_of_a_function():
    def helper(x):
        return x * helper.scale

    helper.scale = 2.0
    return lambda x: helper(x), at(4)(lambda: setattr(helper, "scale", 3.0))


@habit()
def a_generator_made_inside():
    options = types.SimpleNamespace(scales=[2.0, 3.0])

    def scales():
        for each in options.scales:
            yield each * 1.0

    def f(x):
        for each in scales():
            x = x * each
        return x

    return f, at(4)(lambda: options.scales.append(4.0))


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
def recursion():
    o = Options(d=3)

    def r(x, d):
        return x if d == 0 else r(x * 2.0, d - 1)

    return (lambda x: r(x, o.d), at(4)(lambda: setattr(o, "d", 4)))


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
def builtin_bound_method_kept():
    d = {"s": 2.0}
    get = d.get
    return (lambda x: x * get("s"), at(4)(lambda: d.update(s=5.0)))
