"""Habits of reading classes: their attributes, bases, methods and metaclasses, changed between calls."""

# ruff: noqa: RUF012

from __future__ import annotations

import abc
import collections
import dataclasses
import enum
import types
import typing

from tests.capture.habits import at, habit, nothing


class Options:
    """An object with some attributes."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


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
def a_type_variable_class():
    T = typing.TypeVar("T")

    class Box(typing.Generic[T]):
        def __init__(self, value):
            self.value = value

    box = Box(2.0)
    return lambda x: x * box.value, at(4)(lambda: setattr(box, "value", 3.0))


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


@habit(replays=False)
def bases_changed():

    class A:
        s = 2.0

    class B:
        s = 3.0

    class C(A):
        pass

    o = C()
    return (lambda x: x * o.s, at(4)(lambda: setattr(C, "__bases__", (B,))))


@habit(replays=False)
def class_counter_via_cls():

    class A:
        n = 0

        @classmethod
        def hit(cls):
            cls.n += 1
            return 2.0

    return (lambda x: x * A.hit(), nothing, lambda: A.n)


@habit(replays=False)
def enum_value_mutated():

    class E(enum.Enum):
        A = [2.0]

    return (lambda x: x * E.A.value[0], at(4)(lambda: E.A.value.__setitem__(0, 5.0)))


@habit(replays=False)
def type_object_via_type():

    class A:
        s = 2.0

    a = A()
    return (lambda x: x * type(a).s, at(4)(lambda: setattr(A, "s", 5.0)))


@habit(replays=False)
def super_attr_via_mro():

    class A:
        s = 2.0

    class B(A):
        def g(self):
            return super().s

    b = B()
    return (lambda x: x * b.g(), at(4)(lambda: setattr(A, "s", 5.0)))


@habit(replays=False)
def classvar_dict():

    class A:
        t = {"s": 2.0}

    return (lambda x: x * A().t["s"], at(4)(lambda: A.t.update(s=5.0)))


@habit(replays=False)
def fresh_object_reads_class():

    class A:
        s = 2.0

        def __init__(self):
            self.v = self.s

    return (lambda x: x * A().v, at(4)(lambda: setattr(A, "s", 5.0)))


@habit(replays=False)
def dataclass_default_factory_state():
    n = [2.0]

    @dataclasses.dataclass
    class A:
        v: float = dataclasses.field(default_factory=lambda: n[0])

    return (lambda x: x * A().v, at(4)(lambda: n.__setitem__(0, 5.0)))


@habit(replays=False)
def dataclass_default_class():

    @dataclasses.dataclass
    class A:
        v: float = 2.0

    return (lambda x: x * A().v, at(4)(lambda: setattr(A.__init__, "__defaults__", (5.0,))))


@habit(replays=False)
def namedtuple_default():

    class A(typing.NamedTuple):
        v: float = 2.0

    return (lambda x: x * A().v, nothing)


@habit(replays=False)
def type_created_counter():
    seen = []

    class Meta(type):
        def __call__(cls, *a):
            seen.append(1)
            return super().__call__(*a)

    class A(metaclass=Meta):
        s = 2.0

    return (lambda x: x * A().s, nothing, lambda: len(seen))


@habit(replays=False)
def singleton_new():

    class S:
        inst = None
        n = 0

        def __new__(cls):
            if cls.inst is None:
                cls.inst = object.__new__(cls)
            cls.inst.n += 1
            return cls.inst

    return (lambda x: x * (2.0 if S().n < 6 else 3.0), nothing, lambda: S.inst.n if S.inst else 0)


@habit()
def property_of_a_named_tuple():
    class Options(typing.NamedTuple):
        scale: float

        @property
        def twice(self):
            return self.scale * 2.0

    options = Options(1.0)
    return lambda x: x * options.twice, at(4)(lambda: setattr(Options, "twice", property(lambda self: 6.0)))


@habit()
def field_of_a_named_tuple_that_becomes_a_property():
    Options = collections.namedtuple("Options", "scale")
    options = Options(2.0)
    return lambda x: x * options.scale, at(4)(lambda: setattr(Options, "scale", property(lambda self: 6.0)))
