# pyright: reportAny=true
"""A GAN on points of a ring."""

import math
from dataclasses import dataclass

import numpy as np

import burn
from burn import Config, Module, NdArray, Tensor
from burn.nn import Linear, LinearConfig, Relu
from burn.nn.loss import BinaryCrossEntropyLossConfig
from burn.optim import AdamConfig, Optimizer
from burn.tensor import Distribution


class GeneratorConfig(Config):
    latent: int = 2
    hidden: int = 16

    def init(self, device: burn.Device) -> "Generator":
        return Generator(
            LinearConfig(self.latent, self.hidden).init(device),
            LinearConfig(self.hidden, 2).init(device),
            Relu(),
        )


class Generator(Module):
    inner: Linear
    outer: Linear
    relu: Relu

    def forward(self, noise: Tensor) -> Tensor:
        return self.outer(self.relu(self.inner(noise)))


class Critic(Module):
    inner: Linear
    outer: Linear

    def __init__(self, hidden: int, device: burn.Device) -> None:
        self.inner = LinearConfig(2, hidden).init(device)
        self.outer = LinearConfig(hidden, 1).init(device)

    def forward(self, points: Tensor) -> Tensor:
        return self.outer(self.inner(points).leaky_relu(0.2))


@dataclass
class Losses:
    critic: float
    generator: float


def ring(count: int, random: np.random.Generator) -> Tensor:
    angle = random.uniform(0.0, 2.0 * math.pi, count)
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)
    return burn.tensor(points, device=NdArray())


def train(steps: int) -> tuple[Generator, list[Losses]]:
    device = NdArray().autodiff()
    random = np.random.default_rng(0)
    generator = GeneratorConfig().init(device)
    critic = Critic(16, device)
    optim_g: Optimizer = AdamConfig().init()
    optim_c = AdamConfig(beta_1=0.5).init()
    bce = BinaryCrossEntropyLossConfig(logits=True).init(device)
    history: list[Losses] = []
    for step in range(steps):
        real = ring(64, random).to_device(device)
        noise = Tensor.random([64, 2], Distribution.Normal(0.0, 1.0), device)
        drawn = generator(noise).detach()
        ones = Tensor.ones([64, 1], device).int()
        zeros = ones.zeros_like()
        loss_c = bce(critic(real), ones) + bce(critic(drawn), zeros)
        critic = optim_c.step(1e-3, critic, loss_c.backward())
        loss_g = bce(critic(generator(noise)), ones)
        generator = optim_g.step(1e-3, generator, loss_g.backward())
        history.append(Losses(loss_c.item(), loss_g.item()))
        if step % 10 == 0:
            print(f"{step:4} critic {history[-1].critic:.4f} generator {history[-1].generator:.4f}")
    return generator, history


if __name__ == "__main__":
    made, history = train(20)
    samples = made.valid()(Tensor.random([5, 2], Distribution.Default, NdArray()))
    points = samples.numpy()
    print(points.shape, float(samples.mean()), samples[0], samples[:, 1].max().item())
    mean = sum(each.generator for each in history) / len(history)
    print(mean)
    print([row.tolist() for row in samples])
