"""How `mnist.onnx` was made: a small network for handwritten digits, trained with PyTorch and exported.

python -m examples.onnx_inference.train FOLDER      # a folder with the four files of MNIST

The network has the layers of the model zoo's `mnist-8` (two convolutions, two pools, one linear layer), takes pixels
from 0 to 255 in any batch size, and gives one score for each digit. This file needs PyTorch; the example does not.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

EPOCHS = 6
BATCH = 64


class Digits(nn.Module):
    """Pixels (batch, 1, 28, 28) to scores (batch, 10)."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 5, padding=2)
        self.conv2 = nn.Conv2d(8, 16, 5, padding=2)
        self.output = nn.Linear(16 * 4 * 4, 10)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        x = (pixels - 33.3) / 78.6
        x = nn.functional.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = nn.functional.max_pool2d(torch.relu(self.conv2(x)), 3)
        return self.output(x.flatten(1))


def read(folder: Path, name: str, offset: int) -> np.ndarray[Any, Any]:
    with gzip.open(folder / f"{name}-ubyte.gz") as file:
        return np.frombuffer(file.read(), np.uint8, offset=offset)


def read_set(folder: Path, name: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Images as floats from 0 to 255, and labels."""
    images = read(folder, f"{name}-images-idx3", 16).reshape(-1, 1, 28, 28)
    return torch.tensor(images, dtype=torch.float32), torch.tensor(read(folder, f"{name}-labels-idx1", 8).astype(int))


def main(folder: Path) -> None:
    torch.manual_seed(0)
    images, labels = read_set(folder, "train")
    test_images, test_labels = read_set(folder, "t10k")
    network = Digits()
    optimizer = torch.optim.Adam(network.parameters(), 2e-3)
    steps = EPOCHS * (len(images) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, total_steps=steps + EPOCHS)
    for epoch in range(EPOCHS):
        network.train()
        for chosen in torch.randperm(len(images)).split(BATCH):
            loss = nn.functional.cross_entropy(network(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        network.eval()
        with torch.no_grad():
            correct = (network(test_images).argmax(1) == test_labels).float().mean().item()
        print(f"epoch {epoch + 1}: {correct:.2%} of the test images", flush=True)
    target = Path(__file__).with_name("mnist.onnx")
    torch.onnx.export(
        network, (images[:1],), str(target), dynamo=False, input_names=["image"], output_names=["scores"],
        dynamic_axes={"image": {0: "batch"}, "scores": {0: "batch"}}, opset_version=17,
    )  # fmt: skip
    print(f"wrote {target}, {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
