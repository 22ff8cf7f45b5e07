"""Small PyTorch networks and their exports, for tests of the importer."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

Tensors = Sequence[torch.Tensor]


class Perceptron(nn.Module):
    """Two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(4, 8)
        self.output = nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.output(torch.relu(self.hidden(x))), -1)


class Convolutional(nn.Module):
    """Convolutions, a batch norm, a pool and a classifier."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.pool = nn.MaxPool2d(2)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2, groups=2)
        self.drop = nn.Dropout(dropout)
        self.classifier = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool(torch.relu(self.norm(self.conv1(x))))
        x = nn.functional.gelu(self.conv2(x)).mean((2, 3))
        return torch.log_softmax(self.classifier(self.drop(x)), 1)


class Block(nn.Module):
    """One layer of a transformer."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.query, self.key, self.value = nn.Linear(size, size), nn.Linear(size, size), nn.Linear(size, size)
        self.output = nn.Linear(size, size)
        self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)
        self.heads = heads

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        batch, length, size = x.shape

        def split(y: torch.Tensor) -> torch.Tensor:
            return y.view(batch, length, self.heads, size // self.heads).transpose(1, 2)

        y = self.norm1(x)
        scores = split(self.query(y)) @ split(self.key(y)).transpose(-1, -2) / (size // self.heads) ** 0.5
        shares = scores.masked_fill(mask[:, None, None, :] == 0, -1e9).softmax(-1)
        x = x + self.output((shares @ split(self.value(y))).transpose(1, 2).reshape(batch, length, size))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    """An embedding, layers that are all alike, and a head."""

    def __init__(self, layers: int = 3) -> None:
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.positions = nn.Parameter(torch.randn(1, 32, 16))
        self.layers = nn.ModuleList(Block(16, 4) for _ in range(layers))
        self.head = nn.Linear(16, 50)

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens) + self.positions[:, : tokens.shape[1]]
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(x)


def perturbed(network: nn.Module, seed: int = 0) -> nn.Module:
    """The network with every weight and statistic away from what it is initialised with."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
        for buffer in network.buffers():
            if buffer.is_floating_point():
                buffer.add_(0.1 * torch.rand(buffer.shape, generator=generator))
    return network


def exported(
    network: nn.Module,
    inputs: Tensors,
    names: Sequence[str],
    sizes: dict[str, dict[int, str]] | None = None,
    *,
    training: bool = False,
) -> bytes:
    """The ONNX file of a network, by the exporter that traces."""
    file = io.BytesIO()
    options: dict[str, Any] = {}
    if training:
        options = {"training": torch.onnx.TrainingMode.TRAINING, "do_constant_folding": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network, tuple(inputs), file, dynamo=False, input_names=list(names), output_names=["result"],
            dynamic_axes=sizes or {}, **options,
        )  # fmt: skip
    return file.getvalue()
