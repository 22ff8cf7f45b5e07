"""Train a small network for handwritten digits with PyTorch, and export it: the first of four commands.

    python -m examples.serving.train digits.onnx

Writes the model and `digit.json`, a request with one test digit. The digits come with the package; nothing is
downloaded. Any tool that writes ONNX would do in the place of PyTorch.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from burn.data.dataset.vision import MnistDataset

BATCH = 64


def digits(split: Literal["train", "test"], count: int | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Pixels from 0 to 1 and labels."""
    items: Any = MnistDataset.bundled(split)
    chosen = [items[index] for index in range(len(items) if count is None else min(count, len(items)))]
    images = np.stack([item.image for item in chosen])[:, None] / 255
    return torch.tensor(images, dtype=torch.float32), torch.tensor([item.label for item in chosen])


def network() -> nn.Module:
    """Pixels (batch, 1, 28, 28) to scores (batch, 10)."""
    return nn.Sequential(
        nn.Conv2d(1, 8, 5, stride=2), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(), nn.Flatten(),
        nn.Linear(16 * 5 * 5, 10),
    )  # fmt: skip


def train(model: nn.Module, epochs: int, count: int | None) -> float:
    """Train in place; gives the share of test digits that are recognised."""
    images, labels = digits("train", count)
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    for _ in range(epochs):
        for chosen in torch.randperm(len(images)).split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images[chosen]), labels[chosen]).backward()
            optimizer.step()
    test_images, test_labels = digits("test")
    with torch.no_grad():
        return float((model(test_images).argmax(1) == test_labels).float().mean())


def export(model: nn.Module, images: torch.Tensor, target: Path) -> None:
    """Write the ONNX file, with the batch as a size that varies."""
    axes = {"image": {0: "batch"}, "scores": {0: "batch"}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the newer exporter needs onnxscript
        torch.onnx.export(
            model, (images,), str(target), dynamo=False, input_names=["image"], output_names=["scores"],
            dynamic_axes=axes,
        )  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.serving.train", description=__doc__.splitlines()[0])
    parser.add_argument("target", type=Path, help="the ONNX file to write")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--count", type=int, default=None, help="how many digits to train with (default: all)")
    options = parser.parse_args(arguments)
    torch.manual_seed(0)
    model = network()
    share = train(model, options.epochs, options.count)
    images, labels = digits("test", 1)
    export(model, images, options.target)
    request = options.target.with_name("digit.json")
    request.write_text(json.dumps({"input": np.round(images[0, 0].numpy(), 4).tolist()}))
    print(f"{share:.1%} of the test digits; {options.target} is the model, {request} a request with a {int(labels[0])}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
