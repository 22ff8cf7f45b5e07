"""The gradient of a branch is a branch: on the side that was taken, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import burn
from burn.backend import Autodiff, Cpu, Fusion, NdArray
from burn.control import cond, scan
from burn.errors import ArgumentError, ShapeError
from burn.program import to_text

DEVICES = {"ndarray": Autodiff(NdArray()), "fusion": Autodiff(Fusion(NdArray())), "cpu": Autodiff(Cpu())}
RECORDING = ("fusion", "cpu")

RANDOM = np.random.default_rng(5)
W, V, X = (RANDOM.normal(size=size).astype(np.float32) for size in ((4, 4), (4, 4), (3, 4)))


def branched(kit: Any, test: Any, w: Any, v: Any, x: Any) -> Any:
    """A branch on tensors of `kit`: each side uses a weight of its own and one of both, and gives three results."""

    def then(x: Any) -> Any:
        h = (x @ w).tanh()
        return h * h, x, h + v.sum() * 0.5

    def otherwise(x: Any) -> Any:
        return x * 3.0, (x @ v).exp(), x - w * w.sum() if x.shape == w.shape else x * w.sum()

    if kit is torch:
        return then(x) if test else otherwise(x)
    return cond(burn.tensor(test, device=x.device), then, otherwise, x)


def scalar(outputs: Any) -> Any:
    one, two, three = outputs
    return (one * 2.0).sum() + (two * two).sum() + (three * one).sum()


def waiting(device: Any) -> int:
    return sum(entry[0].kind == "region" for entry in device.below.stream.entries)


@pytest.mark.parametrize("test", [True, False])
@pytest.mark.parametrize("name", DEVICES)
def test_gradients_are_those_of_the_side_that_was_taken(name: str, test: bool) -> None:
    device = DEVICES[name]
    w, v, x = (burn.tensor(each, device=device).require_grad() for each in (W, V, X))
    outputs = branched(burn, test, w, v, x)
    found = scalar(outputs).backward()
    if name in RECORDING:
        assert waiting(device) == 2  # forward and backward
    known = [torch.tensor(each, requires_grad=True) for each in (W, V, X)]
    expected = branched(torch, test, *known)
    scalar(expected).backward()
    for one, other in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), other.detach().numpy(), rtol=1e-4, atol=1e-5)
    for one, other in zip((w, v, x), known, strict=True):
        np.testing.assert_allclose(np.asarray(one.grad(found)), other.grad.numpy(), rtol=1e-4, atol=1e-4)  # type: ignore[union-attr]


@pytest.mark.parametrize("name", RECORDING)
@pytest.mark.parametrize("test", [True, False])
def test_what_the_other_side_used_gets_zeros(name: str, test: bool) -> None:
    device = DEVICES[name]
    w, v, x = (burn.tensor(each, device=device).require_grad() for each in (W, V, X))
    out = cond(burn.tensor(test, device=device), lambda x: x @ w, lambda x: x @ v, x)
    found = out.sum().backward()
    used, other = (w, v) if test else (v, w)
    expected = np.tile(X.sum(0)[:, None], (1, 4))
    np.testing.assert_allclose(np.asarray(used.grad(found)), expected, rtol=1e-5)
    assert not np.asarray(other.grad(found)).any()


@pytest.mark.parametrize("name", DEVICES)
def test_only_what_is_tracked_gets_a_gradient(name: str) -> None:
    device = DEVICES[name]
    w = burn.tensor(W, device=device).require_grad()
    x, test = burn.tensor(X, device=device.inner()), burn.tensor(True, device=device.inner())
    out, count = cond(test, lambda x: (x @ w, x.int()), lambda x: (x, x.int() + 1), x)  # around a tracked tensor
    found = (out * out).sum().backward()
    np.testing.assert_allclose(np.asarray(w.grad(found)), X.T @ (2 * X @ W), rtol=1e-4, atol=1e-4)
    assert np.asarray(count).tolist() == X.astype(int).tolist()
    plain = cond(test, lambda x: x * 2.0, lambda x: x, x)
    assert plain.device is device.inner()
    untracked = cond(burn.tensor(True, device=device), lambda x: x * 2.0, lambda x: x, burn.tensor(X, device=device))
    assert np.asarray(untracked).tolist() == (X * 2).tolist()


def test_a_captured_function_takes_either_side() -> None:
    device = Autodiff(Cpu())

    @burn.compile
    def gradient(test: Any, array: Any, x: Any) -> Any:
        w = array.require_grad()
        out = cond(test, lambda x: (x @ w).tanh(), lambda x: x * w.sum(), x)
        return w.grad((out * out).sum().backward())

    for test in (True, False, True, False, True):
        w = torch.tensor(W, requires_grad=True)
        out = torch.tanh(torch.tensor(X) @ w) if test else torch.tensor(X) * w.sum()
        (out * out).sum().backward()
        found = gradient(*(burn.tensor(each, device=device) for each in (test, W, X)))
        np.testing.assert_allclose(np.asarray(found), w.grad.numpy(), rtol=1e-4, atol=1e-4)  # type: ignore[union-attr]
    assert len(gradient.programs()) == 1
    assert to_text(gradient.programs()[0]).count("cond(") == 2  # forward and backward


@pytest.mark.parametrize("name", DEVICES)
def test_a_branch_inside_of_a_loop_is_differentiated(name: str) -> None:
    device = DEVICES[name]
    w = burn.tensor(1.5, device=device).require_grad()
    xs = burn.tensor(np.array([1.0, -2.0, 3.0, -4.0], np.float32), device=device).require_grad()

    def step(total: Any, x: Any) -> Any:
        total = cond(x.greater(0.0), lambda t, x: t * w + x, lambda t, x: t - x * x * w, total, x)
        return total, total * total

    total, out = scan(step, w * 0.0 + 1.0, xs)
    found = (out.sum() + total).backward()
    known_w, known = torch.tensor(1.5, requires_grad=True), torch.tensor([1.0, -2.0, 3.0, -4.0], requires_grad=True)
    wanted, squares = torch.tensor(1.0), torch.tensor(0.0)
    for x in known:
        wanted = wanted * known_w + x if x > 0 else wanted - x * x * known_w
        squares = squares + wanted * wanted
    (squares + wanted).backward()  # type: ignore[no-untyped-call]
    assert float(np.asarray(w.grad(found))) == pytest.approx(known_w.grad.item(), rel=1e-5)  # type: ignore[union-attr]
    np.testing.assert_allclose(np.asarray(xs.grad(found)), known.grad.numpy(), rtol=1e-5)  # type: ignore[union-attr]


@pytest.mark.parametrize("name", RECORDING)
def test_sides_that_do_not_fit_are_refused(name: str) -> None:
    x = burn.tensor(X, device=DEVICES[name]).require_grad()
    test = x.sum().greater(0.0)
    with pytest.raises(ShapeError, match="both sides"):
        cond(test, lambda x: x, lambda x: x.sum(), x)
    with pytest.raises(ArgumentError, match="same structure"):
        cond(test, lambda x: (x, x), lambda x: x, x)
    with pytest.raises(ArgumentError, match="reads a value"):
        cond(test, lambda x: x * float(x.sum().item()), lambda x: x, x)
