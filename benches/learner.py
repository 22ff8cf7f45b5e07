"""What the learner costs over a loop written by hand, and how it compares with the same training in PyTorch.

    python -m benches.learner overhead                              # bundled digits
    python -m benches.learner torch --folder ../shared/data/mnist --epochs 5

Both take turns epoch by epoch in one process: a callback runs the other loop when the learner's epoch is over. An
epoch has training, validation and data loading in it; the first two of each loop are not counted.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import burn
from benches.guide_cnn import DEVIATION, MEAN, MnistBatcher, Model, ModelConfig, datasets
from burn import Cpu, Tensor
from burn.data.dataloader import DataLoaderBuilder
from burn.optim import AdamConfig
from burn.train import AccuracyMetric, Callback, LearnerBuilder, LossMetric, NoRenderer, Split, TrainingContext
from burn.train.step import detached

WARM = 2


class HandWritten:
    """The guide's training as a loop: a captured step, losses and hits added up on the device."""

    def __init__(self, train: Any, valid: Any, options: argparse.Namespace) -> None:
        device = Cpu().autodiff()
        device.seed(options.seed)
        self.model, self.optim, self.lr = ModelConfig().init(device), AdamConfig().init(), options.lr
        builder = DataLoaderBuilder(MnistBatcher()).batch_size(options.batch).shuffle(42).num_workers(options.workers)
        self.train, self.valid = builder.set_device(device).build(train), builder.set_device(Cpu()).build(valid)

        @burn.compile
        def step(model: Model, optim: Any, batch: Any, lr: float) -> Any:
            output = model.train_step(batch)
            item = detached(output.item)
            return optim.step(lr, model, output.grads), item.loss, hits(item)

        @burn.compile
        def check(model: Model, batch: Any) -> Any:
            item = model.valid_step(batch)
            return item.loss, hits(item)

        self.step, self.check = step, check

    def epoch(self) -> float:
        """One epoch; gives the accuracy of the validation in percent."""
        seen = []
        for batch in self.train:
            self.model, loss, right = self.step(self.model, self.optim, batch, self.lr)
            seen.append((loss, right))
        sum(float(loss.item()) for loss, _ in seen)
        model = self.model.valid()
        found = [self.check(model, batch) for batch in self.valid]
        return 100.0 * sum(int(right.item()) for _, right in found) / self.valid.num_items()


def hits(item: Any) -> Tensor[Any]:
    """How many items of a batch are right."""
    return item.output.argmax(1).squeeze_dim(1).equal(item.targets).int().sum()


class TorchLoop:
    """The same network, optimizer and batches in PyTorch, with its DataLoader."""

    def __init__(self, train: Any, valid: Any, options: argparse.Namespace) -> None:
        import torch
        from torch import nn

        torch.manual_seed(options.seed)
        torch.set_num_threads(options.threads)
        self.torch, self.options = torch, options
        self.model = nn.Sequential(
            nn.Conv2d(1, 8, 3), nn.Dropout(0.5), nn.Conv2d(8, 16, 3), nn.Dropout(0.5), nn.ReLU(),
            nn.AdaptiveAvgPool2d(8), nn.Flatten(), nn.Linear(1024, 512), nn.Dropout(0.5), nn.ReLU(), nn.Linear(512, 10),
        )  # fmt: skip
        self.optim = torch.optim.Adam(self.model.parameters(), lr=options.lr, eps=1e-5)
        self.sets = [self._dataset(train), self._dataset(valid)]
        self.workers = options.torch_workers

    def _dataset(self, dataset: Any) -> Any:
        torch = self.torch
        images = torch.from_numpy(np.stack([item.image for item in dataset]).astype(np.uint8))
        labels = torch.tensor([item.label for item in dataset])

        class Digits(torch.utils.data.Dataset):  # type: ignore[misc,name-defined]
            """Items as one writes them: a normalised image and its label."""

            def __len__(self) -> int:
                return len(labels)

            def __getitem__(self, index: int) -> Any:
                return (images[index].float().div_(255).sub_(MEAN).div_(DEVIATION)).unsqueeze_(0), labels[index]

        return Digits()

    def _loader(self, number: int) -> Any:
        return self.torch.utils.data.DataLoader(
            self.sets[number], self.options.batch, shuffle=number == 0, num_workers=self.workers
        )

    def epoch(self) -> float:
        """One epoch; gives the accuracy of the validation in percent."""
        torch = self.torch
        self.model.train()
        total = torch.zeros(())
        for images, labels in self._loader(0):
            self.optim.zero_grad()
            loss = torch.nn.functional.cross_entropy(self.model(images), labels)
            loss.backward()
            self.optim.step()
            total += loss.detach()
        total.item()
        self.model.eval()
        right = 0
        with torch.no_grad():
            for images, labels in self._loader(1):
                right += int((self.model(images).argmax(1) == labels).sum())
        return 100.0 * right / len(self.sets[1])


class TakeTurns(Callback):
    """Times the learner's epochs, and runs and times another loop after each."""

    def __init__(self, other: Callable[[], float], name: str) -> None:
        self.other, self.name = other, name
        self.ours: list[float] = []
        self.others: list[float] = []
        self.begin = 0.0

    def on_epoch_start(self, context: TrainingContext) -> None:
        """Start the watch."""
        gc.collect()
        self.begin = time.perf_counter()

    def on_epoch_end(self, context: TrainingContext) -> None:
        """Stop the watch; the other loop's turn."""
        now = time.perf_counter()
        self.ours.append(now - self.begin)
        gc.collect()
        begin = time.perf_counter()
        accuracy = self.other()
        self.others.append(time.perf_counter() - begin)
        own = context.metric("Accuracy", Split.Valid) or 0.0
        first, second = f"learner {self.ours[-1]:.3f} s, {own:.2f} %", f"{self.others[-1]:.3f} s, {accuracy:.2f} %"
        print(f"epoch {context.epoch:2}: {first} | {self.name} {second}", flush=True)


def run(options: argparse.Namespace) -> TakeTurns:
    """Train by turns."""
    train, valid = datasets(options.folder)
    kind = TorchLoop if options.what == "torch" else HandWritten
    turns = TakeTurns(kind(train, valid, options).epoch, options.name)
    device = Cpu()
    builder = DataLoaderBuilder(MnistBatcher()).batch_size(options.batch).shuffle(42).num_workers(options.workers)
    with tempfile.TemporaryDirectory() as folder:
        learner = LearnerBuilder(folder).metrics([LossMetric(), AccuracyMetric()]).renderer(NoRenderer())
        learner = learner.num_epochs(options.epochs + WARM).callbacks([turns])
        device.seed(options.seed)
        model = ModelConfig().init(device)
        learner.build(model, AdamConfig().init(), options.lr).fit(builder.build(train), builder.build(valid))
    return turns


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("overhead", "torch"))
    parser.add_argument("--folder", help="where MNIST's four files are; the bundled digits otherwise")
    parser.add_argument("--epochs", type=int, default=9)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--torch-workers", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    name = options.name = "PyTorch" if options.what == "torch" else "by hand"
    turns = run(options)
    ours, others = turns.ours[WARM:], turns.others[WARM:]
    ratios = sorted(b / a for a, b in zip(ours, others, strict=True))
    middle, quarter = statistics.median(ratios), ratios[len(ratios) // 4]
    print(f"learner {statistics.median(ours):.3f} s an epoch, {name} {statistics.median(others):.3f} s")
    if options.what == "torch":
        print(f"speed: {middle:.2f} x (lower quartile {quarter:.2f}), median of {len(ratios)} pairs")
    else:
        print(f"overhead: {1 / middle - 1:+.1%} (upper quartile {1 / quarter - 1:+.1%}), median of {len(ratios)} pairs")


if __name__ == "__main__":
    main()
