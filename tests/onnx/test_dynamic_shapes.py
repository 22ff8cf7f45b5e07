"""One import, many sizes: heights and widths, windows, masks and lengths that the graph computes for itself.

Sizes are Python numbers in the source (`batch, length = tokens.shape`): nothing is read from a device to find them, so
the forward stays one captured program for each set of sizes.
"""

# mypy: disable-error-code="no-any-return"
# what a module of PyTorch gives when it is called is Any

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import burn
from burn_import.onnx import load
from tests.onnx.exporting import EXPORTERS, Case, as_tuple, export, on


class Hourglass(nn.Module):
    """Down and up again to the size of the input, whatever that is."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.inner = nn.Conv2d(3, 6, 3, 2, 1), nn.Conv2d(6, 6, 3, 2, 1)
        self.up = nn.Conv2d(12, 4, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        one = torch.relu(self.down(x))
        two = functional.interpolate(torch.relu(self.inner(one)), size=one.shape[2:], mode="nearest")
        found = functional.interpolate(self.up(torch.cat([one, two], 1)), size=x.shape[2:], mode="bilinear")
        return found + x.mean((1, 2, 3), keepdim=True)


class Windows(nn.Module):
    """Images cut into windows of four by four, each window mixed, and put together again."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, channels, height, width = x.shape
        y = x.reshape(batch, channels, height // 4, 4, width // 4, 4).permute(0, 2, 4, 1, 3, 5)
        y = self.mix(y.reshape(-1, height // 4 * (width // 4), channels, 16))
        y = y.view(batch, height // 4, width // 4, channels, 4, 4).permute(0, 3, 1, 4, 2, 5)
        return y.reshape(batch, channels, height, width)


class Positions(nn.Module):
    """Masks and positions made of the sizes alone: causal, relative, and a start state for each sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.distance = nn.Embedding(40, 8), nn.Embedding(64, 1)
        self.start = nn.Parameter(torch.randn(8))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        batch, length = tokens.shape
        x = torch.cat([self.start.expand(batch, 1, 8), self.words(tokens)], 1)
        places = torch.arange(length + 1)
        away = (places[:, None] - places[None, :]).clamp(-31, 31) + 32
        scores = x @ x.transpose(1, 2) / 8**0.5 + self.distance(away).squeeze(-1)
        hidden = torch.ones(length + 1, length + 1, dtype=torch.bool).triu(1)
        shares = scores.masked_fill(hidden, float("-inf")).softmax(-1)
        return torch.cat([shares @ x, torch.zeros(batch, 2, 8)], 1) / length


def pictures(batch: int, size: int) -> list[torch.Tensor]:
    return [torch.randn(batch, 3, size, 2 * size, generator=torch.Generator().manual_seed(size))]


def words(batch: int, length: int) -> list[torch.Tensor]:
    return [torch.randint(0, 40, (batch, length), generator=torch.Generator().manual_seed(length))]


AREA = {0: "batch", 2: "height", 3: "width"}
CASES = [
    Case("hourglass", Hourglass, pictures, ("x",), AREA, ((2, 8), (1, 13), (3, 20))),
    Case("windows", Windows, pictures, ("x",), AREA, ((2, 8), (3, 12), (4, 20))),
    Case("positions", Positions, words, ("tokens",), {0: "batch", 1: "length"}, ((2, 5), (3, 9), (1, 17))),
]


@pytest.mark.parametrize("dynamo", EXPORTERS, ids=["tracing exporter", "graph exporter"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_one_import_serves_all_sizes(case: Case, dynamo: bool) -> None:
    torch.manual_seed(0)
    network = case.network().eval()
    data = export(case, network, dynamo=dynamo)
    for device in (burn.NdArray(), burn.Cpu()):
        model = load(data, device)
        for sizes in case.sizes:
            inputs = case.inputs(*sizes)
            with torch.no_grad():
                (wanted,) = as_tuple(network(*inputs))
            result = model(*on(device, inputs))
            assert tuple(result.shape) == tuple(wanted.shape)
            np.testing.assert_allclose(result.numpy(), wanted.numpy(), rtol=1e-4, atol=1e-5)
    reads = {node.attr for node in ast.walk(ast.parse(model.source)) if isinstance(node, ast.Attribute)}
    assert not reads & {"item", "into_scalar", "into_data", "to_data", "tolist", "to_list", "numpy"}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_set_of_sizes_is_captured(case: Case) -> None:
    """A fallback to eager calls would be a `CaptureWarning`, which is an error here."""
    torch.manual_seed(0)
    network = case.network().eval()
    device = burn.Cpu()
    model = load(export(case, network, dynamo=False), device)

    def forward(*tensors: burn.Tensor) -> burn.Tensor:
        result: burn.Tensor = model(*tensors)
        return result

    captured: Callable[..., burn.Tensor] = burn.compile(forward)
    for sizes in case.sizes:
        inputs = case.inputs(*sizes)
        with torch.no_grad():
            wanted = network(*inputs).numpy()
        with warnings.catch_warnings():
            warnings.simplefilter("error", burn.CaptureWarning)
            for _ in range(3):
                np.testing.assert_allclose(captured(*on(device, inputs)).numpy(), wanted, rtol=1e-4, atol=1e-5)
