"""Loops of files: recorded with `burn.control.scan` where the body computes with tensors alone, else Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import burn
from burn.backend import Autodiff
from burn.program import to_text
from burn_import.onnx import load
from burn_import.onnx.importing import import_model
from tests.onnx.running import runtime, text_model

DEVICES = [burn.NdArray(), burn.Cpu(), burn.LibTorch()]
RANDOM = np.random.default_rng(0)


def floats(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def source_of(text: str) -> str:
    written: str = import_model(text_model(text)).write().source
    return written


def check(text: str, *feeds: dict[str, Any]) -> None:
    """Each device gives what ONNX Runtime gives, twice: the second run is the captured one."""
    proto = text_model(text)
    for device in DEVICES:
        loaded = load(proto, device)
        for feed in feeds:
            expected = runtime(proto, {name: np.asarray(each) for name, each in feed.items()})
            for _ in range(2):
                for actual, wanted in zip(loaded.run(feed).values(), expected, strict=True):
                    assert np.shape(actual) == np.shape(wanted)
                    assert np.asarray(actual).dtype == np.asarray(wanted).dtype
                    np.testing.assert_allclose(actual, wanted, rtol=1e-5, atol=1e-5)


RECURRENT = """g (float[n, 4] h, float[t, n, 4] x) => (float[n, 4] y, float[t, n] s) <float[4, 4] w> {
    y, s = Scan<num_scan_inputs = 1, body = b (float[P, Q] state, float[P, Q] row) => (float[P, Q] next, float[P] o) {
        m = MatMul(state, w)
        a = Add(m, row)
        next = Tanh(a)
        one = Constant<value_ints = [1]>()
        o = ReduceSum<keepdims = 0>(next, one)
    }>(h, x)
}"""

LEARNT = RECURRENT.replace("float[n, 4] h, ", "").replace("<float[4, 4] w>", "<float[4, 4] w, float[3, 4] h>", 1)

SEVERAL = """g (float[n, 4] h, float[n, 4] c, float[n, t, 4] x, float[t] m)
        => (float[n, 4] y, float[n, 4] z, float[n, 4, t] s, float[t, n, 4] r) {
    y, z, s, r = Scan<num_scan_inputs = 2, scan_input_axes = [-2, 0], scan_output_axes = [-1, 0] DIRECTIONS, body = b (
        float[P, Q] v, float[P, Q] u, float[P, Q] row, float k) => (float[P, Q] next, float[P, Q] v1, float[P, Q] o,
        float[P, Q] p) {
        a = Mul(u, row)
        next = Add(a, k)
        v1 = Identity(v)
        o = Sub(next, v)
        p = Mul(row, c)
    }>(h, c, x, m)
}"""


def several(directions: str) -> str:
    return SEVERAL.replace("DIRECTIONS", directions)


LOOP = """g (int64 count, float[n, 4] x, float[9, 4] table) => (float[n, 4] y, float[t, n] s) <bool yes = {1}> {
    y, s = Loop(count, yes, x) <body = b (int64 i, bool c, float[P, Q] v) => (bool d, float[P, Q] w, float[P] o) {
        d = Identity(c)
        row = Gather<axis = 0>(table, i)
        w = Add(v, row)
        one = Constant<value_ints = [1]>()
        o = ReduceMax<keepdims = 0>(w, one)
    }>
}"""

UNCOUNTED = """g (float[n, 4] x, int64 k) => (float[n, 4] y, int64 z)
        <int64 count = {5}, float two = {2}, int64 one = {1}> {
    y, z = Loop(count, , x, k) <body = b (int64 i, bool c, float[P, Q] v, int64 j) => (bool d, float[P, Q] w, int64 l) {
        d = Identity(c)
        a = Div(v, two)
        w = Add(a, x)
        l = Add(j, one)
    }>
}"""

CASES = {
    "recurrent": (RECURRENT, [dict(h=floats(n, 4), x=floats(t, n, 4)) for n, t in ((3, 5), (2, 1), (3, 40))]),
    "learnt": (LEARNT.replace("float[n, 4] y", "float[3, 4] y"), [dict(x=floats(5, 3, 4))]),
    "several": (several(""), [dict(h=floats(2, 4), c=floats(2, 4), x=floats(2, 6, 4), m=floats(6))]),
    "one backwards": (
        several(", scan_input_directions = [1, 0], scan_output_directions = [0, 1]"),
        [dict(h=floats(2, 4), c=floats(2, 4), x=floats(2, 6, 4), m=floats(6))],
    ),
    "all backwards": (
        several(", scan_input_directions = [1, 1], scan_output_directions = [1, 0]"),
        [dict(h=floats(2, 4), c=floats(2, 4), x=floats(2, 6, 4), m=floats(6))],
    ),
    "loop": (LOOP, [dict(count=np.int64(count), x=floats(3, 4), table=floats(9, 4)) for count in (6, 1, 9)]),
    "uncounted": (UNCOUNTED, [dict(x=floats(2, 4), k=np.int64(7))]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_body_of_tensors_is_recorded(name: str) -> None:
    text, feeds = CASES[name]
    source = source_of(text)
    assert "from burn.control import scan" in source
    assert " for " not in source[source.index("def forward") : source.index("@classmethod")]
    check(text, *feeds)


def test_all_backwards_is_a_scan_that_begins_at_the_end() -> None:
    source = source_of(several(", scan_input_directions = [1, 1], scan_output_directions = [1, 0]"))
    assert "reverse=True" in source
    assert source.count(".flip([0])") == 1  # of the result that is in the order of rounds


@pytest.mark.parametrize("device", DEVICES, ids=repr)
def test_no_rounds_hand_the_state_through(device: Any) -> None:
    x, table = floats(3, 4), floats(9, 4)
    for count in (0, -2):
        found = load(text_model(LOOP), device).run(dict(count=np.int64(count), x=x, table=table))
        np.testing.assert_array_equal(found["y"], x)
        assert found["s"].shape == (0, 3)
    found = load(text_model(RECURRENT), device).run(dict(h=x, x=floats(0, 3, 4)))
    np.testing.assert_array_equal(found["y"], x)
    assert found["s"].shape == (0, 3)


GROWING = """g (int64 count, float[m, 4] x) => (float[A, B] y) <bool yes = {1}> {
    y = Loop(count, yes, x) <body = b (int64 i, bool c, float[P, Q] v) => (bool d, float[P, Q] w) {
        d = Identity(c)
        w = Concat<axis = 0>(v, x)
    }>
}"""

ENDING = """g (int64 count, float[4] x) => (float[4] y) <bool yes = {1}, float most = {20}> {
    y = Loop(count, yes, x) <body = b (int64 i, bool c, float[4] v) => (bool d, float[4] w) {
        w = Add(v, v)
        total = ReduceSum<keepdims = 0>(w)
        d = Less(total, most)
    }>
}"""

BRANCHING = """g (int64 count, float[4] x, float m) => (float[4] y) <bool yes = {1}, float zero = {0}> {
    y = Loop(count, yes, x) <body = b (int64 i, bool c, float[4] v) => (bool d, float[4] w) {
        d = Identity(c)
        total = ReduceSum<keepdims = 0>(v)
        up = Greater(total, zero)
        w = If(up) <
            then_branch = t () => (float[4] p) { p = Sub(v, m) },
            else_branch = e () => (float[4] q) { q = Add(v, m) }
        >
    }>
}"""

READING = """g (int64 count, float[4] x, int64[1] k) => (float[4] y, float[t, 4] s) <bool yes = {1}> {
    y, s = Loop(count, yes, x) <body = b (int64 i, bool c, float[4] v) => (bool d, float[4] w, float[4] o) {
        d = Identity(c)
        w = Add(v, v)
        o = CumSum(w, k)
    }>
}"""

STAYING = {
    "growing": (GROWING, dict(count=np.int64(3), x=floats(2, 4))),
    "ending": (ENDING, dict(count=np.int64(30), x=np.abs(floats(4)))),
    "branching": (BRANCHING, dict(count=np.int64(5), x=floats(4), m=np.float32(0.7))),
    "reading": (READING, dict(count=np.int64(3), x=floats(4), k=np.array([0]))),
}


@pytest.mark.parametrize("name", STAYING)
def test_any_other_loop_is_python(name: str) -> None:
    text, feed = STAYING[name]
    source = source_of(text)
    assert "scan(" not in source
    assert " for " in source[source.index("def forward") : source.index("@classmethod")]
    check(text, feed)


@pytest.mark.parametrize("device", [burn.NdArray(), burn.Cpu()], ids=repr)
def test_a_recorded_loop_learns(device: Any) -> None:
    loaded = load(text_model(RECURRENT), Autodiff(device))
    h, x = floats(3, 4), floats(5, 3, 4)
    weight = torch.tensor(np.asarray(loaded.linear.weight.val()), requires_grad=True)
    state, sums = torch.tensor(h), []
    for row in torch.tensor(x):
        state = torch.tanh(state @ weight + row)
        sums.append(state.sum(1))
    ((state * state).sum() + torch.stack(sums).sin().sum()).backward()  # type: ignore[no-untyped-call]
    y, s = loaded(*(burn.tensor(each, device=Autodiff(device)) for each in (h, x)))
    gradients = ((y * y).sum() + s.sin().sum()).backward()
    found = loaded.linear.weight.val().grad(gradients)
    np.testing.assert_allclose(np.asarray(found), weight.grad.numpy(), rtol=1e-4, atol=1e-5)  # type: ignore[union-attr]


def test_a_captured_model_holds_the_loop_once() -> None:
    model = load(text_model(RECURRENT), burn.Cpu())
    run = burn.compile(lambda h, x: model(h, x))
    for _ in range(3):
        run(*(burn.tensor(each, device=burn.Cpu()) for each in (floats(3, 4), floats(50, 3, 4))))
    text = to_text(run.programs()[0])
    assert text.count("scan(") == 1
    assert text.count("tanh") == 1
