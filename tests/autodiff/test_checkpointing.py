"""Checkpointing: less is kept, and the gradients are the same."""

from __future__ import annotations

import numpy as np

import burn
from burn import Autodiff, BalancedCheckpointing, Distribution, NdArray, Tensor
from burn.backend.autodiff.graph import Recipe


def kept_bytes(node, seen=None):
    """Bytes of the arrays that a graph holds until backward."""
    seen = {} if seen is None else seen
    stack, visited = [node], set()
    while stack:
        node = stack.pop()
        if node is None or id(node) in visited:
            continue
        visited.add(id(node))
        stack.extend(node.parents)
        pending = list(node.saved)
        while pending:
            value = pending.pop()
            if isinstance(value, Recipe):
                pending.extend(value.inputs)
            elif isinstance(value, np.ndarray):
                seen[id(value)] = value.nbytes
    return sum(seen.values())


def network(device, weights):
    x = burn.tensor(np.linspace(-1, 1, 64 * 64).reshape(64, 64), device=device)
    leaves = [burn.tensor(w, device=device).require_grad() for w in weights]
    for leaf in leaves:
        x = x.matmul(leaf).sin().exp().tanh()
    return x, leaves


def test_balanced_checkpointing_keeps_less_and_gives_the_same_gradients():
    weights = [np.random.default_rng(i).normal(size=(64, 64)) * 0.1 for i in range(3)]
    plain, plain_leaves = network(Autodiff(NdArray()), weights)
    balanced, balanced_leaves = network(NdArray().autodiff().gradient_checkpointing(), weights)
    assert kept_bytes(balanced.handle.node) < 0.6 * kept_bytes(plain.handle.node)
    grads, balanced_grads = plain.backward(), balanced.backward()
    for one, other in zip(plain_leaves, balanced_leaves, strict=True):
        np.testing.assert_array_equal(one.grad(grads).numpy(), other.grad(balanced_grads).numpy())


def test_a_long_chain_is_recomputed_without_recursion():
    x = burn.tensor([0.5], device=Autodiff(NdArray(), BalancedCheckpointing), dtype="f64").require_grad()
    y = x
    for _ in range(5000):
        y = y.sin()
    plain = burn.tensor([0.5], device=NdArray().autodiff(), dtype="f64").require_grad()
    z = plain
    for _ in range(5000):
        z = z.sin()
    assert x.grad(y.backward()).item() == plain.grad(z.backward()).item()


def test_random_numbers_are_the_same_when_computed_again():
    device = Autodiff(NdArray(), BalancedCheckpointing)
    device.seed(3)
    x = burn.tensor(np.ones(100), device=device).require_grad()
    mask = Tensor.random([100], Distribution.Bernoulli(0.5), device)
    y = (x * mask).sin()
    np.testing.assert_allclose(x.grad(y.backward()).numpy(), mask.numpy() * np.cos(mask.numpy()), rtol=1e-6)


def test_the_strategy_is_part_of_the_device():
    device = NdArray().autodiff().gradient_checkpointing()
    assert device is Autodiff(NdArray(), BalancedCheckpointing)
    assert repr(device) == "Autodiff(NdArray(), BalancedCheckpointing)"
    assert device is not NdArray().autodiff()
