"""The guide's model, as the seeds print it."""

from __future__ import annotations

import re

import pytest

from burn import NdArray, Tensor
from burn.config import Config
from burn.module import Module
from burn.nn import Dropout, DropoutConfig, Linear, LinearConfig, Relu
from burn.nn.conv import Conv2d, Conv2dConfig
from burn.nn.pool import AdaptiveAvgPool2d, AdaptiveAvgPool2dConfig
from tests.nn.peers import every_device


class Model(Module):
    """A convolutional network for small images."""

    conv1: Conv2d
    conv2: Conv2d
    pool: AdaptiveAvgPool2d
    dropout: Dropout
    linear1: Linear
    linear2: Linear
    activation: Relu

    def forward(self, images):
        batch_size, height, width = images.dims()
        x = images.reshape([batch_size, 1, height, width])
        x = self.dropout(self.conv1(x))
        x = self.activation(self.dropout(self.conv2(x)))
        x = self.pool(x).reshape([batch_size, 16 * 8 * 8])
        return self.linear2(self.activation(self.dropout(self.linear1(x))))


class ModelConfig(Config):
    """Its settings."""

    num_classes: int
    hidden_size: int
    dropout: float = 0.5

    def init(self, device):
        return Model(
            conv1=Conv2dConfig([1, 8], [3, 3]).init(device),
            conv2=Conv2dConfig([8, 16], [3, 3]).init(device),
            pool=AdaptiveAvgPool2dConfig([8, 8]).init(),
            activation=Relu(),
            linear1=LinearConfig(16 * 8 * 8, self.hidden_size).init(device),
            linear2=LinearConfig(self.hidden_size, self.num_classes).init(device),
            dropout=DropoutConfig(self.dropout).init(),
        )


def printed(text):
    """The output that the page shows, with its line breaks undone: a line that goes on begins at the margin."""
    match = re.search(r"Output:\n\n```\n(Model \{\n.*?\n\})\n```", text, re.DOTALL)
    assert match is not None
    return re.sub(r"\n(?=[^\s}])", " ", match.group(1))


@pytest.fixture
def guide(shared):
    return (shared / "seeds" / "003_6efd81d66264ea5e.txt").read_text()


def test_the_model_prints_as_in_the_guide(guide):
    expected = printed(guide)
    assert expected.count("\n") == 9
    assert str(ModelConfig(10, 512).init(NdArray())) == expected


@every_device
def test_the_model_classifies_images(device):
    model = ModelConfig(10, 32).init(device)
    images = Tensor.ones([2, 28, 28], device)
    scores = model(images)
    assert scores.shape == (2, 10)
    grads = scores.sum().backward()
    for param in model.parameters():
        assert param.grad(grads).shape == param.shape
    assert model.valid()(Tensor.ones([1, 28, 28], device.inner())).shape == (1, 10)
