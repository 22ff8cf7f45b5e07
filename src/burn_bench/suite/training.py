"""Training: whole steps (forward, backward, update) of an MLP, the guide's CNN and ResNet-18."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from burn_bench.benchmark import Array, Benchmark, Setting, Target, Work, finished
from burn_bench.expression import compiler, usable_tinygrad
from burn_bench.suite import modules, networks
from burn_bench.suite.functions import (
    BurnFunctions,
    JaxFunctions,
    Network,
    NumpyFunctions,
    TinygradFunctions,
    TorchFunctions,
    Weights,
    drawn_weights,
)

RATE, DECAY, SQUARED_DECAY, EPSILON = 1e-3, 0.9, 0.999, 1e-8
CHECKED_STEPS = 4


class Task:
    """A classifier, its data and its optimizer. `exact` is the same network without randomness, for the check."""

    def __init__(
        self, network: Network, exact: Network, shape: tuple[int, ...], classes: int = 10, optimizer: str = "adam"
    ) -> None:
        self.network = network
        self.exact = exact
        self.optimizer = optimizer
        generator = np.random.default_rng(5)
        self.images = generator.standard_normal(shape, dtype=np.float32)
        self.labels = generator.integers(0, classes, shape[0])
        self.one_hot = np.eye(classes, dtype=np.float32)[self.labels]


def mlp_task(batch: int = 64) -> Task:
    """The MLP on flat images."""
    return Task(networks.mlp, networks.mlp, (batch, 784))


def cnn_task(batch: int = 64) -> Task:
    """The guide's CNN."""
    exact = functools.partial(networks.guide_cnn, dropout=0.0)
    return Task(networks.guide_cnn, exact, (batch, 1, 28, 28))


def resnet18_task(batch: int = 8, size: int = 224) -> Task:
    """ResNet-18 with its batch norms, and the optimizer that it was trained with."""
    network = functools.partial(networks.resnet18, normed=True)
    return Task(network, network, (batch, 3, size, size), 1000, "momentum")


def benchmarks() -> list[Benchmark]:
    """mlp_train, cnn_train and resnet18_train."""
    return [mlp_train(), cnn_train(), resnet18_train()]


def mlp_train(batch: int = 64) -> Benchmark:
    """A training step of the MLP."""
    task = functools.partial(mlp_task, batch)
    return Benchmark(
        "mlp_train",
        f"784-512-10 batch {batch}",
        {**_builders(task, modules.mlp), "numpy": lambda setting: _numpy_step(task())},
        lambda setting: [_losses(_numpy_stepper(task(), np.float64))],
        "forward, backward and Adam",
        tolerance=1e-4,
        targets=(
            Target("cpu-captured", ("torch",), 4.0, 4.8),
            Target("cpu-captured", ("torch-fused-adam", "torch-compile", "jax"), 1.8, 2.2),
            Target("cpu", ("torch",), 1.5, 2.5),
            Target("cpu-modules", ("cpu-captured",), 0.95),
        ),
    )


def cnn_train(batch: int = 64) -> Benchmark:
    """A training step of the guide's CNN."""
    task = functools.partial(cnn_task, batch)
    return Benchmark(
        "cnn_train",
        f"guide batch {batch}",
        _builders(task, modules.guide_cnn),
        functools.partial(_torch_losses, task),
        "forward, backward and Adam; the check runs without dropout",
        tolerance=1e-4,
        targets=(
            Target("cpu-captured", ("torch",), 3.5, 4.0),
            Target("cpu-captured", ("jax",), 3.0, 3.5),
            Target("cpu-modules", ("cpu-captured",), 0.95),
        ),
    )


def resnet18_train(batch: int = 8, size: int = 224) -> Benchmark:
    """A training step of ResNet-18: the statistics of the batch in its norms, SGD with momentum."""
    task = functools.partial(resnet18_task, batch, size)
    builders = _builders(task, None)
    return Benchmark(
        "resnet18_train",
        f"batch {batch}",
        {name: builders[name] for name in ("burn", "captured", "torch", "torch-compile")},
        functools.partial(_torch_losses, task),
        "forward, backward and SGD with momentum",
        tolerance=1e-4,
        targets=(Target("cpu-captured", ("torch",), 1.5, 2.0),),
    )


def _torch_losses(task: Callable[[], Task], setting: Setting) -> list[Array]:
    """The reference: torch in float64."""
    found = task()
    return [_losses(_torch_stepper(found, found.exact, "plain", double=True))]


Step = Callable[[], Any]
"""One training step; gives the loss, not yet read."""


def _builders(task: Callable[[], Task], model: Callable[[Any, bool], Any] | None) -> dict[str, Any]:
    def of_torch(mode: str) -> Callable[[Setting], Work]:
        return lambda setting: _checked(task(), lambda one, network: _torch_stepper(one, network, mode))

    found = {
        "burn": lambda setting: _ours(setting, task(), None),
        "captured": lambda setting: _ours(setting, task(), compiler()),
        "torch": of_torch("plain"),
        "torch-fused-adam": of_torch("fused"),
        "torch-compile": of_torch("compile"),
        "jax": lambda setting: _checked(task(), _jax_stepper),
        "tinygrad": lambda setting: _checked(task(), _tinygrad_stepper),
    }
    if model is not None:
        found["modules"] = modules.builder(task, model, RATE, EPSILON, CHECKED_STEPS)
    return found


def _losses(step: Step) -> Array:
    """The losses of the first steps: each depends on the gradients and updates before it."""
    return np.array([float(step()) for _ in range(CHECKED_STEPS)])


def _checked(task: Task, stepper: Callable[[Task, Network], Step]) -> Work:
    """Steps of the network; the check builds steps of its exact form with the same code."""
    return Work(stepper(task, task.network), lambda: [_losses(stepper(task, task.exact))])


# Ours


def adam(parameters: list[Any], gradients: list[Any], first: list[Any], second: list[Any], time: Any) -> Any:
    """Adam's update of tensors of ours: new parameters, first and second moments."""
    spread = (1 - SQUARED_DECAY**time) ** 0.5
    rate, epsilon = RATE * spread / (1 - DECAY**time), EPSILON * spread
    first = [m * DECAY + g * (1 - DECAY) for m, g in zip(first, gradients, strict=True)]
    second = [v * SQUARED_DECAY + g * g * (1 - SQUARED_DECAY) for v, g in zip(second, gradients, strict=True)]
    updated = [p - m * rate / (v.sqrt() + epsilon) for p, m, v in zip(parameters, first, second, strict=True)]
    return updated, first, second


def momentum(parameters: list[Any], gradients: list[Any], first: list[Any], second: list[Any], time: Any) -> Any:
    """The update of SGD with momentum, which has no second moments."""
    first = [m * DECAY + g for m, g in zip(first, gradients, strict=True)]
    return [p - m * RATE for p, m in zip(parameters, first, strict=True)], first, second


UPDATES = {"adam": (adam, 2), "momentum": (momentum, 1)}
"""Optimizers, and of how many numbers of a parameter each remembers."""


def _our_stepper(device: Any, task: Task, network: Network, compile: Any) -> Step:
    from burn.tensor import Tensor, activation

    f = BurnFunctions(device)
    parameters = drawn_weights(f, network, task.images[:1]).values
    update, moments = UPDATES[task.optimizer]
    zeros = [
        [f.place(np.zeros(each.shape, np.float32), "zeros") for each in parameters if number < moments]
        for number in range(2)
    ]
    images, targets = f.place(task.images, "input"), f.place(task.one_hot, "input")
    share = -1.0 / len(task.images)

    def step(parameters: Any, first: Any, second: Any, time: Any, images: Any, targets: Any) -> Any:
        tracked = [Tensor.from_inner(each).require_grad() for each in parameters]
        logits = network(f, Weights.given(tracked), images)
        loss = (activation.log_softmax(logits, 1) * targets).sum() * share
        found = loss.backward()
        gradients = [each.grad(found) for each in tracked]
        return *update(parameters, gradients, first, second, time), loss.inner()

    call: Any = compile(step) if compile else step
    state: list[Any] = [parameters, *zeros, 0.0]

    def run() -> Any:
        state[3] += 1.0
        state[0], state[1], state[2], loss = call(*state, images, targets)
        return loss

    return run


def _ours(setting: Setting, task: Task, compile: Any) -> Work:
    device = setting.device
    work = finished(device, _our_stepper(device, task, task.network, compile))

    def losses() -> list[Array]:
        step = _our_stepper(device, task, task.exact, compile)
        return [np.array([step().item() for _ in range(CHECKED_STEPS)])]

    return Work(work.run, losses)


# Peers


def _torch_stepper(task: Task, network: Network, mode: str, double: bool = False) -> Step:
    f = TorchFunctions(double=double)
    torch = f.torch
    parameters = [each.requires_grad_() for each in drawn_weights(f, network, task.images[:1]).values]
    images, labels = f.place(task.images, "input"), torch.tensor(task.labels)
    if task.optimizer == "adam":
        optimizer = torch.optim.Adam(parameters, lr=RATE, fused=mode != "plain")
    else:
        optimizer = torch.optim.SGD(parameters, lr=RATE, momentum=DECAY)

    def loss_of(images: Any, labels: Any) -> Any:
        return f.layers.cross_entropy(network(f, Weights.given(parameters), images), labels)

    forward = torch.compile(loss_of) if mode == "compile" else loss_of

    def step() -> Any:
        optimizer.zero_grad()
        loss = forward(images, labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def _jax_stepper(task: Task, network: Network) -> Step:
    f = JaxFunctions()
    jax = f.jax
    f.key = jax.random.key(0)
    parameters = drawn_weights(f, network, task.images[:1]).values
    images, targets = f.place(task.images, "input"), f.place(task.one_hot, "input")

    def loss_of(parameters: Any, key: Any) -> Any:
        f.key = key
        logits = network(f, Weights.given(parameters), images)
        return -(jax.nn.log_softmax(logits, 1) * targets).sum() / len(task.images)

    def update(parameters: Any, first: Any, second: Any, time: Any, key: Any) -> Any:
        key, now = jax.random.split(key)
        loss, gradients = jax.value_and_grad(loss_of)(parameters, now)
        time = time + 1.0
        scale, squared_scale = 1 - DECAY**time, 1 - SQUARED_DECAY**time
        first = [m * DECAY + g * (1 - DECAY) for m, g in zip(first, gradients)]
        second = [v * SQUARED_DECAY + g * g * (1 - SQUARED_DECAY) for v, g in zip(second, gradients)]
        parameters = [
            p - RATE * (m / scale) / (jax.numpy.sqrt(v / squared_scale) + EPSILON)
            for p, m, v in zip(parameters, first, second)
        ]
        return (parameters, first, second, time, key), loss

    call = jax.jit(update, donate_argnums=(0, 1, 2))
    zeros = [[jax.numpy.zeros_like(each) for each in parameters] for _ in range(2)]
    state = [(parameters, *zeros, jax.numpy.asarray(0.0), jax.random.key(1))]

    def step() -> Any:
        state[0], loss = call(*state[0])
        jax.block_until_ready(state[0])
        return loss

    return step


def _tinygrad_stepper(task: Task, network: Network) -> Step:
    tinygrad = usable_tinygrad()
    f = TinygradFunctions(tinygrad)
    parameters = drawn_weights(f, network, task.images[:1]).values
    for each in parameters:
        each.requires_grad = True
    optimizer = importlib.import_module("tinygrad.nn.optim").Adam(parameters, lr=RATE)
    images, labels = f.place(task.images, "input"), tinygrad.Tensor(task.labels.astype(np.int32)).realize()

    @tinygrad.TinyJit  # type: ignore[untyped-decorator]
    def update(images: Any, labels: Any) -> Any:
        # Newer versions have no Tensor.train.
        with tinygrad.Tensor.train() if hasattr(tinygrad.Tensor, "train") else tinygrad.Context(TRAINING=1):
            optimizer.zero_grad()
            loss = network(f, Weights.given(parameters), images).sparse_categorical_crossentropy(labels)
            loss.backward()
            return loss.realize(*optimizer.schedule_step())

    def step() -> Any:
        return update(images, labels).item()

    return step


# NumPy, by hand: a peer in float32 and the reference in float64


def mlp_gradients(values: list[Array], images: Array, one_hot: Array) -> tuple[float, list[Array]]:
    """The loss of the MLP and its gradients."""
    w1, b1, w2, b2 = values
    hidden = np.maximum(images @ w1 + b1, 0)
    logits = hidden @ w2 + b2
    shifted = logits - logits.max(1, keepdims=True)
    logarithms = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    loss = -(logarithms * one_hot).sum() / len(images)
    g = (np.exp(logarithms) - one_hot) / np.asarray(len(images), images.dtype)
    inner = (g @ w2.T) * (hidden > 0)
    return loss, [images.T @ inner, inner.sum(0), hidden.T @ g, g.sum(0)]


def _numpy_stepper(task: Task, dtype: Any) -> Step:
    values = drawn_weights(NumpyFunctions(dtype), task.exact, task.images[:1]).values
    first, second = [np.zeros_like(each) for each in values], [np.zeros_like(each) for each in values]
    images, one_hot = task.images.astype(dtype), task.one_hot.astype(dtype)
    time = 0

    def step() -> Any:
        nonlocal time
        time += 1
        loss, gradients = mlp_gradients(values, images, one_hot)
        for p, g, m, v in zip(values, gradients, first, second):
            m += (1 - DECAY) * (g - m)
            v += (1 - SQUARED_DECAY) * (g * g - v)
            p -= RATE / (1 - DECAY**time) * m / (np.sqrt(v / (1 - SQUARED_DECAY**time)) + EPSILON)
        return loss

    return step


def _numpy_step(task: Task) -> Work:
    return _checked(task, lambda one, network: _numpy_stepper(one, np.float32))
