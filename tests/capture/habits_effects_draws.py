"""Habits of drawing numbers and of moving iterators on."""

# ruff: noqa: C417, RUF015

from __future__ import annotations

import functools
import itertools
import os
import random
import types
import uuid

import numpy as np

from burn import Cpu, Distribution, Tensor
from burn.module import Module
from tests.capture.habits import at, habit, nothing


class Options:
    """An object with some attributes."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


@habit(notice="random")
def stochastic_depth():
    def f(x):
        return x * 2.0 if random.random() < 0.5 else x

    return f, nothing


@habit(notice="random")
def randomness_that_agrees_with_itself():
    def f(x):
        return x * 2.0 if random.random() < 2.0 else x

    return f, nothing, lambda: random.getstate()[1][-1]


@habit(notice="random")
def shuffling():
    def f(x):
        order = [1.0, 2.0, 3.0]
        random.shuffle(order)
        return x * order[0]

    return f, nothing


@habit(notice="generator is used|random")
def a_random_generator_of_its_own():
    generator = random.Random(0)

    def f(x):
        return x * (2.0 if generator.random() < 0.5 else 3.0)

    return f, nothing


@habit(notice="random")
def numpy_random():
    def f(x):
        return x * float(np.random.rand() < 0.9)  # noqa: NPY002

    return f, nothing


@habit(notice="rng is used")
def a_numpy_generator():
    rng = np.random.default_rng(0)

    def f(x):
        return x * (2.0 if rng.random() < 0.5 else 3.0)

    return f, nothing


@habit(notice="net.rng is used|rng")
def a_numpy_generator_in_a_module():
    class Net(Module):
        def __init__(self):
            self.rng = np.random.default_rng(0)

        def forward(self, x):
            return x * (2.0 if self.rng.random() < 0.5 else 3.0)

    net = Net()
    return lambda x: net(x), nothing


@habit()
def randomness_of_the_device():
    def f(x):
        return x * Tensor.random([2], Distribution.Bernoulli(0.5), x.device)

    return f, nothing


@habit(notice="the device is seeded")
def seeding_the_device():
    device = Cpu()

    def f(x):
        device.seed(5)
        return x * Tensor.random([2], Distribution.Bernoulli(0.5), x.device)

    return f, nothing


@habit(notice="it is an iterator|goes on")
def next_of_an_iterator():
    it = iter([float(i) for i in range(20)])

    def f(x):
        return x * (2.0 if next(it) < 5.0 else 3.0)

    return f, nothing


@habit(notice="goes on|is an iterator")
def next_of_a_generator():
    def numbers():
        for i in range(20):
            yield float(i)

    it = numbers()

    def f(x):
        return x * (2.0 if next(it) < 5.0 else 3.0)

    return f, nothing


@habit(notice="is an iterator")
def a_cycle_of_rates():
    rates = itertools.cycle([1.0, 1.0, 1.0, 2.0])

    def f(x):
        return x * next(rates)

    return f, nothing


@habit(notice="is an iterator")
def a_counter_from_itertools():
    box = types.SimpleNamespace(count=itertools.count())

    def f(x):
        next(box.count)
        return x * 2.0

    return f, nothing, lambda: repr(box.count)


@habit(notice="is_changed|is changed")
def an_iterator_of_the_users():
    class Numbers:
        def __init__(self):
            self.n = 0

        def __next__(self):
            self.n += 1
            return float(self.n < 6)

    numbers = Numbers()
    return lambda x: x * next(numbers), nothing


@habit(notice="uuid")
def a_uuid():
    def f(x):
        uuid.uuid4()
        return x * 2.0

    return f, nothing


@habit(notice="urandom")
def entropy():
    def f(x):
        return x * (2.0 if os.urandom(1) else 3.0)

    return f, nothing


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
