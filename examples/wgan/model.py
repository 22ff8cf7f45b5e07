"""The two networks: a generator that draws digits, and a critic that tells how real a drawing looks."""

from __future__ import annotations

import itertools
from typing import Any

from burn.nn import BatchNorm, BatchNormConfig, LeakyRelu, LeakyReluConfig, Linear, LinearConfig, PaddingConfig2d
from burn.nn.conv import Conv2d, Conv2dConfig
from burn.prelude import Config, Device, Module, Tensor

SIZE = 28


class LayerBlock(Module):
    """A linear map, a norm, and a bend."""

    fc: Linear
    bn: BatchNorm | None
    leakyrelu: LeakyRelu

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, in) to (batch, out)."""
        x = self.fc(x)
        return self.leakyrelu(x if self.bn is None else self.bn(x))


class LayerBlockConfig(Config):
    """Settings of a block."""

    d_input: int
    d_output: int
    norm: bool = True

    def init(self, device: Device) -> LayerBlock:
        """A block whose parameters are drawn when they are first used."""
        return LayerBlock(
            fc=LinearConfig(self.d_input, self.d_output).init(device),
            bn=BatchNormConfig(self.d_output).init(device) if self.norm else None,
            leakyrelu=LeakyReluConfig(negative_slope=0.2).init(),
        )


class Generator(Module):
    """Noise (batch, latent) to images (batch, 1, 28, 28) from -1 to 1."""

    layers: list[LayerBlock]
    output: Linear

    def forward(self, noise: Tensor) -> Tensor:
        """Draw."""
        x = noise
        for layer in self.layers:
            x = layer(x)
        return self.output(x).tanh().reshape((noise.dims()[0], 1, SIZE, SIZE))


class Discriminator(Module):
    """The critic: images (batch, 1, 28, 28) to a number (batch, 1) that is higher for real ones."""

    conv1: Conv2d
    conv2: Conv2d
    leakyrelu: LeakyRelu
    output: Linear

    def forward(self, images: Tensor) -> Tensor:
        """Judge."""
        x = self.leakyrelu(self.conv1(images))
        x = self.leakyrelu(self.conv2(x))
        return self.output(x.flatten(1, 3))


class ModelConfig(Config):
    """Settings of both networks."""

    latent_dim: int = 64
    generator_layers: list[int] = [128, 256, 512]  # noqa: RUF012 (a config copies its defaults)
    critic_channels: int = 16

    def init(self, device: Device) -> tuple[Generator, Discriminator]:
        """Both, with parameters that are drawn when they are first used."""
        sizes = [self.latent_dim, *self.generator_layers]
        blocks = [LayerBlockConfig(*pair, norm=at > 0) for at, pair in enumerate(itertools.pairwise(sizes))]
        channels = self.critic_channels
        halving: dict[str, Any] = {"stride": [2, 2], "padding": PaddingConfig2d.Explicit(1, 1)}
        # No norms in the critic: over a batch they would show it which drawings come together.
        return (
            Generator(
                layers=[block.init(device) for block in blocks],
                output=LinearConfig(sizes[-1], SIZE * SIZE).init(device),
            ),
            Discriminator(
                conv1=Conv2dConfig([1, channels], [4, 4], **halving).init(device),
                conv2=Conv2dConfig([channels, 2 * channels], [4, 4], **halving).init(device),
                leakyrelu=LeakyReluConfig(negative_slope=0.2).init(),
                output=LinearConfig(2 * channels * (SIZE // 4) ** 2, 1).init(device),
            ),
        )
