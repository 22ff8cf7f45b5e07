"""Gradients as a value: what `backward` gives, keeps and refuses."""

from __future__ import annotations

import gc
import math
import threading
import weakref

import numpy as np
import pytest
import torch

import burn
from burn import Autodiff, AutodiffError, DeviceError, Distribution, LibTorch, NdArray, Tensor
from tests.stacks import GRADIENT_STACKS

DEVICES = pytest.mark.parametrize("device", GRADIENT_STACKS.values(), ids=GRADIENT_STACKS)


@DEVICES
def test_the_readme_sample_gives_the_gradient_pytorch_gives(device):
    device.seed(7)
    x = Tensor.random([32, 32], Distribution.Default, device)
    y = Tensor.random([32, 32], Distribution.Default, device).require_grad()
    grads = ((x + y).matmul(x) * 0.01).exp().backward()

    theirs = torch.tensor(np.asarray(y), requires_grad=True)
    known = torch.tensor(np.asarray(x))
    (((theirs + known) @ known) * 0.01).exp().sum().backward()
    np.testing.assert_allclose(y.grad(grads).numpy(), theirs.grad.numpy(), rtol=2e-5)


@DEVICES
def test_backward_of_any_shape_starts_from_ones(device):
    x = burn.tensor([[1.0, 2.0], [3.0, 4.0]], device=device).require_grad()
    assert x.grad((x * 3.0).backward()).tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_gradients_live_on_the_inner_device():
    device = NdArray().autodiff()
    x = burn.tensor([1.0], device=device).require_grad()
    grads = (x * 2.0).backward()
    assert grads[x].device is NdArray()
    assert x in grads
    assert len(grads) == 1


def test_grad_remove_takes_the_gradient_out():
    x = burn.tensor([1.0], device=NdArray().autodiff()).require_grad()
    grads = (x * 2.0).backward()
    assert x.grad_remove(grads).tolist() == [2.0]
    assert x.grad(grads) is None
    with pytest.raises(KeyError, match="no gradient reached this tensor"):
        grads[x]


def test_grad_replace_puts_another_gradient_in():
    x = burn.tensor([1.0], device=NdArray().autodiff()).require_grad()
    grads = (x * 2.0).backward()
    x.grad_replace(grads, burn.tensor([5.0], device=NdArray()))
    assert grads[x].tolist() == [5.0]


def test_a_tensor_used_twice_gets_the_sum():
    x = burn.tensor([3.0], device=NdArray().autodiff()).require_grad()
    assert x.grad((x * x + x).backward()).tolist() == [7.0]


def test_only_tensors_that_ask_for_it_have_a_gradient():
    device = NdArray().autodiff()
    x, y = burn.tensor([3.0], device=device), burn.tensor([4.0], device=device).require_grad()
    grads = (x * y).backward()
    assert x.grad(grads) is None
    assert y.grad(grads).tolist() == [3.0]


def test_an_intermediate_result_can_ask_for_its_gradient():
    x = burn.tensor([2.0], device=NdArray().autodiff()).require_grad()
    middle = (x * 3.0).require_grad()
    grads = (middle * middle).backward()
    assert grads[middle].tolist() == [12.0]
    assert grads[x].tolist() == [36.0]


def test_detach_cuts_the_graph():
    x = burn.tensor([2.0], device=NdArray().autodiff()).require_grad()
    assert x.grad((x * x.detach()).backward()).tolist() == [2.0]
    assert not x.detach().is_require_grad()


def test_set_require_grad_turns_tracking_on_and_off():
    x = burn.tensor([2.0], device=NdArray().autodiff())
    assert not x.is_require_grad()
    assert x.set_require_grad(True).is_require_grad()
    assert not x.set_require_grad(True).set_require_grad(False).is_require_grad()


def test_inner_and_from_inner_go_down_and_up():
    device = NdArray().autodiff()
    x = burn.tensor([2.0], device=device).require_grad()
    assert x.inner().device is NdArray()
    assert x.inner().inner().device is NdArray()
    assert Tensor.from_inner(x.inner()).device is device
    assert x.no_grad().device is NdArray()


def test_without_autodiff_tracking_is_a_no_op_and_backward_says_what_to_write():
    x = burn.tensor([2.0], device=NdArray())
    assert x.require_grad() is x
    assert x.set_require_grad(False) is x
    assert x.detach() is x
    assert not x.is_require_grad()
    with pytest.raises(AutodiffError, match=r"backward: .*NdArray\(\), which records no graph.*autodiff\(\)"):
        x.backward()
    grads = burn.tensor([1.0], device=NdArray().autodiff()).require_grad().backward()
    for refused in (x.grad, x.grad_remove):
        with pytest.raises(AutodiffError, match="records no graph"):
            refused(grads)


def test_backward_of_constants_is_refused():
    x = burn.tensor([2.0], device=NdArray().autodiff())
    with pytest.raises(AutodiffError, match=r"mark the inputs with .require_grad\(\)"):
        (x * x).backward()


def test_only_floats_require_gradients():
    with pytest.raises(AutodiffError, match="only float tensors have gradients, this one is i64"):
        burn.tensor([2], device=NdArray().autodiff()).require_grad()


def test_untracked_branches_record_nothing():
    device = NdArray().autodiff()
    x = burn.tensor([2.0], device=device)
    assert (x * x).exp().handle.node is None
    assert x.require_grad().argmax(0).handle.node is None
    assert (x.require_grad() > 1.0).handle.node is None


def test_a_graph_is_used_once_unless_it_is_retained():
    x = burn.tensor([2.0], device=NdArray().autodiff()).require_grad()
    y = x * x
    y.backward()
    with pytest.raises(AutodiffError, match="retain_graph=True"):
        y.backward()
    z = x * x
    z.backward(retain_graph=True)
    assert x.grad(z.backward()).tolist() == [4.0]


def test_backward_releases_what_the_graph_kept():
    x = burn.tensor(np.ones(1000), device=NdArray().autodiff()).require_grad()
    middle = x.sin()
    kept = weakref.ref(middle.handle.inner)
    y = middle.exp() * middle
    del middle
    gc.collect()
    assert kept() is not None
    y.backward()
    gc.collect()
    assert kept() is None


def test_a_graph_nobody_holds_is_released_without_backward():
    x = burn.tensor(np.ones(1000), device=NdArray().autodiff()).require_grad()
    y = x.sin()
    kept = weakref.ref(y.handle.inner)
    y = y * y
    del y
    gc.collect()
    assert kept() is None


@DEVICES
def test_a_chain_of_a_hundred_thousand_operations_goes_backward(device):
    x = burn.tensor([1.0], device=device, dtype="f64").require_grad()
    y = x
    for _ in range(100_000):
        y = y * 1.00001
    np.testing.assert_allclose(x.grad(y.backward()).item(), 1.00001**100_000, rtol=1e-9)


@pytest.mark.parametrize("base", [NdArray(), LibTorch("cpu")], ids=repr)
def test_a_doubled_autodiff_gives_the_second_derivative(base):
    device = Autodiff(Autodiff(base))
    x = burn.tensor([2.0, 3.0], device=device, dtype="f64")
    below = x.inner().require_grad()
    x = Tensor.from_inner(below).require_grad()
    first = x.grad((x * x * x).sum().backward())
    assert first.tolist() == [12.0, 27.0]
    second = below.grad(first.sum().backward())
    assert second.tolist() == [12.0, 18.0]


def test_second_order_agrees_with_pytorch_through_matmul_and_tanh():
    values = np.random.default_rng(0).normal(size=(3, 3))
    below = burn.tensor(values, device=NdArray().autodiff()).require_grad()
    x = Tensor.from_inner(below).require_grad()
    first = x.grad(x.matmul(x).tanh().sum().backward())
    second = below.grad((first * first).sum().backward())

    theirs = torch.tensor(values, requires_grad=True)
    (slope,) = torch.autograd.grad((theirs @ theirs).tanh().sum(), theirs, create_graph=True)
    (expected,) = torch.autograd.grad((slope * slope).sum(), theirs)
    np.testing.assert_allclose(first.inner().numpy(), slope.detach().numpy(), rtol=1e-9)
    np.testing.assert_allclose(second.numpy(), expected.numpy(), rtol=1e-8)


def test_a_plain_tensor_meets_autodiff_of_the_same_hardware_as_a_constant():
    device = NdArray().autodiff()
    x = burn.tensor([2.0], device=device).require_grad()
    plain = burn.tensor([5.0], device=NdArray())
    for product in (x * plain, plain * x):
        assert product.device is device
        assert x.grad(product.backward()).tolist() == [5.0]


def test_other_hardware_is_an_error_that_shows_how_to_move():
    x = burn.tensor([2.0], device=NdArray().autodiff())
    y = burn.tensor([5.0], device=LibTorch("cpu"))
    with pytest.raises(DeviceError, match=r"mul: .*\.to\("):
        x * y


def test_a_gradient_flows_across_a_move_to_other_hardware():
    x = burn.tensor([2.0, 3.0], device=NdArray().autodiff()).require_grad()
    moved = x.to(LibTorch("cpu").autodiff())
    grads = (moved * moved).sum().backward()
    assert x.grad(grads).tolist() == [4.0, 6.0]
    assert x.grad(grads).device is NdArray()


@DEVICES
def test_several_threads_go_backward_at_once(device):
    x = burn.tensor(np.linspace(0.1, 1.0, 50), device=device).require_grad()
    failures = []

    def work(factor):
        for _ in range(30):
            y = ((x * factor).sin().exp() * x).sum()
            got = x.grad(y.backward()).numpy()
            v = np.linspace(0.1, 1.0, 50)
            expected = np.exp(np.sin(v * factor)) * (1 + v * factor * np.cos(v * factor))
            if not np.allclose(got, expected, rtol=1e-4):
                failures.append(factor)

    threads = [threading.Thread(target=work, args=(float(i + 1),)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_failing_operation_leaves_the_graph_usable():
    x = burn.tensor([1.0, 2.0], device=NdArray().autodiff()).require_grad()
    y = x * x
    with pytest.raises(burn.ShapeError):
        y.matmul(burn.tensor([[1.0]], device=NdArray()))
    assert x.grad(y.backward()).tolist() == [2.0, 4.0]


def test_gradients_of_broadcast_operands_are_summed():
    device = NdArray().autodiff()
    x = burn.tensor(np.ones((3, 4)), device=device).require_grad()
    row = burn.tensor(np.ones(4), device=device).require_grad()
    single = burn.tensor(2.0, device=device).require_grad()
    grads = (x * row + single).backward()
    assert row.grad(grads).tolist() == [3.0] * 4
    assert single.grad(grads).shape == ()
    assert single.grad(grads).item() == 12.0


def test_a_scalar_exponent_has_the_gradient_of_a_power():
    x = burn.tensor([2.0], device=NdArray().autodiff(), dtype="f64").require_grad()
    for exponent in (0.5, 1.0, 2.0, 3.0, -1.0, 2.5, 0.0):
        got = x.grad((x**exponent + x * 0.0).backward()).item()
        assert math.isclose(got, exponent * 2.0 ** (exponent - 1), abs_tol=1e-12)
