"""A small network and two tasks to train it on: clusters drawn here, and the handwritten digits of MNIST."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from burn import Tensor
from burn.device import Device
from burn.module import Module
from burn.nn import Linear, LinearConfig
from burn.nn.loss import CrossEntropyLossConfig
from burn.optim import AdamConfig

Array = np.ndarray[Any, Any]


class Task(NamedTuple):
    """Inputs and classes to learn from, and others to be judged by."""

    x: Array
    y: Array
    test_x: Array
    test_y: Array


class Mlp(Module):
    """Two layers."""

    first: Linear
    last: Linear

    @classmethod
    def init(cls, sizes: tuple[int, int, int], device: Device) -> Mlp:
        return cls(LinearConfig(sizes[0], sizes[1]).init(device), LinearConfig(sizes[1], sizes[2]).init(device))

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        return self.last(self.first(x).relu())


def clusters(count: int = 4000, seed: int = 0) -> Task:
    """Ten classes in 32 dimensions, near enough to each other that some are mistaken."""
    draw = np.random.default_rng(seed)
    centres = draw.normal(0.0, 1.0, (10, 32)) * draw.uniform(0.3, 2.0, 32)
    y = draw.integers(0, 10, count)
    x = (centres[y] + draw.normal(0.0, 2.2, (count, 32))).astype(np.float32)
    half = count // 2
    return Task(x[:half], y[:half], x[half:], y[half:])


def digits(folder: Path, count: int = 6000) -> Task:
    """MNIST: the first `count` images to learn from, and all of the test images."""

    def images(name: str) -> Array:
        raw = np.frombuffer(gzip.decompress((folder / f"{name}-images-idx3-ubyte.gz").read_bytes()), np.uint8, -1, 16)
        return raw.reshape(-1, 784).astype(np.float32) / 255.0

    def labels(name: str) -> Array:
        raw = gzip.decompress((folder / f"{name}-labels-idx1-ubyte.gz").read_bytes())
        return np.frombuffer(raw, np.uint8, -1, 8).astype(np.int64)

    return Task(images("train")[:count], labels("train")[:count], images("t10k"), labels("t10k"))


def train(task: Task, device: Device, hidden: int = 64, epochs: int = 3, batch: int = 50) -> Mlp:
    """A network that has learnt the task, on `device` (which records no graph)."""
    device.seed(3)
    model = Mlp.init((task.x.shape[1], hidden, 10), device.autodiff())
    loss, optim = CrossEntropyLossConfig().init(device.autodiff()), AdamConfig().init()
    order = np.random.default_rng(1)
    for _ in range(epochs):
        mixed = order.permutation(len(task.x))
        for rows in np.split(mixed, len(mixed) // batch):
            x, y = Tensor.from_data(task.x[rows], device), Tensor.from_data(task.y[rows], device)
            model = optim.step(3e-3, model, loss(model(x), y).backward())
    return model.valid()


def accuracy(model: Any, task: Task, device: Device) -> float:
    """The share of test inputs that a model classifies right."""
    logits = model(Tensor.from_data(task.test_x, device)).numpy()
    return float((logits.argmax(1) == task.test_y).mean())
