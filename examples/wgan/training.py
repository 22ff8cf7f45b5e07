"""The training: a loop of one's own, with two models and two optimizers.

The critic learns to give real images higher numbers than drawn ones; the difference is an estimate of how far apart the
two are (their Wasserstein distance), as long as the critic cannot become arbitrarily steep: its weights are cut after
each step. The generator takes a step for every few of the critic's, toward higher numbers. Both steps are captured.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import burn
from burn.data.dataloader import Batcher, DataLoaderBuilder, column
from burn.data.dataset import Dataset
from burn.data.dataset.vision import MnistItem
from burn.optim import GradientsParams, RmsPropConfig
from burn.prelude import Config, Device, Tensor
from burn.record import CompactRecorder
from burn.tensor import Distribution
from examples.artifact_folder import begun
from examples.wgan.model import Discriminator, Generator, ModelConfig
from examples.wgan.picture import grid, write_png


class TrainingConfig(Config):
    """Settings of a training."""

    model: ModelConfig
    optimizer: RmsPropConfig
    num_epochs: int = 30
    batch_size: int = 64
    num_critic: int = 5
    """Steps of the critic for each of the generator."""
    clip_value: float = 0.05
    """Weights of the critic lie between minus this and this."""
    lr: float = 1e-4
    seed: int = 5
    samples: int = 64


@dataclass
class ImageBatch:
    """Images (batch, 1, 28, 28) from -1 to 1."""

    images: Tensor


class ImageBatcher(Batcher[MnistItem, ImageBatch]):
    """Makes batches of digits."""

    def batch(self, items: list[MnistItem], device: Device) -> ImageBatch:
        """Scale to what the generator draws."""
        pixels = np.asarray(column(items, "image"), np.float32)[:, None] / 127.5 - 1
        return ImageBatch(burn.tensor(pixels, device=device))


def noise(count: int, latent_dim: int, device: Device) -> Tensor:
    """What drawings are made of."""
    return Tensor.random((count, latent_dim), Distribution.Normal(0.0, 1.0), device)


def train(device: Device, dataset: Dataset[MnistItem], config: TrainingConfig, artifact_dir: str | Path) -> Generator:
    """Train both; after each epoch the folder has a picture of drawings from the same noise."""
    folder = begun(artifact_dir)
    config.save(folder / "config.json")
    plain, device = device, device.autodiff()
    device.seed(config.seed)
    generator, critic = config.model.init(device)
    optim_generator, optim_critic = config.optimizer.init(), config.optimizer.init()
    latent = config.model.latent_dim
    limit = config.clip_value
    fixed = noise(config.samples, latent, plain)

    @burn.compile(notice=lambda reason: None)
    def critic_step(critic: Discriminator, optim: Any, generator: Generator, real: Tensor, lr: float) -> Any:
        drawn = generator(noise(real.dims()[0], latent, device)).detach()
        loss = critic(drawn).mean() - critic(real).mean()
        grads = GradientsParams.from_grads(loss.backward(), critic)
        critic = optim.step(lr, critic, grads)
        return critic.map(lambda param: param.clamp(-limit, limit)), loss.inner()

    @burn.compile(notice=lambda reason: None)
    def generator_step(generator: Generator, optim: Any, critic: Discriminator, count: int, lr: float) -> Any:
        loss = -critic(generator(noise(count, latent, device))).mean()
        grads = GradientsParams.from_grads(loss.backward(), generator)
        return optim.step(lr, generator, grads), loss

    loader = DataLoaderBuilder(ImageBatcher()).batch_size(config.batch_size).shuffle(config.seed).build(dataset)
    for epoch in range(1, config.num_epochs + 1):
        distances, pleased = [], []
        for number, batch in enumerate(loader, 1):
            real = batch.images.to_device(device)
            critic, loss = critic_step(critic, optim_critic, generator, real, config.lr)
            distances.append(loss)
            if number % config.num_critic == 0:
                generator, loss = generator_step(generator, optim_generator, critic, config.batch_size, config.lr)
                pleased.append(loss)
        drawings = generator.valid()(fixed).numpy()[:, 0]
        write_png(folder / f"epoch-{epoch}.png", grid(drawings, 8))
        distance, loss_drawn = -_mean(distances), _mean(pleased)
        print(f"[Epoch {epoch:3}/{config.num_epochs}] distance {distance:.4f} | generator loss {loss_drawn:.4f}")
    write_png(folder / "drawings.png", grid(drawings, 8))
    generator.valid().save_file(folder / "generator", CompactRecorder())
    return generator


def _mean(losses: list[Tensor]) -> float:
    return sum(float(loss.item()) for loss in losses) / max(1, len(losses))
