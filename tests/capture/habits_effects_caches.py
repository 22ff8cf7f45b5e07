"""Habits of keeping what was computed, of what a call gives back, and of failing."""

# ruff: noqa: B019

from __future__ import annotations

import functools
import types

from tests.capture.habits import at, habit, nothing


class Options:
    """An object with some attributes."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


@habit()
def exceptions_as_control_flow():
    table = {}

    def f(x):
        try:
            return x * table["scale"]
        except KeyError:
            return x * 2.0

    return f, at(4)(lambda: table.update(scale=5.0))


@habit()
def a_cached_property():
    class Options:
        def __init__(self):
            self.base = 2.0

        @functools.cached_property
        def scale(self):
            return self.base * 2.0

    options = Options()
    return lambda x: x * options.scale, nothing, lambda: sorted(vars(options))


@habit()
def a_cached_property_thrown_away():
    class Options:
        def __init__(self):
            self.base = 2.0

        @functools.cached_property
        def scale(self):
            return self.base * 2.0

    options = Options()

    def change():
        options.base = 5.0
        del options.scale

    return lambda x: x * options.scale, at(5)(change)


@habit(notice="is used")
def an_lru_cache():
    options = {"scale": 2.0}

    @functools.lru_cache
    def scale():
        return options["scale"]

    def change():
        options["scale"] = 3.0
        scale.cache_clear()

    return lambda x: x * scale(), at(5)(change), lambda: scale.cache_info().hits


@habit()
def a_cache_of_its_own():
    cache: dict[int, float] = {}

    def f(x):
        size = x.shape[0]
        if size not in cache:
            cache[size] = 2.0 * size
        return x * cache[size]

    return f, nothing, lambda: dict(cache)


@habit()
def a_cache_on_self_that_is_cleared():
    class Layer:
        def __init__(self):
            self.cache, self.base = {}, 2.0

        def act(self, x):
            if "scale" not in self.cache:
                self.cache["scale"] = self.base
            return x * self.cache["scale"]

    layer = Layer()

    def change():
        layer.cache.clear()
        layer.base = 5.0

    return layer.act, at(5)(change), lambda: dict(layer.cache)


@habit()
def made_ready_at_the_first_call():
    class Layer:
        def __init__(self):
            self.ready = False

        def act(self, x):
            if not self.ready:
                self.ready, self.scale = True, 2.0
            return x * self.scale

    layer = Layer()
    return layer.act, nothing, lambda: layer.ready


@habit(notice="outlives|is changed")
def a_tensor_kept():
    kept = []

    def f(x):
        y = x * 2.0
        kept.append(y)
        return y + 1.0

    return f, nothing, lambda: [each.tolist() for each in kept]


@habit()
def a_result_that_is_changed_by_the_caller():
    def f(x):
        return {"y": x * 2.0, "names": ["a"]}

    made = []

    def g(x):
        result = f(x)
        made.append(list(result["names"]))
        return result

    return f, nothing


@habit(notice="was made in the call")
def a_result_that_is_an_object():
    class Result:
        def __init__(self, y):
            self.y, self.notes = y, []

    def f(x):
        return types.SimpleNamespace(note="fine"), x * 2.0

    return f, nothing


@habit(notice="was made in the call")
def a_result_that_is_a_set():
    return lambda x: ({"a"}, x * 2.0), nothing


@habit(notice="was made in the call")
def a_result_that_is_a_function():
    return lambda x: (x * 2.0, lambda: 1), nothing


@habit()
def a_result_that_is_an_object_from_outside():
    options = types.SimpleNamespace(name="fine")
    return lambda x: (options, x * 2.0), nothing


@habit()
def local_lists_and_objects():
    def f(x):
        parts = []
        for i in range(3):
            parts.append(x * float(i))
        box = types.SimpleNamespace(total=parts[0])
        for each in parts[1:]:
            box.total = box.total + each
        return box.total

    return f, nothing


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
