"""Weights from elsewhere: a small network for handwritten digits, with the weights of a file of another framework.

python -m examples.import_model_weights pytorch mnist.pt
python -m examples.import_model_weights safetensors mnist.safetensors
python -m examples.import_model_weights convert mnist.pt model.mpk
python -m examples.import_model_weights converted model.mpk

`--images t10k-images-idx3-ubyte.gz --index 42` classifies an image of MNIST instead of a drawn stroke, and
`--labels t10k-labels-idx1-ubyte.gz` adds how many of all images are recognised.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Sequence
from typing import Any

import numpy as np

from burn.backend import Cpu, NdArray
from burn.device import Device
from burn.module import Module
from burn.nn import BatchNorm, BatchNormConfig, Linear, LinearConfig
from burn.nn.conv import Conv2d, Conv2dConfig
from burn.record import NamedMpkFileRecorder, Record
from burn.tensor import Tensor, TensorData
from burn.tensor.activation import log_softmax, relu


class Model(Module):
    """Three convolutions and two linear layers, named as in the PyTorch model that was trained."""

    conv1: Conv2d
    conv2: Conv2d
    conv3: Conv2d
    norm1: BatchNorm
    fc1: Linear
    fc2: Linear
    norm2: BatchNorm

    @classmethod
    def init(cls, device: Device) -> Model:
        """A model with random weights, which are never drawn if others are loaded first."""
        return cls(
            conv1=Conv2dConfig([1, 8], [3, 3]).init(device),
            conv2=Conv2dConfig([8, 16], [3, 3]).init(device),
            conv3=Conv2dConfig([16, 24], [3, 3]).init(device),
            norm1=BatchNormConfig(24).init(device),
            fc1=LinearConfig(11616, 32).init(device),
            fc2=LinearConfig(32, 10).init(device),
            norm2=BatchNormConfig(10).init(device),
        )

    def forward(self, x: Tensor[Any]) -> Tensor[Any]:
        """Images (batch, 1, 28, 28) to log probabilities (batch, 10)."""
        x = relu(self.conv1(x))
        x = relu(self.conv2(x))
        x = relu(self.conv3(x))
        x = self.norm1(x).flatten(1, 3)
        x = relu(self.fc1(x))
        return log_softmax(self.norm2(self.fc2(x)), 1)


def load(kind: str, weights: str, device: Device) -> Record:
    """The record of a file. Only weights that were not converted need the importer."""
    if kind == "converted":
        return NamedMpkFileRecorder().load(weights, device)
    if kind == "safetensors":
        from burn_import.safetensors import SafetensorsFileRecorder

        return SafetensorsFileRecorder().load(weights, device)
    from burn_import.pytorch import PyTorchFileRecorder

    return PyTorchFileRecorder().load(weights, device)


def read_images(path: str) -> np.ndarray[Any, Any]:
    """The images of an IDX file."""
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 1, 28, 28)


def read_labels(path: str) -> np.ndarray[Any, Any]:
    """The labels of an IDX file."""
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), np.uint8, offset=8)


def stroke() -> np.ndarray[Any, Any]:
    """One image: a stroke from top to bottom."""
    image = np.zeros((1, 1, 28, 28), np.uint8)
    image[:, :, 5:23, 13:15] = 255
    return image


def classify(model: Model, images: np.ndarray[Any, Any], device: Device) -> np.ndarray[Any, Any]:
    """The digit of each image."""
    found = []
    for start in range(0, len(images), 500):
        pixels = images[start : start + 500].astype(np.float32)
        x = Tensor.from_data(TensorData((pixels / 255 - 0.1307) / 0.3081), device)
        found.append(model(x).argmax(1).to_data().numpy().reshape(-1))
    return np.concatenate(found)


def main(arguments: Sequence[str] | None = None) -> None:
    """Load or convert weights, and classify."""
    parser = argparse.ArgumentParser(prog="python -m examples.import_model_weights", description=__doc__)
    parser.add_argument("kind", choices=["pytorch", "safetensors", "convert", "converted"])
    parser.add_argument("weights", help="the file of weights")
    parser.add_argument("output", nargs="?", default="model.mpk", help="for convert: the file to write")
    parser.add_argument("--images", help="an IDX file of images, compressed with gzip")
    parser.add_argument("--labels", help="its labels")
    parser.add_argument("--index", type=int, default=42, help="the image to classify")
    parser.add_argument("--device", choices=["cpu", "ndarray"], default="cpu")
    options = parser.parse_args(arguments)

    device: Device = Cpu() if options.device == "cpu" else NdArray()
    record = load(options.kind, options.weights, device)
    if options.kind == "convert":
        NamedMpkFileRecorder().record(record, options.output)
        print(f"Wrote {options.output}")
        return
    model = Model.init(device).load_record(record).valid()
    images = read_images(options.images) if options.images else stroke()
    chosen = min(options.index, len(images) - 1)
    print(f"Predicted {classify(model, images[chosen : chosen + 1], device)[0]}")
    if options.labels:
        labels = read_labels(options.labels)
        print(f"Expected {labels[chosen]}")
        right = (classify(model, images, device) == labels).mean()
        print(f"{right:.2%} of {len(labels):,} images are recognised")


if __name__ == "__main__":
    main()
