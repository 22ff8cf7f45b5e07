"""Habits of doing: what a function's Python changes, draws, prints or waits for."""

from __future__ import annotations

import collections
import contextvars
import datetime
import functools
import io
import itertools
import logging
import os
import random
import sys
import threading
import time
import types
import typing
import uuid
import warnings

import numpy as np

from burn import Cpu, Distribution, Tensor
from burn.lr_scheduler import StepLrSchedulerConfig
from burn.module import Module
from tests.capture.habits import at, habit, nothing

COUNT = 0
LOG: list[int] = []


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


@habit(notice="print is called at habits_effects.py, line")
def printing():
    def f(x):
        print("step")
        return x * 2.0

    return f, nothing


@habit(notice="print")
def printing_through_map():
    def f(x):
        list(map(print, ["step"]))
        return x * 2.0

    return f, nothing


@habit(notice="print|cannot be looked at")
def printing_through_a_partial():
    tell = functools.partial(print, "step")

    def f(x):
        tell()
        return x * 2.0

    return f, nothing


@habit(notice="write")
def writing_to_standard_output():
    def f(x):
        sys.stdout.write("step\n")
        return x * 2.0

    return f, nothing


@habit(notice="file is an iterator|write")
def writing_to_a_file():
    file = io.StringIO()

    def f(x):
        file.write("step\n")
        return x * 2.0

    return f, nothing, file.getvalue


@habit(notice="logging")
def logging_a_line():
    logger = logging.getLogger("habits")
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)

    def f(x):
        logger.info("step")
        return x * 2.0

    def seen():
        return stream.getvalue()

    return f, nothing, seen


@habit()
def a_flag_that_keeps_it_from_printing():
    options = types.SimpleNamespace(verbose=False)

    def f(x):
        if options.verbose:
            print("step")
        return x * 2.0

    return f, nothing


@habit()
def a_flag_that_makes_it_print_later():
    options = types.SimpleNamespace(verbose=False)

    def f(x):
        if options.verbose:
            print("step")
        return x * 2.0

    return f, at(5)(lambda: setattr(options, "verbose", True))


@habit(notice="warn")
def warning_of_something():
    def f(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.warn("careful", stacklevel=1)
        return x * 2.0

    return f, nothing


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


@habit(notice="time")
def a_clock():
    def f(x):
        return x * (2.0 if time.time() > 0 else 3.0)

    return f, nothing


@habit(notice="now")
def a_date():
    def f(x):
        return x * (2.0 if datetime.datetime.now().year > 1 else 3.0)

    return f, nothing


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


@habit(notice="os")
def an_environment_variable():
    os.environ["BURN_HABIT"] = "2"

    def f(x):
        return x * float(os.environ["BURN_HABIT"])

    return f, at(4)(lambda: os.environ.update(BURN_HABIT="3"))


@habit(notice="os")
def an_environment_variable_by_getenv():
    os.environ["BURN_HABIT"] = "2"

    def f(x):
        return x * float(os.getenv("BURN_HABIT", "1"))

    return f, at(4)(lambda: os.environ.update(BURN_HABIT="3"))


@habit(notice="ContextVar.get|contextvars")
def a_context_variable():
    scale = contextvars.ContextVar("scale", default=2.0)
    return lambda x: x * scale.get(), at(4)(lambda: scale.set(3.0))


@habit(notice="scheduler|StepLr")
def stepping_a_scheduler():
    scheduler = StepLrSchedulerConfig(1.0, 2, 0.5).init()
    return lambda x: x * scheduler.step(), nothing


@habit(notice="threading")
def a_thread_started_inside():
    done = []

    def f(x):
        thread = threading.Thread(target=done.append, args=(1,))
        thread.start()
        thread.join()
        return x * 2.0

    return f, nothing, lambda: len(done)


@habit()
def a_lock_held():
    lock = threading.Lock()

    def f(x):
        with lock:
            return x * 2.0

    return f, nothing


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


@habit()
def a_local_import():
    def f(x):
        import math

        return x * math.sqrt(4.0)

    return f, nothing


@habit()
def a_helper_with_an_accumulator_argument():
    def collect(x, into):
        into.append(x * 2.0)
        return into

    def f(x):
        return collect(x + 1.0, collect(x, []))[1]

    return f, nothing


@habit(notice="gc|setrecursionlimit|called at")
def a_system_setting():
    def f(x):
        sys.setrecursionlimit(sys.getrecursionlimit())
        return x * 2.0

    return f, nothing


@habit(notice="registry is changed")
def a_subclass_registered():
    registry: typing.Any = []

    class Base:
        def __init_subclass__(cls):
            registry.append(cls.__name__)

    def f(x):
        type("Made", (Base,), {})
        return x * 2.0

    return f, nothing, lambda: len(registry)


@habit(notice="is changed")
def an_attribute_deleted():
    options = types.SimpleNamespace()

    def f(x):
        if hasattr(options, "fresh"):
            del options.fresh
            return x * 3.0
        options.fresh = True
        return x * 2.0

    return f, nothing, lambda: hasattr(options, "fresh")


@habit(notice="open|called at")
def reading_a_file():
    def f(x):
        with open(__file__, encoding="utf-8") as file:
            return x * (2.0 if file.readline() else 3.0)

    return f, nothing


@habit(notice="stat|exists|called at")
def looking_for_a_file():
    def f(x):
        return x * (2.0 if os.path.exists("/nowhere/at/all") else 3.0)

    return f, nothing
