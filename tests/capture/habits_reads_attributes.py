"""Habits of reading attributes of objects, changed between calls."""

# ruff: noqa: E741

from __future__ import annotations

import argparse
import operator
import threading
import types
import weakref
from dataclasses import dataclass, field

from burn import Cpu, NdArray, Tensor
from tests.capture.habits import at, habit, nothing


class Options:
    """An object with some attributes."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


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
def isinstance_of_an_attribute():
    options = types.SimpleNamespace(scale=2)
    return lambda x: x * (2.0 if isinstance(options.scale, int) else 3.0), at(4)(lambda: setattr(options, "scale", 2.0))


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
def attrgetter_and_itemgetter():
    options = types.SimpleNamespace(table={"scale": 2.0})
    read = operator.attrgetter("table")
    return lambda x: x * operator.itemgetter("scale")(read(options)), at(4)(lambda: options.table.update(scale=3.0))


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
    box = types.SimpleNamespace(like=Tensor.zeros([2], NdArray()))
    return lambda x: x * float(box.like.shape[0]), at(4)(lambda: setattr(box, "like", Tensor.zeros([5], NdArray())))


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


@habit(replays=False)
def replaced_dict_of_object():
    o = Options(s=2.0)
    return (lambda x: x * o.s, at(4)(lambda: setattr(o, "__dict__", {"s": 5.0})))


@habit(replays=False)
def class_of_object_changed():

    class A:
        s = 2.0

    class B:
        s = 3.0

    o = A()
    return (lambda x: x * o.s, at(4)(lambda: setattr(o, "__class__", B)))


@habit(replays=False)
def proxy_weakref():
    o = Options(s=2.0)
    p = weakref.proxy(o)
    return (lambda x: x * p.s, at(4)(lambda: setattr(o, "s", 5.0)))


@habit(replays=False)
def tensor_in_object_changes():
    o = Options(w=Tensor.from_floats([2.0, 2.0], Cpu()))
    return (lambda x: x * o.w, at(4)(lambda: setattr(o, "w", Tensor.from_floats([5.0, 5.0], Cpu()))))


@habit(replays=False)
def thread_local_other():
    l = threading.local()

    def f(x):
        return x * getattr(l, "s", 2.0)

    return (f, at(4)(lambda: setattr(l, "s", 5.0)))
