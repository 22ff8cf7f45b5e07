"""A small training for tests: points on a plane, told apart by a network with dropout and a batch norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from burn.data.dataloader import DataLoaderBuilder
from burn.data.dataset import InMemDataset
from burn.device import Device
from burn.module import Module
from burn.nn import BatchNorm, BatchNormConfig, Dropout, DropoutConfig, Linear, LinearConfig
from burn.nn.loss import CrossEntropyLoss
from burn.tensor import Tensor
from burn.train import ClassificationOutput, TrainOutput


@dataclass
class Batch:
    """Points (batch, 2) and their classes (batch)."""

    points: Tensor[Any]
    classes: Tensor[Any]


class Batcher:
    """Makes batches of (x, y, class)."""

    def batch(self, items: list[Any], device: Device) -> Batch:
        rows = np.array(items, np.float32)
        return Batch(Tensor.from_data(rows[:, :2], device), Tensor.from_data(rows[:, 2].astype(np.int64), device))


class Plain(Module):
    """A linear layer between two, without anything random."""

    first: Linear
    last: Linear

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        return self.last(self.first(x).tanh())  # type: ignore[no-any-return]

    def classify(self, batch: Batch) -> ClassificationOutput:
        output = self(batch.points)
        return ClassificationOutput(CrossEntropyLoss(None, output.device)(output, batch.classes), output, batch.classes)

    def train_step(self, batch: Batch) -> TrainOutput[ClassificationOutput]:
        item = self.classify(batch)
        return TrainOutput(self, item.loss.backward(), item)

    def valid_step(self, batch: Batch) -> ClassificationOutput:
        return self.classify(batch)


class Network(Plain):
    """The same with a batch norm and dropout."""

    norm: BatchNorm
    dropout: Dropout

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        return self.last(self.dropout(self.norm(self.first(x)).relu()))  # type: ignore[no-any-return]


def plain(device: Device, hidden: int = 8) -> Plain:
    return Plain(first=LinearConfig(2, hidden).init(device), last=LinearConfig(hidden, 2).init(device))


def network(device: Device, hidden: int = 8) -> Network:
    return Network(
        first=LinearConfig(2, hidden).init(device),
        last=LinearConfig(hidden, 2).init(device),
        norm=BatchNormConfig(hidden).init(device),
        dropout=DropoutConfig(0.2).init(),
    )


def points(count: int, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    places = random.normal(size=(count, 2))
    inside = (places**2).sum(1) < 1.2
    return InMemDataset([(float(x), float(y), int(c)) for (x, y), c in zip(places, inside, strict=True)])


def loaders(batch: int = 16, count: int = 100, workers: int = 0) -> tuple[Any, Any]:
    """Loaders for training (shuffled, with a short last batch) and validation."""
    builder = DataLoaderBuilder(Batcher()).batch_size(batch).num_workers(workers)
    return builder.shuffle(7).build(points(count)), builder.build(points(40, 1))


def values(model: Any) -> dict[str, np.ndarray[Any, Any]]:
    """Parameters and states by path."""
    found = {}
    for path, leaf in model.leaves():
        tensor = leaf.value if hasattr(leaf, "update") else leaf.val().no_grad()
        found[path] = tensor.numpy()
    return found


def assert_same(one: Any, other: Any) -> None:
    """Equal to the last bit."""
    first, second = values(one), values(other)
    assert first.keys() == second.keys()
    for path, array in first.items():
        np.testing.assert_array_equal(array, second[path], err_msg=path)
