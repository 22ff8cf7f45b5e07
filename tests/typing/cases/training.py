# pyright: reportAny=true
"""A training script as people write them: data, a loop, a captured step, the learner, a file, inference."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import assert_type

import numpy as np

import burn
from burn import Config, Device, NdArray, Tensor, nn
from burn.backend.autodiff import Gradients
from burn.data.dataloader import Batcher, DataLoaderBuilder
from burn.data.dataset import Dataset, InMemDataset
from burn.data.dataset.transform import MapperDataset, random_split
from burn.grad_clipping import GradientClippingConfig
from burn.lr_scheduler import CosineAnnealingLrSchedulerConfig
from burn.optim import AdamConfig, GradientsParams, Optimizer, SgdConfig
from burn.record import CompactRecorder
from burn.train import LearnerBuilder, NoRenderer
from burn.train.metric import AccuracyMetric, LossMetric
from tests.typing.cases.model import AutoEncoder, Batch, Model, ModelConfig

Item = tuple[list[list[float]], int]


class TrainingConfig(Config):
    model: ModelConfig
    optimizer: AdamConfig
    num_epochs: int = 2
    batch_size: int = 8
    lr: float = 1e-2
    seed: int = 3


class ImageBatcher(Batcher[Item, Batch]):
    def batch(self, items: list[Item], device: Device) -> Batch:
        images = np.array([image for image, _ in items], np.float32)
        return Batch(burn.tensor(images, device=device), burn.tensor([label for _, label in items], device=device))


def images(count: int, seed: int) -> Dataset[Item]:
    random = np.random.default_rng(seed)
    labels = [index % 2 for index in range(count)]
    return InMemDataset(
        [([[float(random.normal(label)) for _ in range(6)] for _ in range(6)], label) for label in labels]
    )


def brighter(item: Item) -> Item:
    return [[pixel + 1.0 for pixel in row] for row in item[0]], item[1]


def accuracy(scores: Tensor, targets: Tensor) -> float:
    return (scores.argmax(dim=1) == targets).float().mean().item()


def own_loop(config: TrainingConfig, dataset: Dataset[Item], device: Device) -> Model:
    model = config.model.init(device)
    optim = config.optimizer.init()
    scheduler = CosineAnnealingLrSchedulerConfig(config.lr, 10).init()
    criterion = nn.loss.CrossEntropyLoss()
    builder = DataLoaderBuilder(ImageBatcher()).set_device(device.inner())
    loader = builder.batch_size(config.batch_size).shuffle(config.seed).build(dataset)
    for epoch in range(config.num_epochs):
        total, right = 0.0, 0.0
        for batch in loader:
            output = model(batch.images.to(device))
            loss = assert_type(criterion(output, batch.targets.to(device)), Tensor)
            grads = assert_type(loss.backward(), Gradients)
            model = assert_type(optim.step(scheduler.step(), model, GradientsParams.from_grads(grads, model)), Model)
            total += loss.item()
            right += accuracy(output.inner(), batch.targets)
        print(f"epoch {epoch}: loss {total / len(loader):.4f}, accuracy {right / len(loader):.2%}")
    return model.valid()


def captured(device: Device) -> list[float]:
    model, optim = AutoEncoder.init(device), SgdConfig(gradient_clipping=GradientClippingConfig.Norm(1.0)).init()

    @burn.compile(notice=print)
    def step(model: AutoEncoder, optim: Optimizer, x: Tensor, lr: float) -> tuple[AutoEncoder, Tensor]:
        loss = model.error(x)
        return optim.step(lr, model, loss.backward()), loss.inner()

    losses: list[float] = []
    x = Tensor.random([4, 16], burn.Distribution.Uniform(-1.0, 1.0), device)
    for index in range(3):
        model, loss = step(model, optim, x, 0.1 / (index + 1))
        losses.append(loss.item())
    return losses


def main(folder: Path, device: Device) -> float:
    config = TrainingConfig(ModelConfig(2, dropout=0.1), AdamConfig()).with_seed(5)
    train, valid = random_split(MapperDataset(images(32, config.seed), brighter), [0.75, 0.25], seed=1)
    model = own_loop(config, train, device.autodiff())
    shares, classes = model.probabilities(burn.tensor([image for image, _ in valid], device=device))
    print(shares[0, 0].item(), shares.max(dim=1).values.shape, classes, captured(device.autodiff()))

    loaders = DataLoaderBuilder(ImageBatcher()).batch_size(config.batch_size)
    builder = LearnerBuilder(folder).metrics([AccuracyMetric(), LossMetric()]).num_epochs(1).renderer(NoRenderer())
    learner = builder.devices([device]).build(config.model.init(device), config.optimizer.init(), config.lr)
    trained = assert_type(learner.fit(loaders.build(train), loaders.build(valid)), Model)
    trained.save_file(folder / "model", CompactRecorder())
    loaded = assert_type(config.model.init(device).load_file(folder / "model", CompactRecorder()), Model)
    return float(sum(param.abs().sum().item() for param in loaded.parameters()))


if __name__ == "__main__":
    print(main(Path(tempfile.mkdtemp()), NdArray()))
