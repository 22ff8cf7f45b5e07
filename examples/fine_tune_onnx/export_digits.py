"""How `digits.onnx` was made: a small network learns the digits 0 to 4 in PyTorch and is exported.

python -m examples.fine_tune_onnx.export_digits     # needs torch and onnx

`PRESERVE` without folding keeps batch norms apart from convolutions, so that they can learn on after the import.
"""

# mypy: disable-error-code="no-any-return"
# what a module of PyTorch gives when it is called is Any

from __future__ import annotations

import warnings
from pathlib import Path

import torch
from torch import nn

from examples.fine_tune_onnx.data import digits

FILE = Path(__file__).with_name("digits.onnx")


class Network(nn.Module):
    """Three convolutions, a mean over the picture, and a linear layer for five digits."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(1, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16)
        self.conv2, self.norm2 = nn.Conv2d(16, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32)
        self.conv3, self.norm3 = nn.Conv2d(32, 48, 3, 1, 0, bias=False), nn.BatchNorm2d(48)
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(48, 5)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.norm1(self.conv1(images)))
        x = torch.relu(self.norm2(self.conv2(x)))
        x = torch.relu(self.norm3(self.conv3(x)))
        return self.head(self.dropout(x.mean((2, 3))))


def main() -> None:
    torch.manual_seed(0)
    images, labels = (torch.from_numpy(each) for each in digits("train", range(5)))
    network = Network()
    optimizer = torch.optim.AdamW(network.parameters(), 3e-3)
    for epoch in range(6):
        total = 0.0
        for chosen in torch.split(torch.randperm(len(images)), 64):
            loss = nn.functional.cross_entropy(network(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            total += loss.item() * len(chosen)
        print(f"epoch {epoch + 1}: loss {total / len(images):.4f}")
    network.eval()
    images, labels = (torch.from_numpy(each) for each in digits("test", range(5)))
    with torch.no_grad():
        right = (network(images).argmax(1) == labels).float().mean().item()
    print(f"digits 0 to 4: {right:.1%} of {len(images)} test images")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter announces its successor
        torch.onnx.export(
            network, (images[:1],), str(FILE), dynamo=False, do_constant_folding=False,
            training=torch.onnx.TrainingMode.PRESERVE, input_names=["images"], output_names=["scores"],
            dynamic_axes={"images": {0: "batch"}, "scores": {0: "batch"}},
        )  # fmt: skip
    print(f"wrote {FILE.name}, {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
