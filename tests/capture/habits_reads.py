"""Habits of reading: what a function's Python looks at beside its tensors, changed between calls."""

from __future__ import annotations

import abc
import argparse
import collections
import contextlib
import enum
import functools
import json
import math
import operator
import threading
import types
import typing
import weakref
from dataclasses import dataclass, field

import numpy as np

from burn import Tensor
from burn.module import Module
from burn.module.ignored import Ignored
from tests.capture.habits import at, habit, nothing

settings = types.ModuleType("settings")
settings.scale = 2.0
settings.inner = types.SimpleNamespace(scale=2.0)
FLAG = True
TABLE = {"scale": 2.0}
LIMITS = [1.0, 2.0]


@habit()
def attribute_of_a_plain_object():
    class Options:
        def __init__(self):
            self.scale = 2.0

    options = Options()

    def f(x):
        return x * options.scale

    return f, at(4)(lambda: setattr(options, "scale", 5.0))


@habit()
def attribute_of_self_in_a_method():
    class Trainer:
        def __init__(self):
            self.warm = True

        def step(self, x):
            return x * 2.0 if self.warm else x * 3.0

    trainer = Trainer()
    return trainer.step, at(4)(lambda: setattr(trainer, "warm", False))


@habit()
def attribute_in_slots():
    class Options:
        __slots__ = ("scale",)

    options = Options()
    options.scale = 2.0
    return lambda x: x * options.scale, at(5)(lambda: setattr(options, "scale", 3.0))


@habit()
def argparse_namespace():
    options = argparse.Namespace(scale=2.0, verbose=False)
    return lambda x: x * options.scale, at(4, 6)(lambda: setattr(options, "scale", options.scale + 1.0))


@habit()
def simple_namespace():
    options = types.SimpleNamespace(scale=2.0)
    return lambda x: x * options.scale, at(4)(lambda: setattr(options, "scale", 7.0))


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
def class_attribute():
    class Options:
        scale = 2.0

    return lambda x: x * Options.scale, at(4)(lambda: setattr(Options, "scale", 3.0))


@habit()
def inherited_class_attribute():
    class Base:
        scale = 2.0

    class Options(Base):
        pass

    options = Options()
    return lambda x: x * options.scale, at(4)(lambda: setattr(Base, "scale", 3.0))


@habit()
def class_attribute_added_to_a_subclass():
    class Base:
        scale = 2.0

    class Options(Base):
        pass

    options = Options()
    return lambda x: x * options.scale, at(4)(lambda: setattr(Options, "scale", 3.0))


@habit()
def instance_attribute_that_hides_one_of_the_class():
    class Options:
        scale = 2.0

    options = Options()
    return lambda x: x * options.scale, at(4)(lambda: setattr(options, "scale", 3.0))


@habit()
def attribute_of_a_metaclass():
    class Meta(type):
        scale = 2.0

    class Options(metaclass=Meta):
        pass

    return lambda x: x * Options.scale, at(4)(lambda: setattr(Meta, "scale", 3.0))


@habit()
def attribute_of_a_python_module():
    settings.scale = 2.0
    return lambda x: x * settings.scale, at(4)(lambda: setattr(settings, "scale", 3.0))


@habit()
def object_inside_of_a_python_module():
    settings.inner.scale = 2.0
    return lambda x: x * settings.inner.scale, at(4)(lambda: setattr(settings.inner, "scale", 3.0))


@habit()
def a_global_flag():
    globals()["FLAG"] = True

    def f(x):
        return x * 2.0 if FLAG else x

    return f, at(4)(lambda: globals().update(FLAG=False))


@habit()
def a_global_in_a_helper():
    globals()["FLAG"] = True

    def f(x):
        return helper_with_flag(x)

    return f, at(4)(lambda: globals().update(FLAG=False))


def helper_with_flag(x):
    return x * 2.0 if FLAG else x


@habit()
def a_global_table_in_a_helper_of_a_helper():
    TABLE["scale"] = 2.0
    return lambda x: outer_helper(x), at(4)(lambda: TABLE.update(scale=3.0))


def outer_helper(x):
    return inner_helper(x)


def inner_helper(x):
    return x * TABLE["scale"]


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
def plain_list_inside_of_a_module():
    class Net(Module):
        def __init__(self):
            self.scales = [2.0, 3.0]

        def forward(self, x):
            return x * self.scales[0]

    net = Net()
    return lambda x: net(x), at(4)(lambda: net.scales.__setitem__(0, 5.0))


@habit()
def plain_dict_inside_of_a_module():
    class Net(Module):
        def __init__(self):
            self.options = {"scale": 2.0}

        def forward(self, x):
            return x * self.options["scale"]

    net = Net()
    return lambda x: net.forward(x), at(4)(lambda: net.options.update(scale=5.0))


@habit()
def nested_plain_values_inside_of_a_module():
    class Net(Module):
        def __init__(self):
            self.options = {"scales": [{"a": 2.0}]}

        def forward(self, x):
            return x * self.options["scales"][0]["a"]

    net = Net()
    return lambda x: net(x), at(4)(lambda: net.options["scales"][0].update(a=5.0))


@habit()
def object_inside_of_a_module():
    class Net(Module):
        def __init__(self):
            self.options = types.SimpleNamespace(scale=2.0)

        def forward(self, x):
            return x * self.options.scale

    net = Net()
    return lambda x: net(x), at(4)(lambda: setattr(net.options, "scale", 5.0))


@habit()
def set_inside_of_a_module():
    class Net(Module):
        def __init__(self):
            self.chosen = {"double"}

        def forward(self, x):
            return x * 2.0 if "double" in self.chosen else x

    net = Net()
    return lambda x: net(x), at(4)(lambda: net.chosen.clear())


@habit()
def attribute_of_a_module():
    class Net(Module):
        def __init__(self):
            self.depth = 2

        def forward(self, x):
            for _ in range(self.depth):
                x = x * 2.0
            return x

    net = Net()
    return lambda x: net(x), at(4)(lambda: setattr(net, "depth", 3))


@habit()
def class_attribute_of_a_module():
    class Net(Module):
        scale = 2.0

        def forward(self, x):
            return x * self.scale

    net = Net()
    return lambda x: net(x), at(4)(lambda: setattr(Net, "scale", 3.0))


@habit()
def forward_of_a_module_replaced():
    class Net(Module):
        def forward(self, x):
            return x * 2.0

    net = Net()
    return lambda x: net(x), at(4)(lambda: setattr(Net, "forward", lambda self, x: x * 5.0))


@habit()
def ignored_contents():
    class Net(Module):
        def __init__(self):
            self.options = Ignored(types.SimpleNamespace(scale=2.0))

        def forward(self, x):
            return x * self.options.value.scale

    net = Net()
    return lambda x: net(x), at(4)(lambda: setattr(net.options.value, "scale", 5.0))


@habit()
def ignored_list():
    class Net(Module):
        def __init__(self):
            self.options = Ignored([2.0])

        def forward(self, x):
            return x * self.options.value[0]

    net = Net()
    return lambda x: net(x), at(4)(lambda: net.options.value.__setitem__(0, 3.0))


@habit()
def an_eq_that_always_agrees():
    class Options:
        def __init__(self, scale):
            self.scale = scale

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 1

    box = [Options(2.0)]

    def f(x):
        return x * box[0].scale

    return f, at(4)(lambda: box.__setitem__(0, Options(3.0)))


@habit()
def an_argument_with_an_eq_that_always_agrees():
    class Options:
        def __init__(self, scale):
            self.scale = scale

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 1

    options = [Options(2.0)] * 4 + [Options(3.0)] * 5
    return (lambda x, each: x * each.scale), nothing, None, lambda call: (options[call],)


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
def getattr_by_a_computed_name():
    class Options:
        def __init__(self):
            self.scale0, self.scale1 = 2.0, 3.0

    options = Options()

    def f(x):
        for i in range(2):
            x = x * getattr(options, f"scale{i}")
        return x

    return f, at(4)(lambda: setattr(options, "scale1", 7.0))


@habit()
def getattr_with_a_default():
    class Options:
        pass

    options = Options()
    return lambda x: x * getattr(options, "scale", 2.0), at(4)(lambda: setattr(options, "scale", 3.0))


@habit()
def hasattr_of_an_object():
    class Options:
        pass

    options = Options()
    return lambda x: x * (3.0 if hasattr(options, "fast") else 2.0), at(4)(lambda: setattr(options, "fast", 1))


@habit()
def vars_of_an_object():
    options = types.SimpleNamespace(a=2.0)

    def f(x):
        for each in vars(options).values():
            x = x * each
        return x

    return f, at(4)(lambda: setattr(options, "b", 3.0))


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
def a_registry_on_a_class():
    class Registry:
        items: typing.ClassVar = {}

        @classmethod
        def get(cls, name):
            return cls.items[name]

    Registry.items["scale"] = 2.0
    return lambda x: x * Registry.get("scale"), at(4)(lambda: Registry.items.update(scale=3.0))


@habit()
def static_method_replaced():
    class Tools:
        @staticmethod
        def scale(x):
            return x * 2.0

    return lambda x: Tools.scale(x), at(4)(lambda: setattr(Tools, "scale", staticmethod(lambda x: x * 3.0)))


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
def a_method_replaced_on_the_instance():
    class Net:
        def act(self, x):
            return x * 2.0

    net = Net()
    return lambda x: net.act(x), at(4)(lambda: setattr(net, "act", lambda x: x * 3.0))


@habit()
def a_method_replaced_on_the_class():
    class Net:
        def act(self, x):
            return x * 2.0

    net = Net()
    return lambda x: net.act(x), at(4)(lambda: setattr(Net, "act", lambda self, x: x * 3.0))


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
def super_and_inheritance():
    class Base:
        by = 2.0

        def act(self, x):
            return x * self.by

    class Net(Base):
        def act(self, x):
            return super().act(x) + self.shift

        shift = 1.0

    net = Net()

    def change():
        Base.by = 4.0
        net.shift = 2.0

    return lambda x: net.act(x), at(4)(change)


@habit()
def abstract_classes():
    class Base(abc.ABC):
        @abc.abstractmethod
        def scale(self): ...

    class Net(Base):
        def __init__(self):
            self.by = 2.0

        def scale(self):
            return self.by

    net = Net()
    return lambda x: x * net.scale(), at(4)(lambda: setattr(net, "by", 3.0))


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
def enum_flags():
    class Mode(enum.Flag):
        UP = enum.auto()
        SHIFT = enum.auto()

    options = types.SimpleNamespace(mode=Mode.UP)

    def f(x):
        x = x * 2.0 if Mode.UP in options.mode else x
        return x + 1.0 if Mode.SHIFT in options.mode else x

    return f, at(4)(lambda: setattr(options, "mode", Mode.UP | Mode.SHIFT))


@habit()
def enum_argument():
    class Mode(enum.Enum):
        UP = 1
        DOWN = 2

    modes = [Mode.UP] * 4 + [Mode.DOWN] * 5
    return (lambda x, mode: x * 2.0 if mode is Mode.UP else x * 0.5), nothing, None, lambda call: (modes[call],)


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
def a_weak_reference():
    class Options:
        scale = 2.0

    options = Options()
    link = weakref.ref(options)
    return (lambda x: x * link().scale), at(4)(lambda: setattr(options, "scale", 3.0))


@habit()
def a_thread_local():
    local = threading.local()
    local.scale = 2.0
    return lambda x: x * local.scale, at(4)(lambda: setattr(local, "scale", 3.0))


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


@habit()
def comprehensions():
    options = types.SimpleNamespace(scales=[2.0, 3.0])

    def f(x):
        return x * sum([each * 2.0 for each in options.scales]) + max(each for each in options.scales)

    return f, at(4)(lambda: options.scales.append(4.0))


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
def isinstance_of_an_attribute():
    options = types.SimpleNamespace(scale=2)
    return lambda x: x * (2.0 if isinstance(options.scale, int) else 3.0), at(4)(lambda: setattr(options, "scale", 2.0))


@habit()
def true_and_one_are_not_one():
    options = types.SimpleNamespace(scale=1)
    return lambda x: x * (2.0 if options.scale is True else 3.0), at(4)(lambda: setattr(options, "scale", True))


@habit()
def a_negative_zero():
    options = types.SimpleNamespace(zero=0.0)
    return lambda x: x * math.copysign(2.0, options.zero), at(4)(lambda: setattr(options, "zero", -0.0))


@habit()
def a_curriculum_set_from_outside():
    class Curriculum:
        def __init__(self):
            self.stage = 0

        def layers(self):
            return 1 + self.stage

    curriculum = Curriculum()

    def f(x):
        for _ in range(curriculum.layers()):
            x = x * 2.0
        return x

    return f, at(3, 6)(lambda: setattr(curriculum, "stage", curriculum.stage + 1))


@habit()
def a_list_of_callbacks():
    class Scale:
        def __init__(self, by):
            self.by = by

        def on_value(self, x):
            return x * self.by

    callbacks = [Scale(2.0)]

    def f(x):
        for each in callbacks:
            x = each.on_value(x)
        return x

    return f, at(4)(lambda: callbacks.append(Scale(3.0)))


@habit()
def state_of_a_callback():
    class Scale:
        def __init__(self, by):
            self.by = by

        def on_value(self, x):
            return x * self.by

    callbacks = [Scale(2.0)]

    def f(x):
        for each in callbacks:
            x = each.on_value(x)
        return x

    return f, at(4)(lambda: setattr(callbacks[0], "by", 7.0))


@habit()
def a_dataclass_in_a_closure():
    @dataclass
    class Options:
        scale: float = 2.0
        names: list = field(default_factory=list)

    options = Options()
    return lambda x: x * options.scale * float(1 + len(options.names)), at(4)(lambda: options.names.append("a"))


@habit()
def what_post_init_set():
    @dataclass
    class Options:
        scale: float

        def __post_init__(self):
            self.double = self.scale * 2.0
            self.kind = "fast"

    options = [Options(1.0 + call) for call in range(9)]
    return (
        (lambda x, each: x * each.scale + each.double if each.kind == "fast" else x),
        nothing,
        None,
        lambda call: (options[call],),
    )


@habit()
def a_named_tuple_with_a_method():
    class Options(typing.NamedTuple):
        scale: float

        def doubled(self):
            return self.scale * 2.0

    box = types.SimpleNamespace(options=Options(2.0))
    return lambda x: x * box.options.doubled(), at(4)(lambda: setattr(box, "options", Options(3.0)))


@habit()
def attrgetter_and_itemgetter():
    options = types.SimpleNamespace(table={"scale": 2.0})
    read = operator.attrgetter("table")
    return lambda x: x * operator.itemgetter("scale")(read(options)), at(4)(lambda: options.table.update(scale=3.0))


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


@habit()
def a_type_variable_class():
    T = typing.TypeVar("T")

    class Box(typing.Generic[T]):
        def __init__(self, value):
            self.value = value

    box = Box(2.0)
    return lambda x: x * box.value, at(4)(lambda: setattr(box, "value", 3.0))


@habit()
def two_objects_that_point_at_each_other():
    class Node:
        def __init__(self, scale):
            self.scale, self.other = scale, None

    one, two = Node(2.0), Node(3.0)
    one.other, two.other = two, one
    return lambda x: x * one.other.other.other.scale, at(4)(lambda: setattr(two, "scale", 5.0))


@habit()
def a_scheduler_read_and_not_stepped():
    class Schedule:
        def __init__(self):
            self.epoch = 0

        def rate(self):
            return 0.5**self.epoch

    schedule = Schedule()
    return lambda x: x * schedule.rate(), at(3, 6)(lambda: setattr(schedule, "epoch", schedule.epoch + 1))


@habit()
def a_tensor_shape_read_from_an_object():
    box = types.SimpleNamespace(like=Tensor.zeros([2], burn_device()))
    return lambda x: x * float(box.like.shape[0]), at(4)(lambda: setattr(box, "like", Tensor.zeros([5], burn_device())))


def burn_device():
    from burn import NdArray

    return NdArray()
