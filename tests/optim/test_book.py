"""The Book's samples of custom training loops, in Python spelling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from burn import Cpu, LibTorch, NdArray, Tensor
from burn.config import Config
from burn.module import Module
from burn.nn import Linear, LinearConfig
from burn.nn.conv import Conv2d, Conv2dConfig
from burn.nn.loss import CrossEntropyLoss, CrossEntropyLossConfig
from burn.optim import AdamConfig, GradientsAccumulator, GradientsParams, SgdConfig
from tests.optim.tasks import values_of

STACKS = {"ndarray": NdArray().autodiff(), "libtorch": LibTorch("cpu").autodiff(), "cpu": Cpu().autodiff()}


class Model(Module):
    """Two convolutions and a linear layer for images of 6 by 6."""

    conv1: Conv2d
    conv2: Conv2d
    linear1: Linear

    def forward(self, images: Any) -> Any:
        size = images.shape[0]
        x = self.conv1(images.reshape([size, 1, 6, 6])).relu()
        x = self.conv2(x).relu()
        return self.linear1(x.reshape([size, -1]))


class ModelConfig(Config):
    num_classes: int

    def init(self, device: Any) -> Model:
        return Model(
            conv1=Conv2dConfig((1, 4), (3, 3)).init(device),
            conv2=Conv2dConfig((4, 4), (3, 3)).init(device),
            linear1=LinearConfig(16, self.num_classes).init(device),
        )


class TrainingConfig(Config):
    model: ModelConfig
    optimizer: AdamConfig
    num_epochs: int = 8
    batch_size: int = 20
    seed: int = 42
    lr: float = 1e-2


def data(device: Any) -> list[tuple[Any, Any]]:
    """Bright patches in one of four corners: the corner is the class."""
    generator = np.random.default_rng(0)
    batches = []
    for _ in range(10):
        labels = generator.integers(0, 4, 20)
        images = generator.normal(0.0, 0.1, (20, 6, 6))
        for image, label in zip(images, labels, strict=True):
            row, column = divmod(int(label), 2)
            image[3 * row : 3 * row + 3, 3 * column : 3 * column + 3] += 1.0
        batches.append((Tensor.from_floats(images.tolist(), device), Tensor.from_ints(labels.tolist(), device)))
    return batches


def accuracy(output: Any, targets: Any) -> float:
    predictions = output.argmax(1).squeeze(1)
    return float(predictions.equal(targets).float().mean()) * 100.0


@pytest.mark.parametrize("place", STACKS)
def test_the_custom_training_loop_learns(place: str) -> None:
    device = STACKS[place]
    config = TrainingConfig(ModelConfig(4), AdamConfig())
    device.seed(config.seed)

    model = config.model.init(device)
    optim = config.optimizer.init()
    train, valid = data(device), data(device.inner())

    for _epoch in range(1, config.num_epochs + 1):
        for images, targets in train:
            output = model.forward(images)
            loss = CrossEntropyLoss(None, output.device).forward(output, targets)
            # Gradients for the current backward pass
            grads = loss.backward()
            # Gradients linked to each parameter of the model.
            grads = GradientsParams.from_grads(grads, model)
            # Update the model using the optimizer.
            model = optim.step(config.lr, model, grads)

    # Get the model without autodiff.
    model_valid = model.valid()
    scores = []
    for images, targets in valid:
        output = model_valid.forward(images)
        assert output.device is device.inner()
        scores.append(accuracy(output, targets))
    assert min(scores) == 100.0


@pytest.mark.parametrize("place", STACKS)
def test_several_learning_rates_for_one_model(place: str) -> None:
    device = STACKS[place]
    device.seed(7)
    model = ModelConfig(4).init(device)
    optim = SgdConfig().init()
    lr = 0.1
    images, targets = data(device)[0]

    def backward(model: Any) -> Any:
        return CrossEntropyLossConfig().init(device).forward(model(images), targets).backward()

    expected = {}
    plain = GradientsParams.from_grads(backward(model), model)
    for path, param in model.named_parameters():
        factor = 2.0 if path.startswith("conv1") else 4.0 if path.startswith("conv2") else 1.0
        factor = 0.1 if path == "linear1.bias" else factor
        expected[path] = np.asarray(param.val().inner()) - lr * factor * np.asarray(plain[param.id])

    # Start with calculating all gradients
    grads = backward(model)

    # Now split the gradients into various parts.
    grads_conv1 = GradientsParams.from_module(grads, model.conv1)
    grads_conv2 = GradientsParams.from_module(grads, model.conv2)

    # You can step the model with these gradients, using different learning rates for each part.
    model = optim.step(lr * 2.0, model, grads_conv1)
    model = optim.step(lr * 4.0, model, grads_conv2)

    # For even more granular control you can split off individual parameters.
    bias = model.linear1.bias
    if bias is not None:
        grads_bias = GradientsParams.from_params(grads, model.linear1, [bias.id])
        model = optim.step(lr * 0.1, model, grads_bias)

    # The calls above remove gradients, so the rest is what remains.
    grads = GradientsParams.from_grads(grads, model)
    assert list(grads) == [model.linear1.weight.id]
    model = optim.step(lr, model, grads)

    for path, param in model.named_parameters():
        np.testing.assert_allclose(param.val().inner(), expected[path], rtol=1e-4, atol=1e-6, err_msg=path)


@pytest.mark.parametrize("place", STACKS)
def test_accumulated_gradients_of_small_batches_are_those_of_one_large_batch(place: str) -> None:
    device = STACKS[place]
    device.seed(7)
    model = ModelConfig(4).init(device)
    loss_function = CrossEntropyLossConfig().init(device)
    batches = data(device)[:4]

    accumulator = GradientsAccumulator()
    for images, targets in batches:
        loss = loss_function(model(images), targets) / 4.0
        grads = loss.backward()
        grads = GradientsParams.from_grads(grads, model)
        accumulator.accumulate(model, grads)
    grads = accumulator.grads()  # Pop the accumulated gradients.
    stepped = AdamConfig().init().step(0.01, model, grads)

    images, targets = (Tensor.cat([batch[i] for batch in batches], 0) for i in range(2))
    whole = AdamConfig().init().step(0.01, model, loss_function(model(images), targets).backward())
    for mine, theirs in zip(values_of(stepped), values_of(whole), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=2e-5)


class Learner:
    """The Book's own type around a model and an optimizer."""

    def __init__(self, model: Any, optim: Any) -> None:
        self.model, self.optim = model, optim

    def step(self, images: Any, targets: Any) -> float:
        loss = CrossEntropyLossConfig().init(images.device).forward(self.model(images), targets)
        self.model = self.optim.step(1e-2, self.model, loss.backward())
        return float(loss)


def test_a_learner_of_ones_own() -> None:
    device = STACKS["cpu"]
    device.seed(1)
    learner = Learner(ModelConfig(4).init(device), AdamConfig().init())
    losses = [learner.step(*batch) for batch in data(device)]
    assert losses[-1] < losses[0]
