"""What is captured (a module, a method, a partial), and that nothing lives longer because of it."""

from __future__ import annotations

import functools
import gc
import types
import weakref
from dataclasses import dataclass

import numpy as np
import pytest

import burn
from burn import Cpu, Tensor, nn
from burn.module import Module


class Net(Module):
    def __init__(self, device):
        self.inner = nn.LinearConfig(4, 3).init(device)
        self.norm = nn.BatchNormConfig(3).init(device)

    def forward(self, x):
        return self.norm(self.inner(x)).relu()


def images(call: int, device: burn.Device) -> Tensor:
    return burn.tensor(np.random.default_rng(call).normal(size=(5, 4)).astype(np.float32), device=device)


def test_a_module_is_captured_with_its_state():
    device = Cpu()
    plain = Net(device).mode("train")
    model = plain.clone()
    captured = burn.compile(model)
    for call in range(7):
        x = images(call, device)
        np.testing.assert_allclose(captured(x).numpy(), plain(x).numpy(), rtol=1e-5, atol=1e-6)
    one, other = plain.norm.running_mean.value.numpy(), model.norm.running_mean.value.numpy()
    np.testing.assert_allclose(one, other, rtol=1e-5)
    assert captured.calls == 5
    assert "Net" in repr(captured)


@pytest.mark.parametrize("kind", ["module", "partial", "method"])
def test_other_callables_are_captured(kind):
    device = Cpu()
    model = Net(device).valid()
    function = {"module": model, "partial": functools.partial(Net.forward, model), "method": model.forward}[kind]
    captured = burn.compile(function)
    for call in range(5):
        x = images(call, device)
        np.testing.assert_allclose(captured(x).numpy(), model(x).numpy(), rtol=1e-5, atol=1e-6)
    assert captured.calls == 3


class Counter:
    def __init__(self, scale):
        self.scale = scale
        self.me = self  # in a circle with itself
        self.table = {"self": self, "numbers": [scale]}

    @burn.compile
    def act(self, x):
        return x * self.scale + self.table["numbers"][0]


def test_objects_with_a_compiled_method_go_when_nobody_has_them():
    device = Cpu()
    links = []
    for number in range(30):
        counter = Counter(float(number))
        for _ in range(4):
            assert counter.act(burn.tensor([1.0], device=device)).item() == 2.0 * number
        links.append(weakref.ref(counter))
    del counter
    gc.collect()
    assert sum(link() is not None for link in links) == 0


def test_arguments_and_globals_go_when_nobody_has_them():
    device = Cpu()
    box = types.SimpleNamespace(options=None)

    class Options:
        scale = 2.0

    @burn.compile
    def f(x, options):
        return x * options.scale * box.options.scale

    links = []
    for _ in range(5):
        options, box.options = Options(), Options()
        for _ in range(4):
            assert f(burn.tensor([1.0], device=device), options).item() == 4.0
        links += [weakref.ref(options), weakref.ref(box.options)]
    box.options = None
    del options
    gc.collect()
    assert [link() for link in links] == [None] * 10


def test_captures_of_objects_that_are_gone_go_too():
    device = Cpu()
    compiled = Counter.__dict__["act"]
    compiled.ready.clear()
    for number in range(6):
        counter = Counter(float(number))
        for _ in range(3):
            counter.act(burn.tensor([1.0], device=device))
        del counter
        gc.collect()
    assert len(compiled.ready) <= 2


def test_a_dataclass_keeps_what_post_init_set():
    @dataclass
    class Options:
        rate: float

        def __post_init__(self):
            self.double, self.name, self.items = self.rate * 2.0, "x", [1, 2]

    seen = []

    @burn.compile(ignore=["seen"])
    def f(x, options):
        seen.append((options.name, options.items, isinstance(options.rate, float)))
        return x * options.rate + options.double

    for number in range(6):
        rate = 1.0 / (number + 1)
        result = f(burn.tensor([1.0], device=Cpu()), Options(rate)).item()
        np.testing.assert_allclose(result, 3.0 * rate, rtol=1e-6)
    assert seen == [("x", [1, 2], True)] * 2
    assert f.calls == 4


def test_what_is_ignored_neither_guards_nor_forbids():
    log, options = [], types.SimpleNamespace(scale=2.0, calls=0)

    def f(x):
        log.append(1)
        options.calls += 1
        return x * options.scale

    captured = burn.compile(f, ignore=["log", "options.calls"])
    x = burn.tensor([1.0], device=Cpu())
    assert [captured(x).item() for _ in range(5)] == [2.0] * 5
    assert (len(log), options.calls, captured.calls) == (2, 2, 3)
    options.scale = 3.0
    assert captured(x).item() == 3.0
    whole = burn.compile(f, ignore=[log, options])
    assert [whole(x).item() for _ in range(4)] == [3.0] * 4
    options.scale = 9.0
    assert whole(x).item() == 3.0, "an object that is ignored is not looked at"
