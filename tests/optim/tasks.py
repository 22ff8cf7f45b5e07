"""A small regression that our optimizers and PyTorch's solve from the same start, in double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from burn import Cpu, LibTorch, NdArray, Tensor, f64
from burn.module import Module, Param

DEVICES = {
    "ndarray": NdArray(float=f64),
    "libtorch": LibTorch("cpu", float=f64),
    "cpu": Cpu(float=f64),
}

STEPS = 50


class Affine(Module):
    """`x W + b`."""

    weight: Param
    bias: Param

    def forward(self, x: Any) -> Any:
        return x @ self.weight + self.bias


class Network(Module):
    """Two layers with a tanh between them."""

    inner: Affine
    outer: Affine

    def forward(self, x: Any) -> Any:
        return self.outer(self.inner(x).tanh())


def arrays(seed: int = 0) -> list[np.ndarray[Any, Any]]:
    generator = np.random.default_rng(seed)
    return [generator.standard_normal(shape) * 0.5 for shape in ((5, 7), (7,), (7, 3), (3,))]


INPUTS = np.random.default_rng(1).standard_normal((11, 5))
TARGETS = np.random.default_rng(2).standard_normal((11, 3))


def network(device: Any, values: list[Any] | None = None) -> Network:
    w1, b1, w2, b2 = (Param(Tensor.from_floats(each, device)) for each in (values or arrays()))
    return Network(Affine(w1, b1), Affine(w2, b2))


def matrices(device: Any) -> Network:
    """The network with frozen biases, for optimizers of matrices."""
    return network(device).freeze("inner.bias", "outer.bias")


def loss_of(model: Any, device: Any) -> Any:
    inputs, targets = Tensor.from_floats(INPUTS, device), Tensor.from_floats(TARGETS, device)
    error = model(inputs) - targets
    return (error * error).mean()


def values_of(model: Any) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(param.val().no_grad().to_data()) for param in model.parameters()]


def ours(optim: Any, device: Any, rates: list[float], model: Any = None) -> list[np.ndarray[Any, Any]]:
    """The parameters after steps with these rates."""
    model = network(device.autodiff()) if model is None else model
    for rate in rates:
        model = optim.step(rate, model, loss_of(model, device.autodiff()).backward())
    return values_of(model)


def torch_parameters() -> list[torch.nn.Parameter]:
    return [torch.nn.Parameter(torch.tensor(each)) for each in arrays()]


def torch_loss(parameters: list[torch.nn.Parameter]) -> torch.Tensor:
    w1, b1, w2, b2 = parameters
    output = torch.tanh(torch.tensor(INPUTS) @ w1 + b1) @ w2 + b2
    return ((output - torch.tensor(TARGETS)) ** 2).mean()


def theirs(
    make: Callable[[list[torch.nn.Parameter]], torch.optim.Optimizer],
    rates: list[float],
    before: Callable[[list[torch.nn.Parameter]], Any] | None = None,
    trained: tuple[int, ...] = (0, 1, 2, 3),
) -> list[np.ndarray[Any, Any]]:
    """The same with an optimizer of PyTorch's; `before` may change gradients."""
    parameters = torch_parameters()
    optimizer = make([parameters[i] for i in trained])
    for rate in rates:
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad()
        torch_loss(parameters).backward()
        if before is not None:
            before(parameters)
        optimizer.step()
    return [each.detach().numpy() for each in parameters]


def falling(start: float) -> list[float]:
    """A rate that falls from step to step, to see that it is no part of the state."""
    return [start * 0.98**step for step in range(STEPS)]


def assert_equal(found: list[Any], expected: list[Any], tolerance: float = 1e-8) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
