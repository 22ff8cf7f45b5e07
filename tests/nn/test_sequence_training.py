"""Training of sequence models: captured steps give what eager ones give, the optimizer's state included."""

from __future__ import annotations

import numpy as np
import pytest

import burn
from burn import Cpu, Tensor, nn
from burn.module import Module
from burn.optim import AdamConfig
from burn.tensor import activation
from tests.nn.peers import numbers

STEPS = 20


class Recurrent(Module):
    body: nn.Lstm
    head: nn.Linear

    def forward(self, x):
        return self.head(self.body(x)[1].hidden)


class Attentive(Module):
    places: nn.PositionalEncoding
    body: nn.TransformerEncoder
    head: nn.Linear

    def forward(self, x):
        return self.head(self.body(nn.TransformerEncoderInput(self.places(x))).mean_dim(1).squeeze_dim(1))


def new_model(kind, device):
    head = nn.LinearConfig(8, 3).init(device)
    if kind == "lstm":
        return Recurrent(nn.LstmConfig(8, 8, True).init(device), head)
    encoder = nn.TransformerEncoderConfig(8, 16, 2, 2, dropout=0.1).init(device)
    return Attentive(nn.PositionalEncodingConfig(8, max_sequence_size=16).init(device), encoder, head)


def step(model, optim, x, targets):
    loss = (activation.log_softmax(model(x), 1) * targets).sum() * (-1.0 / 6)
    return optim.step(1e-2, model, loss.backward()), optim, loss.inner()


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_captured_training_is_eager_training(kind):
    device = Cpu()
    generator = np.random.default_rng(0)
    x = Tensor.from_data(generator.standard_normal((6, 5, 8), np.float32), device)
    targets = Tensor.from_data(np.eye(3, dtype=np.float32)[generator.integers(0, 3, 6)], device)

    def trained(run):
        device.seed(1)
        model, optim, losses = new_model(kind, device.autodiff()), AdamConfig().init(), []
        first = model
        for _ in range(STEPS):
            model, optim, loss = run(model, optim, x, targets)
            losses.append(loss.into_scalar())
        return model, first, losses

    captured = burn.compile(step)
    (eager, start, losses), (found, kept, others) = trained(step), trained(captured)
    assert captured.explain().startswith("captured:")
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(others, losses, rtol=2e-4)
    for (path, mine), (_, wanted) in zip(found.named_parameters(), eager.named_parameters(), strict=True):
        np.testing.assert_allclose(numbers(mine), numbers(wanted), rtol=1e-3, atol=1e-4, err_msg=path)
    for (path, mine), (_, wanted) in zip(kept.named_parameters(), start.named_parameters(), strict=True):
        np.testing.assert_array_equal(numbers(mine), numbers(wanted), err_msg=path)
