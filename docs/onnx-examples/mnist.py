# Written by burn-import 0.1.0 from a model in memory
# (opset 17, producer: example 1).
# This file is yours: read it, edit it, train it. burn-import asks before it replaces an edited file.

from __future__ import annotations

from pathlib import Path

import burn
from burn import Device, Module, Tensor, nn


class Model(Module):
    """The graph mnist."""

    conv1: nn.conv.Conv2d
    norm1: nn.BatchNorm
    conv2: nn.conv.Conv2d
    norm2: nn.BatchNorm
    max_pool2d: nn.pool.MaxPool2d
    fc1: nn.Linear
    fc2: nn.Linear

    def __init__(self, device: Device) -> None:
        self.conv1 = nn.conv.Conv2dConfig((1, 8), (3, 3), bias=False).init(device)
        self.norm1 = nn.BatchNormConfig(8).init(device).mode("infer")
        self.conv2 = nn.conv.Conv2dConfig((8, 16), (3, 3), bias=False).init(device)
        self.norm2 = nn.BatchNormConfig(16).init(device).mode("infer")
        self.max_pool2d = nn.pool.MaxPool2dConfig((2, 2)).init()
        self.fc1 = nn.LinearConfig(2304, 32).init(device)
        self.fc2 = nn.LinearConfig(32, 10).init(device)

    def forward(
        self,
        image: Tensor,  # f32 (batch, 1, 28, 28)
    ) -> Tensor:
        """Gives scores f32 (batch, 10)."""
        relu = self.norm2(self.conv2(self.norm1(self.conv1(image)).relu())).relu()  # (batch, 16, 24, 24)
        fc2 = self.fc2(self.fc1(self.max_pool2d(relu).flatten(1, -1)).relu())  # (batch, 10)
        scores: Tensor = fc2.log_softmax(1)  # (batch, 10)
        return scores

    @classmethod
    def default(cls) -> Model:
        """The model with its trained weights, on the default device."""
        return cls.from_file(Path(__file__).with_name("mnist.mpk"), burn.default_device())

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
