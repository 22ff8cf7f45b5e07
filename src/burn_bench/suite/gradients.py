"""Gradients alone: forward and backward of the MLP, no update."""

from __future__ import annotations

from typing import Any

import numpy as np

from burn_bench.benchmark import Array, Benchmark, Setting, Work, finished
from burn_bench.suite.functions import (
    BurnFunctions,
    JaxFunctions,
    NumpyFunctions,
    TorchFunctions,
    Weights,
    drawn_weights,
)
from burn_bench.suite.training import mlp_gradients, mlp_task


def benchmarks() -> list[Benchmark]:
    """autodiff."""
    return [autodiff()]


def autodiff() -> Benchmark:
    """The gradients of the MLP: forward and backward, no update."""

    def ours(setting: Setting) -> Work:
        from burn.tensor import Tensor, activation

        task, f = mlp_task(), BurnFunctions(setting.device)
        values = drawn_weights(f, task.network, task.images[:1]).values
        tracked = [Tensor.from_inner(each).require_grad() for each in values]
        images, targets = f.place(task.images, "input"), f.place(task.one_hot, "input")

        def compute() -> Any:
            logits = task.network(f, Weights.given(tracked), images)
            loss = (activation.log_softmax(logits, 1) * targets).sum() * (-1.0 / len(task.images))
            found = loss.backward()
            return [loss.inner().reshape([1]), *(each.grad(found) for each in tracked)]

        return finished(setting.device, compute)

    def torch(setting: Setting) -> Work:
        task, f = mlp_task(), TorchFunctions()
        values = [each.requires_grad_() for each in drawn_weights(f, task.network, task.images[:1]).values]
        images, labels = f.place(task.images, "input"), f.torch.tensor(task.labels)

        def run() -> Any:
            loss = f.layers.cross_entropy(task.network(f, Weights.given(values), images), labels)
            return [loss.detach().reshape(1), *f.torch.autograd.grad(loss, values)]

        return Work(run, lambda: [each.t().numpy() if each.ndim == 2 else each.numpy() for each in run()])

    def jax(setting: Setting) -> Work:
        task, f = mlp_task(), JaxFunctions()
        values = drawn_weights(f, task.network, task.images[:1]).values
        images, targets = f.place(task.images, "input"), f.place(task.one_hot, "input")

        def loss_of(values: Any) -> Any:
            logits = task.network(f, Weights.given(values), images)
            return -(f.jax.nn.log_softmax(logits, 1) * targets).sum() / len(task.images)

        call = f.jax.jit(f.jax.value_and_grad(loss_of))

        def run() -> Any:
            loss, gradients = f.jax.block_until_ready(call(values))
            return [loss.reshape(1), *gradients]

        return Work(run, lambda: [np.asarray(each) for each in run()])

    def by_hand(dtype: Any) -> list[Array]:
        task = mlp_task()
        values = drawn_weights(NumpyFunctions(dtype), task.network, task.images[:1]).values
        loss, gradients = mlp_gradients(values, task.images.astype(dtype), task.one_hot.astype(dtype))
        return [np.array([loss]), *gradients]

    return Benchmark(
        "autodiff",
        "mlp 784-512-10 batch 64",
        {"burn": ours, "torch": torch, "jax": jax},
        lambda setting: by_hand(np.float64),
        "forward and backward",
        tolerance=1e-4,
    )
