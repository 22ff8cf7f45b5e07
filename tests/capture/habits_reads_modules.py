"""Habits of modules of tensors that hold plain values, changed between calls."""

from __future__ import annotations

import dataclasses
import types

import numpy as np

from burn.module import Module
from burn.module.ignored import Ignored
from tests.capture.habits import at, habit, nothing


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


@habit(replays=False)
def module_class_property():

    class N(Module):
        def __init__(self):
            self._o = Opt()

        @property
        def s(self):
            return self._o.s

        def forward(self, x):
            return x * self.s

    class Opt:
        s = 2.0

    n = N()
    return (lambda x: n(x), at(4)(lambda: setattr(n._o, "s", 5.0)))


@habit(replays=False)
def module_submodule_list_swapped():

    class A(Module):
        def __init__(self, s):
            self.s = s

        def forward(self, x):
            return x * self.s

    class N(Module):
        def __init__(self):
            self.l = [A(2.0), A(3.0)]

        def forward(self, x):
            for a in self.l:
                x = a(x)
            return x

    n = N()
    return (lambda x: n(x), at(4)(lambda: n.l.append(A(5.0))))


@habit(replays=False)
def module_dict_keys_renamed():

    class N(Module):
        def __init__(self):
            self.d = {"a": 2.0}

        def forward(self, x):
            return x * (2.0 if "a" in self.d else 3.0)

    n = N()

    def ch():
        n.d["b"] = n.d.pop("a")

    return (lambda x: n(x), at(4)(ch))


@habit(replays=False)
def module_callable_field():

    class N(Module):
        def __init__(self):
            self.t = [2.0]
            t = self.t
            self.act = lambda x: x * t[0]

        def forward(self, x):
            return self.act(x)

    n = N()
    return (lambda x: n(x), at(4)(lambda: n.t.__setitem__(0, 5.0)))


@habit(replays=False)
def module_array_field():

    class N(Module):
        def __init__(self):
            self.w = np.array([2.0])

        def forward(self, x):
            return x * float(self.w[0])

    n = N()
    return (lambda x: n(x), at(4)(lambda: n.w.__setitem__(0, 5.0)))


@habit(replays=False)
def module_dataclass_field():

    @dataclasses.dataclass
    class C:
        s: float = 2.0

    class N(Module):
        def __init__(self):
            self.c = C()

        def forward(self, x):
            return x * self.c.s

    n = N()
    return (lambda x: n(x), at(4)(lambda: setattr(n.c, "s", 5.0)))


@habit(replays=False)
def burn_metric_update():

    class M:
        total = 0.0

        def update(self):
            self.total += 1
            return self

    m = M()

    def f(x):
        m.update().update()
        return x * 2.0

    return (f, nothing, lambda: m.total)
