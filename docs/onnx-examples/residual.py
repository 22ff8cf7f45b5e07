# Written by burn-import 0.1.0 from a model in memory
# (opset 17, producer: example 1).
# This file is yours: read it, edit it, train it. burn-import asks before it replaces an edited file.

from __future__ import annotations

from pathlib import Path

import burn
from burn import Device, Module, Tensor, nn


class Residual(Module):
    """Used 7 times: residual_0, residual_1, residual_2."""

    conv2d: nn.conv.Conv2d
    conv2d_1: nn.conv.Conv2d

    def __init__(self, channels: int, device: Device) -> None:
        self.conv2d = nn.conv.Conv2dConfig(
            (channels, channels), (3, 3), padding=nn.PaddingConfig2d.Explicit(1, 1)
        ).init(device)
        self.conv2d_1 = nn.conv.Conv2dConfig(
            (channels, channels), (3, 3), padding=nn.PaddingConfig2d.Explicit(1, 1)
        ).init(device)

    def forward(
        self,
        x: Tensor,  # f32 (n, channels, _, _)
    ) -> Tensor:
        result: Tensor = (self.conv2d_1(self.conv2d(x).relu()) + x).relu()
        return result


class Residual2(Module):
    """Used twice: residual_2."""

    conv2d: nn.conv.Conv2d
    conv2d_1: nn.conv.Conv2d
    conv2d_2: nn.conv.Conv2d

    def __init__(self, channels_in: int, channels_out: int, device: Device) -> None:
        self.conv2d = nn.conv.Conv2dConfig(
            (channels_in, channels_out), (3, 3), stride=(2, 2), padding=nn.PaddingConfig2d.Explicit(1, 1)
        ).init(device)
        self.conv2d_1 = nn.conv.Conv2dConfig(
            (channels_out, channels_out), (3, 3), padding=nn.PaddingConfig2d.Explicit(1, 1)
        ).init(device)
        self.conv2d_2 = nn.conv.Conv2dConfig((channels_in, channels_out), (1, 1), stride=(2, 2)).init(device)

    def forward(
        self,
        x: Tensor,  # f32 (n, channels_in, _, _)
    ) -> Tensor:
        result: Tensor = (self.conv2d_1(self.conv2d(x).relu()) + self.conv2d_2(x)).relu()
        return result


class Layer(Module):
    """Used twice: layer_0, layer_1."""

    residual_0: Residual
    residual_1: Residual
    residual_2: Residual2

    def __init__(self, channels: int, channels_out: int, device: Device) -> None:
        self.residual_0 = Residual(channels=channels, device=device)
        self.residual_1 = Residual(channels=channels, device=device)
        self.residual_2 = Residual2(channels_in=channels, channels_out=channels_out, device=device)

    def forward(
        self,
        x: Tensor,  # f32 (n, channels, _, _)
    ) -> Tensor:
        residual_0 = self.residual_0(x)  # (n, channels, _, _)
        residual_1 = self.residual_1(residual_0)  # (n, channels, _, _)
        residual_2: Tensor = self.residual_2(residual_1)  # (n, channels_out, _, _)
        return residual_2


class Model(Module):
    """The graph residual."""

    conv2d: nn.conv.Conv2d
    residual_0: Residual
    layer_0: Layer
    layer_1: Layer
    residual_1: Residual
    residual_2: Residual
    linear: nn.Linear

    def __init__(self, device: Device) -> None:
        self.conv2d = nn.conv.Conv2dConfig(
            (3, 16),
            (3, 3),
            padding=nn.PaddingConfig2d.Explicit(1, 1),
        ).init(device)
        self.residual_0 = Residual(channels=16, device=device)
        self.layer_0 = Layer(channels=16, channels_out=32, device=device)
        self.layer_1 = Layer(channels=32, channels_out=64, device=device)
        self.residual_1 = Residual(channels=64, device=device)
        self.residual_2 = Residual(channels=64, device=device)
        self.linear = nn.LinearConfig(64, 10).init(device)

    def forward(
        self,
        pixels: Tensor,  # f32 (n, 3, 32, 32)
    ) -> Tensor:
        """Gives logits f32 (n, 10)."""
        relu = self.conv2d(pixels).relu()  # (n, 16, 32, 32)
        residual_0 = self.residual_0(relu)  # (n, 16, 32, 32)
        layer_0 = self.layer_0(residual_0)  # (n, 32, 16, 16)
        layer_1 = self.layer_1(layer_0)  # (n, 64, 8, 8)
        residual_1 = self.residual_1(layer_1)  # (n, 64, 8, 8)
        residual_2 = self.residual_2(residual_1)  # (n, 64, 8, 8)
        logits: Tensor = self.linear(residual_2.mean_dims([2, 3]).flatten(1, -1))  # (n, 10)
        return logits

    @classmethod
    def default(cls) -> Model:
        """The model with its trained weights, on the default device."""
        return cls.from_file(Path(__file__).with_name("residual.mpk"), burn.default_device())

    @classmethod
    def from_file(cls, path: str | Path, device: Device) -> Model:
        """The model with the weights of a file."""
        return cls(device).load_file(path, burn.record.NamedMpkFileRecorder())

    @classmethod
    def from_bytes(cls, data: bytes, device: Device) -> Model:
        """The model with the weights that some bytes hold."""
        return cls(device).load_record(burn.record.NamedMpkBytesRecorder().load(data))

    @classmethod
    def from_embedded(cls, device: Device) -> Model:
        """The model with the weights that stand in this file."""
        raise RuntimeError("from_embedded: no weights are in this file; import it with --embed")
