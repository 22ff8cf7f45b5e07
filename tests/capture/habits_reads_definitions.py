"""Habits of reading how functions and classes are defined, and of defining them anew."""

# ruff: noqa: B024, RUF012

from __future__ import annotations

import abc
import inspect
import types
import typing

from burn import Tensor, nn
from tests.capture.habits import at, habit


@habit()
def class_attr_swapped_same_count():
    class A:
        s = 2.0

    class B(A):
        t = 1.0

    o = B()

    def ch():
        del B.t
        B.s = 5.0

    return lambda x: x * o.s, at(4)(ch)


@habit()
def inspect_signature():
    def g(a, b=2.0):
        pass

    return lambda x: x * inspect.signature(g).parameters["b"].default, at(4)(lambda: setattr(g, "__defaults__", (5.0,)))


@habit()
def function_doc():
    def g():
        "22"

    return lambda x: x * float(g.__doc__), at(4)(lambda: setattr(g, "__doc__", "55"))


@habit()
def function_name():
    def g():
        pass

    return lambda x: x * float(len(g.__name__)), at(4)(lambda: setattr(g, "__name__", "ggg"))


@habit()
def function_annotations():
    def g(a: 2.0):
        pass

    return lambda x: x * g.__annotations__["a"], at(4)(lambda: g.__annotations__.update(a=5.0))


@habit()
def class_name_read():
    class A:
        pass

    return lambda x: x * float(len(A.__name__)), at(4)(lambda: setattr(A, "__name__", "AAA"))


@habit()
def class_vars_sum():
    class A:
        a = 1.0

    return lambda x: x * sum(v for n, v in vars(A).items() if isinstance(v, float)), at(4)(lambda: setattr(A, "b", 5.0))


@habit()
def module_vars_sum():
    m = types.ModuleType("mmm")
    m.a = 1.0
    return lambda x: x * sum(v for n, v in vars(m).items() if isinstance(v, float)), at(4)(lambda: setattr(m, "b", 5.0))


@habit()
def generic_alias_args():
    class C:
        k = 2.0

    g = list[C]
    return lambda x: x * g.__args__[0].k, at(4)(lambda: setattr(C, "k", 5.0))


@habit()
def code_consts():
    def g():
        return 2.0

    return lambda x: x * g.__code__.co_consts[1], at(4)(lambda: setattr(g, "__code__", (lambda: 5.0).__code__))


@habit()
def cell_object():
    k = 2.0

    def inner():
        return k

    c = inner.__closure__[0]

    def ch():
        nonlocal k
        k = 5.0

    return lambda x: x * c.cell_contents, at(4)(ch)


@habit(notice="Base\\.__subclasses__ is called")
def subclasses_call():
    class Base:
        pass

    class A(Base):
        pass

    keep = [A]

    def ch():
        class B(Base):
            pass

        keep.append(B)

    return lambda x: x * float(len(Base.__subclasses__())), at(4)(ch)


@habit()
def isinstance_abc_register():
    class P(abc.ABC):
        pass

    class A:
        pass

    a = A()
    return lambda x: x * (2.0 if isinstance(a, P) else 3.0), at(4)(lambda: P.register(A))


@habit()
def protocol_isinstance():
    @typing.runtime_checkable
    class P(typing.Protocol):
        def go(self): ...

    class A:
        pass

    a = A()
    return lambda x: x * (2.0 if isinstance(a, P) else 3.0), at(4)(lambda: setattr(A, "go", lambda s: 1))


@habit()
def instancecheck_meta():
    st = {"yes": True}

    class M(type):
        def __instancecheck__(c, o):
            return st["yes"]

    class P(metaclass=M):
        pass

    return lambda x: x * (2.0 if isinstance(3, P) else 3.0), at(4)(lambda: st.update(yes=False))


@habit()
def init_subclass_registry():
    class Base:
        reg = []

        def __init_subclass__(cls):
            Base.reg.append(cls)

    class A(Base):
        k = 2.0

    def ch():
        class B(Base):
            k = 3.0

        keep.append(B)

    keep = []
    return lambda x: x * sum(c.k for c in Base.reg), at(4)(ch)


@habit()
def exec_made():
    ns = {}
    exec("K = 2.0\ndef f(x):\n    return x * K\n", ns)
    return ns["f"], at(4)(lambda: ns.update(K=5.0))


@habit()
def exec_made_helper():
    ns = {"__name__": "made_by_exec"}
    exec("K = 2.0\ndef h(x):\n    return x * K\n", ns)
    g = ns["h"]
    return lambda x: g(x), at(4)(lambda: ns.update(K=5.0))


@habit()
def exec_named_as_burn():
    ns = {"__name__": "burn.user"}
    exec("K = 2.0\ndef h(x):\n    return x * K\n", ns)
    g = ns["h"]
    return lambda x: g(x), at(4)(lambda: ns.update(K=5.0))


@habit()
def eval_made():
    f = eval("lambda x: x * K", ns := {"K": 2.0})
    return f, at(4)(lambda: ns.update(K=5.0))


@habit()
def monkeypatched_tensor_method():
    old = Tensor.tanh

    def ch():
        Tensor.tanh = lambda self: self * 7.0

    def undo(c):
        if c == 4:
            ch()
        if c == 7:
            Tensor.tanh = old

    return lambda x: x.tanh(), undo


@habit()
def monkeypatched_layer_forward_unnamed():
    dr = nn.DropoutConfig(0.5).init()
    old = nn.Dropout.forward

    def b(c):
        if c == 4:
            nn.Dropout.forward = lambda self, x: x * 7.0
        if c == 7:
            nn.Dropout.forward = old

    return lambda x: dr(x), b


@habit()
def monkeypatched_activation():
    from burn.tensor import activation

    old = activation.relu

    def b(c):
        if c == 4:
            activation.relu = lambda x: x * 7.0
        if c == 7:
            activation.relu = old

    return lambda x: activation.relu(x), b
