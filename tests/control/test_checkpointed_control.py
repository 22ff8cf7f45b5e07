"""Gradients of loops and branches that compute again what was not kept, against those that keep everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import burn
from burn.backend import Autodiff, BalancedCheckpointing, Cpu, Fusion, NdArray
from burn.control import cond, scan

INNER = {"ndarray": NdArray(), "fusion": Fusion(NdArray()), "cpu": Cpu()}


def closes_over(a: Any, w: Any, v: Any) -> Any:
    return scan(lambda c, _: (c * w, None), a, length=2)[0]


def scans(a: Any, w: Any, v: Any) -> Any:
    last, out = scan(lambda c, x: (c * x, (c * v).exp()), v.sum(), w)
    return last + out.sum()


def starts_with(a: Any, w: Any, v: Any) -> Any:
    return scan(lambda c, _: ((c * a).tanh().exp(), c * c * v), w, length=3)[1]


def takes_a_side(a: Any, w: Any, v: Any) -> Any:
    return cond(v.sum().lower(0.0), lambda a: a * w, lambda a: (a * v).exp() * w, a)


def stands_inside(a: Any, w: Any, v: Any) -> Any:
    def step(c: Any, x: Any) -> Any:
        middle = (c * x).tanh()  # of the outer step, not kept
        c, _ = scan(lambda d, _: (d * middle * w, None), c, length=2)
        return cond(x.greater(0.5), lambda c: c * v + middle, lambda c: c * middle * w, c), middle

    last, out = scan(step, a, w)
    return last.sum() + out.sum()


def joins(a: Any, w: Any, v: Any) -> Any:
    return scan(lambda c, _: (burn.Tensor.cat([c, w], 0).narrow(0, 1, 2).exp() * v, None), a, length=2)[0]


@pytest.mark.parametrize("body", [closes_over, scans, starts_with, takes_a_side, stands_inside, joins])
@pytest.mark.parametrize("name", INNER)
def test_what_stands_around_is_computed_again_around(name: str, body: Callable[..., Any]) -> None:
    found = []
    for device in (Autodiff(NdArray()), Autodiff(INNER[name], BalancedCheckpointing)):
        a = burn.tensor(np.array([0.5, -0.75], np.float32), device=device).require_grad()
        w = a.exp()
        out = body(a, w, (w * a).sin()).sum()
        found.append((out.item(), np.asarray(a.grad(out.backward()))))
    (value, gradient), (again, computed) = found
    assert again == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(computed, gradient, rtol=1e-4, atol=1e-5)
